//! The body of a request: bounded in length and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt as _;

/// How much of a refused body is read all the same, so that its sender gets to see the refusal.
const DISCARDED_BYTES: usize = 8 * 1024 * 1024;
/// How long that may take.
const DISCARD_DEADLINE: Duration = Duration::from_secs(2);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// The connection broke.
    Broken,
    /// It is longer than the limit.
    TooLong,
    /// It did not come in time.
    Late,
}

/// The whole body, if it is at most `limit` bytes and comes within `deadline`.
pub(crate) async fn read(body: Body, limit: usize, deadline: Duration) -> Result<Bytes, BodyFault> {
    let mut chunks = body.into_data_stream();
    let reading = async {
        let mut read = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_error| BodyFault::Broken)?;
            if read.len() + chunk.len() > limit {
                return Err(BodyFault::TooLong);
            }
            read.extend_from_slice(&chunk);
        }
        Ok(Bytes::from(read))
    };
    let read = tokio::time::timeout(deadline, reading).await.unwrap_or(Err(BodyFault::Late));
    if read == Err(BodyFault::TooLong) {
        discard(Body::from_stream(chunks)).await;
    }
    read
}

/// Reads on for a while: a client that is still sending when the connection closes never sees the answer.
pub(crate) async fn discard(body: Body) {
    let mut chunks = body.into_data_stream();
    let reading = async {
        let mut left = DISCARDED_BYTES;
        while let Some(Ok(chunk)) = chunks.next().await {
            let Some(rest) = left.checked_sub(chunk.len()) else { break };
            left = rest;
        }
    };
    // Out of time means that the client is slow; it gets its answer now.
    let _ = tokio::time::timeout(DISCARD_DEADLINE, reading).await;
}
