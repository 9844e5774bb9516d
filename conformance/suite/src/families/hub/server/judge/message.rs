//! What is said of a mail, held against the one that is in the mailbox (Tool Execution Contract L241-322).

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::envelope;
use super::envelope::Empty;
use super::provider::lines;
use super::shape::moment;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::server::provider::AttachedFile;
use crate::families::hub::server::reply::Reply;

const MESSAGES: &str = "messages";

/// Moments to the second.
fn seconds<'v>(texts: impl Iterator<Item = Option<&'v str>>) -> Vec<Option<i64>> {
    let mut all: Vec<Option<i64>> = texts.map(|text| Some(moment(text?)?.as_second())).collect();
    all.sort_unstable();
    all
}

/// The message has the date with which it was sent.
pub fn is_dated(reply: &Reply<'_>, date: &str) -> Judgement {
    let given = reply.result()?.get("date");
    if seconds([given.and_then(Value::as_str)].into_iter()) == seconds([Some(date)].into_iter()) {
        return Ok(());
    }
    Err(misdated(reply, date).actual(given).at("/result/date").into())
}

/// What is listed has the dates with which it was sent, in whatever order.
pub fn are_dated(reply: &Reply<'_>, list: &str, dates: &str) -> Judgement {
    let items = envelope::some_items(reply, list, Empty::Surprising)?;
    let given = items.iter().map(|item| item.get("date").and_then(Value::as_str));
    if seconds(given.clone()) == seconds(dates.split(", ").map(Some)) {
        return Ok(());
    }
    let given: Vec<Value> = given.map(Value::from).collect();
    Err(misdated(reply, dates).actual(Some(&Value::from(given))).at(format!("/result/{list}")).into())
}

fn misdated(reply: &Reply<'_>, expected: &str) -> Finding {
    reply
        .finding(
            "`date` is another moment than that at which the message was sent",
            "take `date` from the message; an offset that is added has to fit the time beside it",
        )
        .expected(expected)
}

/// Each file is listed once, with its media type.
pub fn lists_each_file_once(reply: &Reply<'_>, files: &[AttachedFile]) -> Judgement {
    let items = envelope::items(reply, "attachments")?;
    for AttachedFile { name, media_type, .. } in files {
        let own: Vec<&Value> = items.iter().filter(|item| item["filename"] == *name).collect();
        let is_typed = |item: &Value| {
            let given = item.get("mime_type").and_then(Value::as_str).unwrap_or_default();
            given.split(';').next().is_some_and(|given| given.trim().eq_ignore_ascii_case(media_type))
        };
        let message = match own[..] {
            [item] if is_typed(item) => continue,
            [_] => "`mime_type` is not that of the attachment",
            [] => "an attachment of the message is not listed under its name",
            _ => "an attachment is listed more than once",
        };
        return Err(reply
            .finding(message, "list every attachment once, with the media type of its part of the message")
            .expected(format!("`{name}` once, as `{media_type}`"))
            .actual(reply.body().pointer("/result/attachments"))
            .at("/result/attachments")
            .into());
    }
    Ok(())
}

/// How a body renders a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rendering {
    /// Line by line.
    Exact,
    /// All of it, with other white space or with something around it.
    Reshaped,
    /// Not all of it.
    Incomplete,
}

fn rendering(body: &str, text: &str) -> Rendering {
    let bare = |text: &str| -> String { text.split_whitespace().collect() };
    if lines(body.trim()) == lines(text.trim()) {
        Rendering::Exact
    } else if bare(body).contains(&bare(text)) {
        Rendering::Reshaped
    } else {
        Rendering::Incomplete
    }
}

/// The body that is read is the text of the message.
pub fn has_the_text(reply: &Reply<'_>, text: &str) -> Judgement {
    is_the_text(reply, reply.result()?.get("body"), "/result/body", text)
}

