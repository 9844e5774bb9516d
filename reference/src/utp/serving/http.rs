//! Listens for HTTP: every request with a size cap and a deadline (`docs/bindings.md`, HTTP).
//!
//! Neighbour: `platform::http` sends these requests. Which paths there are is said where the operations are.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Denial, MAX_REQUEST};
use crate::log::Log;
use crate::utp::error::ReferenceError;

/// A body, or the reason why it could not be read: too long, or broken off.
pub(crate) type Body = Result<Bytes, BytesRejection>;

/// Listens, and answers until the closing; returns the address that it got.
pub(crate) async fn listen(
    router: Router,
    address: SocketAddr,
    log: Log,
    mut closing: watch::Receiver<bool>,
) -> Result<(SocketAddr, JoinHandle<()>), ReferenceError> {
    let failed = |source| ReferenceError::Listen { address: address.to_string(), source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let task = tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(async move {
            // An error means that the component was dropped.
            let _ = closing.wait_for(|closing| *closing).await;
        });
        if let Err(error) = served.await {
            log(&format!("the HTTP binding ended: {error}"));
        }
    });
    Ok((bound, task))
}

/// The routes with what all of them need: an answer for other paths, the size cap, the deadline.
pub(crate) fn guarded(routes: Router, deadline: Duration) -> Router {
    routes
        .fallback(|| async { Denial::not_found("operation", "at this path") })
        .layer(DefaultBodyLimit::max(MAX_REQUEST))
        .layer(from_fn(move |request: Request, next: Next| async move {
            match tokio::time::timeout(deadline, next.run(request)).await {
                Ok(response) => response,
                Err(_elapsed) => Denial {
                    status: 408,
                    code: "deadline",
                    message: format!("the request took longer than {deadline:?}"),
                }
                .into_response(),
            }
        }))
}

pub(crate) fn body_bytes(body: Body) -> Result<Bytes, Denial> {
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Denial::too_long(),
        status => Denial { status: status.as_u16(), code: "bad_request", message: rejection.body_text() },
    })
}

/// Answers an object as itself and also under the key of its NATS reply.
pub(crate) fn also_as(key: &str, object: Value) -> Value {
    let mut answer = object.clone();
    answer[key] = object;
    answer
}
