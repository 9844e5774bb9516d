//! Many turns, one answer: the result of a `fork_join` out of how its tasks ended.
//!
//! Pure; `built_ins` starts and waits.

use serde_json::{Value, json};

use crate::utp::message::{ErrorCode, Status};
use crate::utp::tool_service::{ToolFailure, ToolOutput};

use super::children::ChildEnding;

/// How much of all outputs together is put into the answer; what is longer is left to the deliverable's card.
const MAX_OUTPUTS: usize = 512 * 1024;

/// What is known of a task when the waiting ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BranchOutcome {
    Ended(ChildEnding),
    /// Its turn could not be started.
    NotStarted(ToolFailure),
    /// Its turn goes on without being waited for.
    Unfinished,
}

/// A task, its agent and turn as far as there are any, and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Branch {
    pub(super) agent_id: String,
    pub(super) agent_turn_id: Option<String>,
    pub(super) outcome: BranchOutcome,
}

/// Why the waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    ForAll,
    ToTheFirstFailure,
    ToTheDeadline,
}

impl Branch {
    /// Whether there is something in it for the caller.
    fn is_useful(&self) -> bool {
        matches!(&self.outcome, BranchOutcome::Ended(ending) if matches!(ending.status, Status::Success | Status::Partial))
    }

    /// Whether it is all that was asked for.
    pub(super) fn is_success(&self) -> bool {
        matches!(&self.outcome, BranchOutcome::Ended(ending) if ending.status == Status::Success && ending.failure.is_none())
    }

    fn failure(&self) -> Option<&ToolFailure> {
        match &self.outcome {
            BranchOutcome::Ended(ending) => ending.failure.as_ref(),
            BranchOutcome::NotStarted(failure) => Some(failure),
            BranchOutcome::Unfinished => None,
        }
    }

    fn to_json(&self, index: usize, allowance: usize) -> Value {
        let mut task = json!({
            "index": index, "agent_id": self.agent_id, "agent_turn_id": self.agent_turn_id,
            "status": "unfinished", "deliverable_card_id": null, "output": null, "error": null,
        });
        if let BranchOutcome::Ended(ending) = &self.outcome {
            task["status"] = json!(ending.status);
            task["deliverable_card_id"] = json!(ending.deliverable_card_id);
            match &ending.output {
                Some(output) if output.to_string().len() > allowance => {
                    task["output_left_out"] = json!(true);
                }
                output => task["output"] = json!(output),
            }
        } else if matches!(self.outcome, BranchOutcome::NotStarted(_)) {
            task["status"] = json!(Status::Failed);
        }
        if let Some(failure) = self.failure() {
            task["error"] =
                json!({"code": failure.code, "message": failure.message, "detail": failure.detail});
        }
        task
    }
}

/// The answer of the whole.
pub(super) fn joined(branches: &[Branch], waited: Waited) -> Result<ToolOutput, ToolFailure> {
    let allowance = MAX_OUTPUTS / branches.len().max(1);
    let tasks: Vec<Value> =
        branches.iter().enumerate().map(|(index, branch)| branch.to_json(index, allowance)).collect();
    let short: Vec<usize> = (0..branches.len()).filter(|index| !branches[*index].is_success()).collect();
    if short.is_empty() {
        return Ok(ToolOutput::Complete(json!({ "tasks": tasks })));
    }
    let message = format!("{} of {} tasks are no success", short.len(), branches.len());
    let is_useful = branches.iter().any(Branch::is_useful);
    if is_useful && waited != Waited::ToTheFirstFailure {
        let code = match waited {
            Waited::ToTheDeadline => ErrorCode::ToolTimeout,
            _ => ErrorCode::IncompleteResult,
        };
        let missing = ToolFailure::new(code, message).with_detail(json!({"tasks_without_success": short}));
        return Ok(ToolOutput::Partial { result: json!({ "tasks": tasks }), missing });
    }
    let first = branches.iter().find_map(Branch::failure).map(|failure| failure.code);
    let code = match (waited, first) {
        (Waited::ToTheDeadline, _) => ErrorCode::ToolTimeout,
        // One turn that was late or called off does not make the whole so.
        (Waited::ToTheFirstFailure, Some(ErrorCode::ToolTimeout | ErrorCode::Canceled)) | (_, None) => {
            ErrorCode::InternalError
        }
        (_, Some(code)) => code,
    };
    Err(ToolFailure::new(code, message).with_detail(json!({"tasks_without_success": short, "tasks": tasks})))
}

