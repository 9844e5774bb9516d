//! Results of the mail tools (Tool Execution Contract L219-322).

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::choice;
use super::envelope;
use super::envelope::Empty;
use super::shape::moment;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::provider::AttachedFile;
use crate::families::hub::server::reply::Reply;
use crate::families::hub::server::scene::Known;

const MESSAGES: &str = "messages";
const REPLIES: &str = "replies";

/// An hour, in seconds.
const HOUR: i64 = 60 * 60;
/// Replies so far apart were not sent at once, in seconds.
const PAUSE: i64 = 10 * 60;

/// No more messages than were asked for.
pub fn are_at_most_as_asked(reply: &Reply<'_>) -> Judgement {
    let limit = reply.request.body.pointer("/inputs/max_results").and_then(Value::as_u64);
    let limit = limit.ok_or_else(|| CheckFailure::NotObserved("the request sets no limit".to_owned()))?;
    let items = envelope::some_items(reply, MESSAGES, Empty::Surprising)?;
    if items.len() as u64 <= limit {
        return Ok(());
    }
    Err(reply
        .finding("more messages are listed than were asked for", "list at most `max_results` messages")
        .expected(format!("at most {limit}"))
        .actual(Some(&Value::from(items.len())))
        .at("/result/messages")
        .into())
}

/// The total is not below what is listed.
pub fn total_covers_the_list(reply: &Reply<'_>) -> Judgement {
    let listed = u32::try_from(envelope::items(reply, MESSAGES)?.len()).unwrap_or(u32::MAX);
    let total = reply.result()?.get("total_results");
    if total.and_then(Value::as_f64).is_some_and(|total| total >= f64::from(listed)) {
        return Ok(());
    }
    Err(reply
        .finding("`total_results` is below the number of messages listed", "count at least what is listed")
        .expected(format!("{listed} or more"))
        .actual(total)
        .at("/result/total_results")
        .into())
}

/// Every message listed has this text in a member.
pub fn all_match(reply: &Reply<'_>, name: &str, text: &str) -> Judgement {
    let text = text.to_lowercase();
    for (index, item) in envelope::some_items(reply, MESSAGES, Empty::Surprising)?.iter().enumerate() {
        if !item.get(name).and_then(Value::as_str).is_some_and(|own| own.to_lowercase().contains(&text)) {
            return Err(reply
                .finding(
                    "a message is listed that does not match the query",
                    "list only what the query finds",
                )
                .expected(format!("`{name}` with `{text}` in it"))
                .actual(Some(item))
                .at(format!("/result/messages/{index}/{name}"))
                .into());
        }
    }
    Ok(())
}

/// Of the messages that are known to have attachments, or to have none, the list says so.
pub fn mention_attachments(reply: &Reply<'_>, with: Option<&str>, without: Option<&str>) -> Judgement {
    let items = envelope::some_items(reply, MESSAGES, Empty::Surprising)?;
    let known = [(with, true), (without, false)];
    let mut any = false;
    for (index, item) in items.iter().enumerate() {
        let id = item.get("message_id").and_then(Value::as_str);
        let Some((_, expected)) = known.iter().find(|(own, _)| own.is_some() && *own == id) else { continue };
        any = true;
        if item.get("has_attachments").and_then(Value::as_bool) == Some(!expected) {
            return Err(reply
                .finding(
                    "`has_attachments` does not say whether the message has attachments",
                    "look for parts with a file name; a message that is read lists them under `attachments`",
                )
                .expected(*expected)
                .actual(Some(item))
                .at(format!("/result/messages/{index}/has_attachments"))
                .into());
        }
    }
    if any {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(
        "neither of the two messages that the manifest names is listed under the sender of its attachment"
            .to_owned(),
    ))
}

/// A mail that is there is listed, so that the search has to do with what was asked.
pub fn lists_the_known(reply: &Reply<'_>, known: &Known) -> Judgement {
    // Wherever it says so: that its members are right is the business of other rules.
    let is_it = |item: &Value| item.to_string().to_lowercase().contains(&known.text.to_lowercase());
    if envelope::items(reply, MESSAGES)?.iter().any(is_it) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!(
        "a search by `{}` does not list a mail that is there; where it does not look through mails that were sent, name \
         `hub.fixtures.sender` in the manifest",
        known.member
    )))
}

