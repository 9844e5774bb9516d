//! What an error of the client says, for people.

use std::error::Error as _;

/// What is wrong, in one line, with what the server says.
pub(super) fn explained(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
