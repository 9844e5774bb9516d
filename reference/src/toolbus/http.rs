//! MCP's streamable HTTP at `/mcp`: sessions, and the checks of `Host` and `Origin` that keep web pages out.
//!
//! rmcp serves the protocol. Here in front of it: bodies that are no message get a JSON-RPC error (rmcp answers
//! with plain text), revisions of MCP without sessions are refused, and sessions, bodies and time are bounded.
//! Answers are event streams with one event; streams cannot be resumed, since no call takes long.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use rmcp::model::{ClientJsonRpcMessage, GetMeta as _};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::ToolBusError;
use super::bus::Bus;
use super::config::Config;
use super::server::{Server, protocol_versions};
use super::wire::{self, MESSAGE_BYTES};

/// Where MCP is served.
const PATH: &str = "/mcp";
/// How many sessions there may be at once.
const SESSIONS: usize = 64;
/// How long a session lives without a message.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// How long a client may take to send its message.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// How long open answers may take to end after the server was asked to stop.
const END_DEADLINE: Duration = Duration::from_secs(5);

/// A server for many clients, one session each. Dropping it closes the listener and every connection.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    /// Ends the sessions and their streams.
    sessions: CancellationToken,
    /// Taken by `shutdown`; dropping it stops the acceptor.
    stop: Option<oneshot::Sender<()>>,
    acceptor: JoinHandle<io::Result<()>>,
}

impl HttpServer {
    /// Binds the listener and starts to serve; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// [`ToolBusError::Listen`] when the address cannot be bound.
    pub async fn start(config: Config, listen: SocketAddr) -> Result<Self, ToolBusError> {
        let failed = |source| ToolBusError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let sessions = CancellationToken::new();
        let router = router(&config, sessions.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        // Answers are small and come in several writes; held back, each would wait for the client's acknowledgement.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
            // An error means that the server was dropped.
            let _ = stopped.await;
        });
        let acceptor = tokio::spawn(serving.into_future());
        Ok(Self { address, sessions, stop: Some(stop), acceptor })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client connects to: `http://127.0.0.1:port/mcp`.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Ends the sessions and returns when the listener is closed.
    pub async fn shutdown(mut self) {
        self.sessions.cancel();
        // Nobody listening means that it has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if tokio::time::timeout(END_DEADLINE, &mut self.acceptor).await.is_err() {
            self.acceptor.abort();
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.sessions.cancel();
        self.acceptor.abort();
    }
}

fn router(config: &Config, ending: CancellationToken) -> Router {
    let mut session_config = SessionConfig::default();
    session_config.keep_alive = Some(SESSION_IDLE);
    session_config.sse_retry = None;
    let mut manager = LocalSessionManager::default();
    manager.session_config = session_config;
    let manager = Arc::new(manager);
    let server = Server::new(Arc::new(Bus::new(config)));
    let service = StreamableHttpService::new(
        move || Ok(server.session()),
        Arc::clone(&manager),
        StreamableHttpServerConfig::default()
            .with_sse_retry(None)
            .with_allowed_hosts(&config.allowed_hosts)
            .with_allowed_origins(&config.allowed_origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MESSAGE_BYTES)
            .with_cancellation_token(ending),
    );
    Router::new().route_service(PATH, service).layer(from_fn(move |request: Request, next: Next| {
        let manager = Arc::clone(&manager);
        async move {
            let ends_session = request.method() == Method::DELETE;
            let mut response = match checked(request, &manager).await {
                Ok(request) => next.run(request).await,
                Err(refused) => refused,
            };
            // rmcp says 202 when it is done; clients take that for a failure to end the session.
            if ends_session && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            response
        }
    }))
}

/// The request, if there is a message in it that may be served.
async fn checked(request: Request, manager: &LocalSessionManager) -> Result<Request, Response> {
    let is_served = request.headers().get("mcp-protocol-version").is_none_or(|version| {
        protocol_versions().iter().any(|known| known.as_str().as_bytes() == version.as_bytes())
    });
    let unserved = || {
        refused(
            StatusCode::BAD_REQUEST,
            &error("the header `MCP-Protocol-Version` names no revision that is served"),
        )
    };
    if request.method() != Method::POST {
        return if is_served { Ok(request) } else { Err(unserved()) };
    }
    let begins = !request.headers().contains_key("mcp-session-id");
    if begins && manager.sessions.read().await.len() >= SESSIONS {
        return Err(refused(
            StatusCode::SERVICE_UNAVAILABLE,
            &error("there are as many sessions as there may be"),
        ));
    }
    let (head, body) = request.into_parts();
    let bytes = match tokio::time::timeout(BODY_DEADLINE, to_bytes(body, MESSAGE_BYTES)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, &wire::too_long())),
        Err(_elapsed) => {
            return Err(refused(StatusCode::REQUEST_TIMEOUT, &error("the message did not come in time")));
        }
    };
    let message = wire::parse(&bytes).map_err(|refusal| refused(StatusCode::BAD_REQUEST, &refusal))?;
    // One that names its revision in its body is refused by rmcp, with those that there are.
    if !is_served && !names_its_revision(&message) {
        return Err(unserved());
    }
    Ok(Request::from_parts(head, Body::from(bytes)))
}

fn names_its_revision(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    request.request.get_meta().protocol_version().is_some()
}

fn error(message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": message}})
}

fn refused(status: StatusCode, body: &Value) -> Response {
    (status, Json(body)).into_response()
}
