//! What moves JSON-RPC messages between the suite and an MCP server.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

/// Largest message that is read. A result of 4 MiB, quoted twice, still fits.
pub(super) const MAX_MESSAGE: usize = 24 * 1024 * 1024;
/// For a message to leave this process.
pub(super) const SEND_DEADLINE: Duration = Duration::from_secs(10);

/// Something that came from a server.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A JSON-RPC message.
    Message {
        /// The message.
        message: Value,
        /// How it came, where the transport has more to say of a message than its body.
        head: Option<Head>,
    },
    /// The answer to one request, and not JSON-RPC: an HTTP error, or a body of another kind.
    Other {
        /// Id of the request.
        id: i64,
        /// HTTP status.
        status: u16,
        /// Where a redirect leads.
        location: Option<String>,
        /// JSON where it is JSON, else the text.
        body: Value,
    },
    /// A request did not reach the server, or its answer did not come back.
    Lost {
        /// Id of the request.
        id: i64,
        /// Why.
        why: String,
    },
    /// A line on standard output that is no JSON-RPC message.
    Noise(String),
    /// Nothing more will come, and why.
    Closed(String),
    /// Nor from a process that the suite started, and that has ended without being asked to: how it ended.
    Exited(String),
}

/// The HTTP response that a message stands in.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// Id of the request that it answers.
    pub(super) request: i64,
    /// HTTP status.
    pub(super) status: u16,
    /// The session that the server names.
    pub(super) session: Option<String>,
}

/// Headers of one message, beside those that every message of the transport has.
pub(super) type Headers = Vec<(String, String)>;

/// Takes what comes.
pub(super) type Sink = Arc<dyn Fn(Incoming) + Send + Sync>;

/// A way to a server.
pub(super) trait Link: Send + Sync {
    /// Sends one message.
    ///
    /// # Errors
    /// Why it did not leave.
    fn send(&self, message: Value, headers: Headers) -> BoxFuture<'_, Result<(), String>>;

    /// Sends what is no message, whatever is said to it.
    ///
    /// # Errors
    /// Why it did not leave.
    fn send_text(&self, text: String) -> BoxFuture<'_, Result<(), String>>;

    /// Whether messages have headers.
    fn has_headers(&self) -> bool {
        false
    }

    /// Sends request `id` with another method than POST and without a body, where the transport has methods.
    fn send_method(&self, method: &'static str, id: i64) {
        let _ = (method, id);
    }

    /// Whether there is somebody to send to.
    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { true })
    }

    /// The protocol version that was agreed on; every later message names it where the transport asks for that.
    fn agreed(&self, version: &str);

    /// Ends the session, and the server where the suite started it.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// A command line that sends `request` by hand: in a session, where there is one and it is wanted, else as the first
    /// message.
    fn by_hand(&self, in_session: bool) -> HandLine;
}

/// Leads to nobody, in a run that is judged again.
pub(super) struct Nowhere;

impl Link for Nowhere {
    fn send(&self, _: Value, _: Headers) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    fn send_text(&self, _: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    fn agreed(&self, _: &str) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn by_hand(&self, _: bool) -> HandLine {
        HandLine::default()
    }
}

/// A command line that makes a call by hand: what stands before the request, and what after it.
pub(super) type HandLine = (String, String);
