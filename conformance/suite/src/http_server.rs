//! The plumbing of the suite's HTTP servers: requests in, replies out, a connection closed on demand.
//!
//! It sits on wiremock, whose responders are asked once a request; what they answer is decided elsewhere.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::transcript::lock;

/// Requests that one server answers; who sends more is not answered.
const MAX_REQUESTS: u64 = 20_000;
/// Bytes of a body that are looked at.
const MAX_BODY: usize = 1024 * 1024;
/// For an answer that is not to come while anyone waits for it.
const NEVER: Duration = Duration::from_secs(600);

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// In capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// JSON where it is JSON, else the text.
    pub body: Value,
}

impl Asked {
    /// Method and path, as transcripts name the channel.
    pub fn channel(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The path without its query.
    pub fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    fn of(request: &Request) -> Self {
        let mut headers = BTreeMap::<String, String>::new();
        for (name, value) in &request.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            headers
                .entry(name.as_str().to_ascii_lowercase())
                .and_modify(|all| *all = format!("{all}, {value}"))
                .or_insert_with(|| value.into_owned());
        }
        let query = request.url.query().map_or_else(String::new, |query| format!("?{query}"));
        let bytes = &request.body[..request.body.len().min(MAX_BODY)];
        let body = serde_json::from_slice(bytes)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(bytes).into_owned()));
        Self {
            method: request.method.as_str().to_owned(),
            path: format!("{}{query}", request.url.path()),
            headers,
            body,
        }
    }
}

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
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

impl Reply {
    /// A response whose body is JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        let content_type = "application/json".to_owned();
        Self::Response { status, content_type, body: body.to_string().into_bytes() }
    }

    /// A response whose body is a text.
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        Self::Response { status, content_type: content_type.to_owned(), body: body.as_bytes().to_vec() }
    }

    fn template(self) -> ResponseTemplate {
        match self {
            Self::Response { status, content_type, body } => {
                ResponseTemplate::new(status).set_body_raw(body, &content_type)
            }
            Self::Hang | Self::Close => ResponseTemplate::new(504).set_delay(NEVER),
        }
    }
}

/// Answers requests; asked once for each, one at a time.
pub type Handler = Arc<dyn Fn(Asked) -> Reply + Send + Sync>;

/// A server on a loopback address. It ends when it is dropped.
pub struct HttpServer {
    server: MockServer,
}

impl HttpServer {
    /// Listens at `listen`, or on a free port.
    ///
    /// # Errors
    /// Why it cannot listen there.
    pub async fn start(listen: Option<&str>, handler: Handler) -> Result<Self, String> {
        let address = listen.unwrap_or("127.0.0.1:0");
        let listener = TcpListener::bind(address).map_err(|error| format!("`{address}`: {error}"))?;
        let server = MockServer::builder().listener(listener).disable_request_recording().start().await;
        // A responder cannot close a connection, and what closes one is no responder: so a matcher asks the handler
        // first, and leaves the response to the second mock. One request at a time passes both.
        let ready: Arc<Mutex<Option<Reply>>> = Arc::default();
        let asking = Arc::clone(&ready);
        let closes = move |request: &Request| match handler(Asked::of(request)) {
            Reply::Close => true,
            reply => {
                *lock(&asking) = Some(reply);
                false
            }
        };
        let closing = Mock::given(closes)
            .respond_with_err(|_: &Request| std::io::Error::other("closed on demand"))
            .up_to_n_times(MAX_REQUESTS)
            .with_priority(1);
        closing.mount(&server).await;
        let respond = move |_: &Request| {
            let reply = lock(&ready).take();
            reply.unwrap_or_else(|| Reply::text(404, "text/plain", "")).template()
        };
        Mock::given(wiremock::matchers::any())
            .respond_with(respond)
            .up_to_n_times(MAX_REQUESTS)
            .with_priority(2)
            .mount(&server)
            .await;
        Ok(Self { server })
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        self.server.uri()
    }
}