/// The message with this subject is listed with its text.
pub fn is_listed_with_the_text(reply: &Reply<'_>, subject: &str, text: &str) -> Judgement {
    let (index, item) = listed(reply, subject)?;
    is_the_text(reply, item.get("body"), &format!("/result/{MESSAGES}/{index}/body"), text)
}

fn is_the_text(reply: &Reply<'_>, body: Option<&Value>, at: &str, text: &str) -> Judgement {
    let rendering = body.and_then(Value::as_str).map_or(Rendering::Incomplete, |body| rendering(body, text));
    let end = text.trim_end().rsplit("Row").next().unwrap_or_default();
    let finding = |message: &str, hint: &str| {
        let length = text.chars().count();
        reply
            .finding(message, hint)
            .expected(format!("{length} characters that end with `Row{end}`"))
            .actual(body)
            .at(at)
    };
    match rendering {
        Rendering::Exact => Ok(()),
        Rendering::Reshaped => {
            let message = "`body` has other line breaks than the message, or something around its text";
            let finding = finding(message, "give the text of a message as it is, decoded");
            Err(finding.recommended("how the text of a message is given is not said").into())
        }
        Rendering::Incomplete => Err(finding(
            "`body` is not the whole text of the message that was asked for",
            "take `body` from the message itself, decoded, from its first line to its last",
        )
        .into()),
    }
}

/// The place of the message with this subject, and the message.
fn listed<'a>(reply: &Reply<'a>, subject: &str) -> Result<(usize, &'a Value), CheckFailure> {
    let items = envelope::items(reply, MESSAGES)?;
    let is_it = |(_, item): &(usize, &Value)| {
        item.get("subject").and_then(Value::as_str).is_some_and(|own| own.contains(subject))
    };
    items.iter().enumerate().find(is_it).ok_or_else(|| {
        CheckFailure::NotObserved(format!("a search does not list the message with the subject `{subject}`"))
    })
}

/// No message that is listed carries the end of the text, whatever the member is called. A snippet may be as long as it
/// likes.
pub fn shows_nothing_of_the_text(reply: &Reply<'_>, subject: &str, text: &str) -> Judgement {
    let (index, item) = listed(reply, subject)?;
    let end: String = text.trim_end().chars().rev().take(60).collect();
    let end: String = end.chars().rev().filter(|letter| !letter.is_whitespace()).collect();
    let others = item.as_object().into_iter().flatten().filter(|(name, _)| *name != "snippet");
    match others.into_iter().find(|(_, value)| holds(value, &end)) {
        None => Ok(()),
        Some((name, value)) => Err(reply
            .finding(
                format!("a message carries its body as `{name}`, and `include_body` is false"),
                "leave the body out then, under every name",
            )
            .expected("no body")
            .actual(Some(value))
            .at(format!("/result/{MESSAGES}/{index}/{name}"))
            .into()),
    }
}

/// Whether a text without white space stands somewhere in a value.
fn holds(value: &Value, bare: &str) -> bool {
    match value {
        Value::String(text) => text.split_whitespace().collect::<String>().contains(bare),
        Value::Array(items) => items.iter().any(|item| holds(item, bare)),
        Value::Object(members) => members.values().any(|member| holds(member, bare)),
        _ => false,
    }
}

/// `has_attachments` of the message with this subject is what its parts say.
pub fn tells_attachments(reply: &Reply<'_>, subject: &str, expected: bool) -> Judgement {
    let (index, item) = listed(reply, subject)?;
    if item.get("has_attachments").and_then(Value::as_bool) != Some(!expected) {
        return Ok(());
    }
    Err(reply
        .finding(
            "`has_attachments` does not say whether the message has attachments",
            "look for parts with a file name; a text in two versions is no attachment",
        )
        .expected(expected)
        .actual(Some(item))
        .at(format!("/result/{MESSAGES}/{index}/has_attachments"))
        .into())
}

