//! What L0 does, whichever binding asks: cards, tools, reports (UTP §4.2, Guide §2).
//!
//! The bindings only decode, call one of these, and encode.

use std::fmt;
use std::sync::Arc;

use async_nats::Client;
use serde_json::{Value, json};

use super::store::{Insertion, PENDING, Store};
use super::{report, upload};
use crate::utp::error::{Cause, ReferenceError};
use crate::utp::ident::{new_id, timestamp};
use crate::utp::message::{CardBatch, InboxRecord, ReportReceipt, ToolRow, text_member};
use crate::utp::subject::{ChannelId, ProjectId, WorkerTarget, wakeup};
use crate::utp::trace::TraceHeaders;
use crate::utp::{Log, Projects};

/// The most cards that one request may ask for.
const MAX_CARDS: usize = 1000;

/// What L0 answers when it does not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    /// An HTTP status; also the number in the NATS error header.
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Denial {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self { status: 400, code: "bad_request", message: message.into() }
    }

    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self { status: 404, code: "not_found", message: format!("no {what} `{id}`") }
    }
}

/// The state that both bindings share.
pub(crate) struct Operations {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) client: Client,
    pub(crate) version: String,
    pub(crate) projects: Projects,
    pub(crate) log: Log,
}

impl fmt::Debug for Operations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Operations").field("projects", &self.projects).finish_non_exhaustive()
    }
}

impl Operations {
    /// Checks that a project is one that is served here.
    pub(crate) fn project(&self, project_id: &str) -> Result<ProjectId, Denial> {
        let project_id =
            ProjectId::new(project_id).map_err(|error| Denial::bad_request(error.to_string()))?;
        if self.projects.contains(&project_id) {
            Ok(project_id)
        } else {
            Err(Denial::not_found("project", project_id.as_str()))
        }
    }

    /// Reads cards; the body is `{"card_ids": […]}`.
    pub(crate) async fn cards(&self, project: &ProjectId, body: &[u8]) -> Result<CardBatch, Denial> {
        let body = json_body(body)?;
        let ids: Option<Vec<String>> = body["card_ids"]
            .as_array()
            .and_then(|ids| ids.iter().map(|id| id.as_str().map(str::to_owned)).collect());
        let ids = ids.ok_or_else(|| Denial::bad_request("no list `card_ids` of texts"))?;
        if ids.len() > MAX_CARDS {
            return Err(Denial::bad_request(format!("more than {MAX_CARDS} `card_ids`")));
        }
        let project = project.to_string();
        self.stored(move |store| {
            let mut batch = CardBatch::default();
            for id in ids {
                match store.card(&project, &id)? {
                    Some(card) => batch.cards.push(card),
                    None => batch.missing_card_ids.push(id),
                }
            }
            Ok(batch)
        })
        .await
    }

    /// Reads one card.
    pub(crate) async fn card(&self, project: &ProjectId, card_id: &str) -> Result<Value, Denial> {
        let (project, wanted) = (project.to_string(), card_id.to_owned());
        let card = self.stored(move |store| store.card(&project, &wanted)).await?;
        card.ok_or_else(|| Denial::not_found("card", card_id))
    }

    /// Writes a card; the body is `{"card": {…}}` or the card itself. Returns its id.
    pub(crate) async fn save_card(&self, project: &ProjectId, body: &[u8]) -> Result<String, Denial> {
        let mut body = json_body(body)?;
        let card = match body.get_mut("card") {
            Some(card) if card.is_object() => card.take(),
            _ => body,
        };
        let card_id = text_member(&card, "card_id")
            .ok_or_else(|| Denial::bad_request("the card has no `card_id`"))?
            .to_owned();
        if card.get("project_id").is_some_and(|id| id != project.as_str()) {
            return Err(Denial::bad_request("the card's `project_id` is another project"));
        }
        let (project, id) = (project.to_string(), card_id.clone());
        self.stored(move |store| store.put_card(&project, &id, &card)).await?;
        Ok(card_id)
    }

    /// Reads a `resource.tools` row.
    pub(crate) async fn tool(&self, project: &ProjectId, name: &str) -> Result<ToolRow, Denial> {
        let (project, wanted) = (project.to_string(), name.to_owned());
        let row = self.stored(move |store| store.tool(&project, &wanted)).await?;
        row.ok_or_else(|| Denial::not_found("tool", name))
    }

