//! What every component that answers requests has in common: refusals, the two listeners, stores that wait for a disk.
//!
//! Neighbours: `l0`, `execution` and `runtime` say which operations there are and what they do.
//! The clients of these listeners are in `platform`.

mod denial;
mod http;
mod nats;
mod storage;

pub(crate) use denial::{Denial, json_body};
pub(crate) use http::{Body, also_as, body_bytes, guarded, listen};
pub(crate) use nats::{NatsRequest, PLATFORM, RequestHandler, answer_requests};
pub(crate) use storage::with_store;

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// No request may be longer, whichever binding it comes over (`docs/bindings.md`).
pub(crate) const MAX_REQUEST: usize = 2 * 1024 * 1024;

/// How long the parts of a component may take to end.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(5);

/// Waits for the parts of a component that is shutting down, and aborts those that do not end in time.
pub(crate) async fn ended(tasks: Vec<JoinHandle<()>>) {
    let deadline = Instant::now() + SHUTDOWN_DEADLINE;
    for mut task in tasks {
        if timeout_at(deadline, &mut task).await.is_err() {
            task.abort();
        }
    }
}
