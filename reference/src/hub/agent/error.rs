//! Why an agent does not start, and why a turn has no reply.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why an agent, or the server that drives it, could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Variables of the environment that are needed.
    #[error("not set: {}", .variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
    Missing {
        /// Their names.
        variables: Vec<&'static str>,
    },
    /// A value of the configuration that cannot be used. The value is not shown: it may hold credentials.
    #[error("`{what}` of the agent cannot be used: {reason}")]
    Invalid {
        /// Which value.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The directory for tasks and documents cannot be made or read.
    #[error("cannot use the directory `{}`", .directory.display())]
    Store {
        /// Which directory.
        directory: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The address is taken, not ours, or not permitted.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// What was given to [`run_once`](super::run_once) is not a call.
    #[error("not a call: {reason}")]
    Request {
        /// What is wrong with it.
        reason: String,
    },
}

impl AgentError {
    pub(super) fn invalid(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { what, reason: reason.into() }
    }
}

/// Why a turn has no reply. A failed tool is no reason: the model receives the failure and answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The agent was started without a model.
    #[error("no model is configured")]
    NoModel,
    /// The model did not answer, or not in a form that can be read.
    #[error("the model failed: {reason}")]
    Model {
        /// How.
        reason: String,
    },
    /// The model called tools in every round that it had, or stopped, and never said a word.
    #[error("the model said nothing to the user")]
    Silent,
    /// The turn took too long.
    #[error("the turn took longer than {after:?}")]
    Deadline {
        /// How long it may take.
        after: std::time::Duration,
    },
}

impl ChatError {
    /// A name for the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoModel => "NOT_CONFIGURED",
            Self::Model { .. } => "MODEL_FAILED",
            Self::Silent => "MODEL_SILENT",
            Self::Deadline { .. } => "TURN_DEADLINE",
        }
    }
}
