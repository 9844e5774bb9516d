//! What arrives at the calendar and mail provider, where the suite plays it.

use serde_json::Value;

use super::envelope;
use super::shape::moment;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::client::CUSTOMER;
use crate::families::hub::server::provider::ACCOUNT;
use crate::families::hub::server::reply::Reply;
use crate::transcript::Frame;

/// Bytes of a text that a Hub may find too long.
const LONG_TEXT: usize = 4096;

/// The last frame with this effect.
fn last<'a>(seen: &[&'a Frame], effect: &str) -> Option<&'a Frame> {
    seen.iter().rev().copied().find(|frame| frame.text("/effect") == Some(effect))
}

/// What the request must have led to at the provider.
fn reached<'a>(reply: &Reply<'_>, seen: &[&'a Frame], effect: &str) -> Result<&'a Frame, CheckFailure> {
    if !reply.is_executed() {
        return Err(CheckFailure::NotObserved(format!(
            "`{}` did not succeed: {}",
            reply.tool(),
            reply.summary()
        )));
    }
    let wanted = reply.request.body.pointer("/inputs/to");
    let is_open = |frame: &&&Frame| {
        frame.text("/effect") == Some("mail") && is_same("to", wanted, frame.body.pointer("/mail/to"))
    };
    // Blind copies may be mails of their own; the one to its readers in the open is meant.
    let open = if effect == "mail" { seen.iter().rev().find(is_open).copied() } else { None };
    open.or_else(|| last(seen, effect)).ok_or_else(|| {
        reply
            .finding(
                format!("`{}` is said to have succeeded, and the provider got nothing of it", reply.tool()),
                "call the provider before success is answered",
            )
            .expected(format!("a request of the kind `{effect}`"))
            .into()
    })
}

/// The request leads to one event or one mail, not to two.
pub fn arrives_once(reply: &Reply<'_>, seen: &[&Frame]) -> Judgement {
    let effect = if reply.tool() == "email_send" { "mail" } else { "event" };
    let first = reached(reply, seen, effect)?;
    let is_new =
        |frame: &&&Frame| frame.text("/effect") == Some(effect) && frame.channel.starts_with("POST ");
    let count = seen.iter().filter(is_new).count();
    if count <= 1 {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("one call of `{}` reaches the provider {count} times", reply.tool()),
            "do what was asked for once; do not repeat a write that may have been done",
        )
        .frame(first)
        .expected(1)
        .actual(Some(&Value::from(count)))
        .into())
}

/// An input of the request arrives unchanged.
pub fn gets(inputs: &Value, reply: &Reply<'_>, seen: &[&Frame], name: &str) -> Judgement {
    let (effect, under) = if reply.tool() == "email_send" { ("mail", "mail") } else { ("event", "event") };
    let wanted = inputs.pointer(&format!("/inputs/{name}"));
    let is_long = wanted.and_then(Value::as_str).is_some_and(|text| text.len() >= LONG_TEXT);
    if is_long && reply.status().is_some_and(|status| (400..500).contains(&status)) {
        // To refuse it is better than to cut it off, and how long a text may be is not said.
        return Err(Alternative::RefusesLongText.seen_in(reply.answer));
    }
    let frame = reached(reply, seen, effect)?;
    if name == "bcc" && goes_to_each(wanted, seen) {
        return Ok(());
    }
    let is_html_of_both = name == "body" && frame.text("/mail/body_type") == Some("both");
    let html = inputs.pointer("/inputs/body_type").and_then(Value::as_str) == Some("html");
    let member = if is_html_of_both && html { "body_html" } else { name };
    let pointer = format!("/{under}/{member}");
    let got = frame.body.pointer(&pointer);
    if is_same(name, wanted, got) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("`{name}` does not arrive at the provider as it was asked for"),
            format!("pass `{name}` of the inputs on to the provider"),
        )
        .frame(frame)
        .expected(wanted.cloned().unwrap_or_default())
        .actual(got)
        .at(pointer)
        .into())
}

