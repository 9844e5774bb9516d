//! What a Hub sends: the mail in a request, where it goes, and drafts of it.

use serde_json::{Value, json};

use super::context::RequestContext;
use super::enclosed::Enclosed;
use super::mailbox::{Draft, Mail};
use super::mime_message::MimeMessage;
use super::resource::{Format, brief, message};
use super::response::{Done, Handled, ProviderResponse, refuse};

/// Drafts of one account.
const MAX_DRAFTS: usize = 500;

/// `messages.send`.
pub(super) fn send(context: &mut RequestContext<'_>) -> Handled {
    let (enclosed, mime_message) = readable(context)?;
    if !mime_message.has_recipient() {
        return Err(refuse(400, "invalidArgument", "Recipient address required"));
    }
    let seen = mime_message.seen(enclosed.thread_id.as_deref());
    let (reply, made) = post(context, enclosed, mime_message, &["SENT"])?;
    let effect = json!({"effect": "mail", "mail": seen});
    Ok(Done::with(ProviderResponse::ok(reply), vec![effect]).making(made))
}

/// The first request of an upload in two: what is said about the mail.
pub(super) fn begin_upload(context: &mut RequestContext<'_>) -> Handled {
    let about = Value::Object(context.request.object()?);
    let id = context.ids.message_id();
    let begun = context.uploads.begin(&id, about, context.request);
    let location = begun.ok_or_else(|| refuse(429, "rateLimitExceeded", "Too many uploads were begun"))?;
    let reply = ProviderResponse { location: Some(location), ..ProviderResponse::ok(Value::Null) };
    Ok(Done::with(reply, Vec::new()))
}

/// `drafts.create`.
pub(super) fn draft(context: &mut RequestContext<'_>) -> Handled {
    let (enclosed, mime_message) = readable(context)?;
    let id = format!("r{}", context.ids.history());
    let (shown, mut made) = post(context, enclosed, mime_message, &["DRAFT"])?;
    let message_id = shown["id"].as_str().unwrap_or_default().to_owned();
    let drafts = &mut context.account.mailbox.drafts;
    if drafts.len() >= MAX_DRAFTS {
        drafts.remove(0);
    }
    drafts.push(Draft { id: id.clone(), message_id, thread_id: enclosed.thread_id.clone() });
    made.push(id.clone());
    let body = json!({"id": id, "message": shown});
    Ok(Done::read(body).making(made))
}

/// `drafts.update`: another mail in its place.
pub(super) fn change_draft(context: &mut RequestContext<'_>, id: &str) -> Handled {
    let draft = find_draft(context, id)?;
    let (enclosed, mime_message) = readable(context)?;
    context.account.mailbox.remove(&draft.message_id);
    let (shown, made) = post(context, enclosed, mime_message, &["DRAFT"])?;
    let message_id = shown["id"].as_str().unwrap_or_default().to_owned();
    if let Some(own) = context.account.mailbox.drafts.iter_mut().find(|own| own.id == id) {
        *own = Draft { message_id, thread_id: enclosed.thread_id.clone(), ..draft };
    }
    Ok(Done::read(json!({"id": id, "message": shown})).making(made))
}

/// `drafts.delete`.
pub(super) fn delete_draft(context: &mut RequestContext<'_>, id: &str) -> Handled {
    let draft = find_draft(context, id)?;
    context.account.mailbox.drafts.retain(|own| own.id != id);
    context.account.mailbox.remove(&draft.message_id);
    Ok(Done::with(ProviderResponse::empty(), Vec::new()))
}

/// `drafts.send`: a draft that is there, or the mail in the request.
pub(super) fn send_draft(context: &mut RequestContext<'_>) -> Handled {
    let id = context.request.json.as_ref().and_then(|json| json["id"].as_str()).map(str::to_owned);
    let Some(id) = id else { return send(context) };
    let draft = find_draft(context, &id)?;
    context.account.mailbox.drafts.retain(|each| each.id != id);
    if context.enclosed.is_some() {
        context.account.mailbox.remove(&draft.message_id);
        return send(context);
    }
    let history = context.ids.history();
    let mail = context.account.mailbox.find_mut(&draft.message_id)?;
    if !mail.mime_message.has_recipient() {
        return Err(refuse(400, "invalidArgument", "Recipient address required"));
    }
    mail.relabel(&["SENT".to_owned()], &["DRAFT".to_owned()], history);
    mail.at = context.now;
    let effect = json!({"effect": "mail", "mail": mail.mime_message.seen(draft.thread_id.as_deref())});
    Ok(Done::with(ProviderResponse::ok(brief(mail)), vec![effect]))
}

