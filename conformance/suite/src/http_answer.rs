//! What the suite's plain HTTP clients make of an answer: its body whole and bounded, and in a few words why there is
//! none.
//!
//! Clients whose answers are streams or have deadlines of their own read for themselves.

use futures::StreamExt as _;
use serde_json::Value;

/// The body of an answer, of at most so many bytes.
pub(crate) async fn body(response: reqwest::Response, most: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| said(&error))?);
        if body.len() > most {
            return Err(format!("the answer is longer than {most} bytes"));
        }
    }
    Ok(body)
}

/// JSON where it is JSON, null where there is nothing, else the text.
pub(crate) fn value(body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(body).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body)))
}

/// What went wrong, without addresses: they differ from run to run.
pub(crate) fn said(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "there was no answer in time"
    } else if error.is_connect() {
        "no connection can be made"
    } else {
        "the connection was closed before the answer was complete"
    }
    .to_owned()
}
