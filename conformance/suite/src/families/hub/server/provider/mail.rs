//! The mailbox below `/gmail/v1`: which path does what.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::context::RequestContext;
use super::mailbox::{Mail, OWN_LABEL, SYSTEM_LABELS};
use super::outgoing;
use super::resource::{Format, attachment, brief, message, snippet};
use super::response::{Done, Handled, ProviderResponse, refuse, unplayed};
use super::search::{Query, reaches_hidden};

/// Mails in one answer, at most and unless something else is said.
const MAX_PAGE: usize = 500;
const PAGE: usize = 100;
/// Mails that one request changes.
const MAX_BATCH: usize = 1_000;

/// Answers a request.
pub(super) fn answer(context: &mut RequestContext<'_>) -> Handled {
    let request = context.request;
    let path = request.path();
    if path[0] == "upload" && request.method == "POST" && request.begins_upload() {
        return outgoing::begin_upload(context);
    }
    if path[0] == "upload" {
        return match (request.method.as_str(), &path[5..]) {
            ("POST", ["messages", "send"]) => outgoing::send(context),
            ("POST", ["drafts"]) => outgoing::draft(context),
            ("POST", ["drafts", "send"]) => outgoing::send_draft(context),
            _ => Err(unplayed()),
        };
    }
    match (request.method.as_str(), &path[4..]) {
        ("GET", ["profile"]) => {
            let (messages, threads) = context.account.mailbox.counts();
            Ok(Done::read(json!({
                "emailAddress": context.account.address, "messagesTotal": messages, "threadsTotal": threads,
                "historyId": context.ids.history().to_string(),
            })))
        }
        ("GET", ["messages"]) => messages(context),
        ("POST", ["messages", "send"]) => outgoing::send(context),
        ("POST", ["messages", "batchModify"]) => {
            let ids: Vec<String> = strings(&request.object()?, "ids")?;
            if ids.len() > MAX_BATCH {
                return Err(refuse(400, "invalidArgument", "Too many ids"));
            }
            relabel(context, &ids, None).map(|done| Done { reply: ProviderResponse::empty(), ..done })
        }
        ("GET", ["messages", id]) => {
            Ok(Done::read(message(context.account.mailbox.find(id)?, &Format::of(request)?)))
        }
        ("POST", ["messages", id, verb @ ("modify" | "trash" | "untrash")]) => {
            let done = relabel(context, &[(*id).to_owned()], Some(verb))?;
            Ok(Done { reply: ProviderResponse::ok(brief(context.account.mailbox.find(id)?)), ..done })
        }
        ("GET", ["messages", id, "attachments", attached]) => {
            let found = attachment(context.account.mailbox.find(id)?, attached);
            found.map(Done::read).ok_or_else(|| refuse(400, "invalidArgument", "Invalid attachment token"))
        }
        ("GET", ["threads"]) => threads(context),
        ("GET", ["threads", id]) => {
            let format = Format::of(request)?;
            let mails = context.account.mailbox.thread(id)?;
            let history = mails.iter().map(|mail| mail.history).max().unwrap_or_default();
            let shown: Vec<Value> = mails.into_iter().map(|mail| message(mail, &format)).collect();
            Ok(Done::read(json!({"id": id, "historyId": history.to_string(), "messages": shown})))
        }
        ("POST", ["threads", id, verb @ ("modify" | "trash" | "untrash")]) => {
            let ids: Vec<String> =
                context.account.mailbox.thread(id)?.into_iter().map(|mail| mail.id.clone()).collect();
            let done = relabel(context, &ids, Some(verb))?;
            let shown: Vec<Value> = context.account.mailbox.thread(id)?.into_iter().map(brief).collect();
            Ok(Done { reply: ProviderResponse::ok(json!({"id": id, "messages": shown})), ..done })
        }
        ("GET", ["labels"]) => Ok(Done::read(json!({"labels": labels()}))),
        // Whatever it is called, it has the id of the one that there is.
        ("POST", ["labels"]) => {
            let name = request.object()?.get("name").cloned().unwrap_or_default();
            let label = json!({"id": OWN_LABEL.0, "name": name, "type": "user"});
            Ok(Done::with(ProviderResponse::ok(label), Vec::new()))
        }
        ("GET", ["labels", id]) => {
            let found = labels().into_iter().find(|label| label["id"] == **id);
            found.map(Done::read).ok_or_else(|| refuse(404, "notFound", "Requested entity was not found."))
        }
        ("GET", ["settings", "sendAs"]) => Ok(Done::read(json!({"sendAs": [send_as(context)]}))),
        ("GET", ["settings", "sendAs", _]) => Ok(Done::read(send_as(context))),
        ("POST", ["drafts"]) => outgoing::draft(context),
        ("POST", ["drafts", "send"]) => outgoing::send_draft(context),
        ("GET", ["drafts"]) => Ok(outgoing::drafts(context)),
        ("GET", ["drafts", id]) => outgoing::one_draft(context, id),
        ("PUT", ["drafts", id]) => outgoing::change_draft(context, id),
        ("DELETE", ["drafts", id]) => outgoing::delete_draft(context, id),
        _ => Err(unplayed()),
    }
}

