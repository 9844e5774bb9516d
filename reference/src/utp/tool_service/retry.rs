//! Another attempt after a transient failure of the platform, for all who ask something of it.
//!
//! Neighbours: the bindings in `platform` make one attempt each and say whether another may succeed.
//! Only operations that may be repeated are attempted here: reads, and writes that the platform knows again by their id.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::utp::platform::PlatformError;

/// The wait before the second attempt; it doubles from attempt to attempt.
const FIRST_BACKOFF: Duration = Duration::from_millis(50);

/// How often a platform operation is attempted.
const MAX_ATTEMPTS: u32 = 5;

/// Attempts a platform operation, again after transient failures, all within `within`.
pub(crate) async fn attempt<'a, T>(
    within: Duration,
    operation: impl Fn() -> BoxFuture<'a, Result<T, PlatformError>>,
) -> Result<T, PlatformError> {
    let deadline = Instant::now() + within;
    let mut backoff = FIRST_BACKOFF;
    let mut attempts = 1;
    loop {
        let error = match timeout_at(deadline, operation()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(_elapsed) => return Err(PlatformError::Deadline { operation: "platform", after: within }),
        };
        let next = Instant::now() + backoff;
        if !error.is_transient() || attempts == MAX_ATTEMPTS || next >= deadline {
            return Err(error);
        }
        sleep_until(next).await;
        backoff *= 2;
        attempts += 1;
    }
}
