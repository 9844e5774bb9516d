//! How turns are asked for: `turns.start`, over both bindings (`docs/bindings.md`, Agents).

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::turns::{EPOCH, Start, TurnStore};
use super::worker::{Turn, Worker};
use crate::log::Log;
use crate::sync::locked;
use crate::utp::execution::served;
use crate::utp::ident::new_id;
use crate::utp::message::{TurnReceipt, TurnRequest};
use crate::utp::projects::Projects;
use crate::utp::revision::command::agrees;
use crate::utp::revision::turn::{self, MAX_DEPTH};
use crate::utp::revision::{Revision, headers, shown};
use crate::utp::serving::{Body, Denial, NatsRequest, RequestHandler, body_bytes, json_body};
use crate::utp::subject::{ChannelId, ProjectId, is_token};
use crate::utp::trace::{TRACEPARENT, TraceHeaders, Traceparent};

/// The parent step of a turn that no step asked for.
const ROOT_STEP: &str = "step_root";

/// Starts turns.
pub(super) struct TurnHandler {
    pub(super) worker: Arc<Worker>,
    pub(super) turns: Box<dyn TurnStore>,
    pub(super) running: Mutex<JoinSet<()>>,
    pub(super) places: Arc<Semaphore>,
    pub(super) revisions: Vec<Revision>,
    pub(super) projects: Projects,
    pub(super) log: Log,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TurnOperation {
    TurnsStart,
}

impl TurnHandler {
    /// Starts a turn, unless it was started before.
    fn start<'a>(
        &self,
        project: ProjectId,
        channel: ChannelId,
        lookup: impl Fn(&str) -> Option<&'a str>,
        body: &[u8],
    ) -> Result<TurnReceipt, Denial> {
        let revision = shown(&self.revisions, &lookup);
        let (request, depth) = read(revision, (&project, &channel), body, &lookup)?;
        let agent_turn_id = request.agent_turn_id.clone().unwrap_or_else(|| new_id("turn"));
        let start = start_of(&request, &agent_turn_id);
        if let Some(receipt) = self.turns.find(project.as_str(), &start) {
            return same_agent(receipt, &request.agent_id);
        }
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Denial {
            status: 503,
            code: "busy",
            message: "too many turns are under way".to_owned(),
        })?;
        let receipt =
            TurnReceipt { agent_id: request.agent_id.clone(), agent_turn_id, turn_epoch: json!(EPOCH) };
        if let Some(known) = self.turns.begin(project.as_str(), &start, &receipt) {
            return same_agent(known, &request.agent_id);
        }
        let turn = Turn {
            revision,
            project,
            channel,
            agent_id: request.agent_id,
            agent_turn_id: receipt.agent_turn_id.clone(),
            instruction: request.instruction,
            context_box_id: request.context_box_id,
            parent_step_id: request.parent_step_id.unwrap_or_else(|| ROOT_STEP.to_owned()),
            headers: trace(lookup, request.trace_id.as_deref(), depth),
        };
        let worker = Arc::clone(&self.worker);
        let mut running = locked(&self.running);
        while running.try_join_next().is_some() {}
        running.spawn(async move {
            worker.run(turn).await;
            drop(place);
        });
        Ok(receipt)
    }
}

/// The answer for a turn that was started before; an id belongs to one agent.
fn same_agent(receipt: TurnReceipt, agent_id: &str) -> Result<TurnReceipt, Denial> {
    if receipt.agent_id == agent_id {
        return Ok(receipt);
    }
    let message = format!("turn `{}` is another agent's", receipt.agent_turn_id);
    Err(Denial { status: 409, code: "conflict", message })
}

/// By what this start is known again.
fn start_of(request: &TurnRequest, agent_turn_id: &str) -> Start {
    match &request.correlation_id {
        None => Start::Turn(agent_turn_id.to_owned()),
        Some(correlation_id) => Start::Correlation {
            parent_agent_turn_id: request.parent_agent_turn_id.clone().unwrap_or_default(),
            correlation_id: correlation_id.clone(),
        },
    }
}

/// Reads a request, and the depth of its turn.
fn read<'a>(
    revision: Revision,
    (project, channel): (&ProjectId, &ChannelId),
    body: &[u8],
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Result<(TurnRequest, u64), Denial> {
    let body = json_body(body)?;
    let (request, depth) = turn::read(revision, &body, &lookup).map_err(Denial::bad_request)?;
    if !is_token(&request.agent_id) {
        // The id becomes a token of the task event's subject.
        return Err(Denial::bad_request("`agent_id` is not a subject token"));
    }
    if revision == Revision::V1r4 {
        for (header, token) in
            [(headers::PROJECT_ID, project.as_str()), (headers::CHANNEL_ID, channel.as_str())]
        {
            agrees(&lookup, header, token).map_err(|reason| Denial::refused("protocol_violation", reason))?;
        }
        if depth >= MAX_DEPTH {
            let message = format!("no turn starts at depth {depth}");
            return Err(Denial::refused("recursion_depth_exceeded", message));
        }
    }
    Ok((request, depth))
}

/// The turn's trace: that of the header, else the one that the request names, else a new one.
fn trace<'a>(lookup: impl Fn(&str) -> Option<&'a str>, trace_id: Option<&str>, depth: u64) -> TraceHeaders {
    let inherited = lookup(TRACEPARENT).and_then(Traceparent::parse).is_some();
    let mut headers = TraceHeaders::child_of(lookup);
    if let Some(named) = trace_id.and_then(Traceparent::within).filter(|_| !inherited) {
        headers.traceparent = named;
    }
    headers.recursion_depth.get_or_insert_with(|| depth.to_string());
    headers
}

impl RequestHandler for TurnHandler {
    type Operation = TurnOperation;

    fn operations(&self) -> Vec<(TurnOperation, &'static str)> {
        vec![(TurnOperation::TurnsStart, "*.turns.start")]
    }

    fn projects(&self) -> &Projects {
        &self.projects
    }

    fn log(&self) -> &Log {
        &self.log
    }

    fn perform<'a>(
        &'a self,
        operation: TurnOperation,
        request: NatsRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        async move {
            let project = served(&self.projects, request.project())?;
            let channel = request.channel()?;
            match operation {
                TurnOperation::TurnsStart => {
                    let receipt =
                        self.start(project, channel, |name| request.header(name), request.body())?;
                    Ok(json!(receipt))
                }
            }
        }
        .boxed()
    }
}

/// The same over HTTP.
pub(super) fn routes(handler: Arc<TurnHandler>) -> Router {
    Router::new().route("/projects/{project}/channels/{channel}/turns", post(start)).with_state(handler)
}

async fn start(
    State(handler): State<Arc<TurnHandler>>,
    Path((project, channel)): Path<(String, String)>,
    sent: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Denial> {
    let project = served(&handler.projects, &project)?;
    let channel = ChannelId::new(channel).map_err(|error| Denial::bad_request(error.to_string()))?;
    let lookup = |name: &str| headers::http_header(&sent, name);
    Ok(Json(json!(handler.start(project, channel, lookup, &body_bytes(body)?)?)))
}
