//! Mails as Gmail shows them: the tree of parts, headers, snippets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use mail_parser::parsers::MessageStream;
use mail_parser::{HeaderValue, Message, MessageParser, MimeHeaders as _, PartType};
use serde_json::{Value, json};

use super::mailbox::Mail;
use super::request::ProviderRequest;
use super::response::{ProviderResponse, refuse};

/// How deep parts are shown within parts.
const MAX_DEPTH: usize = 20;
/// Characters of a snippet.
const SNIPPET: usize = 200;
/// What ids of attachments begin with.
const ATTACHMENT: &str = "ANGjdJ";

/// How much of a mail is shown.
pub(super) enum Format {
    Full,
    /// Only these headers, or all.
    Metadata(Vec<String>),
    Minimal,
    Raw,
}

impl Format {
    /// What a request asks for.
    pub(super) fn of(request: &ProviderRequest<'_>) -> Result<Self, ProviderResponse> {
        match request.parameter("format").map(str::to_lowercase).as_deref() {
            None | Some("full") => Ok(Self::Full),
            Some("metadata") => {
                let named = request.parameters("metadataHeaders");
                Ok(Self::Metadata(
                    named.into_iter().flat_map(|each| each.split(',')).map(str::to_owned).collect(),
                ))
            }
            Some("minimal") => Ok(Self::Minimal),
            Some("raw") => Ok(Self::Raw),
            Some(_) => Err(refuse(400, "invalidArgument", "Invalid value for format")),
        }
    }
}

/// A mail.
pub(super) fn message(mail: &Mail, format: &Format) -> Value {
    let mut shown = json!({
        "id": mail.id, "threadId": mail.thread_id, "labelIds": mail.labels, "snippet": snippet(mail),
        "sizeEstimate": mail.raw.len(), "historyId": mail.history.to_string(),
        "internalDate": mail.at.as_millisecond().to_string(),
    });
    match format {
        Format::Minimal => {}
        Format::Raw => shown["raw"] = json!(URL_SAFE.encode(&mail.raw)),
        Format::Full => shown["payload"] = payload(mail).unwrap_or_default(),
        Format::Metadata(names) => {
            let mut payload = payload(mail).unwrap_or_default();
            if let Some(headers) = payload["headers"].as_array_mut().filter(|_| !names.is_empty()) {
                let is_asked = |name: &str| names.iter().any(|asked| asked.trim().eq_ignore_ascii_case(name));
                headers.retain(|header| header["name"].as_str().is_some_and(is_asked));
            }
            shown["payload"] = json!({"mimeType": payload["mimeType"], "headers": payload["headers"]});
        }
    }
    shown
}

/// What was sent, changed or thrown away.
pub(super) fn brief(mail: &Mail) -> Value {
    json!({"id": mail.id, "threadId": mail.thread_id, "labelIds": mail.labels})
}

/// The beginning of the text, with the entities that Gmail puts there.
pub(super) fn snippet(mail: &Mail) -> String {
    let html = || mail.mime_message.html.as_deref().map(without_tags);
    let text = mail.mime_message.text.clone().or_else(html).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(SNIPPET).collect();
    let short: String = words.join(" ").chars().take(SNIPPET).collect();
    let escaped = short.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;").trim_end().to_owned()
}

/// The content of an attachment.
pub(super) fn attachment(mail: &Mail, id: &str) -> Option<Value> {
    let index = id.strip_prefix(ATTACHMENT)?.strip_suffix(&mail.id)?.trim_end_matches('-').parse().ok()?;
    let message = MessageParser::default().parse(&mail.raw)?;
    let content = message.part(index)?.contents();
    Some(json!({"size": content.len(), "data": URL_SAFE.encode(content)}))
}

fn payload(mail: &Mail) -> Option<Value> {
    let message = MessageParser::default().parse(&mail.raw)?;
    part(&message, 0, "", &mail.id)
}

/// A part with its parts; `place` is its number as Gmail writes it, such as `0.1`.
fn part(message: &Message<'_>, index: u32, place: &str, mail_id: &str) -> Option<Value> {
    let part = message.part(index)?;
    let kind = part.content_type().map_or_else(
        || "text/plain".to_owned(),
        |kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("plain")).to_lowercase(),
    );
    let name = part.attachment_name().unwrap_or_default();
    let headers: Vec<Value> = part
        .headers
        .iter()
        .filter_map(|header| {
            let from = usize::try_from(header.offset_start).ok()?;
            let to = usize::try_from(header.offset_end).ok()?;
            let value = match MessageStream::new(message.raw_message.get(from..to)?).parse_unstructured() {
                HeaderValue::Text(text) => text.trim().to_owned(),
                _ => String::new(),
            };
            Some(json!({"name": header.name.as_str(), "value": value}))
        })
        .collect();
    let mut shown = json!({"partId": place, "mimeType": kind, "filename": name, "headers": headers});
    let content = part.contents();
    match &part.body {
        PartType::Multipart(children) => {
            shown["body"] = json!({"size": 0});
            let depth = place.split('.').count();
            let parts: Vec<Value> = children
                .iter()
                .filter(|_| depth < MAX_DEPTH)
                .enumerate()
                .filter_map(|(number, child)| {
                    let dot = if place.is_empty() { "" } else { "." };
                    self::part(message, *child, &format!("{place}{dot}{number}"), mail_id)
                })
                .collect();
            shown["parts"] = Value::Array(parts);
        }
        PartType::Text(_) | PartType::Html(_) if name.is_empty() => {
            shown["body"] = json!({"size": content.len(), "data": URL_SAFE.encode(content)});
        }
        _ => {
            let id = format!("{ATTACHMENT}{index}-{mail_id}");
            shown["body"] = json!({"attachmentId": id, "size": content.len()});
        }
    }
    Some(shown)
}

fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut is_tag = false;
    for character in html.chars() {
        match character {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                text.push(' ');
            }
            _ if !is_tag => text.push(character),
            _ => {}
        }
    }
    text.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