/// The mails that a request asks for, the newest first.
fn found<'d>(context: &'d RequestContext<'_>) -> Vec<&'d Mail> {
    let request = context.request;
    let text = request.parameter("q").unwrap_or_default();
    let query = Query::parse(text, context.now);
    let labels = request.parameters("labelIds");
    let is_hidden = |label: &str| matches!(label, "SPAM" | "TRASH");
    let shows_hidden = request.parameter("includeSpamTrash") == Some("true")
        || labels.iter().any(|label| is_hidden(label))
        || reaches_hidden(text);
    let mut mails = context.account.mailbox.newest_first();
    mails.retain(|mail| {
        (shows_hidden || !mail.labels.iter().any(|label| is_hidden(label)))
            && labels.iter().all(|label| mail.has(label))
            && query.fits(mail)
    });
    mails
}

fn messages(context: &RequestContext<'_>) -> Handled {
    let found = found(context);
    let shown = |mail: &&Mail| json!({"id": mail.id, "threadId": mail.thread_id});
    page(context, "messages", found.iter().map(shown).collect())
}

fn threads(context: &RequestContext<'_>) -> Handled {
    let mut order: Vec<&str> = Vec::new();
    let mut newest: BTreeMap<&str, &Mail> = BTreeMap::new();
    for mail in found(context) {
        newest.entry(&mail.thread_id).or_insert_with(|| {
            order.push(&mail.thread_id);
            mail
        });
    }
    let shown = |id: &&str| {
        let mail = newest.get(id)?;
        Some(json!({"id": id, "snippet": snippet(mail), "historyId": mail.history.to_string()}))
    };
    page(context, "threads", order.iter().filter_map(shown).collect())
}

/// One page; where nothing is found, the list is left out.
fn page(context: &RequestContext<'_>, name: &str, all: Vec<Value>) -> Handled {
    let size = context.request.number("maxResults")?.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let skip = context.request.number("pageToken")?.unwrap_or_default();
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
fn relabel(context: &mut RequestContext<'_>, ids: &[String], verb: Option<&str>) -> Handled {
    let object = context.request.object()?;
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
        context.account.mailbox.find(id)?;
    }
    let history = context.ids.history();
    let mut effects = Vec::new();
    for id in ids {
        context.account.mailbox.find_mut(id)?.relabel(&added, &removed, history);
        effects.push(json!({"effect": "labels", "message_id": id, "added": added, "removed": removed}));
    }
    Ok(Done::with(ProviderResponse::empty(), effects))
}

fn strings(object: &serde_json::Map<String, Value>, name: &str) -> Result<Vec<String>, ProviderResponse> {
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

fn send_as(context: &RequestContext<'_>) -> Value {
    json!({
        "sendAsEmail": context.account.address, "displayName": "", "replyToAddress": "", "signature": "",
        "isPrimary": true, "isDefault": true, "verificationStatus": "accepted",
    })
}
