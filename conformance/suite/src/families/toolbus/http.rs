//! MCP over streamable HTTP: each message is a POST, answered by JSON or by a stream of events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::link::{HandLine, Head, Headers, Incoming, Link, MAX_MESSAGE, SEND_DEADLINE, Sink};
use super::revision::{Era, MODERN};
use super::stdio::{initialize, initialized};
use crate::engine::by_hand::{header_of_environment, quoted};
use crate::engine::target::ChildProcess;
use crate::net::event_stream::EventReader;
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};
use crate::transcript::lock;

/// For any answer. Who waits for one has a shorter deadline; this one frees what is left.
const ANSWER_DEADLINE: Duration = Duration::from_secs(600);
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// For the end of a session, which a server need not support.
const END_DEADLINE: Duration = Duration::from_secs(1);

/// An endpoint, and the server behind it where the suite started it.
pub(super) struct Http {
    shared: Arc<Shared>,
    process: Option<Arc<tokio::sync::Mutex<ChildProcess>>>,
    shown: String,
}

struct Shared {
    client: HttpSender,
    url: String,
    headers: HeaderMap,
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<Option<HeaderValue>>,
    era: Era,
    sink: Sink,
}

/// What an endpoint is reached by.
pub(super) struct Endpoint<'a> {
    /// Where it is.
    pub(super) url: String,
    /// What reports call that.
    pub(super) shown: String,
    /// Headers of every message, which are secrets.
    pub(super) headers: &'a BTreeMap<String, String>,
    /// The era of MCP that is spoken with it.
    pub(super) era: Era,
}

impl Http {
    /// A way to an endpoint; what the server says goes to `sink`.
    ///
    /// # Errors
    /// A header that cannot be sent.
    pub(super) fn new(
        endpoint: Endpoint<'_>,
        process: Option<ChildProcess>,
        outbound: &Arc<Outbound>,
        sink: Sink,
    ) -> Result<Self, String> {
        let Endpoint { url, shown, headers, era } = endpoint;
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let header: HeaderName = name.parse().map_err(|_| format!("`{name}` is no name of a header"))?;
            let mut value: HeaderValue =
                value.parse().map_err(|_| format!("the value of header `{name}` cannot be sent"))?;
            value.set_sensitive(true);
            all.insert(header, value);
        }
        let options = SenderOptions {
            connect: Some(SEND_DEADLINE),
            answer: Some(ANSWER_DEADLINE),
            ..SenderOptions::default()
        };
        let client = HttpSender::new(outbound, options)?;
        let (session, version) = (Mutex::default(), Mutex::default());
        let shared = Shared { client, url, headers: all, session, version, era, sink };
        Ok(Self { shared: Arc::new(shared), process: process.map(|process| Arc::new(process.into())), shown })
    }
}

impl Link for Http {
    fn send(&self, message: Value, headers: Headers) -> BoxFuture<'_, Result<(), String>> {
        let shared = Arc::clone(&self.shared);
        let id = message.get("id").and_then(Value::as_i64).filter(|_| message.get("method").is_some());
        Box::pin(async move {
            let Some(id) = id else {
                let sent = tokio::time::timeout(SEND_DEADLINE, shared.post(&message, headers)).await;
                return match sent {
                    Ok(sent) => sent.map(|_| ()),
                    Err(_) => Err("a notification was not taken".to_owned()),
                };
            };
            let process = self.process.clone();
            // A server may answer as late as it likes; who waits for it has a deadline.
            tokio::spawn(async move {
                match shared.post(&message, headers).await {
                    Ok(response) => shared.read(response, id).await,
                    Err(error) => {
                        let ended = match &process {
                            Some(process) => process.lock().await.ended(),
                            None => None,
                        };
                        (shared.sink)(match ended {
                            Some(why) => Incoming::Closed(why),
                            None => match shared.client.trouble() {
                                Some(why) => Incoming::Closed(why),
                                None => Incoming::Lost { id, why: error },
                            },
                        });
                    }
                }
            });
            Ok(())
        })
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn send_method(&self, method: &'static str, id: i64) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            (shared.sink)(match shared.without_body(method).await {
                // A stream has no end, and its status says all.
                Ok(response) => Incoming::Other { id, status: response.status().as_u16(), body: Value::Null },
                Err(why) => Incoming::Lost { id, why },
            });
        });
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.shared.without_body("GET").await.is_ok() })
    }

    fn agreed(&self, version: &str) {
        *lock(&self.shared.version) = version.parse().ok();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let session = lock(&self.shared.session).take();
            if let Some(session) = session {
                let client = &self.shared.client;
                let end = client
                    .request(Method::DELETE, &self.shared.url)
                    .headers(self.shared.headers.clone())
                    .header(SESSION, session)
                    .timeout(END_DEADLINE);
                // A server may refuse to end sessions.
                let _ = client.send(end).await;
            }
            if let Some(process) = &self.process {
                process.lock().await.stop().await;
            }
        })
    }

    fn by_hand(&self, in_session: bool) -> HandLine {
        // The values are secrets; the shell fills them in.
        let headers: Vec<String> = self
            .shared
            .headers
            .keys()
            .map(|name| header_of_environment("CALLMARK_HEADER", name.as_str()))
            .collect();
        let post = format!(
            "curl -sS {} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'{}",
            quoted(&self.shown),
            headers.concat() + &self.shared.client.by_hand()
        );
        if lock(&self.shared.session).is_none() || !in_session {
            return (format!("{post} --data-raw "), String::new());
        }
        let open = format!(
            "session=$({post} -D - -o /dev/null --data-raw {} | tr -d '\\r' | sed -n 's/^[Mm][Cc][Pp]-[Ss]ession-[Ii][Dd]: //p')",
            quoted(&initialize().to_string())
        );
        let post = format!("{post} -H \"Mcp-Session-Id: $session\"");
        let ready = format!("{post} --data-raw {}", quoted(&initialized().to_string()));
        (format!("{open}; {ready}; {post} --data-raw "), String::new())
    }
}

