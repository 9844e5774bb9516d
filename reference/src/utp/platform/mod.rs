//! How a component reaches the parties that the protocol names without a wire form: card store, `resource.tools`,
//! roster, report, and whoever runs turns.
//!
//! [`Platform`] is the seam; [`nats`] and [`http`] are its two bindings (`docs/bindings.md`).
//! A binding makes one attempt, with a deadline and a size cap; whether to try again is the caller's business,
//! and `patience` helps with it.
//! There is deliberately no operation that writes state: a tool has no way to (Guide §1).
//! A Tool Service uses four of the operations; roster and turns are for the PMO and the runtime.

pub(crate) mod error;
pub mod http;
pub mod nats;
mod patience;

use std::time::Duration;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::message::{
    CardBatch, InboxRecord, Report, ReportReceipt, RosterRow, ToolRow, TurnReceipt, TurnRequest,
};
use super::subject::{ChannelId, ProjectId};
use super::trace::TraceHeaders;

pub use error::PlatformError;
pub use http::HttpPlatform;
pub use nats::NatsPlatform;
pub(crate) use patience::attempt;

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

/// Card store, tool rows, roster, report and turns.
pub trait Platform: Send + Sync {
    /// Reads cards of a project.
    fn cards<'a>(
        &'a self,
        project_id: &'a ProjectId,
        card_ids: &'a [String],
    ) -> BoxFuture<'a, Result<CardBatch, PlatformError>>;

    /// Writes a card of a project; writing the same card again changes nothing.
    fn save_card<'a>(
        &'a self,
        project_id: &'a ProjectId,
        card: &'a Value,
    ) -> BoxFuture<'a, Result<(), PlatformError>>;

    /// Reads a `resource.tools` row.
    fn tool<'a>(
        &'a self,
        project_id: &'a ProjectId,
        tool_name: &'a str,
    ) -> BoxFuture<'a, Result<ToolRow, PlatformError>>;

    /// Hands a callback to the Inbox of the agent that it names.
    fn report<'a>(
        &'a self,
        project_id: &'a ProjectId,
        channel_id: &'a ChannelId,
        report: &'a Report,
        headers: &'a TraceHeaders,
    ) -> BoxFuture<'a, Result<ReportReceipt, PlatformError>>;

    /// Reads all `resource.tools` rows of a project.
    fn tools_list<'a>(
        &'a self,
        project_id: &'a ProjectId,
    ) -> BoxFuture<'a, Result<Vec<ToolRow>, PlatformError>>;

    /// Reads a roster row.
    fn agent<'a>(
        &'a self,
        project_id: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<RosterRow, PlatformError>>;

    /// Writes a roster row.
    fn save_agent<'a>(
        &'a self,
        project_id: &'a ProjectId,
        row: &'a RosterRow,
    ) -> BoxFuture<'a, Result<(), PlatformError>>;

    /// Gives an agent something to do; with an `agent_turn_id` that is known it starts nothing.
    fn start_turn<'a>(
        &'a self,
        project_id: &'a ProjectId,
        channel_id: &'a ChannelId,
        request: &'a TurnRequest,
        headers: &'a TraceHeaders,
    ) -> BoxFuture<'a, Result<TurnReceipt, PlatformError>>;

    /// Reads an agent's Inbox, oldest first.
    fn inbox<'a>(
        &'a self,
        project_id: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<InboxRecord>, PlatformError>>;
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

/// The answer to `roster.get`.
#[derive(Deserialize)]
struct AgentReply {
    agent: RosterRow,
}

/// The answer to `inbox.list`.
#[derive(Deserialize)]
struct Records {
    records: Vec<InboxRecord>,
}

/// Reads an answer of the form that the binding gives it.
fn decode<T: DeserializeOwned>(operation: &'static str, body: &[u8]) -> Result<T, PlatformError> {
    serde_json::from_slice(body)
        .map_err(|error| PlatformError::Malformed { operation, reason: error.to_string() })
}
