//! The answer: the `tool.result` card and the callback that points to it (UTP §4.2, §5, Guide §1).
//!
//! Pure but for the card's timestamp. The same structure serves every failure, wherever it arose (Guide §3.1).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::utp::ident::timestamp;
use crate::utp::message::{AfterExecution, Callback, ErrorBody, ErrorCode, Status};
use crate::utp::revision::Revision;
use crate::utp::revision::command::Identity;
use crate::utp::trace::TraceHeaders;

use super::command::CallKey;
use super::failure::ToolFailure;
use super::tool::ToolOutput;

/// The key of the control object in a result.
pub(crate) const CONTROL: &str = "__cg_control";

/// The member of a result that has a counter's value.
const COUNT: &str = "count";

/// The members of the lineage, copied from card to card.
const LINEAGE: [&str; 3] = ["trace_id", "parent_step_id", "step_id"];

/// A result whose JSON is longer would not fit through a broker with the usual limit of 1 MiB.
const MAX_RESULT: usize = 768 * 1024;

/// Everything that is needed to answer a call, now or after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallResponse {
    /// In which it is reported; ledgers from before there were two hold `v1r3`.
    #[serde(default)]
    pub(crate) revision: Revision,
    pub(crate) project_id: String,
    pub(crate) channel_id: String,
    pub(crate) source_agent_id: String,
    pub(crate) card: Value,
    pub(crate) callback: Callback,
    /// The trace headers of the report, so that a report after a restart still belongs to the command's trace.
    pub(crate) headers: Vec<(String, String)>,
}

impl CallResponse {
    /// The trace headers of a report that is not made where the command came in.
    pub(crate) fn trace(&self) -> TraceHeaders {
        TraceHeaders::child_of(|name| {
            self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
        })
    }

    /// With the value of the counter that its output asked for.
    pub(crate) fn counted(mut self, count: u64) -> Self {
        self.card["content"]["result"] = json!({COUNT: count});
        self
    }
}

/// How a call ended, before it is written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Output(ToolOutput),
    Failure(ToolFailure),
    /// The tool hit its own time limit or the service's.
    TimedOut(ToolFailure),
    /// The service was shut down, or what the tool waited for was called off.
    CalledOff(ToolFailure),
}

impl Outcome {
    /// The ending that fits the code: who gives up waiting timed out, who was called off was canceled.
    pub(crate) fn of_failure(failure: ToolFailure) -> Self {
        match failure.code {
            ErrorCode::ToolTimeout => Self::TimedOut(failure),
            ErrorCode::Canceled => Self::CalledOff(failure),
            _ => Self::Failure(failure),
        }
    }
}

/// Who answers whom, about what.
#[derive(Debug, Clone)]
pub(crate) struct ResponseContext {
    pub(crate) revision: Revision,
    pub(crate) key: CallKey,
    pub(crate) channel_id: String,
    pub(crate) author: &'static str,
    pub(crate) tool_name: String,
    pub(crate) headers: TraceHeaders,
    pub(crate) identity: Identity,
    pub(crate) after_execution: AfterExecution,
    /// The metadata of the `tool.call` card; empty when no card could be read.
    pub(crate) call_metadata: Map<String, Value>,
}

/// The id of the result card: a function of the call, so that no crash and no repetition makes a second card.
pub(crate) fn card_id(key: &CallKey) -> String {
    format!("card_tr_{}", key.digest())
}

