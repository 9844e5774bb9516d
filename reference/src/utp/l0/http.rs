//! L0 over HTTP (`docs/bindings.md`, HTTP): the same operations, every request with a size cap and a deadline.
//!
//! Neighbour: `platform::http` sends these requests.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::operations::Operations;
use super::upload::definition;
use crate::utp::message::text_member;
use crate::utp::serving::{Body, Denial, also_as, body_bytes, json_body};

type SharedOperations = State<Arc<Operations>>;
type JsonResult = Result<Json<Value>, Denial>;

pub(crate) fn routes(operations: Arc<Operations>) -> Router {
    Router::new()
        .route("/projects/{project}/cards/batch", post(cards))
        .route("/projects/{project}/cards/{card}", get(card).put(save_card))
        .route("/projects/{project}/tools", get(tools).post(upload))
        .route("/projects/{project}/tools/{tool}", get(tool).delete(remove_tool))
        .route("/projects/{project}/agents/{agent}", get(agent).put(save_agent))
        .with_state(operations)
}

async fn cards(State(operations): SharedOperations, Path(project): Path<String>, body: Body) -> JsonResult {
    let project = operations.project(&project)?;
    Ok(Json(json!(operations.cards(&project, &body_bytes(body)?).await?)))
}

async fn card(
    State(operations): SharedOperations,
    Path((project, card_id)): Path<(String, String)>,
) -> JsonResult {
    let project = operations.project(&project)?;
    Ok(Json(also_as("card", operations.card(&project, &card_id).await?)))
}

async fn save_card(
    State(operations): SharedOperations,
    Path((project, card_id)): Path<(String, String)>,
    body: Body,
) -> JsonResult {
    let project = operations.project(&project)?;
    let body = body_bytes(body)?;
    let sent: Value = json_body(&body)?;
    let card = sent.get("card").filter(|card| card.is_object()).unwrap_or(&sent);
    if text_member(card, "card_id") != Some(card_id.as_str()) {
        return Err(Denial::bad_request("the card's `card_id` is not that of the path"));
    }
    Ok(Json(json!({"card_id": operations.save_card(&project, &body).await?})))
}

async fn tool(
    State(operations): SharedOperations,
    Path((project, name)): Path<(String, String)>,
) -> JsonResult {
    let project = operations.project(&project)?;
    Ok(Json(also_as("tool", json!(operations.tool(&project, &name).await?))))
}

async fn upload(
    State(operations): SharedOperations,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), Denial> {
    let project = operations.project(&project)?;
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let yaml = definition(kind, body_bytes(body)?).await.map_err(Denial::bad_request)?;
    let row = operations.upload(&project, &yaml).await?;
    Ok((StatusCode::CREATED, Json(json!(row))))
}

async fn tools(State(operations): SharedOperations, Path(project): Path<String>) -> JsonResult {
    let project = operations.project(&project)?;
    Ok(Json(json!({"tools": operations.tools(&project).await?})))
}

async fn remove_tool(
    State(operations): SharedOperations,
    Path((project, name)): Path<(String, String)>,
) -> Result<StatusCode, Denial> {
    let project = operations.project(&project)?;
    operations.remove_tool(&project, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn agent(
    State(operations): SharedOperations,
    Path((project, agent_id)): Path<(String, String)>,
) -> JsonResult {
    let project = operations.project(&project)?;
    Ok(Json(also_as("agent", json!(operations.agent(&project, &agent_id).await?))))
}

async fn save_agent(
    State(operations): SharedOperations,
    Path((project, agent_id)): Path<(String, String)>,
    body: Body,
) -> JsonResult {
    let project = operations.project(&project)?;
    let body = body_bytes(body)?;
    let sent = json_body(&body)?;
    let row = sent.get("agent").filter(|row| row.is_object()).unwrap_or(&sent);
    if text_member(row, "agent_id") != Some(agent_id.as_str()) {
        return Err(Denial::bad_request("the row's `agent_id` is not that of the path"));
    }
    Ok(Json(json!({"agent_id": operations.save_agent(&project, &body).await?})))
}
