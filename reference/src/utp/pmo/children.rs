//! Turns of other agents: started once, waited for, their deliverables read.
//!
//! The end of a turn is published on the bus and nowhere else, so the waiting call subscribes before it starts the turn.

use async_nats::Subscriber;
use futures::StreamExt;
use serde_json::{Value, json};

use crate::utp::ReferenceError;
use crate::utp::connection::round_trip;
use crate::utp::message::{ErrorCode, RosterRow, Status, TaskEvent, TurnReceipt, TurnRequest};
use crate::utp::platform::attempt;
use crate::utp::revision::Revision;
use crate::utp::revision::headers::whole_number;
use crate::utp::revision::turn::{self, Parent};
use crate::utp::subject::{is_token, task_event};
use crate::utp::tool_service::{Call, ToolFailure};
use crate::utp::trace::nats_header;

use super::arguments::Task;
use super::context::{PmoContext, missed};
use super::ids;

/// How the turn of another agent ended, and what it left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChildEnding {
    pub(super) status: Status,
    pub(super) deliverable_card_id: Option<String>,
    /// The deliverable: its text, or its whole content where it has none.
    pub(super) output: Option<Value>,
    /// Why the turn is no success, or why its deliverable cannot be had.
    pub(super) failure: Option<ToolFailure>,
}

impl PmoContext {
    /// Starts the turn of task number `index`.
    pub(super) async fn start(
        &self,
        call: &Call,
        index: usize,
        row: &RosterRow,
        task: &Task,
    ) -> Result<TurnReceipt, ToolFailure> {
        let (project_id, channel_id) = (&call.subject.project_id, &call.subject.channel_id);
        let lineage = |member: &str| call.metadata.get(member).and_then(Value::as_str).map(str::to_owned);
        let identity = &call.command.identity;
        let headers = call.headers.child();
        let request = TurnRequest {
            agent_turn_id: Some(ids::turn_id(call, index)),
            context_box_id: task.context_box_id.clone(),
            parent_agent_turn_id: Some(identity.agent_turn_id.clone()),
            parent_step_id: lineage("step_id").or_else(|| identity.step_id.clone()),
            trace_id: Some(lineage("trace_id").unwrap_or_else(|| headers.traceparent.trace_id().to_owned())),
            correlation_id: Some(ids::correlation_id(call, index)),
            ..TurnRequest::new(&row.agent_id, &task.instruction)
        };
        let parent = Parent {
            project_id: project_id.as_str(),
            channel_id: channel_id.as_str(),
            identity,
            depth: self.child_depth(call)?,
        };
        let (request, headers) = turn::written(call.revision, parent, request, &headers);
        let started = attempt(self.delivery_deadline, || {
            self.platform.start_turn(project_id, channel_id, &request, &headers)
        });
        let receipt = started.await.map_err(|error| missed(&error))?;
        if receipt.agent_turn_id.trim().is_empty() {
            return Err(ToolFailure::new(ErrorCode::InternalError, "the platform names no turn"));
        }
        Ok(receipt)
    }

    /// The depth of the turns that a call starts; one that is too deep starts none.
    pub(super) fn child_depth(&self, call: &Call) -> Result<u64, ToolFailure> {
        let depth = call.headers.recursion_depth.as_deref().and_then(whole_number).unwrap_or_default();
        let child = depth.saturating_add(1);
        if call.revision >= Revision::V1r4 && child >= self.max_depth {
            let message =
                format!("a turn would start at depth {child}, which is not below {}", self.max_depth);
            return Err(ToolFailure::new(ErrorCode::RecursionDepthExceeded, message)
                .with_detail(json!({"recursion_depth": depth, "max_depth": self.max_depth})));
        }
        Ok(child)
    }

    /// Receives the ends of these agents' turns from now on.
    pub(super) async fn listen<'a>(
        &self,
        call: &Call,
        agent_ids: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Subscriber>, ToolFailure> {
        let mut subscribers = Vec::new();
        for agent_id in agent_ids {
            if !is_token(agent_id) {
                let message = format!("the id `{agent_id}` cannot stand in a subject");
                return Err(ToolFailure::new(ErrorCode::BadRequest, message));
            }
            let subject =
                task_event(call.revision, &call.subject.project_id, &call.subject.channel_id, agent_id);
            let subscribed = self.client.subscribe(subject.clone()).await;
            subscribers.push(subscribed.map_err(|source| {
                not_subscribed(&ReferenceError::Subscribe { subject, source: source.into() })
            })?);
        }
        round_trip(&self.client).await.map_err(|error| not_subscribed(&error))?;
        Ok(subscribers)
    }

