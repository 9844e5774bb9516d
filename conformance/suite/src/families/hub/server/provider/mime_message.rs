//! A mail as a person reads it: who, to whom, about what, and its texts.

use std::collections::VecDeque;

use jiff::Timestamp;
use mail_parser::{HeaderName, HeaderValue, Message, MessageParser, MimeHeaders as _, PartType};
use serde_json::{Value, json};

/// A mail that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct MimeMessage {
    /// Bare addresses, as in all lists here.
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
    pub(super) cc: Vec<String>,
    pub(super) bcc: Vec<String>,
    /// Decoded.
    pub(super) subject: String,
    /// Without angle brackets, as in all ids here.
    pub(super) message_id: Option<String>,
    pub(super) in_reply_to: Option<String>,
    references: Vec<String>,
    pub(super) date: Option<Timestamp>,
    /// The plain text, lines ended by `\n`, without the last line break.
    pub(super) text: Option<String>,
    /// The same in HTML.
    pub(super) html: Option<String>,
    /// Names of the people behind the addresses, by header.
    pub(super) names: [String; 2],
    /// Names of the files that are attached.
    pub(super) files: Vec<String>,
}

impl MimeMessage {
    /// Reads a mail; nothing where it has no headers.
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        let message = MessageParser::default().parse(raw)?;
        let (from, sender) = people(&message, &HeaderName::From);
        let (to, recipient) = people(&message, &HeaderName::To);
        Some(Self {
            from,
            to,
            cc: people(&message, &HeaderName::Cc).0,
            bcc: people(&message, &HeaderName::Bcc).0,
            subject: message.subject().unwrap_or_default().trim().to_owned(),
            message_id: message.message_id().map(str::to_owned),
            in_reply_to: ids(message.in_reply_to()).pop_front(),
            references: ids(message.references()).into(),
            date: message.date().and_then(|date| Timestamp::from_second(date.to_timestamp()).ok()),
            text: body(&message, false),
            html: body(&message, true),
            names: [sender, recipient],
            files: message
                .attachments()
                .map(|part| part.attachment_name().unwrap_or_default().to_owned())
                .collect(),
        })
    }

    /// Whether it is addressed to anybody.
    pub(super) fn has_recipient(&self) -> bool {
        [&self.to, &self.cc, &self.bcc].into_iter().any(|people| !people.is_empty())
    }

    /// Ids of the mails that it answers, the nearest first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = &str> {
        self.in_reply_to.iter().chain(self.references.iter().rev()).map(String::as_str)
    }

    /// All that can be read in it.
    pub(super) fn everything(&self) -> String {
        let texts = [Some(&self.subject), self.text.as_ref(), self.html.as_ref()];
        let people = [&self.from, &self.to, &self.cc, &self.bcc, &self.files];
        let mut all: Vec<&str> = texts.into_iter().flatten().map(String::as_str).collect();
        all.extend(people.into_iter().flatten().map(String::as_str));
        all.extend(self.names.iter().map(String::as_str));
        all.join("\n")
    }

    /// What a judgement needs to know of it.
    pub(super) fn seen(&self, thread_id: Option<&str>) -> Value {
        let (body, body_type) = match (&self.text, &self.html) {
            (Some(text), Some(_)) => (text.as_str(), "both"),
            (None, Some(html)) => (html.as_str(), "html"),
            (text, None) => (text.as_deref().unwrap_or_default(), "text"),
        };
        let mut seen = json!({
            "to": self.to, "cc": self.cc, "bcc": self.bcc, "subject": self.subject,
            "body": body, "body_type": body_type,
            "thread_id": thread_id, "in_reply_to": self.in_reply_to,
        });
        if body_type == "both" {
            seen["body_html"] = json!(self.html);
        }
        seen
    }
}

/// The first part of the mail itself that is plain text, or HTML.
fn body(message: &Message<'_>, html: bool) -> Option<String> {
    let listed = if html { &message.html_body } else { &message.text_body };
    let text = listed.iter().find_map(|id| match (&message.part(*id)?.body, html) {
        (PartType::Html(text), true) | (PartType::Text(text), false) => Some(text),
        _ => None,
    })?;
    Some(text.replace("\r\n", "\n").trim_end_matches('\n').to_owned())
}

/// Bare addresses of a header that may come more than once, and the names beside them.
fn people(message: &Message<'_>, name: &HeaderName<'static>) -> (Vec<String>, String) {
    let mut addresses = Vec::new();
    let mut names = Vec::new();
    for address in message.header_values(name.clone()).filter_map(HeaderValue::as_address) {
        for person in address.iter() {
            names.extend(person.name().map(str::to_owned));
            addresses.extend(person.address().map(|address| address.trim().to_owned()));
        }
    }
    addresses.retain(|address| !address.is_empty());
    (addresses, names.join(" "))
}

fn ids(header: &HeaderValue<'_>) -> VecDeque<String> {
    match header {
        HeaderValue::Text(id) => VecDeque::from([id.to_string()]),
        HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
        _ => VecDeque::new(),
    }
}