/// Nothing is found, by a Hub that finds what is there.
pub fn is_empty(reply: &Reply<'_>, after: Option<&Reply<'_>>, known: &Known) -> Judgement {
    if envelope::items(reply, MESSAGES)?.is_empty() {
        return match after {
            Some(after) => lists_the_known(after, known),
            None => Err(CheckFailure::NotObserved("there is no mail to search for".to_owned())),
        };
    }
    Err(reply
        .finding("messages are listed for a query that matches none", "list only what the query finds")
        .expected("no message")
        .actual(reply.body().pointer("/result/messages"))
        .at("/result/messages")
        .into())
}

/// The text of a body that a message carries under any name.
fn body(message: &Value) -> Option<&Value> {
    let members = message.as_object()?;
    let holds_text = |value: &Value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    let is_body = |name: &str| name == "html" || name == "text" || name.starts_with("body");
    // `body_type` says of what kind a body is.
    members
        .iter()
        .find(|(name, value)| is_body(name) && name.as_str() != "body_type" && holds_text(value))
        .map(|(_, value)| value)
}

/// The gate of the rules on bodies in a list: the request says whether it wants them.
fn asks_for_bodies(reply: &Reply<'_>, wanted: bool) -> Judgement {
    if reply.request.body.pointer("/inputs/include_body") == Some(&Value::Bool(wanted)) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!("`include_body` of the request is not {wanted}")))
}

/// No message carries its body where none was asked for.
pub fn have_no_body(reply: &Reply<'_>) -> Judgement {
    asks_for_bodies(reply, false)?;
    for (index, item) in envelope::some_items(reply, MESSAGES, Empty::Surprising)?.iter().enumerate() {
        if let Some(body) = body(item) {
            return Err(reply
                .finding("a message carries its body, and `include_body` is false", "leave the body out then")
                .expected("no body")
                .actual(Some(body))
                .at(format!("/result/messages/{index}"))
                .into());
        }
    }
    Ok(())
}

/// Every message carries its body as `body` where bodies were asked for.
pub fn have_a_body(reply: &Reply<'_>) -> Judgement {
    asks_for_bodies(reply, true)?;
    for (index, item) in envelope::some_items(reply, MESSAGES, Empty::Surprising)?.iter().enumerate() {
        if !item.get("body").is_some_and(Value::is_string) {
            return Err(reply
                .finding("a message has no `body`, and `include_body` is true", "add the text as `body` then")
                .expected("a string")
                .actual(Some(item))
                .at(format!("/result/messages/{index}/body"))
                .into());
        }
    }
    Ok(())
}

/// The message is the one that was asked for.
pub fn is_the_message(reply: &Reply<'_>) -> Judgement {
    let wanted = reply.request.body.pointer("/inputs/message_id");
    let given = reply.result()?.get("message_id");
    if wanted == given {
        return Ok(());
    }
    Err(reply
        .finding(
            "another message is given than the one that was asked for",
            "look the message up by `message_id`",
        )
        .expected(wanted.cloned().unwrap_or_default())
        .actual(given)
        .at("/result/message_id")
        .into())
}

/// The message says what is in the mailbox: these parts are in these members.
pub fn says(reply: &Reply<'_>, parts: &[(&str, &str)]) -> Judgement {
    for (name, part) in parts {
        let given = reply.result()?.get(*name);
        let holds = |given: &Value| given.as_str().is_some_and(|given| given.contains(part));
        let is_said = |given: &Value| given.as_array().map_or(holds(given), |texts| texts.iter().any(holds));
        if !given.is_some_and(is_said) {
            return Err(reply
                .finding(
                    format!("`{name}` is not that of the message in the mailbox"),
                    format!("take `{name}` from the message, decoded"),
                )
                .expected(format!("`{part}` in it"))
                .actual(given)
                .at(format!("/result/{name}"))
                .into());
        }
    }
    Ok(())
}

/// Each file is listed with its name and its size in bytes.
pub fn lists_the_files(reply: &Reply<'_>, files: &[AttachedFile]) -> Judgement {
    let items = envelope::items(reply, "attachments")?;
    for AttachedFile { name, size, .. } in files {
        // JSON has one kind of numbers: 2048.0 is the same size.
        let is_it = |item: &Value| {
            item.get("filename").and_then(Value::as_str) == Some(*name)
                && item.get("size").and_then(Value::as_f64) == Some(f64::from(*size))
        };
        if !items.iter().any(is_it) {
            return Err(reply
                .finding(
                    "an attachment of the message is not listed with its name and its size in bytes",
                    "list every attachment, and give the size of the file itself, not that of its encoding",
                )
                .expected(format!("`{name}`, {size} bytes"))
                .actual(reply.body().pointer("/result/attachments"))
                .at("/result/attachments")
                .into());
        }
    }
    Ok(())
}