impl Shared {
    async fn without_body(&self, method: &str) -> Result<reqwest::Response, String> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let request = self
            .client
            .request(method, &self.url)
            .headers(self.headers.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(VERSION, MODERN);
        self.client.send(request).await.map_err(|error| error.deepest())
    }

    async fn post(&self, message: &Value, headers: Headers) -> Result<reqwest::Response, String> {
        let mut request = self
            .client
            .request(Method::POST, &self.url)
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(session) = lock(&self.session).clone() {
            request = request.header(SESSION, session);
        }
        if let Some(version) = lock(&self.version).clone() {
            request = request.header(VERSION, version);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let sent = self.client.send(request.body(message.to_string())).await;
        let response = sent.map_err(|error| error.deepest())?;
        if let (Some(session), Era::Legacy) = (response.headers().get(SESSION), self.era) {
            *lock(&self.session) = Some(session.clone());
        }
        Ok(response)
    }

    /// Reads the answer to request `id`.
    async fn read(&self, response: reqwest::Response, id: i64) {
        let status = response.status().as_u16();
        let head = self.head(&response, id);
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        if response.status().is_success() && kind.to_ascii_lowercase().starts_with("text/event-stream") {
            return self.read_events(response, head, id).await;
        }
        let body = match self.read_body(response).await {
            Ok(bytes) => bytes,
            Err(error) => return (self.sink)(Incoming::Other { id, status, body: Value::from(error) }),
        };
        match serde_json::from_slice::<Value>(&body) {
            Ok(message) if message.get("jsonrpc").is_some() => {
                (self.sink)(Incoming::Message { message, head });
            }
            Ok(body) => (self.sink)(Incoming::Other { id, status, body }),
            Err(_) => {
                let body = Value::from(String::from_utf8_lossy(&body).into_owned());
                (self.sink)(Incoming::Other { id, status, body });
            }
        }
    }

    /// What judgements of the modern era see of a response beside its body.
    fn head(&self, response: &reqwest::Response, request: i64) -> Option<Head> {
        let session = response.headers().get(SESSION);
        let session = session.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        (self.era == Era::Modern).then(|| Head { request, status: response.status().as_u16(), session })
    }

    async fn read_body(&self, response: reqwest::Response) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(part) = stream.next().await {
            let part = part.map_err(|error| format!("the answer broke off: {error}"))?;
            if body.len() + part.len() > MAX_MESSAGE {
                return Err(format!("the answer is longer than {MAX_MESSAGE} bytes"));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    async fn read_events(&self, response: reqwest::Response, head: Option<Head>, id: i64) {
        let mut total = 0usize;
        let mut reader = EventReader::default();
        let mut parts = response.bytes_stream();
        while let Some(Ok(part)) = parts.next().await {
            total += part.len();
            let Ok(events) = reader.read(&part) else { break };
            if total > MAX_MESSAGE {
                break;
            }
            for data in events {
                let Ok(message) = serde_json::from_str::<Value>(&data) else { continue };
                let last =
                    message.get("id").and_then(Value::as_i64) == Some(id) && message.get("method").is_none();
                (self.sink)(Incoming::Message { message, head: head.clone() });
                if last {
                    // A server may keep the stream open; nothing more is awaited on it.
                    return;
                }
            }
        }
        let body = Value::from("the stream of events ended without an answer");
        (self.sink)(Incoming::Other { id, status: 200, body });
    }
}
