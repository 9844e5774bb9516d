//! Why a session with a management API cannot be opened.

use thiserror::Error;

use crate::engine::judge::Cause;

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManagementError {
    /// The manifest describes no registry.
    #[error(
        "the manifest has no `utp.registry.base_url` and no `utp.registry.start`, so there is no registry to reach"
    )]
    NoRegistry,
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// It cannot be started.
    #[error("the registry cannot be started: {0}")]
    Start(String),
    /// It does not answer.
    #[error("the registry at {base} does not answer within {seconds} s: {why}")]
    Silent {
        /// Its address.
        base: String,
        /// The deadline.
        seconds: u64,
        /// What came of the last try.
        why: String,
    },
    /// Nothing more is to be expected from there.
    #[error("the registry at {base} cannot be reached: {why}")]
    Reach {
        /// Its address.
        base: String,
        /// What stands in the way.
        why: String,
    },
    /// It does not let us in.
    #[error(
        "the registry does not let the suite upload ({0}): check `utp.registry.headers`, and name a project that exists with `utp.registry.project`"
    )]
    Refused(String),
}

impl ManagementError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::NoRegistry | Self::Config(_) | Self::Start(_) | Self::Refused(_) => Cause::Config,
            Self::Silent { .. } | Self::Reach { .. } => Cause::Reachability,
        }
    }
}
