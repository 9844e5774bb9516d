//! The plumbing of the suite's HTTP servers: requests in, replies out, a connection closed on demand.
//!
//! What is answered is decided elsewhere. A mock server keeps every request that it ever answered, which is too much
//! for parties that are asked thousands of times; so this one stands on the suite's own connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Response, StatusCode, header};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::net::http_connections;
use crate::net::http_connections::Closed;
use crate::transcript::lock;

/// Bytes of a body that are read; a larger one counts as empty.
const MAX_READ: usize = 16 * 1024 * 1024;
/// Bytes of a body that are looked at.
const MAX_BODY: usize = 1024 * 1024;

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedRequest {
    /// In capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// JSON where it is JSON, else the text.
    pub body: Value,
}

impl ReceivedRequest {
    /// Method and path, as transcripts name the channel.
    pub fn channel(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The path without its query.
    pub fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    fn of(parts: &Parts, body: &[u8]) -> Self {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let bytes = &body[..body.len().min(MAX_BODY)];
        let body = serde_json::from_slice(bytes)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(bytes).into_owned()));
        let headers = headers(parts);
        Self { method: parts.method.as_str().to_owned(), path: path.to_owned(), headers, body }
    }
}

/// The headers of a request, with names in lower case; what several lines say of one is one text.
pub(crate) fn headers(parts: &Parts) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in &parts.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str().to_owned())
            .and_modify(|all| *all = format!("{all}, {value}"))
            .or_insert_with(|| value.into_owned());
    }
    headers
}

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpReply {
    /// An HTTP response.
    Response {
        /// Its status.
        status: u16,
        /// Its `Content-Type`.
        content_type: String,
        /// Its body.
        body: Vec<u8>,
    },
    /// Nothing while anyone waits.
    Hang,
    /// The connection is closed.
    Close,
}

impl HttpReply {
    /// A response whose body is JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        let content_type = "application/json".to_owned();
        Self::Response { status, content_type, body: body.to_string().into_bytes() }
    }

    /// A response whose body is a text.
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        Self::Response { status, content_type: content_type.to_owned(), body: body.as_bytes().to_vec() }
    }

    async fn response(self) -> Result<Response<Body>, Closed> {
        match self {
            Self::Response { status, content_type, body } => Response::builder()
                .status(StatusCode::from_u16(status).map_err(|_| Closed)?)
                .header(header::CONTENT_TYPE, content_type)
                .body(Body::from(body))
                .map_err(|_| Closed),
            // Until the other side gives up, or the server ends.
            Self::Hang => std::future::pending().await,
            Self::Close => Err(Closed),
        }
    }
}

/// Answers requests; asked once for each, one at a time.
pub type Handler = Arc<dyn Fn(ReceivedRequest) -> HttpReply + Send + Sync>;

/// A server on a loopback address. It ends when it is dropped.
pub struct HttpServer {
    url: String,
    /// Ends with the server.
    _serving: JoinSet<()>,
}

impl HttpServer {
    /// Listens at `listen`, or on a free port.
    ///
    /// # Errors
    /// Why it cannot listen there.
    pub async fn start(listen: Option<&str>, handler: Handler) -> Result<Self, String> {
        let address = listen.unwrap_or("127.0.0.1:0");
        let failed = |error: std::io::Error| format!("`{address}`: {error}");
        let listener = http_connections::listen(listen).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let turn = Arc::new(Mutex::new(()));
        let mut serving = JoinSet::new();
        serving.spawn(http_connections::serve(listener, move |request| {
            let (handler, turn) = (Arc::clone(&handler), Arc::clone(&turn));
            async move {
                let (parts, body) = request.into_parts();
                let body = http_connections::body(body, MAX_READ).await.unwrap_or_default();
                let reply = {
                    let _one_at_a_time = lock(&turn);
                    handler(ReceivedRequest::of(&parts, &body))
                };
                reply.response().await
            }
        }));
        Ok(Self { url, _serving: serving })
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        self.url.clone()
    }
}
