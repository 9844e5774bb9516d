//! `email_send`: one mail, new or in reply to another.
//!
//! A reply goes into the thread of the mail it answers, under the subject that was asked for.

use serde_json::{Value, json};

use super::mail_shape::Mail;
use crate::hub::envelope::{Code, Refusal};
use crate::hub::inputs::{self, Inputs, Reading};
use crate::hub::mime::{self, MimeMessage};
use crate::hub::session::{ProviderSession, incomplete};

/// So many mails are referred to: the first and the last of a long thread are what mail programs need.
const REFERENCES: usize = 50;

pub(in crate::hub) struct Draft {
    message: MimeMessage,
    reply_to: Option<String>,
}

impl Draft {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        let to = inputs.required("to", inputs::addresses)?;
        if to.is_empty() {
            return Err(inputs.refuse("to", "must name somebody"));
        }
        let message = MimeMessage {
            from: String::new(),
            to,
            cc: inputs.optional("cc", inputs::addresses)?.unwrap_or_default(),
            bcc: inputs.optional("bcc", inputs::addresses)?.unwrap_or_default(),
            subject: inputs.required("subject", inputs::line)?,
            body: inputs.required("body", inputs::text)?,
            is_html: inputs.optional("body_type", is_html)?.unwrap_or(false),
            references: Vec::new(),
        };
        Ok(Self { message, reply_to: inputs.optional("reply_to_message_id", inputs::id)? })
    }

    pub(super) fn is_reply(&self) -> bool {
        self.reply_to.is_some()
    }

    pub(super) async fn send(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let mut message = self.message.clone();
        message.from = session.email();
        let mut body = json!({});
        if let Some(id) = &self.reply_to {
            let original = original(session, id).await?;
            message.references = references(&original);
            body["threadId"] = original.thread_id.into();
        }
        let written =
            message.write().ok_or_else(|| Refusal::new(Code::Internal, "the mail could not be written"))?;
        body["raw"] = mime::encode(&written).into();
        let sent = session.post(&["users", "me", "messages", "send"], &[], &body).await?;
        let text = |name: &str| {
            let text = sent.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or_else(|| incomplete(name))
        };
        Ok(json!({"message_id": text("id")?, "thread_id": text("threadId")?, "status": "sent"}))
    }
}

async fn original(session: &ProviderSession, id: &str) -> Result<Mail, Refusal> {
    let query =
        [("format", "metadata"), ("metadataHeaders", "Message-ID"), ("metadataHeaders", "References")];
    Mail::read(session.get(&["users", "me", "messages", id], &query).await?)
}

/// RFC 5322 §3.6.4: those of the original, then the original itself.
fn references(original: &Mail) -> Vec<String> {
    let Some(id) = original.header("Message-ID").map(mime::message_ids).and_then(|mut ids| ids.pop()) else {
        return Vec::new();
    };
    let mut references = original.header("References").map(mime::message_ids).unwrap_or_default();
    references.push(id);
    if references.len() > REFERENCES {
        references.drain(1..=references.len() - REFERENCES);
    }
    references
}

fn is_html(value: &Value) -> Reading<bool> {
    match value.as_str() {
        Some("text") => Ok(false),
        Some("html") => Ok(true),
        _ => Err("must be `text` or `html`"),
    }
}
