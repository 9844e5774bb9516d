//! Runs work on a store where it does not hold up an async thread.

use crate::cause::Cause;
use crate::utp::error::ReferenceError;

/// Does the work here, or on a thread for waiting when the store waits for a disk.
pub(crate) async fn with_store<T: Send + 'static>(
    name: &'static str,
    waits_for_disk: bool,
    work: impl FnOnce() -> Result<T, Cause> + Send + 'static,
) -> Result<T, ReferenceError> {
    let outcome = if waits_for_disk {
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()))
    } else {
        work()
    };
    outcome.map_err(|source| ReferenceError::store(name, source))
}
