//! What a database is asked for, and why it does not write.

use crate::cause::Cause;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Query {
    pub(super) tag: Option<String>,
    pub(super) schema_name: Option<String>,
    /// Words; the best come first. Without them the newest do.
    pub(super) words: Option<String>,
    pub(super) limit: u32,
    pub(super) offset: u32,
    /// The records of an answer stop after so many bytes.
    pub(super) bytes: usize,
}

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error("there is no such breadcrumb")]
    Unknown,
    #[error("the version is {actual}")]
    Version { actual: i64 },
    #[error("the idempotency key was used before")]
    KeyUsed,
    #[error("{0}")]
    Members(String),
    #[error("the breadcrumb would be longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the database failed")]
    Database(#[from] Cause),
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}
