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
        // After a step with a failure the turn may end as it likes.
        Some(_) if seen::nexts(frames, view.turn).any(|frame| frame.n > since) => Ok(()),
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
        "after a callback that is no valid result a correct one no longer answers the call, and nothing tells of a failure",
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
    use serde_json::json;

    use super::*;

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
