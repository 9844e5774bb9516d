//! Why the platform could not be reached, or refused.

use std::time::Duration;

use serde_json::Value;

use crate::cause::Cause;

/// Why one attempt failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlatformError {
    /// No answer in time.
    #[error("{operation}: no answer within {after:?}")]
    Deadline {
        /// What was attempted.
        operation: &'static str,
        /// The deadline.
        after: Duration,
    },
    /// No connection, or it broke.
    #[error("{operation}: not reachable")]
    Unreachable {
        /// What was attempted.
        operation: &'static str,
        /// What the client library says.
        source: Cause,
    },
    /// The platform answered with an error.
    #[error("{operation}: refused with {status} `{code}`: {message}")]
    Refused {
        /// What was attempted.
        operation: &'static str,
        /// The HTTP status, or the number of the NATS error header.
        status: u16,
        /// The code of the error body; empty when there is none.
        code: String,
        /// The message of the error body.
        message: String,
    },
    /// The answer is not what the binding says.
    #[error("{operation}: malformed answer: {reason}")]
    Malformed {
        /// What was attempted.
        operation: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The request or the answer is too long.
    #[error("{operation}: longer than {limit} bytes")]
    TooLong {
        /// What was attempted.
        operation: &'static str,
        /// The limit that was hit.
        limit: usize,
    },
}

impl PlatformError {
    /// Whether another attempt may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Deadline { .. } | Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => *status >= 500 || *status == 429,
            Self::Malformed { .. } | Self::TooLong { .. } => false,
        }
    }

    /// Builds the refusal from the body of an error answer, whatever that body is.
    pub(super) fn refused(operation: &'static str, status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
        Self::Refused { operation, status, code: text("code"), message: text("message") }
    }
}
