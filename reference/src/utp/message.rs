//! What travels: rows, callbacks, reports, Inbox records, and the closed vocabularies in them.
//!
//! These are wire types: unknown members are ignored (UTP §4.3) and nothing is checked beyond its JSON type.
//! The validated command is in `tool_service::command`; cards are built in `tool_service::result`.
//! A card itself stays a JSON value, because a store hands on what it was given.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a call ended: one of five (UTP §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The tool did what it was asked.
    Success,
    /// It did not; the card's `error` says why.
    Failed,
    /// The call was called off.
    Canceled,
    /// The call took longer than it may.
    Timeout,
    /// The card holds part of what was asked.
    Partial,
}

/// What the caller's turn does after the result (UTP §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AfterExecution {
    /// The turn can go on.
    Suspend,
    /// The turn typically ends.
    Terminate,
}

impl AfterExecution {
    /// Reads the exact spelling; nothing else is a value.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "suspend" => Some(Self::Suspend),
            "terminate" => Some(Self::Terminate),
            _ => None,
        }
    }
}

/// Why a call did not succeed, as `error.code` and `result.error_code` (UTP §5); the protocol's list is extensible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The tool ran into its time limit.
    ToolTimeout,
    /// An upstream refused our credentials.
    AuthFailed,
    /// The command, its card or its arguments are not valid.
    BadRequest,
    /// Something that the tool depends on did not answer.
    UpstreamUnavailable,
    /// The tool failed in a way that it did not foresee.
    InternalError,
    /// The call was called off; an own code beside the common five.
    Canceled,
    /// Part of the answer is missing; an own code beside the common five.
    IncompleteResult,
    /// The command breaks the protocol: its identity is incomplete, or its payload has what belongs into headers.
    ProtocolViolation,
    /// The call is nested so deeply that it may start no turn.
    RecursionDepthExceeded,
}

/// The `error` member of a result card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The code to act on.
    pub code: ErrorCode,
    /// The sentence to read.
    pub message: String,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// A row of `resource.tools` (UTP §2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRow {
    /// The project that the row belongs to.
    pub project_id: String,
    /// The name that the model calls.
    pub tool_name: String,
    /// Shown to the model.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// Where commands go, placeholders unexpanded.
    pub target_subject: String,
    /// The value that commands carry.
    pub after_execution: AfterExecution,
    /// Defaults, fixed values and the like; `{}` when there are none.
    #[serde(default = "empty_object")]
    pub options: Value,
}

/// The callback: routing and pointers, never results (UTP §4.2, §4.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Callback {
    /// As received.
    pub tool_call_id: String,
    /// As received.
    pub agent_turn_id: String,
    /// As received, JSON type included.
    pub turn_epoch: Value,
    /// As received: the agent to be woken.
    pub agent_id: String,
    /// Points to the `tool.result` card.
    pub tool_result_card_id: String,
    /// The card's status.
    pub status: Status,
    /// As received, also when the result overrides it.
    pub after_execution: AfterExecution,
    /// From the `tool.call` card's metadata; left out when the card has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<Value>,
}

/// The body of the report operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `tool_result`.
    pub message_type: String,
    /// The call's id.
    pub correlation_id: String,
    /// Who reports.
    pub source_agent_id: String,
    /// The callback.
    pub payload: Value,
}

/// The message type of a callback.
pub const TOOL_RESULT: &str = "tool_result";

/// The answer to a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportReceipt {
    /// The Inbox record that holds the report.
    pub inbox_id: String,
    /// Whether it was there before.
    #[serde(default)]
    pub duplicate: bool,
}

/// A record of an agent's Inbox. Other platforms may say less about it than ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxRecord {
    /// The record's own id.
    pub inbox_id: String,
    /// The project of the report.
    #[serde(default)]
    pub project_id: String,
    /// The channel of the report.
    #[serde(default)]
    pub channel_id: String,
    /// Whose Inbox it is: the callback's `agent_id`.
    pub agent_id: String,
    /// As reported.
    pub message_type: String,
    /// As reported.
    pub correlation_id: String,
    /// As reported.
    #[serde(default)]
    pub source_agent_id: String,
    /// A child of the reported span.
    pub traceparent: String,
    /// The reported state, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// The callback, unchanged; in `v1r4` its business members alone.
    pub payload: Value,
    /// Whom the report is for and about what, in `v1r4`; in `v1r3` the payload says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ReportContext>,
    /// `pending` until the agent has taken it, then `consumed`.
    #[serde(default)]
    pub status: String,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
}

/// The identity of a report of `v1r4`, which its headers carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportContext {
    /// The project of the report.
    #[serde(default)]
    pub project_id: String,
    /// The channel of the report.
    #[serde(default)]
    pub channel_id: String,
    /// The agent whose turn it is.
    pub agent_id: String,
    /// The turn in which the call was made.
    pub agent_turn_id: String,
    /// The turn's epoch.
    pub turn_epoch: u64,
    /// The step of the call, where its command had one.
    #[serde(default)]
    pub step_id: Option<String>,
    /// The call.
    pub tool_call_id: String,
    /// How deeply the call is nested.
    #[serde(default)]
    pub recursion_depth: u64,
}