/// A mail goes to those who are named in its inputs, and to nobody else.
pub fn goes_to_nobody_else(inputs: &Value, reply: &Reply<'_>, seen: &[&Frame]) -> Judgement {
    // A Hub may refuse what it cannot put into a header; then there is no mail.
    if !reply.status().is_some_and(|status| (400..500).contains(&status)) {
        reached(reply, seen, "mail")?;
    }
    let named = readers(|name| inputs.pointer(&format!("/inputs/{name}")));
    let mails = seen.iter().copied().filter(|frame| frame.text("/effect") == Some("mail"));
    for frame in mails {
        let others = readers(|name| frame.body.pointer(&format!("/mail/{name}")));
        if let Some(other) = others.into_iter().find(|reader| !named.contains(reader)) {
            return Err(reply
                .finding(
                    "a mail goes to somebody whom its inputs do not name",
                    "let no line break of an input into the header of a mail: encode it, leave it out, or refuse the \
                     input",
                )
                .frame(frame)
                .expected(named)
                .actual(Some(&Value::from(other)))
                .at("/mail")
                .into());
        }
    }
    Ok(())
}

/// The addresses in the lists of a mail's readers, in lower case.
fn readers<'a>(list: impl Fn(&str) -> Option<&'a Value>) -> Vec<String> {
    let lists = ["to", "cc", "bcc"].map(list);
    let addresses = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    addresses.filter_map(|address| address.as_str().map(str::to_lowercase)).collect()
}

/// Blind copies may go out one by one, each to its reader alone.
fn goes_to_each(wanted: Option<&Value>, seen: &[&Frame]) -> bool {
    let wanted: Vec<String> = wanted
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|address| address.as_str().map(str::to_lowercase))
        .collect();
    let alone = |address: &String| {
        seen.iter()
            .any(|frame| readers(|name| frame.body.pointer(&format!("/mail/{name}"))) == [address.clone()])
    };
    !wanted.is_empty() && wanted.iter().all(alone)
}

fn is_same(name: &str, wanted: Option<&Value>, got: Option<&Value>) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    match name {
        "start" | "end" => {
            let (wanted, got) = (text(wanted), text(got));
            moment(&wanted).is_some() && moment(&wanted) == moment(&got)
        }
        "attendees" | "to" | "cc" | "bcc" => {
            let addresses = |value: Option<&Value>| -> Vec<String> {
                let items = value.and_then(Value::as_array).into_iter().flatten();
                let mut all: Vec<String> = items.filter_map(Value::as_str).map(str::to_lowercase).collect();
                all.sort();
                all
            };
            addresses(wanted) == addresses(got)
        }
        // A mail may carry another version beside the one that was asked for.
        "body_type" => text(got) == text(wanted) || text(got) == "both",
        "body" => lines(&text(wanted)) == lines(&text(got)),
        _ => text(wanted) == text(got),
    }
}

/// Mails end their lines in their own way.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

/// Attendees are notified, or not.
pub fn is_asked_to_notify(reply: &Reply<'_>, seen: &[&Frame], expected: bool) -> Judgement {
    let effect = if reply.tool() == "calendar_delete_event" { "delete" } else { "event" };
    let last = reached(reply, seen, effect)?;
    // Without a word the provider notifies nobody. Of several writes one is enough to notify everybody.
    let says_so = |frame: &&Frame| frame.body.get("notifies").and_then(Value::as_bool).unwrap_or(false);
    let own = after(reply, seen);
    let notifying = own.into_iter().filter(|frame| frame.text("/effect") == Some(effect)).find(says_so);
    let (frame, notifies) = (notifying.unwrap_or(last), notifying.is_some());
    if notifies == expected {
        return Ok(());
    }
    Err(reply
        .finding(
            format!(
                "attendees are {}notified against `send_notifications`",
                if notifies { "" } else { "not " }
            ),
            "pass `send_notifications` on to the provider, for example as `sendUpdates`",
        )
        .frame(frame)
        .expected(expected)
        .actual(Some(&Value::from(notifies)))
        .at("/notifies")
        .into())
}

/// A member of the event that was not to be changed is as it was.
pub fn keeps(reply: &Reply<'_>, seen: &[&Frame], name: &str, expected: &Value) -> Judgement {
    let message = format!("an update that does not name `{name}` changes it");
    event_has(reply, seen, (name, expected), message, "send the provider only what stands in `updates`")
}

