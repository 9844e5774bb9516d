//! `email_search`: the ids that match, then each of the messages.
//!
//! Messages are asked for in full even when no body is wanted: what the provider gives in short does not say
//! whether there are attachments.

use futures::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};

use super::mail_read;
use super::mail_shape::Mail;
use crate::hub::envelope::{Code, Refusal};
use crate::hub::inputs::{self, Inputs};
use crate::hub::session::{ProviderSession, read};

/// Who asks for more gets so many; `total_results` says that there are others.
const MOST: u32 = 100;
/// Without a wish.
const USUAL: u32 = 10;
/// How many messages are asked for at once.
const AT_ONCE: usize = 8;

pub(in crate::hub) struct Search {
    query: String,
    max_results: u32,
    include_body: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    /// Absent when nothing matches.
    #[serde(default)]
    messages: Vec<Found>,
    #[serde(default)]
    result_size_estimate: u64,
}

#[derive(Deserialize)]
struct Found {
    id: String,
}

impl Search {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            query: inputs.required("query", inputs::text)?,
            max_results: inputs.optional("max_results", inputs::count)?.unwrap_or(USUAL).min(MOST),
            include_body: inputs.optional("include_body", inputs::flag)?.unwrap_or(false),
        })
    }

    pub(super) async fn run(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let max_results = self.max_results.to_string();
        let query = [("q", self.query.as_str()), ("maxResults", &max_results)];
        let page = session.get(&["users", "me", "messages"], &query).await?;
        let page: Page = read(page, "messages")?;
        let wanted = page.messages.into_iter().take(usize::try_from(self.max_results).unwrap_or(usize::MAX));
        let messages: Vec<Option<Value>> = futures::stream::iter(wanted)
            .map(|found| async move { self.message(session, &found.id).await })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let messages: Vec<Value> = messages.into_iter().flatten().collect();
        let returned = u64::try_from(messages.len()).unwrap_or(u64::MAX);
        // The provider only estimates, and sometimes below what it has just listed.
        let total = page.result_size_estimate.max(returned);
        Ok(json!({"messages": messages, "total_results": total}))
    }

    /// One of them; nothing, if it was deleted in the meantime.
    async fn message(&self, session: &ProviderSession, id: &str) -> Result<Option<Value>, Refusal> {
        let mail = match mail_read::fetch(session, id).await {
            Err(refusal) if refusal.code == Code::NotFound => return Ok(None),
            mail => mail?,
        };
        let mut message = summary(&mail)?;
        if self.include_body {
            message["body"] = mail_read::body(session, &mail).await?.into();
        }
        Ok(Some(message))
    }
}

fn summary(mail: &Mail) -> Result<Value, Refusal> {
    Ok(json!({
        "message_id": mail.id,
        "thread_id": mail.thread_id,
        "from": mail.from(),
        "to": mail.to(),
        "subject": mail.subject(),
        "snippet": mail.snippet,
        "date": mail.date()?.to_string(),
        "has_attachments": !mail.attachments().is_empty(),
    }))
}
