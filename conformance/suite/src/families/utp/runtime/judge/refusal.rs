//! Callbacks that are no valid result: they must not make a call succeed (UTP §4.2, Guide §1).
//!
//! Whether such a callback is refused, fails the call, or is looked at again later is open.

use serde_json::Value;

use super::with;
use crate::engine::judge::{Finding, Judgement};
use crate::families::utp::message::mentions;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::seen::Behaviour;
use crate::families::utp::runtime::turn::TOKEN;
use crate::families::utp::runtime::view::View;
use crate::transcript::Frame;

/// Words of the status of an Inbox record that nobody will go on with.
const GIVEN_UP: [&str; 8] = ["error", "fail", "reject", "skip", "invalid", "drop", "discard", "dead"];

/// The call did not succeed by this callback.
pub fn is_not_consumed(frames: &[Frame], view: View<'_>) -> Judgement {
    let since = seen::report(frames, view.call, 0).map_or(0, |frame| frame.n);
    let hint = "validate a callback before it is applied: its required members, and a pointer to the tool.result card of \
                the call; refuse it, or fail the call visibly";
    for request in seen::nexts(frames, view.turn).filter(|frame| frame.n > since) {
        let messages = seen::results_of(request, view.turn, view.call);
        // A turn that goes on without a word on the call took it for answered as well.
        let consumed = messages.iter().find(|message| succeeds(message));
        if let Some(message) = consumed {
            return Err(Finding::new(
                "a callback that is no valid result was taken for the result of the call",
                hint,
            )
            .expected("no result for the call, or a failure")
            .actual(Some(message))
            .at("/messages")
            .frame(request)
            .into());
        }
        if messages.is_empty() {
            return Err(Finding::new("the turn went on as if the call had been answered", hint)
                .expected("no further step, or a failure for the call")
                .frame(request)
                .into());
        }
    }
    let end = seen::end(frames, view.turn).filter(|frame| frame.n > since);
    match end {
        // After a step with a failure the turn may end as it likes; a deadline may have made the call fail before.
        Some(_) if seen::nexts(frames, view.turn).any(|frame| frame.n > since || fails(frame, view)) => {
            Ok(())
        }
        Some(end) if !ends_badly(frames, view, end) => {
            Err(Finding::new("a callback that is no valid result ended the turn as a success", hint)
                .expected("no end, or a failure")
                .actual(end.member("/status"))
                .frame(end)
                .into())
        }
        _ => Ok(()),
    }
}

/// After the refused callback a correct one answered the call, or the runtime says that the call has failed.
pub fn leaves_a_way(frames: &[Frame], view: View<'_>, seen: Behaviour) -> Judgement {
    let gave_up = |record: &&Frame| {
        let status = record.text("/status").unwrap_or_default().to_lowercase();
        GIVEN_UP.iter().any(|word| status.contains(word))
    };
    if seen != Behaviour::Stays || seen::records(frames, view.call).iter().any(gave_up) {
        return Ok(());
    }
    let finding = Finding::new(
        "after a callback that is no valid result a correct one no longer answers the call, and no failure is reported",
        "let a refused callback leave no trace, so that the correct one is the first; or fail the call visibly",
    )
    .expected("a turn that goes on with the correct callback, or a failure")
    .actual(Some(&Value::from(seen.text())));
    Err(with(finding, seen::report(frames, view.call, 1)).into())
}

fn ends_badly(frames: &[Frame], view: View<'_>, end: &Frame) -> bool {
    let task = seen::task(frames, view.turn).unwrap_or(end);
    seen::failed(task)
}

/// Whether a request reports to the model that the call has failed.
fn fails(request: &Frame, view: View<'_>) -> bool {
    let messages = seen::results_of(request, view.turn, view.call);
    !messages.is_empty() && !messages.iter().any(|message| succeeds(message))
}

/// Whether a message for the model reports a success: it holds a result's own word, be it that of another call, says so,
/// or holds nothing at all. Whatever else it says may be this runtime's way of reporting a failure.
fn succeeds(message: &Value) -> bool {
    if mentions(message, TOKEN) {
        return true;
    }
    let content = message.get("content").unwrap_or(&Value::Null);
    let parsed = content.as_str().and_then(|text| serde_json::from_str(text).ok());
    match parsed.as_ref().unwrap_or(content) {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) if members.is_empty() => true,
        Value::Object(members) => {
            let status = members.get("status").and_then(Value::as_str).unwrap_or_default().to_lowercase();
            // One that is over may have failed.
            let is_over = status == "completed" && !members.get("error").is_some_and(seen::is_error);
            is_over || seen::SUCCESS.contains(&status.as_str())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::utp::revision::Revision;
    use crate::families::utp::runtime::turn::{Row, ToolCall, Turn};
    use crate::transcript::Kind;

    #[test]
    fn a_turn_whose_call_has_failed_before_may_end_after_a_late_callback() {
        let turn = Turn::observed(Revision::V1r3, "mark-u-1", "ag_pilot", "turn_1");
        let call = ToolCall::observed("call_1", Row::external("v1r3", "tides", "tides.run", "suspend"));
        let view = View { project: "prj", version: "v1r3", turn: &turn, call: &call };
        let frame = |n: u32, kind: Kind, body: Value| {
            let headers = [("turn", "mark-u-1"), ("round", "1")];
            let headers = BTreeMap::from(headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
            let (direction, channel) = (Direction::FromTarget, "cg.v1r3.prj.public.x".to_owned());
            Frame { n, at_us: 0, direction, kind, channel, headers, body }
        };
        let next = |content: &str| {
            let messages = json!([{"role": "user", "content": "mark-u-1"},
                                  {"role": "tool", "tool_call_id": "call_1", "content": content}]);
            frame(1, Kind::Model, json!({"tools": [{}], "messages": messages}))
        };
        let report = frame(2, Kind::Report, json!({"correlation_id": "call_1"}));
        let end = frame(3, Kind::Task, json!({"agent_turn_id": "turn_1", "status": "success"}));
        let is_fine = |first: Option<Frame>| {
            let frames: Vec<Frame> = first.into_iter().chain([report.clone(), end.clone()]).collect();
            is_not_consumed(&frames, view).is_ok()
        };
        assert!(is_fine(Some(next(r#"{"status": "timeout", "error": {"code": "tool_timeout"}}"#))));
        assert!(!is_fine(Some(next(r#"{"status": "success"}"#))));
        assert!(!is_fine(None));
    }

    #[test]
    fn a_message_that_says_success_reports_one_whatever_its_error_holds() {
        for (content, expect) in [
            (json!(r#"{"status": "success", "error": {"code": "x"}}"#), true),
            (json!(r#"{"status": "success", "error": ""}"#), true),
            (json!(r#"{"status": "completed", "error": {"code": "x"}}"#), false),
            (json!(r#"{"status": "completed"}"#), true),
            (json!(r#"{"error": {"code": "x"}}"#), false),
            (json!("refused"), false),
            (json!(""), true),
            // Whichever call's result it is.
            (json!(r#"{"high_water": "tok-859d8f2c01e9"}"#), true),
            // It may say which call has failed.
            (
                json!(r#"{"status": "failed", "called": {"harbour": "Brest", "token": "arg-859d8f2c01e9"}}"#),
                false,
            ),
        ] {
            let message = json!({"role": "tool", "content": content});
            assert_eq!(succeeds(&message), expect, "{content}");
        }
    }
}