/// Ids of the messages or replies that an answer lists.
fn ids(reply: &Reply<'_>, list: &str) -> Result<BTreeSet<String>, CheckFailure> {
    let items = envelope::some_items(reply, list, Empty::Surprising)?;
    Ok(items.iter().filter_map(|item| item.get("message_id")?.as_str().map(str::to_owned)).collect())
}

/// So many different messages are listed.
pub fn are_different(reply: &Reply<'_>, list: &str, count: usize) -> Judgement {
    let items = envelope::items(reply, list)?;
    if items.len() == count && (count == 0 || ids(reply, list)?.len() == count) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("`{list}` does not list the {count} that are in the mailbox, each once"),
            "list what the mailbox has for this request, all of it and nothing else",
        )
        .expected(count)
        .actual(reply.body().pointer(&format!("/result/{list}")))
        .at(format!("/result/{list}"))
        .into())
}

/// Two customers see different messages.
pub fn are_of_two_mailboxes(left: &Reply<'_>, right: &Reply<'_>) -> Judgement {
    let (left_ids, right_ids) = (ids(left, MESSAGES)?, ids(right, MESSAGES)?);
    match left_ids.intersection(&right_ids).next() {
        None => Ok(()),
        Some(both) => Err(right
            .finding(
                "two customers see the same message",
                "use the credentials of `customer_id` for every call",
            )
            .actual(Some(&Value::from(both.clone())))
            .at("/result/messages")
            .frame(left.request)
            .into()),
    }
}

/// A message without attachments has an empty list of them.
pub fn has_no_attachments(reply: &Reply<'_>) -> Judgement {
    if envelope::items(reply, "attachments")?.is_empty() {
        return Ok(());
    }
    Err(reply
        .finding("a message without attachments lists some", "give an empty array")
        .expected(Value::Array(Vec::new()))
        .actual(reply.body().pointer("/result/attachments"))
        .at("/result/attachments")
        .into())
}

/// A message with attachments lists them.
pub fn has_attachments(reply: &Reply<'_>) -> Judgement {
    if !envelope::items(reply, "attachments")?.is_empty() {
        return Ok(());
    }
    Err(reply
        .finding("a message with attachments lists none", "list every attachment of the message")
        .expected("one or more")
        .actual(reply.body().pointer("/result/attachments"))
        .at("/result/attachments")
        .into())
}

/// `has_new_replies` is true exactly when there are replies.
pub fn says_whether_there_are(reply: &Reply<'_>) -> Judgement {
    let some = !envelope::items(reply, REPLIES)?.is_empty();
    let said = reply.result()?.get("has_new_replies");
    if said == Some(&Value::Bool(some)) {
        return Ok(());
    }
    Err(reply
        .finding("`has_new_replies` does not say whether `replies` is empty", "derive it from the list")
        .expected(some)
        .actual(said)
        .at("/result/has_new_replies")
        .into())
}

/// The thread has replies.
pub fn finds_replies(reply: &Reply<'_>) -> Judgement {
    envelope::some_items(reply, REPLIES, Empty::Surprising).map(|_| ())
}

/// Every reply is newer than `since`, or as old.
pub fn are_newer(reply: &Reply<'_>) -> Judgement {
    let Some(since) = since(reply) else { return Ok(()) };
    none_is_older(reply, since, envelope::some_items(reply, REPLIES, Empty::Surprising)?)
}

/// Of the replies that the first answer lists, the second lists those that are newer than its `since`, and none that is
/// older. A Hub may take moments in the form alone in which the contract shows one.
pub fn are_those_that_are_newer(all: &Reply<'_>, newer: &Reply<'_>) -> Judgement {
    if newer.request.text("/inputs/since").is_some_and(|since| !since.ends_with('Z')) {
        choice::is_taken(newer, Alternative::RefusesOffset)?;
    }
    let Some(since) = since(newer) else { return Ok(()) };
    let listed = envelope::items(newer, REPLIES)?;
    none_is_older(newer, since, listed)?;
    let is_missing = |own: &&Value| {
        let sent = date(own).filter(|sent| *sent > since);
        sent.is_some() && listed.iter().all(|other| date(other) != sent)
    };
    match envelope::items(all, REPLIES)?.iter().find(is_missing) {
        None => Ok(()),
        Some(missing) => Err(newer
            .finding(
                "a reply is left out that is newer than `since`",
                "list all replies after `since`, and compare moments instead of texts",
            )
            .expected(missing.clone())
            .actual(newer.body().pointer("/result/replies"))
            .at("/result/replies")
            .frame(all.request)
            .into()),
    }
}

/// `since` of the request.
fn since(reply: &Reply<'_>) -> Option<Timestamp> {
    moment(reply.request.text("/inputs/since")?)
}

