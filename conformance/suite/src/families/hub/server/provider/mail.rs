//! The mailbox below `/gmail/v1`: which path does what.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::mailbox::{Mail, OWN_LABEL, SYSTEM_LABELS};
use super::outgoing;
use super::reply::{Answer, Done, Reply, failure, refuse};
use super::resource::{Format, attachment, brief, message, snippet};
use super::search::{Query, reaches_hidden};
use super::state::Desk;

/// Mails in one answer, at most and unless something else is said.
const MAX_PAGE: usize = 500;
const PAGE: usize = 100;
/// Mails that one request changes.
const MAX_BATCH: usize = 1_000;

/// Answers a request.
pub(super) fn answer(desk: &mut Desk<'_>) -> Answer {
    let ask = desk.ask;
    let path = ask.path();
    if path[0] == "upload" {
        return match (ask.method.as_str(), &path[5..]) {
            ("POST", ["messages", "send"]) => outgoing::send(desk),
            ("POST", ["drafts"]) => outgoing::draft(desk),
            ("POST", ["drafts", "send"]) => outgoing::send_draft(desk),
            _ => Err(failure(404)),
        };
    }
    match (ask.method.as_str(), &path[4..]) {
        ("GET", ["profile"]) => {
            let (messages, threads) = desk.account.mailbox.counts();
            Ok(Done::read(json!({
                "emailAddress": desk.account.address, "messagesTotal": messages, "threadsTotal": threads,
                "historyId": desk.mint.history().to_string(),
            })))
        }
        ("GET", ["messages"]) => messages(desk),
        ("POST", ["messages", "send"]) => outgoing::send(desk),
        ("POST", ["messages", "batchModify"]) => {
            let ids: Vec<String> = strings(&ask.object()?, "ids")?;
            if ids.len() > MAX_BATCH {
                return Err(refuse(400, "invalidArgument", "Too many ids"));
            }
            relabel(desk, &ids, None).map(|done| Done { reply: Reply::empty(), ..done })
        }
        ("GET", ["messages", id]) => {
            Ok(Done::read(message(desk.account.mailbox.find(id)?, &Format::of(ask)?)))
        }
        ("POST", ["messages", id, verb @ ("modify" | "trash" | "untrash")]) => {
            let done = relabel(desk, &[(*id).to_owned()], Some(verb))?;
            Ok(Done { reply: Reply::ok(brief(desk.account.mailbox.find(id)?)), ..done })
        }
        ("GET", ["messages", id, "attachments", attached]) => {
            let found = attachment(desk.account.mailbox.find(id)?, attached);
            found.map(Done::read).ok_or_else(|| refuse(400, "invalidArgument", "Invalid attachment token"))
        }
        ("GET", ["threads"]) => threads(desk),
        ("GET", ["threads", id]) => {
            let format = Format::of(ask)?;
            let mails = desk.account.mailbox.thread(id)?;
            let history = mails.iter().map(|mail| mail.history).max().unwrap_or_default();
            let shown: Vec<Value> = mails.into_iter().map(|mail| message(mail, &format)).collect();
            Ok(Done::read(json!({"id": id, "historyId": history.to_string(), "messages": shown})))
        }
        ("POST", ["threads", id, verb @ ("modify" | "trash" | "untrash")]) => {
            let ids: Vec<String> =
                desk.account.mailbox.thread(id)?.into_iter().map(|mail| mail.id.clone()).collect();
            let done = relabel(desk, &ids, Some(verb))?;
            let shown: Vec<Value> = desk.account.mailbox.thread(id)?.into_iter().map(brief).collect();
            Ok(Done { reply: Reply::ok(json!({"id": id, "messages": shown})), ..done })
        }
        ("GET", ["labels"]) => Ok(Done::read(json!({"labels": labels()}))),
        ("GET", ["labels", id]) => {
            let found = labels().into_iter().find(|label| label["id"] == **id);
            found.map(Done::read).ok_or_else(|| refuse(404, "notFound", "Requested entity was not found."))
        }
        ("GET", ["settings", "sendAs"]) => Ok(Done::read(json!({"sendAs": [send_as(desk)]}))),
        ("GET", ["settings", "sendAs", _]) => Ok(Done::read(send_as(desk))),
        ("POST", ["drafts"]) => outgoing::draft(desk),
        ("POST", ["drafts", "send"]) => outgoing::send_draft(desk),
        ("GET", ["drafts"]) => Ok(outgoing::drafts(desk)),
        ("GET", ["drafts", id]) => outgoing::one_draft(desk, id),
        _ => Err(failure(404)),
    }
}

