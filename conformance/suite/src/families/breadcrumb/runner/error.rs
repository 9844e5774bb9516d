//! Why a session with a tool runner cannot be opened.

use thiserror::Error;

use crate::engine::judge::Cause;

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// The suite's own servers.
    #[error("the suite's breadcrumb store cannot listen: {0}")]
    Listen(String),
    /// The suite's own language models.
    #[error("the suite's language models cannot listen: {0}")]
    Upstream(String),
    /// The runner cannot be started.
    #[error("the runner cannot be started: {0}")]
    Start(String),
    /// It cannot be reached.
    #[error("the runner cannot be reached: {0}")]
    Reach(String),
    /// No answer.
    #[error("the runner answers no call of `{tool}` within {seconds} s; it {what}{ended}")]
    Silent {
        /// The tool.
        tool: String,
        /// The deadline.
        seconds: u64,
        /// What was seen of it.
        what: &'static str,
        /// How its process ended, if it did.
        ended: String,
    },
}

impl RunnerError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Config(_) | Self::Start(_) | Self::Listen(_) | Self::Upstream(_) => Cause::Config,
            Self::Reach(_) => Cause::Reachability,
            Self::Silent { .. } => Cause::Implementation,
        }
    }
}
