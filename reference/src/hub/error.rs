//! Why a Hub or the provider beside it could not be started; what goes wrong in a call is an answer of `envelope`.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

/// A Hub that did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The address could not be bound.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// The database could not be opened or read.
    #[error("the store of the Hub failed")]
    Store {
        /// What SQLite or the file system says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The configuration cannot work.
    #[error("the Hub cannot be set up: {reason}")]
    Config {
        /// What is wrong with it.
        reason: String,
    },
    /// The client for the provider could not be made.
    #[error("cannot make the client for the provider")]
    Client {
        /// What the HTTP client says.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl HubError {
    pub(super) fn store(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store { source: source.into() }
    }

    pub(super) fn config(reason: impl Into<String>) -> Self {
        Self::Config { reason: reason.into() }
    }
}