/// The mails that a request asks for, the newest first.
fn found<'d>(desk: &'d Desk<'_>) -> Vec<&'d Mail> {
    let ask = desk.ask;
    let text = ask.parameter("q").unwrap_or_default();
    let query = Query::parse(text, desk.now);
    let labels = ask.parameters("labelIds");
    let is_hidden = |label: &str| matches!(label, "SPAM" | "TRASH");
    let shows_hidden = ask.parameter("includeSpamTrash") == Some("true")
        || labels.iter().any(|label| is_hidden(label))
        || reaches_hidden(text);
    let mut mails = desk.account.mailbox.newest_first();
    mails.retain(|mail| {
        (shows_hidden || !mail.labels.iter().any(|label| is_hidden(label)))
            && labels.iter().all(|label| mail.has(label))
            && query.fits(mail)
    });
    mails
}

fn messages(desk: &Desk<'_>) -> Answer {
    let found = found(desk);
    let shown = |mail: &&Mail| json!({"id": mail.id, "threadId": mail.thread_id});
    page(desk, "messages", found.iter().map(shown).collect())
}

fn threads(desk: &Desk<'_>) -> Answer {
    let mut order: Vec<&str> = Vec::new();
    let mut newest: BTreeMap<&str, &Mail> = BTreeMap::new();
    for mail in found(desk) {
        newest.entry(&mail.thread_id).or_insert_with(|| {
            order.push(&mail.thread_id);
            mail
        });
    }
    let shown = |id: &&str| {
        let mail = newest.get(id)?;
        Some(json!({"id": id, "snippet": snippet(mail), "historyId": mail.history.to_string()}))
    };
    page(desk, "threads", order.iter().filter_map(shown).collect())
}

/// One page; where nothing is found, the list is left out.
fn page(desk: &Desk<'_>, name: &str, all: Vec<Value>) -> Answer {
    let size = desk.ask.number("maxResults")?.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let skip = desk.ask.number("pageToken")?.unwrap_or_default();
    let total = all.len();
    let shown: Vec<Value> = all.into_iter().skip(skip).take(size).collect();
    let mut body = json!({"resultSizeEstimate": total});
    if !shown.is_empty() {
        body[name] = Value::Array(shown);
    }
    let next = skip.saturating_add(size);
    if next < total {
        body["nextPageToken"] = json!(next.to_string());
    }
    Ok(Done::read(body))
}

/// Changes labels as a verb or the body says.
fn relabel(desk: &mut Desk<'_>, ids: &[String], verb: Option<&str>) -> Answer {
    let object = desk.ask.object()?;
    let (added, removed) = match verb {
        Some("trash") => (vec!["TRASH".to_owned()], vec!["INBOX".to_owned()]),
        Some("untrash") => (Vec::new(), vec!["TRASH".to_owned()]),
        _ => (strings(&object, "addLabelIds")?, strings(&object, "removeLabelIds")?),
    };
    let known = |label: &String| SYSTEM_LABELS.contains(&label.as_str()) || label == OWN_LABEL.0;
    if let Some(unknown) = added.iter().chain(&removed).find(|label| !known(label)) {
        return Err(refuse(400, "invalidArgument", &format!("Invalid label: {unknown}")));
    }
    if verb.is_some_and(|verb| verb == "modify") && added.is_empty() && removed.is_empty() {
        return Err(refuse(400, "invalidArgument", "No label add or removes specified"));
    }
    for id in ids {
        desk.account.mailbox.find(id)?;
    }
    let history = desk.mint.history();
    let mut effects = Vec::new();
    for id in ids {
        desk.account.mailbox.find_mut(id)?.relabel(&added, &removed, history);
        effects.push(json!({"effect": "labels", "message_id": id, "added": added, "removed": removed}));
    }
    Ok(Done::with(Reply::empty(), effects))
}

fn strings(object: &serde_json::Map<String, Value>, name: &str) -> Result<Vec<String>, Reply> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Some(_) => Err(refuse(400, "invalidArgument", &format!("Invalid value for {name}"))),
    }
}

fn labels() -> Vec<Value> {
    let system = SYSTEM_LABELS.iter().map(|id| json!({"id": id, "name": id, "type": "system"}));
    system.chain([json!({"id": OWN_LABEL.0, "name": OWN_LABEL.1, "type": "user"})]).collect()
}

fn send_as(desk: &Desk<'_>) -> Value {
    json!({
        "sendAsEmail": desk.account.address, "displayName": "", "replyToAddress": "", "signature": "",
        "isPrimary": true, "isDefault": true, "verificationStatus": "accepted",
    })
}
