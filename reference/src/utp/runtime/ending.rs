//! How a turn ends: the `task.deliverable` card, then the task event that points to it (UTP §3.1, `docs/bindings.md`).

use serde_json::{Value, json};

use super::resume::ToolResult;
use super::turns::EPOCH;
use super::worker::{Turn, Worker};
use crate::utp::ident::{new_id, timestamp};
use crate::utp::message::{DELIVERABLE, Status, TaskEvent};
use crate::utp::platform::attempt;
use crate::utp::revision::turn::ending;
use crate::utp::subject::task_event;

/// What is left of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnEnding {
    status: Status,
    /// The content of the deliverable, if there is one.
    content: Option<Value>,
    tool_result_card_id: Option<String>,
    error: Option<Value>,
}

impl TurnEnding {
    /// The model has said its last word.
    pub(super) fn replied(text: Option<String>) -> Self {
        Self::delivered(json!({"text": text.unwrap_or_default()}))
    }

    /// The model called `submit_result` with these arguments, whatever they are.
    pub(super) fn submitted(arguments: &str) -> Self {
        match serde_json::from_str(arguments) {
            Ok(Value::Object(content)) => Self::delivered(Value::Object(content)),
            _ => Self::delivered(json!({"text": arguments})),
        }
    }

    /// A tool ended the turn; how is what its card says.
    pub(super) fn by_tool(result: &ToolResult) -> Self {
        let error = result.failure();
        let text = match &result.result {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut content = json!({"text": text, "result": result.result});
        if let Some(error) = &error {
            content["error"] = error.clone();
        }
        Self {
            status: result.status,
            content: Some(content),
            tool_result_card_id: Some(result.card_id.clone()),
            error,
        }
    }

    pub(super) fn failed(code: &str, message: &str) -> Self {
        Self::without_deliverable(Status::Failed, code, message)
    }

    pub(super) fn canceled() -> Self {
        Self::without_deliverable(Status::Canceled, "canceled", "the runtime is shutting down")
    }

    fn delivered(content: Value) -> Self {
        Self { status: Status::Success, content: Some(content), tool_result_card_id: None, error: None }
    }

    fn without_deliverable(status: Status, code: &str, message: &str) -> Self {
        let error = Some(json!({"code": code, "message": message}));
        Self { status, content: None, tool_result_card_id: None, error }
    }
}

impl Worker {
    /// Writes the deliverable and publishes the end of the turn.
    pub(super) async fn end(&self, turn: &Turn, left: TurnEnding) {
        let deliverable_card_id = match left.content {
            Some(content) => self.save_deliverable(turn, content).await,
            None => None,
        };
        let event = TaskEvent {
            agent_id: turn.agent_id.clone(),
            agent_turn_id: turn.agent_turn_id.clone(),
            turn_epoch: json!(EPOCH),
            status: left.status,
            deliverable_card_id,
            tool_result_card_id: left.tool_result_card_id,
            error: left.error,
        };
        let subject = task_event(turn.revision, &turn.project, &turn.channel, &turn.agent_id);
        let place = (turn.project.as_str(), turn.channel.as_str());
        let headers = ending(turn.revision, place, &event, &turn.headers.child()).to_nats();
        let payload = json!(event).to_string().into();
        if let Err(error) = self.client.publish_with_headers(subject, headers, payload).await {
            (self.log)(&format!("the end of turn `{}` is not published: {error}", turn.agent_turn_id));
        }
    }

    async fn save_deliverable(&self, turn: &Turn, content: Value) -> Option<String> {
        let card_id = new_id("card_d");
        let card = json!({
            "card_id": card_id,
            "project_id": turn.project.as_str(),
            "type": DELIVERABLE,
            "author_id": turn.agent_id,
            "created_at": timestamp(),
            "content": content,
            "metadata": {
                "agent_turn_id": turn.agent_turn_id,
                "parent_step_id": turn.parent_step_id,
                "trace_id": turn.headers.traceparent.trace_id(),
            },
        });
        let saved = attempt(self.delivery_deadline, || self.platform.save_card(&turn.project, &card)).await;
        match saved {
            Ok(()) => Some(card_id),
            Err(error) => {
                (self.log)(&format!("turn `{}` has no deliverable: {error}", turn.agent_turn_id));
                None
            }
        }
    }
}
