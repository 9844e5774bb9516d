//! What a Hub sends: the mail in a request, where it goes, and drafts of it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use super::ask::Ask;
use super::letter::Letter;
use super::mailbox::{Draft, Mail};
use super::reply::{Answer, Done, Reply, refuse};
use super::resource::{Format, brief, message};
use super::state::Desk;

/// Drafts of one account.
const MAX_DRAFTS: usize = 500;
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A mail in a request.
pub(super) struct Enclosed {
    raw: Vec<u8>,
    thread_id: Option<String>,
    /// Nothing where it cannot be read.
    pub(super) letter: Option<Letter>,
}

/// The mail in a request: `raw` in JSON, else the body or a part of it in an upload.
pub(super) fn enclosed(ask: &Ask<'_>) -> Option<Enclosed> {
    let (raw, about) = if ask.segments.first().is_some_and(|first| first == "upload") {
        let (raw, about) = uploaded(ask)?;
        (Some(raw), about)
    } else {
        let object = ask.json.as_ref()?;
        let about = if object["message"].is_object() { &object["message"] } else { object };
        (decoded(about["raw"].as_str()?), about.clone())
    };
    let about = if about["message"].is_object() { &about["message"] } else { &about };
    let thread_id = about["threadId"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    let raw = raw.unwrap_or_default();
    let letter = Letter::read(&raw);
    Some(Enclosed { raw, thread_id, letter })
}

/// `messages.send`.
pub(super) fn send(desk: &mut Desk<'_>) -> Answer {
    let (enclosed, letter) = readable(desk)?;
    if !letter.has_recipient() {
        return Err(refuse(400, "invalidArgument", "Recipient address required"));
    }
    let seen = letter.seen(enclosed.thread_id.as_deref());
    let (reply, made) = post(desk, enclosed, letter, &["SENT"])?;
    let effect = json!({"effect": "mail", "mail": seen});
    Ok(Done::with(Reply::ok(reply), vec![effect]).making(made))
}

/// `drafts.create`.
pub(super) fn draft(desk: &mut Desk<'_>) -> Answer {
    let (enclosed, letter) = readable(desk)?;
    let id = format!("r{}", desk.mint.history());
    let (shown, mut made) = post(desk, enclosed, letter, &["DRAFT"])?;
    let message_id = shown["id"].as_str().unwrap_or_default().to_owned();
    let drafts = &mut desk.account.mailbox.drafts;
    if drafts.len() >= MAX_DRAFTS {
        drafts.remove(0);
    }
    drafts.push(Draft { id: id.clone(), message_id, thread_id: enclosed.thread_id.clone() });
    made.push(id.clone());
    let body = json!({"id": id, "message": shown});
    Ok(Done::read(body).making(made))
}

/// `drafts.send`: a draft that is there, or the mail in the request.
pub(super) fn send_draft(desk: &mut Desk<'_>) -> Answer {
    let asked = desk.ask.json.as_ref().and_then(|json| json["id"].as_str()).map(str::to_owned);
    let Some(id) = asked else { return send(desk) };
    let draft = find_draft(desk, &id)?;
    desk.account.mailbox.drafts.retain(|each| each.id != id);
    if desk.enclosed.is_some() {
        desk.account.mailbox.remove(&draft.message_id);
        return send(desk);
    }
    let history = desk.mint.history();
    let mail = desk.account.mailbox.find_mut(&draft.message_id)?;
    if !mail.letter.has_recipient() {
        return Err(refuse(400, "invalidArgument", "Recipient address required"));
    }
    mail.relabel(&["SENT".to_owned()], &["DRAFT".to_owned()], history);
    mail.at = desk.now;
    let effect = json!({"effect": "mail", "mail": mail.letter.seen(draft.thread_id.as_deref())});
    Ok(Done::with(Reply::ok(brief(mail)), vec![effect]))
}

/// `drafts.list`.
pub(super) fn drafts(desk: &Desk<'_>) -> Done {
    let mailbox = &desk.account.mailbox;
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
pub(super) fn one_draft(desk: &Desk<'_>, id: &str) -> Answer {
    let draft = find_draft(desk, id)?;
    let mail = desk.account.mailbox.find(&draft.message_id)?;
    Ok(Done::read(json!({"id": draft.id, "message": message(mail, &Format::of(desk.ask)?)})))
}

fn find_draft(desk: &Desk<'_>, id: &str) -> Result<Draft, Reply> {
    let found = desk.account.mailbox.drafts.iter().find(|draft| draft.id == id).cloned();
    found.ok_or_else(|| refuse(404, "notFound", "Requested entity was not found."))
}

/// The mail in the request, which must be one.
fn readable<'d>(desk: &Desk<'d>) -> Result<(&'d Enclosed, &'d Letter), Reply> {
    let is_upload = desk.ask.segments.first().is_some_and(|first| first == "upload");
    if is_upload && desk.ask.parameter("uploadType") == Some("resumable") {
        return Err(refuse(400, "badRequest", "Resumable uploads are not supported"));
    }
    let Some(enclosed) = desk.enclosed else {
        if !is_upload {
            desk.ask.object()?;
        }
        let message = "'raw' RFC822 payload message string or uploading message via /upload/* URL required";
        return Err(refuse(400, "invalidArgument", message));
    };
    let invalid = || refuse(400, "invalidArgument", "Invalid value at 'message.raw' (TYPE_BYTES)");
    let letter = enclosed.letter.as_ref().ok_or_else(invalid)?;
    Ok((enclosed, letter))
}

/// Puts a mail into the mailbox; how it is shown, and what was made.
fn post(
    desk: &mut Desk<'_>,
    enclosed: &Enclosed,
    letter: &Letter,
    labels: &[&str],
) -> Result<(Value, Vec<String>), Reply> {
    let mailbox = &mut desk.account.mailbox;
    if let Some(thread_id) = &enclosed.thread_id {
        mailbox.thread(thread_id).map_err(|_| refuse(404, "notFound", "Requested entity was not found."))?;
    }
    let id = desk.mint.message_id();
    let history = desk.mint.history();
    let raw = completed(enclosed, letter, &id, &desk.account.address, desk.now);
    let mut labels = labels.to_vec();
    let owner = &desk.account.address;
    if labels == ["SENT"] && letter.to.iter().chain(&letter.cc).any(|to| to.eq_ignore_ascii_case(owner)) {
        labels.extend(["INBOX", "UNREAD"]);
    }
    let mail: &Mail = mailbox.arrive(id, enclosed.thread_id.clone(), &labels, desk.now, raw, history);
    let mut made = vec![mail.id.clone()];
    made.extend(mail.letter.message_id.clone());
    Ok((brief(mail), made))
}

/// With the headers that the service adds where they are missing.
fn completed(enclosed: &Enclosed, letter: &Letter, id: &str, owner: &str, now: jiff::Timestamp) -> Vec<u8> {
    let message_id = || format!("Message-ID: <CA{id}@mail.gmail.com>\r\n");
    let date = || format!("Date: {}\r\n", now.strftime("%a, %d %b %Y %H:%M:%S +0000"));
    let from = || format!("From: {owner}\r\n");
    let missing = [
        letter.message_id.is_none().then(message_id),
        letter.date.is_none().then(date),
        letter.from.is_empty().then(from),
    ];
    let head: String = missing.into_iter().flatten().collect();
    let mut raw = head.into_bytes();
    raw.extend_from_slice(&enclosed.raw);
    raw
}

/// The mail of an upload, and what is said about it.
fn uploaded(ask: &Ask<'_>) -> Option<(Vec<u8>, Value)> {
    if !ask.content_type.to_ascii_lowercase().starts_with("multipart/") {
        return (!ask.body.is_empty()).then(|| (ask.body.to_vec(), Value::Null));
    }
    let boundary = ask.content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches(['"', '\'']))
    })?;
    let mut about = Value::Null;
    let mut raw = None;
    for part in parts(ask.body, boundary) {
        let (head, content) = split_head(part);
        let head = String::from_utf8_lossy(head).to_lowercase();
        if head.contains("application/json") {
            about = serde_json::from_slice(content).unwrap_or_default();
        } else if head.contains("content-transfer-encoding: base64") {
            raw = decoded(&String::from_utf8_lossy(content));
        } else {
            raw = Some(content.to_vec());
        }
    }
    Some((raw?, about))
}

/// What stands between the delimiters of a multipart body (RFC 2046 §5.1.1).
fn parts<'b>(body: &'b [u8], boundary: &str) -> Vec<&'b [u8]> {
    let delimiter = format!("--{boundary}");
    let mut starts = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii_end();
        if trimmed.strip_prefix(delimiter.as_bytes()).is_some_and(|rest| rest.is_empty() || rest == b"--") {
            starts.push((at, at + line.len()));
        }
        at += line.len();
    }
    starts
        .windows(2)
        .map(|pair| {
            let part = &body[pair[0].1..pair[1].0];
            let part = part.strip_suffix(b"\n").unwrap_or(part);
            part.strip_suffix(b"\r").unwrap_or(part)
        })
        .collect()
}

/// Headers and content of a part.
fn split_head(part: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in part.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() {
            return (&part[..at], &part[at + line.len()..]);
        }
        at += line.len();
    }
    (part, &[])
}

/// Base64 in either alphabet, with or without padding, in one line or more.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let unified: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'+' => b'-',
            b'/' => b'_',
            other => other,
        })
        .collect();
    TOLERANT.decode(unified).ok().filter(|decoded| !decoded.is_empty())
}
