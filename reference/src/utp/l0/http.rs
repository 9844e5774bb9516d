//! L0 over HTTP (`docs/bindings.md`, HTTP): the same operations, every request with a size cap and a deadline.
//!
//! Neighbour: `platform::http` sends these requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::MAX_REQUEST;
use super::operations::{Denial, Operations, TraceReport};
use crate::utp::error::ReferenceError;
use crate::utp::message::{error_reply, text_member};
use crate::utp::subject::ChannelId;

type Shared = State<Arc<Operations>>;
type Answer = Result<Json<Value>, Denial>;
/// A body, or the reason why it could not be read: too long, or broken off.
type Body = Result<Bytes, BytesRejection>;

impl IntoResponse for Denial {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(error_reply(self.code, &self.message))).into_response()
    }
}

/// Listens, and answers until the closing; returns the address that it got.
pub(crate) async fn serve(
    operations: Arc<Operations>,
    address: SocketAddr,
    deadline: Duration,
    mut closing: watch::Receiver<bool>,
) -> Result<(SocketAddr, JoinHandle<()>), ReferenceError> {
    let failed = |source| ReferenceError::Listen { address: address.to_string(), source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let log = Arc::clone(&operations.log);
    let router = router(operations, deadline);
    let task = tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(async move {
            // An error means that L0 was dropped.
            let _ = closing.wait_for(|closing| *closing).await;
        });
        if let Err(error) = served.await {
            log(&format!("the HTTP binding ended: {error}"));
        }
    });
    Ok((bound, task))
}

fn router(operations: Arc<Operations>, deadline: Duration) -> Router {
    Router::new()
        .route("/projects/{project}/cards/batch", post(cards))
        .route("/projects/{project}/cards/{card}", get(card).put(save_card))
        .route("/projects/{project}/tools", post(upload))
        .route("/projects/{project}/tools/{tool}", get(tool))
        .route("/projects/{project}/channels/{channel}/reports", post(report))
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
        .with_state(operations)
}

async fn cards(State(operations): Shared, Path(project): Path<String>, body: Body) -> Answer {
    let project = operations.project(&project)?;
    Ok(Json(json!(operations.cards(&project, &bytes(body)?).await?)))
}

async fn card(State(operations): Shared, Path((project, card_id)): Path<(String, String)>) -> Answer {
    let project = operations.project(&project)?;
    Ok(Json(also_as("card", operations.card(&project, &card_id).await?)))
}

async fn save_card(
    State(operations): Shared,
    Path((project, card_id)): Path<(String, String)>,
    body: Body,
) -> Answer {
    let project = operations.project(&project)?;
    let body = bytes(body)?;
    let sent: Value = super::operations::json_body(&body)?;
    let card = sent.get("card").filter(|card| card.is_object()).unwrap_or(&sent);
    if text_member(card, "card_id") != Some(card_id.as_str()) {
        return Err(Denial::bad_request("the card's `card_id` is not that of the path"));
    }
    Ok(Json(json!({"card_id": operations.save_card(&project, &body).await?})))
}

async fn tool(State(operations): Shared, Path((project, name)): Path<(String, String)>) -> Answer {
    let project = operations.project(&project)?;
    Ok(Json(also_as("tool", json!(operations.tool(&project, &name).await?))))
}

async fn upload(
    State(operations): Shared,
    Path(project): Path<String>,
    body: Body,
) -> Result<(StatusCode, Json<Value>), Denial> {
    let project = operations.project(&project)?;
    let row = operations.upload(&project, &bytes(body)?).await?;
    Ok((StatusCode::CREATED, Json(json!(row))))
}

async fn report(
    State(operations): Shared,
    Path((project, channel)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let project = operations.project(&project)?;
    let channel = ChannelId::new(channel).map_err(|error| Denial::bad_request(error.to_string()))?;
    let trace = TraceReport::new(|name| headers.get(name).and_then(|value| value.to_str().ok()));
    Ok(Json(json!(operations.report(&project, &channel, trace, &bytes(body)?).await?)))
}

fn bytes(body: Body) -> Result<Bytes, Denial> {
    body.map_err(|rejection| Denial {
        status: rejection.status().as_u16(),
        code: "bad_request",
        message: rejection.body_text(),
    })
}

/// Answers an object as itself and also under the key of its NATS reply.
fn also_as(key: &str, object: Value) -> Value {
    let mut answer = object.clone();
    answer[key] = object;
    answer
}
