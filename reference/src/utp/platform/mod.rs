//! How a component reaches the parties that the protocol names without a wire form: card store, `resource.tools`,
//! roster, report, and the service that runs turns.
//!
//! [`Platform`] has the operations; [`nats`] and [`http`] are the two bindings that carry them (`docs/bindings.md`).
//! A binding makes one attempt, with a deadline and a size cap; whether to try again is the caller's business,
//! and `patience` helps with it.
//! There is deliberately no operation that writes state: a tool has no way to (Guide §1).
//! A Tool Service uses four of the operations; roster and turns are for the PMO and the runtime.

pub(crate) mod error;
pub mod http;
pub mod nats;
mod patience;
mod request;

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::message::{
    CardBatch, InboxRecord, Report, ReportReceipt, RosterRow, ToolRow, TurnReceipt, TurnRequest,
};
use super::revision::Headers;
use super::subject::{ChannelId, ProjectId};

pub use error::PlatformError;
pub use http::HttpPlatform;
pub use nats::NatsPlatform;
pub(crate) use patience::attempt;
pub use request::PlatformRequest;

/// No answer of the platform may be longer.
pub const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// How long one attempt may take unless configured otherwise.
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(5);

/// Which binding a component speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlatformConfig {
    /// Request and reply on the broker that also carries the commands.
    Nats,
    /// HTTP below a base URL.
    Http {
        /// Without a trailing slash.
        base_url: String,
    },
}

/// Card store, tool rows, roster, report and turns. A binding carries requests; the operations are the same over both.
pub trait Platform: Send + Sync {
    /// Makes one attempt; returns the body of a successful answer.
    fn request<'a>(
        &'a self,
        project_id: &'a ProjectId,
        request: PlatformRequest<'a>,
    ) -> BoxFuture<'a, Result<Bytes, PlatformError>>;

    /// Whether a row is a member of its answer, as in `{"tool": {…}}`, and not the answer itself.
    fn nests_rows(&self) -> bool;

    /// Reads cards of a project.
    fn cards<'a>(
        &'a self,
        project_id: &'a ProjectId,
        card_ids: &'a [String],
    ) -> BoxFuture<'a, Result<CardBatch, PlatformError>> {
        let request = PlatformRequest::CardsGet { card_ids };
        async move { decode(request, &self.request(project_id, request).await?) }.boxed()
    }

    /// Writes a card of a project; writing the same card again changes nothing.
    fn save_card<'a>(
        &'a self,
        project_id: &'a ProjectId,
        card: &'a Value,
    ) -> BoxFuture<'a, Result<(), PlatformError>> {
        async move { self.request(project_id, PlatformRequest::CardsSave { card }).await.map(drop) }.boxed()
    }

    /// Reads a `resource.tools` row.
    fn tool<'a>(
        &'a self,
        project_id: &'a ProjectId,
        tool_name: &'a str,
    ) -> BoxFuture<'a, Result<ToolRow, PlatformError>> {
        let request = PlatformRequest::ToolsGet { tool_name };
        async move {
            let answer = self.request(project_id, request).await?;
            if self.nests_rows() {
                return decode::<ToolRowResponse>(request, &answer).map(|answer| answer.tool);
            }
            decode(request, &answer)
        }
        .boxed()
    }

    /// Reads all `resource.tools` rows of a project.
    fn tools_list<'a>(
        &'a self,
        project_id: &'a ProjectId,
    ) -> BoxFuture<'a, Result<Vec<ToolRow>, PlatformError>> {
        let request = PlatformRequest::ToolsList;
        async move {
            decode::<ToolList>(request, &self.request(project_id, request).await?).map(ToolList::rows)
        }
        .boxed()
    }

    /// Hands a callback to the Inbox of the agent that it names.
    fn report<'a>(
        &'a self,
        project_id: &'a ProjectId,
        channel: &'a ChannelId,
        report: &'a Report,
        headers: &'a Headers,
    ) -> BoxFuture<'a, Result<ReportReceipt, PlatformError>> {
        let request = PlatformRequest::Report { channel, report, headers };
        async move {
            let answer = self.request(project_id, request).await?;
            // Where a stream keeps reports, the broker may answer before whoever takes them from there.
            if let Ok(kept) = serde_json::from_slice::<StreamReceipt>(&answer) {
                return Ok(ReportReceipt { inbox_id: kept.to_string(), duplicate: kept.duplicate });
            }
            decode(request, &answer)
        }
        .boxed()
    }

    /// Reads a roster row.
    fn agent<'a>(
        &'a self,
        project_id: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<RosterRow, PlatformError>> {
        let request = PlatformRequest::RosterGet { agent_id };
        async move {
            let answer = self.request(project_id, request).await?;
            if self.nests_rows() {
                return decode::<AgentRowResponse>(request, &answer).map(|answer| answer.agent);
            }
            decode(request, &answer)
        }
        .boxed()
    }

    /// Writes a roster row.
    fn save_agent<'a>(
        &'a self,
        project_id: &'a ProjectId,
        row: &'a RosterRow,
    ) -> BoxFuture<'a, Result<(), PlatformError>> {
        async move { self.request(project_id, PlatformRequest::RosterSave { row }).await.map(drop) }.boxed()
    }

    /// Starts a turn of an agent, unless its `agent_turn_id`, or its `correlation_id` in `v1r4`, is known already.
    fn start_turn<'a>(
        &'a self,
        project_id: &'a ProjectId,
        channel: &'a ChannelId,
        turn: &'a TurnRequest,
        headers: &'a Headers,
    ) -> BoxFuture<'a, Result<TurnReceipt, PlatformError>> {
        let request = PlatformRequest::TurnsStart { channel, turn, headers };
        async move { decode(request, &self.request(project_id, request).await?) }.boxed()
    }

    /// Reads an agent's Inbox, oldest first.
    fn inbox<'a>(
        &'a self,
        project_id: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<InboxRecord>, PlatformError>> {
        let request = PlatformRequest::InboxList { agent_id };
        async move {
            decode::<Records>(request, &self.request(project_id, request).await?).map(|answer| answer.records)
        }
        .boxed()
    }
}

/// The answer to `tools.list`; a row that cannot be read is left out, since others can.
#[derive(Deserialize)]
struct ToolList {
    #[serde(default)]
    tools: Vec<Value>,
}

impl ToolList {
    fn rows(self) -> Vec<ToolRow> {
        self.tools.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect()
    }
}

/// A row as a member of its answer.
#[derive(Deserialize)]
struct ToolRowResponse {
    tool: ToolRow,
}

/// A row as a member of its answer.
#[derive(Deserialize)]
struct AgentRowResponse {
    agent: RosterRow,
}

/// The broker's receipt for a message that a stream keeps.
#[derive(Deserialize)]
struct StreamReceipt {
    stream: String,
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

impl std::fmt::Display for StreamReceipt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.stream, self.seq)
    }
}

/// The answer to `inbox.list`.
#[derive(Deserialize)]
struct Records {
    records: Vec<InboxRecord>,
}

/// Reads an answer of the form that the binding gives it.
fn decode<T: DeserializeOwned>(request: PlatformRequest<'_>, body: &[u8]) -> Result<T, PlatformError> {
    serde_json::from_slice(body)
        .map_err(|error| PlatformError::Malformed { operation: request.name(), reason: error.to_string() })
}
