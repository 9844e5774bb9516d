//! A mail as Gmail shows it: the parsed tree of its parts, made once, when the mail arrives.

use std::borrow::Cow;

use mail_parser::{Message as Parsed, MessageParser, MessagePart, MimeHeaders as _, PartType};
use serde_json::{Value, json};

use crate::hub::mime;

/// How much of a text the snippet shows, in characters.
const SNIPPET: usize = 100;
/// Parts within parts beyond this are left out.
const DEPTH: usize = 16;

/// A message in a mailbox.
#[derive(Debug, Clone)]
pub(super) struct StoredMessage {
    pub(super) id: String,
    pub(super) thread_id: String,
    pub(super) labels: Vec<String>,
    /// Milliseconds since 1970.
    pub(super) date: i64,
    pub(super) size: usize,
    snippet: String,
    payload: Value,
    /// By their ids, in base64url.
    attachments: Vec<(String, Value)>,
    /// For searches: sender, recipients, subject, text, in lower case.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) text: String,
}

/// How much of a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format<'a> {
    Full,
    /// The head alone; of its headers these, or all if there are none.
    Metadata(&'a [String]),
    Minimal,
}

impl StoredMessage {
    /// Reads a mail as it was sent; nothing if it is not one.
    pub(super) fn from_raw(
        id: &str,
        thread_id: &str,
        labels: &[&str],
        date: i64,
        raw: &[u8],
    ) -> Option<Self> {
        let parsed = MessageParser::default().parse(raw)?;
        let text = parsed.body_text(0).unwrap_or(Cow::Borrowed(""));
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut attachments = Vec::new();
        let mut payload = shown(&parsed, parsed.root_part(), &mut attachments, DEPTH);
        payload["headers"] = parsed
            .headers_raw()
            .map(|(name, value)| json!({"name": name, "value": unfolded(value)}))
            .collect();
        let addresses = |header: Option<&mail_parser::Address<'_>>| {
            let each = header.into_iter().flat_map(mail_parser::Address::iter);
            each.flat_map(|address| [address.name(), address.address()])
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
                .to_lowercase()
        };
        Some(Self {
            id: id.to_owned(),
            thread_id: thread_id.to_owned(),
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            date,
            size: raw.len(),
            snippet: words.join(" ").chars().take(SNIPPET).collect(),
            payload,
            attachments,
            from: addresses(parsed.from()),
            to: [addresses(parsed.to()), addresses(parsed.cc())].join(" "),
            subject: parsed.subject().unwrap_or_default().to_lowercase(),
            text: text.to_lowercase(),
        })
    }

    pub(super) fn has_attachments(&self) -> bool {
        !self.attachments.is_empty()
    }

    pub(super) fn attachment(&self, id: &str) -> Option<&Value> {
        self.attachments.iter().find(|(known, _content)| known == id).map(|(_id, content)| content)
    }

    pub(super) fn show(&self, format: Format<'_>) -> Value {
        let mut shown = json!({
            "id": self.id,
            "threadId": self.thread_id,
            "labelIds": self.labels,
            "snippet": self.snippet,
            "internalDate": self.date.to_string(),
            "sizeEstimate": self.size,
        });
        match format {
            Format::Minimal => {}
            Format::Full => shown["payload"] = self.payload.clone(),
            Format::Metadata(wanted) => {
                let named = |header: &&Value| {
                    let name = header["name"].as_str().unwrap_or_default();
                    wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
                };
                let headers = self.payload["headers"].as_array().into_iter().flatten();
                let headers: Vec<&Value> = headers.filter(named).collect();
                shown["payload"] = json!({"mimeType": self.payload["mimeType"], "headers": headers});
            }
        }
        shown
    }
}

fn shown(
    message: &Parsed<'_>,
    node: &MessagePart<'_>,
    attachments: &mut Vec<(String, Value)>,
    depth: usize,
) -> Value {
    let mime_type = node.content_type().map_or_else(
        || "text/plain".to_owned(),
        |kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("plain")).to_lowercase(),
    );
    let filename = node.attachment_name().unwrap_or_default();
    let mut tree = json!({"mimeType": mime_type, "filename": filename, "headers": []});
    if let PartType::Multipart(ids) = &node.body {
        let parts = ids.iter().filter_map(|&id| message.part(id)).filter(|_| depth > 0);
        let parts: Vec<Value> =
            parts.map(|inner| shown(message, inner, attachments, depth.saturating_sub(1))).collect();
        tree["body"] = json!({"size": 0});
        tree["parts"] = parts.into();
        return tree;
    }
    let contents = node.contents();
    let content = json!({"size": contents.len(), "data": mime::encode(contents)});
    if filename.is_empty() {
        tree["body"] = content;
    } else {
        let id = format!("att-{}", attachments.len() + 1);
        tree["body"] = json!({"size": contents.len(), "attachmentId": id});
        attachments.push((id, content));
    }
    tree
}

fn unfolded(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}