/// A roster row, `resource.project_agents`: who an agent is, and where its wakeups go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RosterRow {
    /// The project of the agent; a row that does not say belongs to the project that it was asked for in.
    #[serde(default)]
    pub project_id: String,
    /// The agent.
    pub agent_id: String,
    /// Where its wakeups go.
    pub worker_target: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What kind of agent it is: a name, or whatever a platform keeps there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Value>,
    /// The agent that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_agent_id: Option<String>,
    /// Such as `active`; the protocol has no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whatever else is kept about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl RosterRow {
    /// A row that says no more than it must.
    pub fn new(
        project_id: impl Into<String>,
        agent_id: impl Into<String>,
        worker_target: impl Into<String>,
    ) -> Self {
        Self {
            project_id: project_id.into(),
            agent_id: agent_id.into(),
            worker_target: worker_target.into(),
            display_name: None,
            profile: None,
            owner_agent_id: None,
            status: None,
            metadata: None,
        }
    }
}

/// The body of `turns.start`: something for an agent to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// Whose turn it is.
    pub agent_id: String,
    /// What is asked.
    pub instruction: String,
    /// The turn's id, if the caller wants to give it one; asked for again, it starts nothing. Not in `v1r4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_turn_id: Option<String>,
    /// The context that the turn works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_box_id: Option<String>,
    /// The turn that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_turn_id: Option<String>,
    /// The step of that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_step_id: Option<String>,
    /// The trace, where no `traceparent` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Which start this is, in `v1r4`: said again by the same parent, it starts nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

impl TurnRequest {
    /// A request that says no more than it must.
    pub fn new(agent_id: impl Into<String>, instruction: impl Into<String>) -> Self {
        Self {
            agent_id: agent_id.into(),
            instruction: instruction.into(),
            agent_turn_id: None,
            context_box_id: None,
            parent_agent_turn_id: None,
            parent_step_id: None,
            trace_id: None,
            correlation_id: None,
        }
    }
}

/// The answer to `turns.start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnReceipt {
    /// Whose turn it is.
    pub agent_id: String,
    /// The turn's id: this one counts, whatever was asked for.
    pub agent_turn_id: String,
    /// The turn's epoch, JSON type included.
    pub turn_epoch: Value,
}

/// What is published when a turn is over, on [`task_event`](super::subject::task_event).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// Whose turn it was.
    pub agent_id: String,
    /// The turn.
    pub agent_turn_id: String,
    /// Its epoch.
    #[serde(default)]
    pub turn_epoch: Value,
    /// How it ended.
    pub status: Status,
    /// The card of type `task.deliverable`, if there is one.
    #[serde(default)]
    pub deliverable_card_id: Option<String>,
    /// The tool result that ended the turn, if one did.
    #[serde(default)]
    pub tool_result_card_id: Option<String>,
    /// Why it did not succeed.
    #[serde(default)]
    pub error: Option<Value>,
}

/// The type of the card that a turn leaves.
pub const DELIVERABLE: &str = "task.deliverable";

/// The answer to `cards.get`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CardBatch {
    /// The cards that there are.
    #[serde(default)]
    pub cards: Vec<Value>,
    /// The ids that lead to none.
    #[serde(default)]
    pub missing_card_ids: Vec<String>,
}

/// The body of an error reply of the platform.
pub(crate) fn error_reply(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}

/// A member that is a string and not empty.
pub(crate) fn text_member<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

fn empty_object() -> Value {
    json!({})
}

#[cfg(test)]
mod tests {
    use super::{Callback, ErrorCode, Status, ToolRow};
    use serde_json::json;

    #[test]
    fn a_callback_keeps_the_epoch_and_ignores_what_it_does_not_know() {
        let sent = json!({
            "tool_call_id": "call", "agent_turn_id": "turn", "turn_epoch": 9_007_199_254_740_993_u64,
            "agent_id": "agent", "tool_result_card_id": "card", "status": "partial",
            "after_execution": "terminate", "x_future": {"a": 1}
        });
        let callback: Callback = serde_json::from_value(sent.clone()).expect("a callback");
        assert_eq!(callback.status, Status::Partial);
        let mut again = serde_json::to_value(&callback).expect("JSON");
        again["x_future"] = sent["x_future"].clone();
        assert_eq!(again, sent);
    }

    #[test]
    fn vocabularies_have_one_spelling() {
        let spelled = |code: ErrorCode| serde_json::to_value(code).expect("JSON");
        assert_eq!(spelled(ErrorCode::ToolTimeout), "tool_timeout");
        assert_eq!(spelled(ErrorCode::Canceled), "canceled");
        assert!(serde_json::from_value::<Status>(json!("Success")).is_err());
    }

    #[test]
    fn a_row_needs_no_description_and_no_options() {
        let row: ToolRow = serde_json::from_value(json!({
            "project_id": "prj", "tool_name": "t", "parameters": {}, "target_subject": "cg.v1r3.a.b.cmd.tool.t",
            "after_execution": "suspend"
        }))
        .expect("a row");
        assert_eq!(row.options, json!({}));
    }
}
