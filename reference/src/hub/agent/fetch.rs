//! One HTTP exchange with bounds: so many bytes are read, and so long is waited.
//!
//! Neighbours: `hub_client`, `direct` and `model` make the requests and say what a fault means to them.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, Url, redirect};
use tokio::time::Instant;

use super::error::AgentError;

/// An answer, of which at most the limit was read.
pub(super) struct FetchedResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// Where it came from in the end.
    pub(super) url: Url,
    pub(super) body: Vec<u8>,
    /// Whether the peer had more to say than was read.
    pub(super) cut: bool,
}

impl FetchedResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The media type without parameters, in lower case.
    pub(super) fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

/// Why there is no answer.
pub(super) enum FetchFault {
    /// There was no connection, so nothing was sent.
    Unreachable(String),
    /// The connection broke, or what came was no HTTP.
    Broken(String),
    /// Time was up.
    Deadline,
}

impl FetchFault {
    /// In words, for callers that need not distinguish the kinds.
    pub(super) fn into_reason(self, after: Duration) -> String {
        match self {
            Self::Unreachable(reason) => format!("no connection: {reason}"),
            Self::Broken(reason) => format!("the connection broke: {reason}"),
            Self::Deadline => format!("no answer within {after:?}"),
        }
    }
}

/// A client for one kind of peer.
pub(super) fn client(what: &'static str, redirects: redirect::Policy) -> Result<Client, AgentError> {
    Client::builder()
        .no_proxy()
        .redirect(redirects)
        .user_agent(concat!("callmark-reference-agent/", env!("CARGO_PKG_VERSION")))
        // A connection that its peer closes while it lies idle would fail the next request, which may be a write.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| AgentError::invalid(what, deepest(&error)))
}

/// Sends the request and reads the answer.
pub(super) async fn fetch(
    request: RequestBuilder,
    limit: usize,
    until: Instant,
) -> Result<FetchedResponse, FetchFault> {
    tokio::time::timeout_at(until, exchange(request, limit)).await.unwrap_or(Err(FetchFault::Deadline))
}

async fn exchange(request: RequestBuilder, limit: usize) -> Result<FetchedResponse, FetchFault> {
    let mut response = request.send().await.map_err(|error| fault(&error))?;
    let mut answer = FetchedResponse {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        url: response.url().clone(),
        body: Vec::new(),
        cut: false,
    };
    // Chunk by chunk, so that an endless answer never fills the memory.
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
        let room = limit - answer.body.len();
        answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            answer.cut = true;
            break;
        }
    }
    Ok(answer)
}

fn fault(error: &reqwest::Error) -> FetchFault {
    if error.is_timeout() {
        FetchFault::Deadline
    } else if error.is_connect() || error.is_builder() {
        FetchFault::Unreachable(deepest(error))
    } else {
        FetchFault::Broken(deepest(error))
    }
}

/// The innermost cause; the outer ones repeat the address, which may hold credentials.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = None;
    while let Some(inner) = cause {
        text = Some(inner.to_string());
        cause = inner.source();
    }
    text.unwrap_or_else(|| "the request failed".to_owned())
}