/// `drafts.list`.
pub(super) fn drafts(context: &RequestContext<'_>) -> Done {
    let mailbox = &context.account.mailbox;
    let shown: Vec<Value> = mailbox
        .drafts
        .iter()
        .filter_map(|draft| {
            let mail = mailbox.find(&draft.message_id).ok()?;
            Some(json!({"id": draft.id, "message": {"id": mail.id, "threadId": mail.thread_id}}))
        })
        .collect();
    Done::read(json!({"resultSizeEstimate": shown.len(), "drafts": shown}))
}

/// `drafts.get`.
pub(super) fn one_draft(context: &RequestContext<'_>, id: &str) -> Handled {
    let draft = find_draft(context, id)?;
    let mail = context.account.mailbox.find(&draft.message_id)?;
    Ok(Done::read(json!({"id": draft.id, "message": message(mail, &Format::of(context.request)?)})))
}

fn find_draft(context: &RequestContext<'_>, id: &str) -> Result<Draft, ProviderResponse> {
    let found = context.account.mailbox.drafts.iter().find(|draft| draft.id == id).cloned();
    found.ok_or_else(|| refuse(404, "notFound", "Requested entity was not found."))
}

/// The mail in the request, which must be one.
fn readable<'d>(context: &RequestContext<'d>) -> Result<(&'d Enclosed, &'d MimeMessage), ProviderResponse> {
    let is_upload = context.request.segments.first().is_some_and(|first| first == "upload");
    let Some(enclosed) = context.enclosed else {
        if !is_upload {
            context.request.object()?;
        }
        let message = "'raw' RFC822 payload message string or uploading message via /upload/* URL required";
        return Err(refuse(400, "invalidArgument", message));
    };
    let invalid = || refuse(400, "invalidArgument", "Invalid value at 'message.raw' (TYPE_BYTES)");
    let mime_message = enclosed.mime_message.as_ref().ok_or_else(invalid)?;
    Ok((enclosed, mime_message))
}

/// Puts a mail into the mailbox; how it is shown, and what was made.
fn post(
    context: &mut RequestContext<'_>,
    enclosed: &Enclosed,
    mime_message: &MimeMessage,
    labels: &[&str],
) -> Result<(Value, Vec<String>), ProviderResponse> {
    let mailbox = &mut context.account.mailbox;
    if let Some(thread_id) = &enclosed.thread_id {
        mailbox.thread(thread_id).map_err(|_| refuse(404, "notFound", "Requested entity was not found."))?;
    }
    let id = context.ids.message_id();
    let history = context.ids.history();
    let raw = completed(enclosed, mime_message, &id, &context.account.address, context.now);
    let mut labels = labels.to_vec();
    let owner = &context.account.address;
    if labels == ["SENT"]
        && mime_message.to.iter().chain(&mime_message.cc).any(|to| to.eq_ignore_ascii_case(owner))
    {
        labels.extend(["INBOX", "UNREAD"]);
    }
    let mail: &Mail = mailbox.arrive(id, enclosed.thread_id.clone(), &labels, context.now, raw, history);
    let mut made = vec![mail.id.clone()];
    made.extend(mail.mime_message.message_id.clone());
    Ok((brief(mail), made))
}

/// With the headers that the service adds where they are missing.
fn completed(
    enclosed: &Enclosed,
    mime_message: &MimeMessage,
    id: &str,
    owner: &str,
    now: jiff::Timestamp,
) -> Vec<u8> {
    let message_id = || format!("Message-ID: <CA{id}@mail.gmail.com>\r\n");
    let date = || format!("Date: {}\r\n", now.strftime("%a, %d %b %Y %H:%M:%S +0000"));
    let from = || format!("From: {owner}\r\n");
    let missing = [
        mime_message.message_id.is_none().then(message_id),
        mime_message.date.is_none().then(date),
        mime_message.from.is_empty().then(from),
    ];
    let head: String = missing.into_iter().flatten().collect();
    let mut raw = head.into_bytes();
    raw.extend_from_slice(&enclosed.raw);
    raw
}