/// The answer of a call that asked one agent.
pub(super) fn answered(branch: &Branch, waited: Waited) -> Result<ToolOutput, ToolFailure> {
    let place = json!({"agent_id": branch.agent_id, "agent_turn_id": branch.agent_turn_id});
    let ending = match &branch.outcome {
        BranchOutcome::Ended(ending) => ending,
        BranchOutcome::NotStarted(failure) => return Err(failure.clone()),
        BranchOutcome::Unfinished => {
            debug_assert_eq!(waited, Waited::ToTheDeadline, "one turn ends, or its deadline comes");
            return Err(ToolFailure::new(ErrorCode::ToolTimeout, "the expert did not answer in time")
                .with_detail(place));
        }
    };
    let failure = ending.failure.clone();
    if !branch.is_useful() {
        let failure =
            failure.unwrap_or_else(|| ToolFailure::new(ErrorCode::InternalError, "the expert's turn failed"));
        let mut detail = place;
        detail["expert"] = json!(failure.detail);
        return Err(failure.with_detail(detail));
    }
    let mut result = place;
    result["answer"] = json!(ending.output);
    result["deliverable_card_id"] = json!(ending.deliverable_card_id);
    match (failure, &ending.output) {
        (None, Some(_)) => Ok(ToolOutput::Complete(result)),
        // What cannot be read may be read later: to say that there is no answer would be wrong.
        (Some(failure), None) if ending.status == Status::Success => Err(failure.with_detail(result)),
        (Some(missing), _) => Ok(ToolOutput::Partial { result, missing }),
        (None, None) => {
            let missing = ToolFailure::new(ErrorCode::IncompleteResult, "the expert left no deliverable");
            Ok(ToolOutput::Partial { result, missing })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Branch, BranchOutcome, ChildEnding, Waited, answered, joined};
    use crate::utp::message::{ErrorCode, Status};
    use crate::utp::tool_service::{ToolFailure, ToolOutput};

    fn branch(status: Status) -> Branch {
        let failure = (status != Status::Success).then(|| ToolFailure::new(ErrorCode::AuthFailed, "no"));
        let output = Some(json!("text"));
        let ending = ChildEnding { status, deliverable_card_id: Some("card".to_owned()), output, failure };
        Branch {
            agent_id: "ag".to_owned(),
            agent_turn_id: Some("turn".to_owned()),
            outcome: BranchOutcome::Ended(ending),
        }
    }

    fn unfinished() -> Branch {
        Branch { outcome: BranchOutcome::Unfinished, ..branch(Status::Success) }
    }

    fn not_started() -> Branch {
        let failure = ToolFailure::new(ErrorCode::UpstreamUnavailable, "no");
        Branch { agent_turn_id: None, outcome: BranchOutcome::NotStarted(failure), ..branch(Status::Success) }
    }

    /// The kind of the answer and its code, and the status of each task.
    fn read(answer: Result<ToolOutput, ToolFailure>) -> (&'static str, Value, Vec<Value>) {
        let (kind, code, tasks) = match answer {
            Ok(ToolOutput::Complete(result)) => ("complete", Value::Null, result["tasks"].clone()),
            Ok(ToolOutput::Partial { result, missing }) => {
                ("partial", json!(missing.code), result["tasks"].clone())
            }
            Err(failure) => {
                ("failed", json!(failure.code), failure.detail.unwrap_or_default()["tasks"].clone())
            }
            other => panic!("unexpected {other:?}"),
        };
        let tasks = tasks.as_array().cloned().unwrap_or_default();
        (kind, code, tasks.into_iter().map(|task| task["status"].clone()).collect())
    }

    #[test]
    fn many_ends_become_one() {
        fn check(branches: &[Branch], waited: Waited, kind: &str, code: &Value, statuses: &Value) {
            let (found_kind, found_code, found) = read(joined(branches, waited));
            assert_eq!((found_kind, &found_code, &Value::Array(found)), (kind, code, statuses));
        }
        let good = || branch(Status::Success);
        let bad = || branch(Status::Failed);
        check(&[good(), good()], Waited::ForAll, "complete", &Value::Null, &json!(["success", "success"]));
        check(
            &[good(), bad()],
            Waited::ForAll,
            "partial",
            &json!("incomplete_result"),
            &json!(["success", "failed"]),
        );
        check(
            &[branch(Status::Partial)],
            Waited::ForAll,
            "partial",
            &json!("incomplete_result"),
            &json!(["partial"]),
        );
        check(&[bad(), bad()], Waited::ForAll, "failed", &json!("auth_failed"), &json!(["failed", "failed"]));
        check(
            &[not_started(), bad()],
            Waited::ForAll,
            "failed",
            &json!("upstream_unavailable"),
            &json!(["failed", "failed"]),
        );
        check(
            &[good(), bad(), unfinished()],
            Waited::ToTheFirstFailure,
            "failed",
            &json!("auth_failed"),
            &json!(["success", "failed", "unfinished"]),
        );
        check(
            &[good(), unfinished()],
            Waited::ToTheDeadline,
            "partial",
            &json!("tool_timeout"),
            &json!(["success", "unfinished"]),
        );
        check(
            &[bad(), unfinished()],
            Waited::ToTheDeadline,
            "failed",
            &json!("tool_timeout"),
            &json!(["failed", "unfinished"]),
        );
    }

    #[test]
    fn long_outputs_are_left_to_their_cards() {
        let mut branches = vec![branch(Status::Success); 16];
        for branch in &mut branches {
            if let BranchOutcome::Ended(ending) = &mut branch.outcome {
                ending.output = Some(json!("x".repeat(100_000)));
            }
        }
        let Ok(ToolOutput::Complete(result)) = joined(&branches, Waited::ForAll) else {
            panic!("not complete");
        };
        assert_eq!(result["tasks"][15]["output_left_out"], true);
        assert!(result.to_string().len() < 10_000);
    }

    #[test]
    fn one_end_is_an_answer() {
        fn check(branch: &Branch, kind: &str, code: &Value) {
            let waited = if branch.outcome == BranchOutcome::Unfinished {
                Waited::ToTheDeadline
            } else {
                Waited::ForAll
            };
            let (found, found_code, _) = read(answered(branch, waited));
            assert_eq!((found, &found_code), (kind, code));
        }
        check(&branch(Status::Success), "complete", &Value::Null);
        check(&branch(Status::Partial), "partial", &json!("auth_failed"));
        check(&branch(Status::Failed), "failed", &json!("auth_failed"));
        check(&not_started(), "failed", &json!("upstream_unavailable"));
        check(&unfinished(), "failed", &json!("tool_timeout"));
        let mut empty = branch(Status::Success);
        if let BranchOutcome::Ended(ending) = &mut empty.outcome {
            ending.output = None;
        }
        check(&empty, "partial", &json!("incomplete_result"));
        if let BranchOutcome::Ended(ending) = &mut empty.outcome {
            ending.failure = Some(ToolFailure::new(ErrorCode::UpstreamUnavailable, "no"));
        }
        check(&empty, "failed", &json!("upstream_unavailable"));
    }
}
