//! Why a session with a UTP target cannot be opened.

use thiserror::Error;

use super::capture::CaptureError;
use crate::engine::judge::Cause;

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The broker does not answer, or does not let the suite do what it has to.
    #[error("the NATS server at `{url}` cannot be used: {reason}")]
    Broker {
        /// Without user and password.
        url: String,
        /// What the client says.
        reason: String,
    },
    /// The platform cannot be served.
    #[error("the platform cannot be served: {0}")]
    Platform(String),
    /// The target's command cannot be run, or ended at once.
    #[error("the target cannot be started: {0}")]
    Start(String),
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// Nothing more is to be expected from the target.
    #[error("the target cannot be reached: {0}")]
    Reach(String),
    /// What a system sends cannot be captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Nothing came from the target.
    #[error("the target did not react to the `{tool_name}` command on `{subject}` within {seconds} s")]
    Silent {
        /// The echo probe's tool.
        tool_name: String,
        /// Its subject.
        subject: String,
        /// The deadline.
        seconds: u64,
    },
    /// The echo probe answers elsewhere than the manifest says.
    #[error(
        "the echoed arguments are not at `{pointer}` of `content.result`: correct `result_pointer` of `utp.tool-service.probes.echo`"
    )]
    Pointer {
        /// The manifest's pointer.
        pointer: String,
    },
    /// The manifest names no echo probe.
    #[error(
        "the manifest names no `utp.tool-service.probes.echo`, so nothing can show that the target is alive"
    )]
    NoEcho,
    /// The manifest names no built-in.
    #[error("the manifest has no `utp.pmo` with a built-in, so nothing can show that the target is alive")]
    NoBuiltin,
}

impl SessionError {
    /// Class of its cause.
    pub const fn cause(&self) -> Cause {
        match self {
            Self::NoEcho | Self::NoBuiltin | Self::Start(_) | Self::Config(_) => Cause::Config,
            Self::Pointer { .. } => Cause::Fixture,
            Self::Platform(_) => Cause::Suite,
            Self::Broker { .. } | Self::Capture(_) | Self::Silent { .. } | Self::Reach(_) => {
                Cause::Reachability
            }
        }
    }
}
