//! An agent over HTTP: each breadcrumb is posted, and the answer is the agent's response to it.
//!
//! An answer waits until the agent has spoken or has nothing more to do before the next input: then it is
//! one invocation, or 204. What the agent says unasked, because a tool did not answer in time, is kept for
//! the next breadcrumb of its session. On a loopback address `Host` has to be a loopback name, which keeps out pages
//! whose own name was made to point here; bodies have to be declared as JSON, which such pages may not send unasked.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::config::{AgentConfig, AgentError};
use super::lines::{read_breadcrumb, store};
use super::session_manager::{OutputSink, SessionManager};
use super::utterance::Utterance;
use crate::http::head::{declares_json, names_loopback};
use crate::http::listen::{Bounds, HEAD_DEADLINE, Listening};
use crate::sync::locked;

/// How large a breadcrumb may be.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// How long a client may take to send it.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// How long an answer waits for what the agent says.
const ANSWER_DEADLINE: Duration = Duration::from_secs(120);
const BOUNDS: Bounds = Bounds { head: HEAD_DEADLINE, connections: 256, stall: Duration::from_secs(30) };
/// How many unasked utterances are kept in one session, and of how many sessions.
const KEPT: usize = 16;
const KEPT_SESSIONS: usize = 1024;

/// An agent that listens for HTTP. Dropping it ends it.
pub struct HttpAgent {
    sessions: Arc<SessionManager>,
    listening: Listening,
}

struct Served {
    sessions: Arc<SessionManager>,
    outbox: Arc<Outbox>,
    loopback: bool,
}

/// What was said and not yet fetched, by session, oldest first.
#[derive(Default)]
struct Outbox(Mutex<HashMap<String, VecDeque<Value>>>);

impl HttpAgent {
    /// Starts an agent and listens; port 0 takes any port.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be used or the address cannot be listened on.
    pub async fn start(config: AgentConfig, address: SocketAddr) -> Result<Self, AgentError> {
        let outbox = Arc::new(Outbox::default());
        let store = store(&config)?;
        let sessions =
            Arc::new(SessionManager::new(config, store, Arc::clone(&outbox) as Arc<dyn OutputSink>)?);
        let failed = |source| AgentError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let loopback = address.ip().is_loopback();
        let served = Arc::new(Served { sessions: Arc::clone(&sessions), outbox, loopback });
        let router = Router::new().fallback(serve).with_state(served);
        let listening = Listening::start(listener, router, BOUNDS).map_err(failed)?;
        Ok(Self { sessions, listening })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// `http://127.0.0.1:port`; any path will do.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Closes the listener and ends all sessions.
    pub async fn shutdown(self) {
        self.sessions.shutdown().await;
        self.listening.shutdown().await;
    }
}

impl std::fmt::Debug for HttpAgent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpAgent").field("listening", &self.listening).finish_non_exhaustive()
    }
}

async fn serve(State(served): State<Arc<Served>>, request: Request) -> Response {
    if served.loopback && !names_loopback(request.headers()) {
        return refused(StatusCode::FORBIDDEN, "`Host` is no loopback name");
    }
    if request.method() == Method::GET {
        return "ok".into_response();
    }
    if request.method() != Method::POST {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "breadcrumbs are posted here");
    }
    if !declares_json(request.headers()) {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "`Content-Type` must be `application/json`");
    }
    let body = match tokio::time::timeout(BODY_DEADLINE, to_bytes(request.into_body(), BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the breadcrumb is too long, or broke off");
        }
        Err(_elapsed) => return refused(StatusCode::REQUEST_TIMEOUT, "the breadcrumb did not come in time"),
    };
    let Some(breadcrumb) = serde_json::from_slice(&body).ok().and_then(read_breadcrumb) else {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "this is no breadcrumb");
    };
    let Some(started) = served.sessions.receive(&breadcrumb) else {
        return StatusCode::NO_CONTENT.into_response();
    };
    // Whether it is done or timed out: what there is to fetch is in the outbox.
    let _ = tokio::time::timeout(ANSWER_DEADLINE, started.done).await;
    match served.outbox.fetch(&started.session) {
        Some(invocation) => Json(invocation).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

impl Outbox {
    fn fetch(&self, session: &str) -> Option<Value> {
        let mut kept = locked(&self.0);
        let said = kept.get_mut(session)?;
        let oldest = said.pop_front();
        if said.is_empty() {
            kept.remove(session);
        }
        oldest
    }
}

impl OutputSink for Outbox {
    fn send<'a>(&'a self, utterance: &'a Utterance) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            let mut kept = locked(&self.0);
            if kept.len() >= KEPT_SESSIONS && !kept.contains_key(&utterance.session) {
                return Err("nobody fetches what is said".to_owned());
            }
            let said = kept.entry(utterance.session.clone()).or_default();
            if said.len() >= KEPT {
                said.pop_front();
            }
            said.push_back(utterance.envelope());
            Ok(())
        })
    }
}

fn refused(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({"error": text}))).into_response()
}
