//! `email_read`: one message, which stays unread unless it is to be marked.

use serde_json::{Value, json};

use super::mail_shape::{Body, Mail, text};
use crate::hub::envelope::Refusal;
use crate::hub::inputs::{self, Inputs};
use crate::hub::mime;
use crate::hub::session::{ProviderSession, incomplete};

pub(in crate::hub) struct MailReading {
    message_id: String,
    mark_as_read: bool,
}

impl MailReading {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            message_id: inputs.required("message_id", inputs::id)?,
            mark_as_read: inputs.optional("mark_as_read", inputs::flag)?.unwrap_or(false),
        })
    }

    /// Whether the message is changed.
    pub(super) fn marks(&self) -> bool {
        self.mark_as_read
    }

    pub(super) async fn run(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let mail = fetch(session, &self.message_id).await?;
        let body = body(session, &mail).await?;
        let result = json!({
            "message_id": mail.id,
            "thread_id": mail.thread_id,
            "from": mail.from(),
            "to": mail.to(),
            "subject": mail.subject(),
            "body": body,
            "date": mail.date()?.to_string(),
            "attachments": mail.attachments(),
        });
        // Last, so that only what was read is marked.
        if self.mark_as_read {
            let path = ["users", "me", "messages", &mail.id, "modify"];
            session.post(&path, &[], &json!({"removeLabelIds": ["UNREAD"]})).await?;
        }
        Ok(result)
    }
}

/// The whole message.
pub(super) async fn fetch(session: &ProviderSession, id: &str) -> Result<Mail, Refusal> {
    Mail::read(session.get(&["users", "me", "messages", id], &[("format", "full")]).await?)
}

/// Its body, from wherever the provider keeps it.
pub(super) async fn body(session: &ProviderSession, mail: &Mail) -> Result<String, Refusal> {
    match mail.body() {
        Body::Here(text) => Ok(text),
        Body::Elsewhere(id) => {
            let path = ["users", "me", "messages", &mail.id, "attachments", &id];
            let content = session.get(&path, &[]).await?;
            let data = content.get("data").and_then(Value::as_str).and_then(mime::decode);
            data.map(|data| text(&data)).ok_or_else(|| incomplete("data"))
        }
    }
}
