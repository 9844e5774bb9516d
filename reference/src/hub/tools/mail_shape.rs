//! A message as the provider writes it: headers by name, and a tree of parts with the contents in base64url.
//!
//! What the contract wants of it: bare addresses, a decoded subject, a moment, one body, a list of attachments.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::hub::envelope::Refusal;
use crate::hub::mime;
use crate::hub::moment::Moment;
use crate::hub::session::{self, incomplete};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mail {
    pub(super) id: String,
    pub(super) thread_id: String,
    #[serde(default)]
    pub(super) label_ids: Vec<String>,
    #[serde(default)]
    pub(super) snippet: String,
    /// Milliseconds since 1970.
    internal_date: Option<String>,
    #[serde(default)]
    payload: Part,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Part {
    mime_type: String,
    /// Empty for what is not an attachment.
    filename: String,
    headers: Vec<Header>,
    body: Content,
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Content {
    size: u64,
    data: Option<String>,
    /// Where large contents are kept instead.
    attachment_id: Option<String>,
}

/// Where the body of a mail is.
#[derive(Debug, PartialEq)]
pub(super) enum Body {
    Here(String),
    /// It is large, and has to be asked for by this id.
    Elsewhere(String),
}

impl Mail {
    pub(super) fn read(message: Value) -> Result<Self, Refusal> {
        let mail: Self = session::read(message, "id, threadId or payload")?;
        if mail.id.is_empty() || mail.thread_id.is_empty() {
            return Err(incomplete("id"));
        }
        Ok(mail)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let headers = &self.payload.headers;
        headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.as_str())
    }

    /// The sender's bare address, or what stands there if that is none.
    pub(super) fn from(&self) -> String {
        let value = self.header("From").unwrap_or_default();
        mime::addresses(value).into_iter().next().unwrap_or_else(|| value.to_owned())
    }

    pub(super) fn to(&self) -> Vec<String> {
        self.header("To").map(mime::addresses).unwrap_or_default()
    }

    pub(super) fn subject(&self) -> String {
        self.header("Subject").map(mime::subject).unwrap_or_default()
    }

    /// When the provider got it, or else when its sender says that it was written.
    pub(super) fn date(&self) -> Result<Moment, Refusal> {
        let received = self.internal_date.as_deref().and_then(Moment::from_milliseconds);
        received
            .or_else(|| self.header("Date").and_then(Moment::from_mail_date))
            .ok_or_else(|| incomplete("internalDate"))
    }

    /// The plain text, or the HTML where there is none.
    pub(super) fn body(&self) -> Body {
        let found = ["text/plain", "text/html"].into_iter().find_map(|mime| self.payload.find(mime));
        found.unwrap_or_else(|| Body::Here(String::new()))
    }

    pub(super) fn attachments(&self) -> Vec<Value> {
        let mut attachments = Vec::new();
        self.payload.collect_attachments(&mut attachments);
        attachments
    }
}

impl Part {
    /// The first content of this type that is not an attachment.
    fn find(&self, mime_type: &str) -> Option<Body> {
        if self.filename.is_empty() && self.mime_type.eq_ignore_ascii_case(mime_type) {
            let here = self.body.data.as_deref().and_then(mime::decode).filter(|data| !data.is_empty());
            if let Some(data) = here {
                return Some(Body::Here(text(&data)));
            }
            if let Some(id) = &self.body.attachment_id {
                return Some(Body::Elsewhere(id.clone()));
            }
        }
        self.parts.iter().find_map(|part| part.find(mime_type))
    }

    fn collect_attachments(&self, attachments: &mut Vec<Value>) {
        if !self.filename.is_empty() {
            attachments.push(json!({
                "filename": self.filename,
                "size": self.body.size,
                "mime_type": self.mime_type,
            }));
        }
        for part in &self.parts {
            part.collect_attachments(attachments);
        }
    }
}

/// The provider writes texts in UTF-8, whatever the mail was written in.
pub(super) fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Body, Mail};
    use crate::hub::mime::encode;

    fn mail(payload: &Value) -> Mail {
        Mail::read(json!({"id": "m", "threadId": "t", "internalDate": "1930000000000", "payload": payload}))
            .expect("a mail")
    }

    #[test]
    fn the_body_is_the_plain_text_wherever_it_is() {
        fn check(payload: &Value, expect: &Body) {
            assert_eq!(&mail(payload).body(), expect, "{payload}");
        }
        let data = |text: &str| json!({"size": text.len(), "data": encode(text.as_bytes())});
        let here = |text: &str| Body::Here(text.to_owned());
        check(&json!({"mimeType": "text/plain", "body": data("hi")}), &here("hi"));
        check(&json!({"mimeType": "text/html", "body": data("<p>hi")}), &here("<p>hi"));
        let both = json!({"mimeType": "multipart/alternative", "parts": [
            {"mimeType": "text/html", "filename": "", "body": data("<p>hi")},
            {"mimeType": "text/plain", "filename": "", "body": data("hi")},
        ]});
        check(&both, &here("hi"));
        let nested = json!({"mimeType": "multipart/mixed", "body": {"size": 0}, "parts": [
            {"mimeType": "text/plain", "filename": "notes.txt", "body": data("not this")},
            both,
        ]});
        check(&nested, &here("hi"));
        check(
            &json!({"mimeType": "text/plain", "body": {"size": 9, "attachmentId": "a1"}}),
            &Body::Elsewhere("a1".to_owned()),
        );
        check(&json!({"mimeType": "multipart/mixed"}), &here(""));
        check(&json!({}), &here(""));
        assert_eq!(
            mail(&nested).attachments(),
            [json!({"filename": "notes.txt", "size": 8, "mime_type": "text/plain"})]
        );
    }

    #[test]
    fn a_message_without_what_it_needs_is_refused() {
        fn check(message: Value) {
            assert!(Mail::read(message).and_then(|mail| mail.date()).is_err());
        }
        check(json!(null));
        check(json!({"id": "m"}));
        check(json!({"id": "", "threadId": "t", "internalDate": "1"}));
        check(json!({"id": "m", "threadId": "t"}));
        check(json!({"id": "m", "threadId": "t", "internalDate": "soon"}));
        check(json!({"id": "m", "threadId": "t", "internalDate": "1", "payload": 7}));
    }
}
