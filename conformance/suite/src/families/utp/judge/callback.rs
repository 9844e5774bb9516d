//! The callback (UTP §4.2): what the report's payload says, and what it must not say.

use callmark_reports::record::Direction;
use serde_json::Value;

use super::seen;
use super::seen::{Calls, STATUSES, some_reports};
use crate::engine::judge::{Finding, Judgement};
use crate::families::utp::message;
use crate::families::utp::message::whole;
use crate::transcript::{Frame, Kind, member_at};

/// The two values of `after_execution` (UTP §3.1).
pub const AFTER_EXECUTION: [&str; 2] = ["suspend", "terminate"];
/// Members that a callback has by the documents (UTP §4.2).
pub const MEMBERS: [&str; 8] = [
    "tool_call_id",
    "agent_turn_id",
    "turn_epoch",
    "agent_id",
    "tool_result_card_id",
    "status",
    "after_execution",
    "step_id",
];
/// How deep a call is nested in others.
const DEPTH: &str = "recursion_depth";
/// How often a turn was continued.
const EPOCH: &str = "turn_epoch";
/// Names that only results and errors have; `result` itself has a rule of its own.
const SEMANTIC: [&str; 9] =
    ["error", "errors", "error_code", "error_message", "output", "data", "text", "content", "message"];

