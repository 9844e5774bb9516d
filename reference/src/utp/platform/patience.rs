//! Further attempts after transient failures, with a growing wait in between and one deadline for all of them.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::PlatformError;

/// The wait before the second attempt; it doubles from attempt to attempt.
const FIRST_BACKOFF: Duration = Duration::from_millis(50);

/// How often an operation is attempted.
const MAX_ATTEMPTS: u32 = 5;

/// Attempts an operation until it succeeds, is refused for good, or the time is over.
pub(crate) async fn attempt<'a, T>(
    within: Duration,
    operation: impl Fn() -> BoxFuture<'a, Result<T, PlatformError>>,
) -> Result<T, PlatformError> {
    let deadline = Instant::now() + within;
    let mut backoff = FIRST_BACKOFF;
    for attempts in 1.. {
        let error = match timeout_at(deadline, operation()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(_elapsed) => break,
        };
        let next = Instant::now() + backoff;
        if !error.is_transient() || attempts == MAX_ATTEMPTS || next >= deadline {
            return Err(error);
        }
        sleep_until(next).await;
        backoff *= 2;
    }
    Err(PlatformError::Deadline { operation: "platform", after: within })
}