/// Another customer is shown no reply of the first one's thread.
pub fn shares_no_reply(first: &Reply<'_>, other: &Reply<'_>) -> Judgement {
    let ids = |reply: &Reply<'_>| -> BTreeSet<String> {
        let replies = reply.body().pointer("/result/replies").and_then(Value::as_array);
        let ids = replies.into_iter().flatten().filter_map(|item| item.get("message_id")?.as_str());
        ids.map(str::to_owned).collect()
    };
    envelope::some_items(first, "replies", Empty::Surprising)?;
    match ids(first).intersection(&ids(other)).next() {
        None => Ok(()),
        Some(both) => Err(other
            .finding(
                "a customer is shown replies to the mails of another",
                "use the credentials of `customer_id` for every call",
            )
            .actual(Some(&Value::from(both.clone())))
            .at("/result/replies")
            .frame(first.request)
            .into()),
    }
}

/// The ids of the messages that a search lists.
pub fn listed_ids(reply: &Reply<'_>) -> Vec<String> {
    let items = envelope::items(reply, MESSAGES).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.get("message_id")?.as_str().map(str::to_owned)).collect()
}

/// What is read under an id that a search lists is the message beside which it stands there.
pub fn are_listed_under_their_ids(replies: &[Reply<'_>]) -> Judgement {
    let Some((search, reads)) = replies.split_first() else { return Ok(()) };
    envelope::some_items(search, MESSAGES, Empty::Surprising)?;
    for read in reads {
        let id = read.request.body.pointer("/inputs/message_id");
        let items = envelope::items(search, MESSAGES)?;
        let place = items.iter().position(|item| item.get("message_id") == id);
        let Some((index, item)) = place.and_then(|place| Some((place, items.get(place)?))) else { continue };
        let subject =
            |value: Option<&Value>| value.and_then(Value::as_str).map(|text| text.trim().to_owned());
        let (said, found) = (subject(item.get("subject")), subject(read.result()?.get("subject")));
        // That the message which is read has its own subject is another rule's business.
        let is_another = items.iter().any(|other| subject(other.get("subject")) == found);
        if said != found && is_another {
            return Err(search
                .finding(
                    "the id beside a message is that of another one",
                    "give each message its own `message_id`, whatever the order in which messages are fetched",
                )
                .expected(format!("the id of `{}`", said.unwrap_or_default()))
                .actual(Some(&Value::from(format!("the id of `{}`", found.unwrap_or_default()))))
                .at(format!("/result/{MESSAGES}/{index}/message_id"))
                .frame(read.request)
                .into());
        }
    }
    Ok(())
}

/// `to` has an item for each address, whether the message is read or listed with its subject.
pub fn lists_recipients(reply: &Reply<'_>, subject: &str, addresses: [&str; 2]) -> Judgement {
    let (at, to) = if reply.tool() == "email_search" {
        let (index, item) = listed(reply, subject)?;
        (format!("/result/{MESSAGES}/{index}/to"), item.get("to"))
    } else {
        ("/result/to".to_owned(), reply.result()?.get("to"))
    };
    if names_each(to, addresses) {
        return Ok(());
    }
    Err(reply
        .finding(
            "`to` does not have an item for each address to which the message went",
            "take the addresses of the header apart; names may have commas in them",
        )
        .expected(addresses.join(", "))
        .actual(to)
        .at(at)
        .into())
}

/// Whether every item has an address, and each address an item.
fn names_each(to: Option<&Value>, addresses: [&str; 2]) -> bool {
    let items: Vec<String> = to
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|item| item.as_str().unwrap_or_default().to_lowercase())
        .collect();
    items.iter().all(|item| item.matches('@').count() == 1)
        && addresses.iter().all(|address| items.iter().any(|item| item.contains(address)))
}

