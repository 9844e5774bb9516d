//! `email_check_replies`: what others wrote in a thread after a moment.
//!
//! The first message of a thread is no reply, nor is what the customer wrote, nor a draft.
//! A message of that very moment has been seen. Without a moment all replies are new.

use serde::Deserialize;
use serde_json::{Value, json};

use super::mail_shape::Mail;
use crate::hub::envelope::Refusal;
use crate::hub::inputs::{self, Inputs};
use crate::hub::moment::Moment;
use crate::hub::session::{ProviderSession, read};

pub(in crate::hub) struct Check {
    thread_id: String,
    since: Option<Moment>,
}

#[derive(Deserialize)]
struct Thread {
    messages: Vec<Value>,
}

impl Check {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            thread_id: inputs.required("thread_id", inputs::id)?,
            since: inputs.optional("since", inputs::moment)?,
        })
    }

    pub(super) async fn run(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let query = [("format", "metadata"), ("metadataHeaders", "From"), ("metadataHeaders", "Date")];
        let thread = session.get(&["users", "me", "threads", &self.thread_id], &query).await?;
        let thread: Thread = read(thread, "messages")?;
        let mut mails = Vec::with_capacity(thread.messages.len());
        for message in thread.messages {
            let mail = Mail::read(message)?;
            mails.push((mail.date()?, mail));
        }
        mails.sort_by_key(|(date, _mail)| date.timestamp);
        let own = session.email();
        let replies: Vec<Value> = mails
            .iter()
            .skip(1)
            .filter(|(date, mail)| self.is_new(*date) && is_reply(mail, &own))
            .map(|(date, mail)| {
                json!({
                    "message_id": mail.id,
                    "from": mail.from(),
                    "snippet": mail.snippet,
                    "date": date.to_string(),
                })
            })
            .collect();
        Ok(json!({"has_new_replies": !replies.is_empty(), "replies": replies}))
    }

    fn is_new(&self, date: Moment) -> bool {
        self.since.is_none_or(|since| date.timestamp > since.timestamp)
    }
}

fn is_reply(mail: &Mail, own: &str) -> bool {
    let labelled = mail.label_ids.iter().any(|label| matches!(label.as_str(), "SENT" | "DRAFT"));
    !labelled && !mail.from().eq_ignore_ascii_case(own)
}