/// A member of the event is what the update says.
pub fn changes(reply: &Reply<'_>, seen: &[&Frame], name: &str, expected: &Value) -> Judgement {
    let message = format!("an update of `{name}` is said to have succeeded, and does not reach the provider");
    event_has(reply, seen, (name, expected), message, "send the provider everything that stands in `updates`")
}

fn event_has(
    reply: &Reply<'_>,
    seen: &[&Frame],
    (name, expected): (&str, &Value),
    message: String,
    hint: &str,
) -> Judgement {
    let frame = reached(reply, seen, "event")?;
    let pointer = format!("/event/{name}");
    let now = frame.body.pointer(&pointer);
    if is_same(name, Some(expected), now) {
        return Ok(());
    }
    let finding = reply.finding(message, hint).frame(frame);
    Err(finding.expected(expected.clone()).actual(now).at(pointer).into())
}

/// The message becomes read, or stays unread.
pub fn is_marked_as_read(reply: &Reply<'_>, seen: &[&Frame], expected: bool) -> Judgement {
    if !reply.is_executed() {
        return Err(CheckFailure::NotObserved(format!(
            "`{}` did not succeed: {}",
            reply.tool(),
            reply.summary()
        )));
    }
    let hides = |frame: &&&Frame| {
        let added = frame.body.get("added").and_then(Value::as_array);
        added.is_some_and(|labels| labels.iter().any(|label| label == "TRASH" || label == "SPAM"))
    };
    if let Some(frame) = seen.iter().find(hides) {
        return Err(reply
            .finding(
                "a message that is read is moved out of sight",
                "change nothing of a message that is read but whether it is unread",
            )
            .frame(frame)
            .expected("no label `TRASH` or `SPAM`")
            .actual(frame.body.get("added"))
            .into());
    }
    let removes = |frame: &&&Frame| {
        let removed = frame.body.get("removed").and_then(Value::as_array);
        removed.is_some_and(|labels| labels.iter().any(|label| label == "UNREAD"))
    };
    let marked = seen.iter().find(removes);
    if marked.is_some() == expected {
        return Ok(());
    }
    let finding = reply
        .finding(
            format!(
                "the message {} read, against `mark_as_read`",
                if expected { "does not become" } else { "becomes" }
            ),
            "take the label `UNREAD` away when `mark_as_read` is true, and only then",
        )
        .expected(expected)
        .actual(Some(&Value::from(!expected)));
    Err(marked.map_or_else(|| finding.clone(), |frame| finding.clone().frame(frame)).into())
}

/// A mail that answers another goes out as one: in its thread, or with a reference to it.
pub fn goes_out_as_an_answer(reply: &Reply<'_>, seen: &[&Frame]) -> Judgement {
    let frame = reached(reply, seen, "mail")?;
    let names_it = |name: &str| frame.text(&format!("/mail/{name}")).is_some_and(|text| !text.is_empty());
    if names_it("thread_id") || names_it("in_reply_to") {
        return Ok(());
    }
    Err(reply
        .finding(
            "a mail that answers another leaves without a word of that",
            "send it in the thread of the message that `reply_to_message_id` names, with `In-Reply-To`",
        )
        .frame(frame)
        .expected("a thread, or `In-Reply-To`")
        .actual(frame.body.get("mail"))
        .at("/mail/thread_id")
        .into())
}

/// The same request, sent as it should be, reaches the provider: what it does can be seen there.
pub fn is_reached(seen: &[&Frame]) -> Judgement {
    if seen.iter().any(|frame| frame.text("/effect").is_some_and(|effect| effect != "read")) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(
        "the same request with the right secret does not reach the provider either, so that nothing arrives shows nothing"
            .to_owned(),
    ))
}

/// Nothing is made, changed or sent.
pub fn has_no_effect(reply: &Reply<'_>, seen: &[&Frame]) -> Judgement {
    let changes = |frame: &&&Frame| frame.text("/effect").is_some_and(|effect| effect != "read");
    match seen.iter().find(changes) {
        None => Ok(()),
        Some(frame) => Err(reply
            .finding(
                "a request without the right secret is executed",
                "check the secret before anything is done",
            )
            .frame(frame)
            .actual(Some(&frame.body))
            .into()),
    }
}