/// The thread of a message that does not begin it is the one that a search gives with the message.
pub fn has_the_thread(reply: &Reply<'_>, thread_id: &str) -> Judgement {
    let given = reply.result()?.get("thread_id");
    if given.is_some_and(|given| given == thread_id) {
        return Ok(());
    }
    let finding = reply
        .finding(
            "`thread_id` is another than the one that a search gives with the message",
            "give the id of the thread; that of the message is the same for the first of a thread only",
        )
        .expected(thread_id)
        .actual(given)
        .at("/result/thread_id");
    // Ids that are made anew for each answer are another matter.
    let is_the_message = given.is_some() && given == reply.request.body.pointer("/inputs/message_id");
    Err(if is_the_message {
        finding.into()
    } else {
        finding.recommended("whether an id stays the same is not said").into()
    })
}

/// Replies are described by themselves: by who wrote them, and by how they begin. `thread` has the beginnings of all
/// messages of the thread and when they were sent; the first is no reply.
pub fn are_described_by_themselves(reply: &Reply<'_>, from: &str, thread: &[(&str, &str)]) -> Judgement {
    let items = envelope::some_items(reply, "replies", Empty::Surprising)?;
    for (index, item) in items.iter().enumerate() {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let date = moment(text("date")).map(Timestamp::as_second);
        let is_it = |(_, at): &&(&str, &str)| moment(at).map(Timestamp::as_second) == date;
        let Some((own, _)) = thread.iter().skip(1).find(is_it) else { continue };
        if !text("from").to_lowercase().contains(from) {
            return Err(reply
                .finding("`from` of a reply is not who wrote it", "take `from` from the reply itself")
                .expected(from)
                .actual(item.get("from"))
                .at(format!("/result/replies/{index}/from"))
                .into());
        }
        let snippet = text("snippet");
        if !snippet.contains(own) && thread.iter().any(|(other, _)| snippet.contains(other)) {
            return Err(reply
                .finding(
                    "`snippet` of a reply is that of another message",
                    "take `snippet` from the reply itself",
                )
                .expected(format!("`{own}` …"))
                .actual(item.get("snippet"))
                .at(format!("/result/replies/{index}/snippet"))
                .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::hub::contract::long_text;

    #[test]
    fn a_text_is_known_in_another_form() {
        let text = long_text(3_000);
        let check = |body: &str, expect: Rendering| assert_eq!(rendering(body, &text), expect);
        check(&format!("{}\r\n", text.replace('\n', "\r\n")), Rendering::Exact);
        check(&text.replace('\n', " "), Rendering::Reshaped);
        check(&format!("<p>{text}</p>"), Rendering::Reshaped);
        check(&text.chars().take(2_000).collect::<String>(), Rendering::Incomplete);
        check("", Rendering::Incomplete);
    }

    #[test]
    fn each_recipient_has_an_item() {
        let check = |to: Value, expect: bool| {
            let addresses = ["connected@garden.example", "cleo@fern.example"];
            assert_eq!(names_each(Some(&to), addresses), expect, "{to}");
        };
        check(json!(["connected@garden.example", "cleo@fern.example"]), true);
        check(json!(["Reed, Cleo <Cleo@fern.example>", "connected@garden.example"]), true);
        check(json!(["connected@garden.example, \"Reed, Cleo\" <cleo@fern.example>"]), false);
        check(json!(["connected@garden.example", "\"Reed", "Cleo\" <cleo@fern.example>"]), false);
        check(json!(["connected@garden.example"]), false);
        check(json!("connected@garden.example"), false);
    }

    #[test]
    fn dates_are_moments_whatever_the_zone() {
        let check = |one: &[&str], other: &[&str], expect: bool| {
            let read = |texts: &[&str]| seconds(texts.iter().map(|text| Some(*text)));
            assert_eq!(read(one) == read(other), expect, "{one:?} {other:?}");
        };
        check(&["2026-02-10T08:30:00Z"], &["2026-02-10T09:30:00.250+01:00"], true);
        check(&["2026-02-10T08:30:00Z"], &["2026-02-10T08:30:00+01:00"], false);
        check(
            &["2026-02-10T08:30:00Z", "2026-02-12T08:30:00Z"],
            &["2026-02-12T08:30:00Z", "2026-02-10T08:30:00Z"],
            true,
        );
    }
}