/// When a reply was sent. That it says so is another rule's business.
fn date(item: &Value) -> Option<Timestamp> {
    moment(item.get("date")?.as_str()?)
}

/// Whether a reply was sent before a moment. The date of a mail has whole seconds, wherever in them it was sent.
fn is_older(sent: Timestamp, since: Timestamp) -> bool {
    if sent.subsec_nanosecond() == 0 { sent.as_second() < since.as_second() } else { sent < since }
}

fn none_is_older(reply: &Reply<'_>, since: Timestamp, replies: &[Value]) -> Judgement {
    let older = replies.iter().position(|item| date(item).is_some_and(|sent| is_older(sent, since)));
    let Some(index) = older else { return Ok(()) };
    Err(reply
        .finding("a reply is listed that is older than `since`", "list only replies after `since`")
        .expected(format!("after {since}"))
        .actual(replies[index].get("date"))
        .at(format!("/result/replies/{index}/date"))
        .into())
}

/// No reply is listed.
pub fn finds_no_replies(reply: &Reply<'_>) -> Judgement {
    if envelope::items(reply, REPLIES)?.is_empty() {
        return Ok(());
    }
    Err(reply
        .finding("replies are listed, and `since` is after the last one", "list only replies after `since`")
        .expected(Value::Array(Vec::new()))
        .actual(reply.body().pointer("/result/replies"))
        .at("/result/replies")
        .into())
}

/// A moment after the last reply that an answer lists.
pub fn after_the_last(reply: &Reply<'_>) -> Option<Timestamp> {
    let items = envelope::items(reply, REPLIES).ok()?;
    let last = items.iter().filter_map(date).max()?;
    last.checked_add(jiff::Span::new().hours(24)).ok()
}

/// A moment between the replies that an answer lists, or after all of them where none are far enough apart: mails come
/// some time after they were sent, and a Hub may go by either. It has whole seconds, and comes soon after a reply, so that
/// most often the two are of one day.
pub fn after_the_earlier(reply: &Reply<'_>) -> Option<Timestamp> {
    let items = envelope::items(reply, REPLIES).ok()?;
    let mut sent: Vec<i64> = items.iter().filter_map(date).map(Timestamp::as_second).collect();
    sent.sort_unstable();
    let mut pauses = sent.windows(2).map(|pair| (pair[0], pair[1] - pair[0]));
    let (before, apart) = match pauses.find(|(_, pause)| *pause >= PAUSE) {
        Some((before, pause)) => (before, (pause / 2).min(HOUR)),
        None => (*sent.last()?, HOUR),
    };
    Timestamp::from_second(before + apart).ok()
}

/// Two threads have no reply in common.
pub fn do_not_mix(left: &Reply<'_>, right: &Reply<'_>) -> Judgement {
    let (left_ids, right_ids) = (ids(left, REPLIES)?, ids(right, REPLIES)?);
    match left_ids.intersection(&right_ids).next() {
        None => Ok(()),
        Some(both) => Err(right
            .finding("one reply is listed for two threads", "list only replies of the `thread_id` asked for")
            .actual(Some(&Value::from(both.clone())))
            .at("/result/replies")
            .frame(left.request)
            .into()),
    }
}

/// An answer to an answer has the thread of the first mail; it is sent where the answer was.
pub fn answers_share_a_thread(replies: &[Reply<'_>]) -> Judgement {
    let [first, .., before, last] = replies else { return Ok(()) };
    if before.is_executed() && !last.is_executed() && last.status() != Some(429) {
        return Err(last
            .finding(
                format!("an answer to an answer is not sent: {}", last.summary()),
                "look up the thread of the message that `reply_to_message_id` names; its id need not be that of its thread",
            )
            .expected("a success, as with an answer to the message that began the thread")
            .actual(Some(last.body()))
            .frame(before.request)
            .into());
    }
    share_a_thread(first, last)
}

/// A reply has the thread of the mail that it answers.
pub fn share_a_thread(first: &Reply<'_>, answer: &Reply<'_>) -> Judgement {
    let thread = |reply: &Reply<'_>| reply.result().map(|result| result.get("thread_id").cloned());
    let (first, second) = (thread(first)?, thread(answer)?);
    if first.is_some() && first == second {
        return Ok(());
    }
    Err(answer
        .finding(
            "a mail that answers another opens a thread of its own",
            "send it in the thread of the message that `reply_to_message_id` names",
        )
        .expected(first.unwrap_or_default())
        .actual(second.as_ref())
        .at("/result/thread_id")
        .into())
}

#[cfg(test)]
mod tests;