/// Every callback of the call has the member, not null.
pub fn carries(frames: &[Frame], calls: &Calls<'_>, member: &str) -> Judgement {
    for report in some_reports(frames, calls)? {
        let pointer = format!("/payload/{member}");
        let value = member_at(&report.body, &pointer);
        let there = match value {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        };
        if !there {
            let hint = format!("put `{member}` into `payload` of every report, on success and on failure");
            return Err(Finding::new(
                format!("the callback has no `{member}`"),
                calls.subject.revision.hint(report, hint),
            )
            .expected("a value")
            .actual(value)
            .at(pointer)
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// The member of every callback equals the command's, value and JSON type. A number may be written otherwise.
pub fn repeats(frames: &[Frame], calls: &Calls<'_>, member: &str) -> Judgement {
    let revision = calls.subject.revision;
    let sent = revision.repeated(member, calls.subject.command.get(member));
    for report in some_reports(frames, calls)? {
        let value = revision.reported_value(report, member);
        if stands_for_none(calls, member, sent.as_ref(), value.as_ref()) {
            continue;
        }
        // A header that is absent stands for 0 (UTP v1r4, R4-21 and R4-22).
        let is_zero = [DEPTH, EPOCH].contains(&member)
            && sent.is_none()
            && value.as_ref().is_some_and(|value| value == "0");
        let is_same = value.as_ref().map(whole) == sent.as_ref().map(whole);
        if !is_same && !is_zero {
            let hint = match revision.header(member) {
                Some(name) => format!("send the header `{name}` of the command with the report as it came"),
                None => {
                    format!(
                        "copy `{member}` from the command into the callback as it came, without conversion"
                    )
                }
            };
            let (message, hint) = if value.is_none() {
                let message = match revision.header(member) {
                    Some(name) => format!("the report has no header `{name}`"),
                    None => format!("the callback has no `{member}`"),
                };
                (message, hint)
            } else if is_of_another(frames, calls, member, value.as_ref()) {
                let message =
                    format!("the callback's `{member}` is not the command's but that of another one");
                (message, format!("{hint}; keep nothing of one call for the next of its turn or project"))
            } else {
                (format!("the callback's `{member}` is not the command's"), hint)
            };
            return Err(Finding::new(message, revision.hint(report, hint))
                .expected(sent.unwrap_or_else(|| Value::from("no such header")))
                .actual(value.as_ref())
                .at(revision.place(member))
                .frame(report)
                .into());
        }
    }
    Ok(())
}

/// Whether a step of a report says no more than that its command names none: an empty one, or that of the card.
fn stands_for_none(calls: &Calls<'_>, member: &str, sent: Option<&Value>, reported: Option<&Value>) -> bool {
    let is_bare = member == "step_id" && sent.is_none();
    let of_card = calls.subject.card_metadata("step_id");
    is_bare && reported.is_some_and(|step| step == "" || Some(step) == of_card)
}

/// Whether a value is the member of a command with another call.
fn is_of_another(frames: &[Frame], calls: &Calls<'_>, member: &str, value: Option<&Value>) -> bool {
    let call = calls.subject;
    let is_other = |command: &&Frame| {
        command.kind == Kind::Command
            && call.revision.sent(command, "tool_call_id") != Some(&call.tool_call_id)
            && call.revision.sent_value(command, member).as_ref() == value
    };
    value.is_some() && frames.iter().any(|frame| is_other(&frame))
}

/// A member of every callback is one of a closed list, in exact spelling.
pub fn is_one_of(frames: &[Frame], calls: &Calls<'_>, member: &str, values: &[&str]) -> Judgement {
    for report in some_reports(frames, calls)? {
        let pointer = format!("/payload/{member}");
        let value = member_at(&report.body, &pointer);
        let known = value.and_then(Value::as_str).is_some_and(|text| values.contains(&text));
        if !known {
            return Err(Finding::new(
                format!("the callback's `{member}` is none of the values that there are"),
                format!("use one of {}, lower case", quoted(values)),
            )
            .expected(format!("one of {}", quoted(values)))
            .actual(value)
            .at(pointer)
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// No report in these frames has a status outside the five.
pub fn all_statuses_known(frames: &[Frame]) -> Judgement {
    let own = |frame: &&Frame| frame.kind == Kind::Report && frame.direction == Direction::FromTarget;
    // Other Inbox messages are the target's own affair.
    let mut reports = frames.iter().filter(own).filter(|frame| seen::is_outcome(frame));
    let wrong = reports.find(|report| {
        let status = report.member("/payload/status");
        status.is_some_and(|status| !status.as_str().is_some_and(|text| STATUSES.contains(&text)))
    });
    match wrong {
        None => Ok(()),
        Some(report) => Err(Finding::new(
            "a callback's `status` is none of the five",
            format!("use one of {}, lower case, for every outcome", quoted(&STATUSES)),
        )
        .expected(format!("one of {}", quoted(&STATUSES)))
        .actual(member_at(&report.body, "/payload/status"))
        .at("/payload/status")
        .frame(report)
        .into()),
    }
}

/// The status of every callback means a result, whole or in part.
pub fn mentions_a_result(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    for report in some_reports(frames, calls)? {
        let value = member_at(&report.body, "/payload/status");
        if !value.and_then(Value::as_str).is_some_and(|text| matches!(text, "success" | "partial")) {
            return Err(Finding::new(
                "the command was not executed as it would be without what is unusual about it",
                "execute it: what the documents call optional may be there or not, and unknown members are ignored",
            )
            .expected("success")
            .actual(value)
            .at("/payload/status")
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// The status of every callback is this one.
pub fn has_status(frames: &[Frame], calls: &Calls<'_>, status: &str) -> Judgement {
    for report in some_reports(frames, calls)? {
        let value = member_at(&report.body, "/payload/status");
        if value.and_then(Value::as_str) != Some(status) {
            return Err(Finding::new(
                format!("the callback's status is not `{status}`"),
                format!("report this call with status `{status}`"),
            )
            .expected(status)
            .actual(value)
            .at("/payload/status")
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// `step_id` of the callback is the tool.call card's.
pub fn step_of_card(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let step = calls.subject.card_metadata("step_id").cloned().unwrap_or(Value::Null);
    for report in some_reports(frames, calls)? {
        let value = member_at(&report.body, "/payload/step_id");
        if value != Some(&step) {
            return Err(Finding::new(
                "the callback's `step_id` is not that of the tool.call card",
                "copy `metadata.step_id` of the tool.call card into the callback",
            )
            .expected(step)
            .actual(value)
            .at("/payload/step_id")
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// No callback has this member.
pub fn lacks(frames: &[Frame], calls: &Calls<'_>, member: &str) -> Judgement {
    for report in some_reports(frames, calls)? {
        let pointer = format!("/payload/{member}");
        if let Some(value) = member_at(&report.body, &pointer) {
            return Err(Finding::new(
                format!("the callback carries `{member}` inline"),
                format!("leave `{member}` out of the callback; it belongs into the tool.result card"),
            )
            .expected("no such member")
            .actual(Some(value))
            .at(pointer)
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// Beyond the documented members a callback holds neither result data nor error text.
pub fn routes_only(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    for report in some_reports(frames, calls)? {
        let said = seen::card_of(frames, report).map(|(_, card)| spoken(card)).unwrap_or_default();
        let members = member_at(&report.body, "/payload").and_then(Value::as_object);
        for (name, value) in members.into_iter().flatten() {
            let extension = !MEMBERS.contains(&name.as_str()) && name != "result";
            let repeats = said.iter().any(|text| message::mentions(value, text));
            let token = message::mentions(value, &calls.subject.token);
            if extension && !value.is_null() && (SEMANTIC.contains(&name.as_str()) || repeats || token) {
                return Err(Finding::new(
                    format!("the callback's `{name}` says what only the tool.result card should say"),
                    "keep routing and pointer members in the callback; put results and errors into the card",
                )
                .expected("routing and pointer members only")
                .actual(Some(value))
                .at(format!("/payload/{name}"))
                .frame(report)
                .into());
            }
        }
    }
    Ok(())
}

/// The error text of a card, which a callback should not repeat.
fn spoken(card: &Value) -> Vec<String> {
    ["/content/error/message", "/content/result/error_message"]
        .iter()
        .filter_map(|pointer| member_at(card, pointer).and_then(Value::as_str))
        .filter(|text| text.len() >= 6)
        .map(str::to_owned)
        .collect()
}

/// `a`, `b` and `c`.
pub fn quoted(values: &[&str]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}
