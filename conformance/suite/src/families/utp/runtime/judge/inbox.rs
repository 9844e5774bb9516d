//! The Inbox of an execution service (UTP §4.2, §4.3; Guide §2).

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::revision::number;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::view::View;
use crate::families::utp::trace::Traceparent;
use crate::transcript::{Frame, Kind};

/// The record of the call, as it was read last.
fn record<'a>(frames: &'a [Frame], view: View<'a>) -> Result<&'a Frame, CheckFailure> {
    seen::records(frames, view.call)
        .into_iter()
        .next()
        .ok_or_else(|| CheckFailure::NotObserved("the Inbox shows no record of the callback".to_owned()))
}

/// There is a record of the callback.
pub fn has_record(frames: &[Frame], view: View<'_>) -> Judgement {
    if !seen::records(frames, view.call).is_empty() {
        return Ok(());
    }
    let report = seen::report(frames, view.call, 0);
    let read = frames.iter().rev().find(|frame| frame.kind == Kind::InboxList);
    let finding = Finding::new(
        "the wakeup came, and the Inbox holds no record of the callback",
        "write the Inbox record before the wakeup is published, so that whoever wakes finds it",
    )
    .expected("a record with the callback");
    Err(super::with(super::with(finding, report), read).into())
}

/// A member of the callback is in the record as it was.
pub fn keeps(frames: &[Frame], view: View<'_>, member: &str) -> Judgement {
    let frame = record(frames, view)?;
    let is_context = view.turn.revision.header(member).is_some();
    let place = if is_context { "context" } else { "payload" };
    let value = frame.body.get(place).and_then(|own| own.get(member));
    let reported = view.call.callback.get(member);
    // A header is a text, and stands in the record as what it says.
    let number = |value: &Value| value.as_str().and_then(number).map(Value::from);
    let number = reported.filter(|_| is_context && member == "turn_epoch").and_then(number);
    let expected = number.as_ref().or(reported);
    // 1.0 is the number 1.
    let is_same =
        number.is_some() && value.and_then(Value::as_f64) == number.as_ref().and_then(Value::as_f64);
    if is_same || value == expected {
        return Ok(());
    }
    Err(Finding::new(
        format!("the Inbox record's `{member}` is not the callback's"),
        "store the callback as it was reported; nothing in it is for the execution side to change",
    )
    .expected(expected.cloned().unwrap_or_default())
    .actual(value)
    .at(format!("/{place}/{member}"))
    .frame(frame)
    .into())
}

/// The record is a `tool_result` message.
pub fn is_tool_result(frames: &[Frame], view: View<'_>) -> Judgement {
    is(frames, view, "message_type", "tool_result")
}

/// The record belongs to the agent that the callback names.
pub fn is_addressed(frames: &[Frame], view: View<'_>) -> Judgement {
    is(frames, view, "agent_id", &view.turn.agent_id)
}

fn is(frames: &[Frame], view: View<'_>, member: &str, expected: &str) -> Judgement {
    let frame = record(frames, view)?;
    let value = frame.body.get(member);
    if value.and_then(Value::as_str) == Some(expected) {
        return Ok(());
    }
    Err(Finding::new(
        format!("the Inbox record's `{member}` is not what it should be"),
        "write a `tool_result` message for the agent that the callback's `agent_id` names",
    )
    .expected(expected)
    .actual(value)
    .at(format!("/{member}"))
    .frame(frame)
    .into())
}

/// The Inbox of the agent, as it was read last, shows no record of another agent.
pub fn shows_no_other_agent(frames: &[Frame], view: View<'_>) -> Judgement {
    let agent = &view.turn.agent_id;
    let mut listed = frames.iter().rev().take_while(|frame| frame.kind != Kind::InboxList);
    let is_of_another = |frame: &&Frame| {
        frame.kind == Kind::InboxRecord && frame.text("/agent_id").is_some_and(|own| own != agent)
    };
    match listed.find(is_of_another) {
        None => Ok(()),
        Some(record) => Err(Finding::new(
            "the Inbox of an agent shows a record of another agent",
            "answer with the records of the agent that was asked for, and no others",
        )
        .expected(format!("records of `{agent}` alone"))
        .actual(record.member("/agent_id"))
        .at("/agent_id")
        .frame(record)
        .into()),
    }
}

/// What is asked of the trace that the woken worker gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceProperty {
    /// The report's trace id.
    Continues,
    /// Another span id, and not zeros.
    OwnSpan,
    /// The form of the W3C header.
    WellFormed,
}

/// What of the callback's trace the woken worker gets: in the record, and with the wakeup.
fn traces<'a>(frames: &'a [Frame], view: View<'a>) -> Vec<(&'a Frame, &'a str)> {
    let records = seen::records(frames, view.call).into_iter();
    let of_records = records.filter_map(|frame| Some((frame, frame.text("/traceparent")?)));
    let of_wakeups = seen::wakeups(frames, view.turn, view.call)
        .filter_map(|frame| Some((frame, frame.headers.get("traceparent")?.as_str())));
    of_records.chain(of_wakeups).collect()
}

/// The trace that the woken worker gets has a property.
pub fn trace_has(frames: &[Frame], view: View<'_>, property: TraceProperty) -> Judgement {
    let sent = view.call.headers.get("traceparent").map(String::as_str).unwrap_or_default();
    let traces = traces(frames, view);
    if traces.is_empty() {
        let finding = Finding::new(
            "neither the Inbox record nor the wakeup carries a `traceparent`",
            "open a child span of the reported `traceparent` and pass it on with record and wakeup",
        )
        .expected("a child span of the report's trace");
        return Err(super::with(finding, seen::report(frames, view.call, 0)).into());
    }
    let sent = Traceparent::parse(sent);
    let holds = |text: &str| {
        let part = |index: usize| text.split('-').nth(index).unwrap_or_default();
        match property {
            TraceProperty::Continues => sent.as_ref().is_some_and(|sent| part(1) == sent.trace_id),
            TraceProperty::OwnSpan => {
                part(2).bytes().any(|byte| byte != b'0')
                    && sent.as_ref().is_none_or(|sent| part(2) != sent.span_id)
            }
            TraceProperty::WellFormed => Traceparent::parse(text).is_some(),
        }
    };
    // Whose child the record is, is not said; the wakeup carries the new span.
    let woken = traces.iter().any(|(frame, _)| frame.kind == Kind::Wakeup);
    let is_judged =
        |frame: &Frame| property != TraceProperty::OwnSpan || !woken || frame.kind == Kind::Wakeup;
    let broken = traces.into_iter().find(|(frame, text)| is_judged(frame) && !holds(text));
    let Some((frame, text)) = broken else { return Ok(()) };
    let message = match property {
        TraceProperty::Continues => "record or wakeup leave the trace of the report",
        TraceProperty::OwnSpan => "record or wakeup have no span of their own",
        TraceProperty::WellFormed => "record or wakeup carry a `traceparent` that is not well-formed",
    };
    Err(Finding::new(
        message,
        "make a child span of the reported `traceparent`, and pass its `traceparent` on",
    )
    .expected(format!("a child span of {}", sent.map(|sent| sent.to_string()).unwrap_or_default()))
    .actual(Some(&Value::from(text)))
    .at("traceparent")
    .frame(frame)
    .into())
}