/// Every member of an update arrives as it was asked for, of those that the contract shows.
pub fn gets_updates(reply: &Reply<'_>, seen: &[&Frame]) -> Judgement {
    let updates = reply.request.body.pointer("/inputs/updates").and_then(Value::as_object);
    let shown = |(name, _): &(&String, &Value)| ["title", "start", "end"].contains(&name.as_str());
    updates
        .into_iter()
        .flatten()
        .filter(shown)
        .try_for_each(|(name, value)| changes(reply, seen, name, value))
}

/// What came of a request.
fn after<'a>(reply: &Reply<'_>, seen: &[&'a Frame]) -> Vec<&'a Frame> {
    seen.iter().copied().filter(|frame| frame.n > reply.request.n).collect()
}

/// Everything that came of the request is in the calendar or the mailbox of its customer.
pub fn is_in_the_account(reply: &Reply<'_>, seen: &[&Frame]) -> Judgement {
    let customer = reply.request.headers.get(CUSTOMER).map(String::as_str).unwrap_or_default();
    let reached: Vec<&Frame> =
        after(reply, seen).into_iter().filter(|frame| frame.body.get(ACCOUNT).is_some()).collect();
    if reached.is_empty() && reply.answer.is_some() && !reply.is_executed() {
        // Who has ids of its own does not find the provider's event.
        if ["calendar_update_event", "calendar_delete_event"].contains(&reply.tool()) {
            return Err(Alternative::OwnIds.seen_in(reply.answer));
        }
        let finding = reply.finding(
            format!("`{}` is not executed for a second customer: {}", reply.tool(), reply.summary()),
            "use the credentials of `customer_id` for every request to the provider",
        );
        return Err(finding.actual(Some(reply.body())).into());
    }
    if reached.is_empty() {
        return Err(CheckFailure::NotObserved(format!(
            "nothing of `{}` arrives at the provider: {}",
            reply.tool(),
            reply.summary()
        )));
    }
    let is_elsewhere = |frame: &&&Frame| frame.body.get(ACCOUNT).and_then(Value::as_str) != Some(customer);
    match reached.iter().find(is_elsewhere) {
        None => Ok(()),
        Some(frame) => Err(reply
            .finding(
                "a request for one customer reaches the account of another",
                "use the credentials of `customer_id` for every request to the provider",
            )
            .frame(frame)
            .expected(customer)
            .actual(frame.body.get(ACCOUNT))
            .at(format!("/{ACCOUNT}"))
            .into()),
    }
}

/// What the provider refuses for want of permissions is answered by the code for that. Who has ids of its own does not
/// find the provider's event, and does not ask.
pub fn refusal_is(reply: &Reply<'_>, seen: &[&Frame], code: &str) -> Judgement {
    let is_refused = |frame: &&Frame| frame.body.get("refused").and_then(Value::as_u64) == Some(403);
    if !reply.is_executed() && reply.code() != Some(code) && !after(reply, seen).iter().any(is_refused) {
        return Err(Alternative::OwnIds.seen_in(reply.answer));
    }
    envelope::is_error(reply, code)
}

/// Of the labels of a message, nothing but `UNREAD` is changed; `may_mark` says whether that may be.
pub fn changes_no_label(reply: &Reply<'_>, seen: &[&Frame], may_mark: bool) -> Judgement {
    reply.result()?;
    let other = |frame: &Frame, name: &str| {
        let labels = frame.body.get(name).and_then(Value::as_array).into_iter().flatten();
        labels.filter_map(Value::as_str).any(|label| !may_mark || label != "UNREAD" || name == "added")
    };
    let changed =
        after(reply, seen).into_iter().find(|frame| other(frame, "added") || other(frame, "removed"));
    match changed {
        None => Ok(()),
        Some(frame) => Err(reply
            .finding(
                "reading a message changes more of it than whether it is unread",
                "take the label `UNREAD` away when `mark_as_read` is true, and change no other label",
            )
            .frame(frame)
            .actual(Some(&frame.body))
            .into()),
    }
}

#[cfg(test)]
mod tests;
