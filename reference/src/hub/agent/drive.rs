//! The agent made reachable: over HTTP, or one call through standard input and output.
//!
//! `POST /drive` makes one call without a model, `POST /v1/chat` takes one turn with it, `GET /health` reports that
//! someone is there. A web page must not be able to use this: bodies have to be declared as JSON, which a page of
//! another origin may not send unasked, and on a loopback address `Host` has to be a loopback name.
//! Deliberately absent: authentication, which a server beyond loopback would need.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::chat::{Turn, failure_document};
use super::config::AgentConfig;
use super::error::{AgentError, ChatError};
use super::{Agent, AgentCall, CallFailure, Outcome};
use crate::http::head::{declares_json, names_loopback};

/// How large a body may be.
const BODY_BYTES: usize = 1024 * 1024;
/// How long a client may take to send its body.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// How long open calls may take to end after the server was asked to stop.
const END_DEADLINE: Duration = Duration::from_secs(5);

/// Makes one call: the body of `POST /drive` in, its answer out, without a line break.
///
/// # Errors
/// When the configuration cannot be used or `request` is no call. A failed tool is an answer.
pub async fn run_once(config: AgentConfig, request: &str) -> Result<String, AgentError> {
    let agent = Agent::new(config)?;
    let call =
        serde_json::from_str(request).map_err(|error| AgentError::Request { reason: error.to_string() })?;
    Ok(drive_answer(&agent.call(call).await).to_string())
}

fn drive_answer(outcome: &Result<Outcome, CallFailure>) -> Value {
    match outcome {
        Ok(outcome) => json!({"ok": true, "outcome": outcome.result}),
        Err(failure) => json!({"ok": false, "outcome": failure_document(failure)}),
    }
}

/// An agent that listens. Dropping it closes the listener and ends every call.
#[derive(Debug)]
pub struct DriveServer {
    address: SocketAddr,
    /// Closes the listener.
    closing: CancellationToken,
    /// Ends the calls that are still open.
    ending: CancellationToken,
    acceptor: JoinHandle<std::io::Result<()>>,
}

/// What every request is served with.
#[derive(Clone)]
struct Driven {
    agent: Arc<Agent>,
    ending: CancellationToken,
}

impl DriveServer {
    /// Starts an agent and listens for calls; port 0 takes any port.
    ///
    /// # Errors
    /// When the configuration cannot be used or the address cannot be listened on.
    pub async fn start(config: AgentConfig, listen: SocketAddr) -> Result<Self, AgentError> {
        let agent = Arc::new(Agent::new(config)?);
        let failed = |source| AgentError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (closing, ending) = (CancellationToken::new(), CancellationToken::new());
        let router = router(Driven { agent, ending: ending.clone() }, address);
        let serving = axum::serve(listener, router).with_graceful_shutdown(closing.clone().cancelled_owned());
        let acceptor = tokio::spawn(serving.into_future());
        Ok(Self { address, closing, ending, acceptor })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:port`, below which `/drive`, `/v1/chat` and `/health` are served.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the listener and returns when the open calls are done, or ended after a while.
    pub async fn shutdown(mut self) {
        self.closing.cancel();
        if tokio::time::timeout(END_DEADLINE, &mut self.acceptor).await.is_err() {
            self.ending.cancel();
            self.acceptor.abort();
        }
    }
}

impl Drop for DriveServer {
    fn drop(&mut self) {
        self.ending.cancel();
        self.acceptor.abort();
    }
}

fn router(driven: Driven, address: SocketAddr) -> Router {
    let router = Router::new()
        .route("/health", get(async || Json(json!({"status": "ok"}))))
        .route("/drive", post(drive))
        .route("/v1/chat", post(chat))
        .fallback(async || refused(StatusCode::NOT_FOUND, "NOT_FOUND", "nothing is served here"))
        .with_state(driven);
    if address.ip().is_loopback() { router.layer(from_fn(loopback_only)) } else { router }
}

/// Keeps out pages whose name was made to point at this machine.
async fn loopback_only(request: Request, next: Next) -> Response {
    if names_loopback(request.headers()) {
        next.run(request).await
    } else {
        refused(StatusCode::FORBIDDEN, "FORBIDDEN", "`Host` is no loopback name")
    }
}

async fn drive(State(driven): State<Driven>, request: Request) -> Response {
    let call: AgentCall = match body(request).await {
        Ok(call) => call,
        Err(refused) => return refused,
    };
    unless_ending(&driven, async { Json(drive_answer(&driven.agent.call(call).await)).into_response() }).await
}

async fn chat(State(driven): State<Driven>, request: Request) -> Response {
    let turn: Turn = match body(request).await {
        Ok(turn) => turn,
        Err(refused) => return refused,
    };
    unless_ending(&driven, async {
        match driven.agent.chat(turn).await {
            Ok(reply) => Json(json!({"reply": reply})).into_response(),
            Err(error) => {
                let status = match error {
                    ChatError::NoModel => StatusCode::SERVICE_UNAVAILABLE,
                    ChatError::Model { .. } | ChatError::Silent => StatusCode::BAD_GATEWAY,
                    ChatError::Deadline { .. } => StatusCode::GATEWAY_TIMEOUT,
                };
                refused(status, error.code(), &error.to_string())
            }
        }
    })
    .await
}

async fn unless_ending(driven: &Driven, answer: impl Future<Output = Response>) -> Response {
    driven
        .ending
        .run_until_cancelled(answer)
        .await
        .unwrap_or_else(|| refused(StatusCode::SERVICE_UNAVAILABLE, "ENDING", "the agent is being shut down"))
}

/// Reads a body that has to be JSON of one form.
async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Response> {
    if !declares_json(request.headers()) {
        let message = "the header `Content-Type` must be `application/json`";
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_REQUEST", message));
    }
    let bytes = match tokio::time::timeout(BODY_DEADLINE, to_bytes(request.into_body(), BODY_BYTES)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let message = format!("the body is larger than {BODY_BYTES} bytes, or it broke off");
            return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, "INVALID_REQUEST", &message));
        }
        Err(_elapsed) => {
            let message = "the body did not come in time";
            return Err(refused(StatusCode::REQUEST_TIMEOUT, "INVALID_REQUEST", message));
        }
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| refused(StatusCode::BAD_REQUEST, "INVALID_REQUEST", &error.to_string()))
}

fn refused(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({"error": {"code": code, "message": message}}))).into_response()
}