impl ResponseContext {
    /// Builds card and callback; an output that asked for a counter's value gets it by [`CallResponse::counted`].
    pub(crate) fn answer(self, outcome: Outcome) -> CallResponse {
        let card_id = card_id(&self.key);
        let content = Content::of(outcome);
        let identity = self.identity;
        let mut metadata = json!({
            "agent_turn_id": identity.agent_turn_id,
            "tool_call_id": identity.tool_call_id,
            "role": "tool",
            "function_name": self.tool_name,
        });
        for member in LINEAGE {
            // Verbatim from the card, and absent where the card has none: never from the payload.
            if let Some(value) = self.call_metadata.get(member) {
                metadata[member] = value.clone();
            }
        }
        let card = json!({
            "card_id": card_id,
            "project_id": self.key.project_id,
            "type": "tool.result",
            "author_id": self.author,
            "created_at": timestamp(),
            "tool_call_id": identity.tool_call_id,
            "content": {
                "__type__": "ToolResultContent",
                "status": content.status,
                "after_execution": self.after_execution,
                "result": content.result,
                "error": content.error,
            },
            "metadata": metadata,
        });
        let callback = Callback {
            tool_call_id: identity.tool_call_id,
            agent_turn_id: identity.agent_turn_id,
            turn_epoch: identity.turn_epoch,
            agent_id: identity.agent_id,
            tool_result_card_id: card_id,
            status: content.status,
            // As received, also when the result overrides it.
            after_execution: self.after_execution,
            step_id: match self.revision {
                Revision::V1r3 => self.call_metadata.get("step_id").filter(|step| !step.is_null()).cloned(),
                Revision::V1r4 => identity.step_id.map(Value::String),
            },
        };
        CallResponse {
            revision: self.revision,
            project_id: self.key.project_id,
            channel_id: self.channel_id,
            source_agent_id: self.author.to_owned(),
            card,
            callback,
            headers: self.headers.pairs().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

/// The varying part of a `ToolResultContent`.
struct Content {
    status: Status,
    result: Value,
    error: Option<ErrorBody>,
}

impl Content {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Output(output) => Self::of_output(output)
                .and_then(Self::within_limit)
                .unwrap_or_else(|failure| Self::of_failure(Status::Failed, failure)),
            Outcome::Failure(failure) => Self::of_failure(Status::Failed, failure),
            Outcome::TimedOut(failure) => Self::of_failure(Status::Timeout, failure),
            Outcome::CalledOff(failure) => Self::of_failure(Status::Canceled, failure),
        }
    }

    fn of_output(output: ToolOutput) -> Result<Self, ToolFailure> {
        let success = |result| Self { status: Status::Success, result, error: None };
        match output {
            ToolOutput::Complete(result) => uncontrolled(result).map(success),
            ToolOutput::Partial { result, missing } => Ok(Self {
                status: Status::Partial,
                result: uncontrolled(result)?,
                error: Some(error_body(missing)),
            }),
            ToolOutput::Controlled { result, after_execution, further } => {
                let mut result = uncontrolled(Value::Object(result))?;
                result[CONTROL] = Value::Object(further);
                result[CONTROL]["after_execution"] = json!(after_execution);
                Ok(success(result))
            }
            ToolOutput::Counted { .. } => Ok(success(json!({COUNT: null}))),
        }
    }

    fn of_failure(status: Status, failure: ToolFailure) -> Self {
        let error = error_body(failure);
        let result = json!({"error_code": error.code, "error_message": error.message});
        Self { status, result, error: Some(error) }
    }

    fn within_limit(self) -> Result<Self, ToolFailure> {
        let length = self.result.to_string().len();
        if length <= MAX_RESULT {
            return Ok(self);
        }
        let message = format!("the result of {length} bytes is longer than {MAX_RESULT}");
        Err(ToolFailure::new(ErrorCode::InternalError, message))
    }
}

/// Refuses a control object that did not come through [`ToolOutput::Controlled`] and so was never checked.
fn uncontrolled(result: Value) -> Result<Value, ToolFailure> {
    if result.get(CONTROL).is_none() {
        return Ok(result);
    }
    let message = format!("the tool wrote `{CONTROL}` itself");
    Err(ToolFailure::new(ErrorCode::InternalError, message))
}

fn error_body(failure: ToolFailure) -> ErrorBody {
    let message = if failure.message.is_empty() {
        // Readers rely on a sentence being there.
        "no message".to_owned()
    } else {
        failure.message
    };
    ErrorBody { code: failure.code, message, detail: failure.detail }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{CallResponse, MAX_RESULT, Outcome, ResponseContext, card_id};
    use crate::utp::message::{AfterExecution, ErrorCode, Status};
    use crate::utp::revision::Revision;
    use crate::utp::revision::command::Identity;
    use crate::utp::tool_service::command::CallKey;
    use crate::utp::tool_service::failure::ToolFailure;
    use crate::utp::tool_service::tool::ToolOutput;
    use crate::utp::trace::TraceHeaders;

    fn key(project: &str, turn: &str, call: &str) -> CallKey {
        CallKey {
            project_id: project.to_owned(),
            agent_turn_id: turn.to_owned(),
            tool_call_id: call.to_owned(),
        }
    }

    fn answer(metadata: &Value, outcome: Outcome) -> CallResponse {
        answer_in(Revision::V1r3, metadata, outcome)
    }

    fn answer_in(revision: Revision, metadata: &Value, outcome: Outcome) -> CallResponse {
        let context = ResponseContext {
            revision,
            key: key("prj", "turn", "call"),
            channel_id: "ch".to_owned(),
            author: "tool.probe",
            tool_name: "probe.echo".to_owned(),
            headers: TraceHeaders::fresh(),
            identity: Identity {
                tool_call_id: "call".to_owned(),
                agent_turn_id: "turn".to_owned(),
                turn_epoch: json!(6),
                agent_id: "ag".to_owned(),
                step_id: Some("st_command".to_owned()),
            },
            after_execution: AfterExecution::Suspend,
            call_metadata: metadata.as_object().cloned().unwrap_or_default(),
        };
        let counts = matches!(outcome, Outcome::Output(ToolOutput::Counted { .. }));
        let answer = context.answer(outcome);
        if counts { answer.counted(3) } else { answer }
    }

    #[test]
    fn outcomes_become_content() {
        fn check(outcome: Outcome, status: Status, result: &Value, code: Option<&str>) {
            let answer = answer(&json!({}), outcome);
            let content = &answer.card["content"];
            assert_eq!(answer.callback.status, status);
            assert_eq!(content["status"], json!(status));
            assert_eq!(&content["result"], result);
            assert_eq!(content["error"]["code"].as_str(), code);
            assert_eq!(content["error"].is_null(), code.is_none());
        }
        let failure = || ToolFailure::new(ErrorCode::BadRequest, "no").with_detail(json!({"field": "x"}));
        let failed = json!({"error_code": "bad_request", "error_message": "no"});
        let complete = |result| Outcome::Output(ToolOutput::Complete(result));
        check(complete(json!({"k": 1})), Status::Success, &json!({"k": 1}), None);
        check(complete(json!("text")), Status::Success, &json!("text"), None);
        check(Outcome::Failure(failure()), Status::Failed, &failed, Some("bad_request"));
        check(Outcome::TimedOut(failure()), Status::Timeout, &failed, Some("bad_request"));
        check(Outcome::CalledOff(failure()), Status::Canceled, &failed, Some("bad_request"));
        check(
            Outcome::Output(ToolOutput::Partial { result: json!([1]), missing: failure() }),
            Status::Partial,
            &json!([1]),
            Some("bad_request"),
        );
        check(
            Outcome::Output(ToolOutput::Counted { counter: "prj".to_owned() }),
            Status::Success,
            &json!({"count": 3}),
            None,
        );
        check(
            Outcome::Output(ToolOutput::Controlled {
                result: Map::new(),
                after_execution: AfterExecution::Terminate,
                further: Map::from_iter([("until".to_owned(), Value::Null)]),
            }),
            Status::Success,
            &json!({"__cg_control": {"after_execution": "terminate", "until": null}}),
            None,
        );
    }

    #[test]
    fn an_unchecked_control_object_and_an_endless_result_become_failures() {
        fn check(result: Value) {
            let answer = answer(&json!({}), Outcome::Output(ToolOutput::Complete(result)));
            assert_eq!(answer.card["content"]["error"]["code"], "internal_error");
        }
        check(json!({"__cg_control": {"after_execution": "PAUSE"}}));
        check(json!("x".repeat(MAX_RESULT)));
    }

    #[test]
    fn the_callback_carries_the_commands_value_and_no_result() {
        let outcome = Outcome::Output(ToolOutput::Controlled {
            result: Map::new(),
            after_execution: AfterExecution::Terminate,
            further: Map::new(),
        });
        let callback =
            serde_json::to_value(answer(&json!({"step_id": "st_9"}), outcome).callback).expect("JSON");
        assert_eq!(
            callback,
            json!({
                "tool_call_id": "call", "agent_turn_id": "turn", "turn_epoch": 6, "agent_id": "ag",
                "tool_result_card_id": card_id(&key("prj", "turn", "call")), "status": "success",
                "after_execution": "suspend", "step_id": "st_9"
            })
        );
    }

    #[test]
    fn a_ledger_from_before_v1r4_is_still_read() {
        let recorded = answer(&json!({}), Outcome::Output(ToolOutput::Complete(json!(1))));
        let mut written = serde_json::to_value(&recorded).expect("JSON");
        assert_eq!(written["revision"], "v1r3");
        written.as_object_mut().expect("an object").remove("revision");
        assert_eq!(serde_json::from_value::<CallResponse>(written).expect("a response"), recorded);
    }

    #[test]
    fn the_step_of_the_callback_is_the_cards_or_the_commands() {
        let step = |revision| {
            let outcome = Outcome::Output(ToolOutput::Complete(json!(1)));
            answer_in(revision, &json!({"step_id": "st_card"}), outcome).callback.step_id
        };
        assert_eq!(step(Revision::V1r3), Some(json!("st_card")));
        assert_eq!(step(Revision::V1r4), Some(json!("st_command")));
    }

    #[test]
    fn lineage_is_copied_verbatim_or_not_at_all() {
        fn check(metadata: &Value, expect: &Value) {
            let failure = ToolFailure::new(ErrorCode::InternalError, "no");
            let answer = answer(metadata, Outcome::Failure(failure));
            let found: Map<String, Value> = answer.card["metadata"]
                .as_object()
                .expect("an object")
                .iter()
                .filter(|(name, _)| ["trace_id", "parent_step_id", "step_id"].contains(&name.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            assert_eq!(Value::Object(found), *expect);
        }
        check(&json!({}), &json!({}));
        check(&json!({"trace_id": "ABC-d", "other": 1}), &json!({"trace_id": "ABC-d"}));
        let all = json!({"trace_id": "t", "parent_step_id": "p", "step_id": "s"});
        check(&all, &all);
    }

    #[test]
    fn a_card_id_follows_from_the_whole_key() {
        assert_eq!(card_id(&key("a", "b", "c")), card_id(&key("a", "b", "c")));
        assert_ne!(card_id(&key("a", "b", "c")), card_id(&key("a", "x", "c")));
        assert_ne!(card_id(&key("ab", "c", "d")), card_id(&key("a", "bc", "d")));
    }
}