    /// Waits for the end of a turn, then reads its deliverable.
    pub(super) async fn ending(
        &self,
        call: &Call,
        events: &mut Subscriber,
        turn: &TurnReceipt,
    ) -> ChildEnding {
        let failed = |failure| ChildEnding {
            status: Status::Failed,
            deliverable_card_id: None,
            output: None,
            failure: Some(failure),
        };
        let event = match task_end(call.revision, events, &turn.agent_turn_id).await {
            Ok(event) => event,
            Err(failure) => return failed(failure),
        };
        let mut failure = failure_of(&event);
        let mut output = None;
        if let Some(card_id) = &event.deliverable_card_id {
            match self.deliverable(call, card_id).await {
                Ok(found) => output = Some(found),
                Err(missing) => failure = failure.or(Some(missing)),
            }
        }
        ChildEnding { status: event.status, deliverable_card_id: event.deliverable_card_id, output, failure }
    }

    async fn deliverable(&self, call: &Call, card_id: &str) -> Result<Value, ToolFailure> {
        let wanted = [card_id.to_owned()];
        let project_id = &call.subject.project_id;
        let batch = attempt(self.delivery_deadline, || self.platform.cards(project_id, &wanted))
            .await
            .map_err(|error| missed(&error))?;
        let card = batch.cards.into_iter().find(|card| card["card_id"] == card_id);
        let mut card = card.ok_or_else(|| {
            ToolFailure::new(ErrorCode::InternalError, "the deliverable is not there")
                .with_detail(json!({"deliverable_card_id": card_id}))
        })?;
        let content = card["content"].take();
        Ok(match content.get("text") {
            Some(Value::String(text)) => Value::String(text.clone()),
            _ => content,
        })
    }
}

/// The event that reports the end of this turn; those of the agent's other turns are skipped.
async fn task_end(
    revision: Revision,
    events: &mut Subscriber,
    agent_turn_id: &str,
) -> Result<TaskEvent, ToolFailure> {
    while let Some(message) = events.next().await {
        let Ok(mut event) = serde_json::from_slice::<Value>(&message.payload) else { continue };
        turn::complete_event(revision, &mut event, |name| nats_header(message.headers.as_ref(), name));
        if event["agent_turn_id"] == agent_turn_id {
            return serde_json::from_value(event).map_err(|error| {
                ToolFailure::new(
                    ErrorCode::InternalError,
                    format!("the end of the turn is malformed: {error}"),
                )
            });
        }
    }
    Err(ToolFailure::new(ErrorCode::UpstreamUnavailable, "the connection to the broker is closed"))
}

/// Why a turn is no success, in its own words where it has some.
fn failure_of(event: &TaskEvent) -> Option<ToolFailure> {
    let (code, message) = match event.status {
        Status::Success => return None,
        Status::Failed => (ErrorCode::InternalError, "the turn failed"),
        Status::Canceled => (ErrorCode::Canceled, "the turn was called off"),
        Status::Timeout => (ErrorCode::ToolTimeout, "the turn took too long"),
        Status::Partial => (ErrorCode::IncompleteResult, "the turn delivered a part"),
    };
    let error = event.error.clone().unwrap_or_default();
    let own_code = || serde_json::from_value(error["code"].clone()).ok();
    let code = if event.status == Status::Failed { own_code().unwrap_or(code) } else { code };
    let message = error["message"].as_str().filter(|text| !text.trim().is_empty()).unwrap_or(message);
    let failure = ToolFailure::new(code, message);
    Some(if error.is_null() { failure } else { failure.with_detail(json!({"turn_error": error})) })
}

fn not_subscribed(error: &ReferenceError) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::UpstreamUnavailable,
        format!("cannot subscribe to the ends of turns: {error}"),
    )
}
