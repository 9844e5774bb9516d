//! MCP over streamable HTTP: each message is a POST, answered by JSON or by a stream of events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode};
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
/// What a client of MCP reads.
const ACCEPTED: &str = "application/json, text/event-stream";
const LAST_EVENT: &str = "last-event-id";
/// For the end of a session, which a server need not support.
const END_DEADLINE: Duration = Duration::from_secs(1);
/// Before a stream that was closed goes on, where the server does not say how long.
const REOPEN: Duration = Duration::from_millis(500);
/// The shortest and the longest such time, whatever the server says.
const REOPEN_BOUNDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));

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
    /// Held by who opens another session in place of one that the server has ended.
    renewal: tokio::sync::Mutex<()>,
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
        let (session, version, renewal) = (Mutex::default(), Mutex::default(), tokio::sync::Mutex::default());
        let shared = Shared { client, url, headers: all, session, renewal, version, era, sink };
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
                            Some(why) => Incoming::Exited(why),
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

    fn send_text(&self, text: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let session = lock(&self.shared.session).clone();
            let request = self.shared.in_session(Method::POST, session);
            let request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, ACCEPTED);
            match tokio::time::timeout(SEND_DEADLINE, self.shared.client.send(request.body(text))).await {
                Ok(sent) => sent.map(|_| ()).map_err(|error| error.deepest()),
                Err(_) => Err("what is no message was not taken".to_owned()),
            }
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
                Ok(response) => Incoming::Other {
                    id,
                    status: response.status().as_u16(),
                    location: location(&response),
                    body: Value::Null,
                },
                Err(why) => Incoming::Lost { id, why },
            });
        });
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        // What stands before a server may answer for it while it starts.
        let is_there = |response: reqwest::Response| !matches!(response.status().as_u16(), 502..=504);
        Box::pin(async move { self.shared.without_body("GET").await.is_ok_and(is_there) })
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

    /// Posts a message. A server may end a session whenever it likes, and says so by 404; then there is another one, and
    /// the message is sent once more (MCP 2025-11-25, Transports, "Session Management").
    async fn post(&self, message: &Value, headers: Headers) -> Result<reqwest::Response, String> {
        let session = lock(&self.session).clone();
        let response = self.post_in(session.clone(), message, &headers).await?;
        let (StatusCode::NOT_FOUND, Some(ended)) = (response.status(), session) else { return Ok(response) };
        let (response, answers) = self.with_body(response, message.get("id")).await?;
        if !answers && let Some(session) = self.renew(&ended).await {
            return self.post_in(Some(session), message, &headers).await;
        }
        Ok(response)
    }

    /// The response, and whether it is the JSON-RPC answer to the request with this id: a server may give that with any
    /// status, and its session goes on.
    async fn with_body(
        &self,
        response: reqwest::Response,
        id: Option<&Value>,
    ) -> Result<(reqwest::Response, bool), String> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.read_body(response).await?;
        let answer: Option<Value> = serde_json::from_slice(&body).ok();
        let is_answer = id.is_some() && answer.as_ref().and_then(|answer| answer.get("id")) == id;
        // That the session is over may be said in the form of an answer, too.
        let why = answer.as_ref().and_then(|answer| answer.pointer("/error/message")?.as_str());
        let answers = is_answer && !why.is_some_and(|why| why.to_lowercase().contains("session"));
        let mut whole = axum::http::Response::new(body);
        (*whole.status_mut(), *whole.headers_mut()) = (status, headers);
        Ok((whole.into(), answers))
    }

    async fn post_in(
        &self,
        session: Option<HeaderValue>,
        message: &Value,
        headers: &Headers,
    ) -> Result<reqwest::Response, String> {
        let mut request = self
            .in_session(Method::POST, session)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, ACCEPTED);
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

    fn in_session(&self, method: Method, session: Option<HeaderValue>) -> reqwest::RequestBuilder {
        let mut request = self.client.request(method, &self.url).headers(self.headers.clone());
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        if let Some(version) = lock(&self.version).clone() {
            request = request.header(VERSION, version);
        }
        request
    }

    /// The session after this one, which the server has ended; nothing where it opens none.
    async fn renew(&self, ended: &HeaderValue) -> Option<HeaderValue> {
        let _renewal = self.renewal.lock().await;
        let current = lock(&self.session).clone().filter(|current| current != ended);
        if current.is_some() {
            return current;
        }
        let response = self.post_in(None, &initialize(), &Headers::new()).await.ok()?;
        let is_opened = response.status().is_success();
        let session = response.headers().get(SESSION).filter(|session| *session != ended).cloned();
        let session = session.filter(|_| is_opened)?;
        // Whether the answer is JSON or a stream, there is no need to know what it says.
        let _ = tokio::time::timeout(END_DEADLINE, self.read_body(response)).await;
        self.post_in(Some(session.clone()), &initialized(), &Headers::new()).await.ok()?;
        Some(session)
    }

    /// Goes on with a stream that the server has closed; nothing where it has no more of it (MCP 2025-11-25, Transports,
    /// "Resumability and Redelivery").
    async fn reopen(&self, last_event: &str) -> Option<reqwest::Response> {
        let session = lock(&self.session).clone();
        let request = self
            .in_session(Method::GET, session)
            .header(ACCEPT, "text/event-stream")
            .header(LAST_EVENT, HeaderValue::from_bytes(last_event.as_bytes()).ok()?);
        let response = self.client.send(request).await.ok()?;
        (response.status().is_success() && is_stream(&response)).then_some(response)
    }

    /// Reads the answer to request `id`.
    async fn read(&self, response: reqwest::Response, id: i64) {
        let status = response.status().as_u16();
        let location = location(&response);
        let head = self.head(&response, id);
        if response.status().is_success() && is_stream(&response) {
            return self.read_events(response, head, id).await;
        }
        let body = match self.read_body(response).await {
            Ok(bytes) => bytes,
            Err(error) => {
                return (self.sink)(Incoming::Other { id, status, location, body: Value::from(error) });
            }
        };
        match serde_json::from_slice::<Value>(&body) {
            Ok(message) if message.get("jsonrpc").is_some() => {
                (self.sink)(Incoming::Message { message, head });
            }
            Ok(body) => (self.sink)(Incoming::Other { id, status, location, body }),
            Err(_) => {
                let body = Value::from(String::from_utf8_lossy(&body).into_owned());
                (self.sink)(Incoming::Other { id, status, location, body });
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
        let mut reader = EventReader::default();
        let began = Instant::now();
        let mut next = Some(response);
        while let Some(response) = next.take() {
            match self.read_stream(response, &mut reader, head.as_ref(), id).await {
                StreamEnd::Answered => return,
                StreamEnd::TooLong => break,
                StreamEnd::Closed => reader.reopen(),
            }
            if let Some(last) = reader.last_id()
                && self.era == Era::Legacy
                && began.elapsed() < ANSWER_DEADLINE
            {
                let (least, most) = REOPEN_BOUNDS;
                tokio::time::sleep(reader.retry().unwrap_or(REOPEN).clamp(least, most)).await;
                next = self.reopen(last).await;
            }
        }
        let body = Value::from("the stream of events ended without an answer");
        (self.sink)(Incoming::Other { id, status: 200, location: None, body });
    }

    /// Reads a stream as far as the answer to request `id`, or to its end.
    async fn read_stream(
        &self,
        response: reqwest::Response,
        reader: &mut EventReader,
        head: Option<&Head>,
        id: i64,
    ) -> StreamEnd {
        let mut total = 0usize;
        let mut parts = response.bytes_stream();
        while let Some(Ok(part)) = parts.next().await {
            total += part.len();
            let Ok(events) = reader.read(&part) else { return StreamEnd::TooLong };
            if total > MAX_MESSAGE {
                return StreamEnd::TooLong;
            }
            for data in events {
                let Ok(message) = serde_json::from_str::<Value>(&data) else { continue };
                let last =
                    message.get("id").and_then(Value::as_i64) == Some(id) && message.get("method").is_none();
                (self.sink)(Incoming::Message { message, head: head.cloned() });
                if last {
                    // A server may keep the stream open; nothing more is awaited on it.
                    return StreamEnd::Answered;
                }
            }
        }
        StreamEnd::Closed
    }
}

/// How a stream of events ended.
enum StreamEnd {
    /// With the answer.
    Answered,
    /// Without it.
    Closed,
    /// It was longer than is read.
    TooLong,
}

/// Whether the body is a stream of events.
/// Where a redirect leads.
fn location(response: &reqwest::Response) -> Option<String> {
    let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn is_stream(response: &reqwest::Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    kind.to_ascii_lowercase().starts_with("text/event-stream")
}

#[cfg(test)]
mod tests;
