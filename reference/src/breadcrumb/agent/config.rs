//! What an agent needs to know, and why it may not start.

use std::net::SocketAddr;
use std::time::Duration;

use crate::breadcrumb::client::StoreClientError;
use crate::log::{Log, no_log};
use crate::secret::Secret;

/// What an agent is started with.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentConfig {
    /// Where the store is. [`Agent`](super::Agent) needs it; the other two look up tools and configurations there.
    pub store_url: Option<String>,
    /// What the store is shown.
    pub store_token: Option<Secret>,
    /// Base URL of an OpenAI-compatible API, up to and with `/v1`.
    pub model_url: String,
    /// Which model is asked.
    pub model: String,
    /// What the model's API is shown.
    pub model_key: Option<Secret>,
    /// What is posted to the store.
    pub capture: Capture,
    /// How long is waited.
    pub deadlines: Deadlines,
    /// Where log lines go: what happens, never what is said.
    pub log: Log,
}

/// What of an invocation is posted to the store (`docs/breadcrumbs.md`, "An agent").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Capture {
    /// The breadcrumb in it.
    #[default]
    Breadcrumb,
    /// All of it, with `action`.
    Envelope,
}

/// How long is waited for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For one answer of the model.
    pub model: Duration,
    /// For the answers to the calls of one message, after which the missing ones count as failed.
    pub response: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { model: Duration::from_secs(60), response: Duration::from_secs(90) }
    }
}

impl AgentConfig {
    /// A configuration with what no agent can do without.
    pub fn new(model_url: impl Into<String>) -> Self {
        Self {
            store_url: None,
            store_token: None,
            model_url: model_url.into(),
            model: "default".to_owned(),
            model_key: None,
            capture: Capture::default(),
            deadlines: Deadlines::default(),
            log: no_log(),
        }
    }
}

impl std::fmt::Debug for AgentConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AgentConfig")
            .field("model", &self.model)
            .field("capture", &self.capture)
            .field("deadlines", &self.deadlines)
            .finish_non_exhaustive()
    }
}

/// Why an agent could not start, or not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A value of the configuration, which is not shown since it may hold credentials.
    #[error("`{what}` of the agent cannot be used: {reason}")]
    Config {
        /// Which value.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The store cannot be listened to.
    #[error("the agent has no store to listen to")]
    Store(#[from] StoreClientError),
    /// The address is taken, not ours, or not permitted.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// Its input could not be read.
    #[error("cannot read the input of the agent")]
    Lines(#[source] std::io::Error),
}
