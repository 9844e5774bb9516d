//! The control object of a tool.result card (Guide §1): what a tool writes there to override `after_execution`.

use serde_json::Value;

use super::callback::{AFTER_EXECUTION, quoted};
use super::card::result_card;
use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::message;
use crate::families::utp::message::{Likeness, OVERRIDE, likeness};
use crate::families::utp::reason::Alternative;
use crate::transcript::{Frame, Kind};

/// Where a card has the object.
const CONTROL: &str = "/content/result/__cg_control";

/// Where the card of the call overrides, it does so with a value that there is (Guide §1).
pub fn is_known(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let Some(value) = message::override_of(card) else {
        return Err(CheckFailure::NotObserved("the result does not override".to_owned()));
    };
    if value.as_str().is_some_and(|text| AFTER_EXECUTION.contains(&text)) {
        return Ok(());
    }
    Err(Finding::new(
        "the result overrides `after_execution` with a value that there is not",
        "leave `__cg_control` out of the result of a tool that does not override; one that does writes `suspend` or \
         `terminate` there",
    )
    .expected(format!("one of {}", quoted(&AFTER_EXECUTION)))
    .actual(Some(value))
    .at(format!("/card{OVERRIDE}"))
    .frame(frame)
    .into())
}

/// The card of the call has no control object that an earlier call of another tool made. One that the tool wrote in its
/// first call as well is its own.
pub fn is_its_own(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let control = |card: &Value| message::override_of(card).and_then(|_| card.pointer(CONTROL)).cloned();
    let Some(own) = control(card) else { return Ok(()) };
    let of_first = first_of_tool(frames, calls).and_then(control);
    let earlier = seen::result_cards(frames)
        .take_while(|(earlier, _)| earlier.n < frame.n)
        .filter(|(_, earlier)| message::call_id(earlier) != message::call_id(card))
        .find(|(_, earlier)| control(earlier).as_ref() == Some(&own));
    match earlier {
        Some((earlier, _)) if of_first.as_ref() != Some(&own) => Err(Finding::new(
            "the result overrides `after_execution` as an earlier call of another tool did",
            "make the result of every call anew, so that the control object of one is not in that of the next",
        )
        .expected("no `__cg_control`")
        .actual(Some(&own))
        .at(format!("/card{CONTROL}"))
        .frame(earlier)
        .frame(frame)
        .into()),
        _ => Ok(()),
    }
}

/// The result card of the first call of the same tool.
fn first_of_tool<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Option<&'a Value> {
    let call = calls.subject;
    let is_of_tool =
        |frame: &&Frame| frame.kind == Kind::Command && frame.text("/tool_name") == Some(&call.tool_name);
    let id = call.revision.sent(frames.iter().find(is_of_tool)?, "tool_call_id");
    seen::result_cards(frames).map(|(_, card)| card).find(|card| message::call_id(card) == id)
}

/// The control object stands under `result.__cg_control` with the value that the tool asked for.
pub fn keeps_control(frames: &[Frame], calls: &Calls<'_>, after_execution: &str) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let value = card.pointer(OVERRIDE);
    if value.and_then(Value::as_str) == Some(after_execution) {
        return keeps_further_members(calls, frame, card);
    }
    if further_members(calls).next().is_some() && card.pointer("/content/status") == Some(&"failed".into()) {
        return Err(Alternative::OwnControl.seen_in([frame]));
    }
    Err(Finding::new(
        "the tool's override is not in the card as the tool made it",
        "store the control object under `result.__cg_control` untouched; its `after_execution` is `suspend` or `terminate`",
    )
    .expected(after_execution)
    .actual(value)
    .at(format!("/card{OVERRIDE}"))
    .frame(frame)
    .into())
}

/// What the tool was asked to put into its control object beside `after_execution`.
fn further_members<'a>(calls: &Calls<'a>) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let control = calls.subject.card["content"]["arguments"]["control"].as_object();
    control.into_iter().flatten().filter(|(name, _)| *name != "after_execution")
}

/// A control object that has what the tool was asked to put there has all of it.
fn keeps_further_members(calls: &Calls<'_>, frame: &Frame, card: &Value) -> Judgement {
    let pointer = |name: &str| format!("{CONTROL}/{name}");
    let value = |name: &str| card.pointer(&pointer(name));
    if further_members(calls).next().is_some()
        && further_members(calls).all(|(name, _)| value(name).is_none())
    {
        return Err(Alternative::OwnControl.seen_in([frame]));
    }
    let is_kept =
        |name: &str, own: &Value| value(name).is_some_and(|value| likeness(own, value) == Likeness::Same);
    match further_members(calls).find(|(name, own)| !is_kept(name, own)) {
        None => Ok(()),
        Some((name, own)) => Err(Finding::new(
            format!("`{name}` of the tool's control object is not in the card as the tool made it"),
            "store the control object under `result.__cg_control` untouched, with all of its members",
        )
        .expected(own.clone())
        .actual(value(name))
        .at(format!("/card{}", pointer(name)))
        .frame(frame)
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::utp::judge::example::{call, command, judged, saved};
    use crate::families::utp::revision::Revision;
    use crate::families::utp::tool::Tool;

    /// What is judged of the last of three calls, the second of which is of another tool, given the control object of each.
    fn check(
        judgement: fn(&[Frame], &Calls<'_>) -> Judgement,
        controls: [Value; 3],
    ) -> Result<(), &'static str> {
        let tools = [Tool::Echo, Tool::Ctl, Tool::Echo];
        let calls: Vec<_> =
            (1..).zip(tools).map(|(number, tool)| call(Revision::V1r4, tool, number)).collect();
        let frames = calls.iter().zip(controls).flat_map(|(call, control)| {
            let result = if control.is_null() { json!({}) } else { json!({"__cg_control": control}) };
            [command(call), saved(call, &json!({"status": "success", "result": result}))]
        });
        judged(frames, &calls[2], judgement)
    }

    #[test]
    fn an_override_is_suspend_or_terminate() {
        let own =
            |value: Value| check(is_known, [Value::Null, Value::Null, json!({"after_execution": value})]);
        assert_eq!(own(json!("suspend")), Ok(()));
        assert_eq!(own(json!("terminate")), Ok(()));
        for wrong in [json!("continue"), json!("Suspend"), json!(1)] {
            assert_eq!(own(wrong), Err("broken"));
        }
        assert_eq!(own(Value::Null), Err("not judged"));
    }

    #[test]
    fn an_override_of_another_tool_is_not_passed_on() {
        let ends = || json!({"after_execution": "terminate"});
        let goes_on = || json!({"after_execution": "suspend"});
        for own in [
            [Value::Null, ends(), Value::Null],
            [Value::Null, Value::Null, ends()],
            [ends(), ends(), ends()],
            [Value::Null, ends(), goes_on()],
        ] {
            assert_eq!(check(is_its_own, own), Ok(()));
        }
        for passed_on in [[Value::Null, ends(), ends()], [goes_on(), ends(), ends()]] {
            assert_eq!(check(is_its_own, passed_on), Err("broken"));
        }
    }
}