    /// Registers an uploaded tool definition.
    pub(crate) async fn upload(&self, project: &ProjectId, yaml: &[u8]) -> Result<ToolRow, Denial> {
        let row = upload::read(project, yaml).map_err(Denial::bad_request)?;
        let stored = row.clone();
        self.stored(move |store| store.put_tool(&stored)).await?;
        Ok(row)
    }

    /// Takes a report into the Inbox of the agent that it names, then wakes that agent's worker.
    pub(crate) async fn report(
        &self,
        project: &ProjectId,
        channel: &ChannelId,
        reported: TraceReport,
        body: &[u8],
    ) -> Result<ReportReceipt, Denial> {
        let report = report::read(body).map_err(Denial::bad_request)?;
        let agent_id = text_member(&report.payload, "agent_id").unwrap_or_default().to_owned();
        let record = InboxRecord {
            inbox_id: new_id("inbox"),
            project_id: project.to_string(),
            channel_id: channel.to_string(),
            agent_id: agent_id.clone(),
            message_type: report.message_type,
            correlation_id: report.correlation_id,
            source_agent_id: report.source_agent_id,
            traceparent: reported.traceparent,
            tracestate: reported.next.tracestate.clone(),
            payload: report.payload,
            status: PENDING.to_owned(),
            created_at: timestamp(),
        };
        let inbox_id = record.inbox_id.clone();
        let wanted = project.to_string();
        // The roster is read after the record is written: what it says then is where the wakeup goes (Guide §2).
        let (insertion, row) = self
            .stored({
                let agent_id = agent_id.clone();
                move |store| Ok((store.insert(&record)?, store.roster(&wanted, &agent_id)?))
            })
            .await?;
        if let Insertion::Duplicate(inbox_id) = insertion {
            return Ok(ReportReceipt { inbox_id, duplicate: true });
        }
        match row.map(|row| WorkerTarget::new(row.worker_target)) {
            Some(Ok(target)) => {
                let subject = wakeup(&self.version, project, channel, &target);
                self.wake(subject, &agent_id, &reported.next).await;
            }
            Some(Err(error)) => (self.log)(&format!("agent `{agent_id}` not woken: {error}")),
            None => (self.log)(&format!("agent `{agent_id}` not woken: not in the roster")),
        }
        Ok(ReportReceipt { inbox_id, duplicate: false })
    }

    /// Wakes a worker; the record is written, so a wakeup that is lost costs time and no data.
    async fn wake(&self, subject: String, agent_id: &str, headers: &TraceHeaders) {
        let payload = json!({"agent_id": agent_id}).to_string();
        let published = self.client.publish_with_headers(subject, headers.to_nats(), payload.into()).await;
        if let Err(error) = published {
            (self.log)(&format!("agent `{agent_id}` not woken: {error}"));
        }
    }

    /// Runs an operation on the store where it does not hold up an async thread.
    pub(crate) async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, ReferenceError> {
        let outcome = if self.store.waits_for_disk() {
            let store = Arc::clone(&self.store);
            tokio::task::spawn_blocking(move || work(store.as_ref()))
                .await
                .unwrap_or_else(|error| Err(error.into()))
        } else {
            work(self.store.as_ref())
        };
        outcome.map_err(|source| ReferenceError::store("l0", source))
    }

    async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, Denial> {
        self.with_store(work).await.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            (self.log)(&format!("{error}: {}", cause.unwrap_or_default()));
            Denial { status: 503, code: "store_unavailable", message: error.to_string() }
        })
    }
}

/// The trace of a report: the reported span for the record, and a child of it for the wakeup.
pub(crate) struct TraceReport {
    pub(crate) traceparent: String,
    pub(crate) next: TraceHeaders,
}

impl TraceReport {
    /// Reads the headers of a report; without a usable `traceparent` the record begins a trace.
    pub(crate) fn new<'a>(lookup: impl Fn(&str) -> Option<&'a str>) -> Self {
        let (reported, next) = TraceHeaders::continued(lookup);
        Self { traceparent: reported.to_string(), next }
    }
}

/// Reads a JSON body.
pub(crate) fn json_body(body: &[u8]) -> Result<Value, Denial> {
    serde_json::from_slice(body)
        .map_err(|error| Denial::bad_request(format!("the body is not JSON: {error}")))
}
