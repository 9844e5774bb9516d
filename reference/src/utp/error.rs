//! What can go wrong on our side of UTP; a failed tool is not an error here but a `tool.result`.

use std::time::Duration;

use super::platform::error::PlatformError;
use super::revision::UnknownRevision;
use super::subject::SubjectError;
use crate::cause::Cause;

/// Why a component of the reference could not be started or could not do its part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The broker did not answer.
    #[error("cannot connect to the broker at `{address}`")]
    Connect {
        /// The broker's address, credentials removed.
        address: String,
        /// What the NATS client says.
        source: Cause,
    },
    /// A subscription was not accepted.
    #[error("cannot subscribe to `{subject}`")]
    Subscribe {
        /// The subject asked for.
        subject: String,
        /// What the NATS client says.
        source: Cause,
    },
    /// A message could not be handed to the broker.
    #[error("cannot publish on `{subject}`")]
    Publish {
        /// The subject published on.
        subject: String,
        /// What the NATS client says.
        source: Cause,
    },
    /// The HTTP listener could not be opened.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address asked for.
        address: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The store below `data_dir` could not be opened, read or written.
    #[error("the store `{store}` failed")]
    Store {
        /// Which store.
        store: &'static str,
        /// What SQLite or the file system says.
        source: Cause,
    },
    /// A version that is asked for is none that is spoken here.
    #[error(transparent)]
    Revision(#[from] UnknownRevision),
    /// A subject or one of its tokens is not valid.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// Cards, tools or report could not be reached.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// Something that was waited for did not come.
    #[error("no {what} within {after:?}")]
    Deadline {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
    },
    /// A peer's message does not have the form that the protocol gives it.
    #[error("unexpected {what}: {reason}")]
    Unexpected {
        /// Which message.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl ReferenceError {
    pub(crate) fn store(store: &'static str, source: impl Into<Cause>) -> Self {
        Self::Store { store, source: source.into() }
    }
}
