//! What `v1r4` asks of a report and its card beside what `v1r3` does: no control member in a payload, an author and a
//! function in the card, subjects of the revision, codes of a refusal.

use callmark_reports::record::Direction;
use serde_json::Value;

use super::callback::quoted;
use super::seen;
use super::seen::{Calls, some_reports};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::call::{AGENT, HELPER, OTHER_HELPER};
use crate::families::utp::revision::CONTROL_MEMBERS;
use crate::transcript::{Frame, member_at};

/// What the identity of something that answers commands begins with (Guide r4 §1).
const ACTORS: [&str; 2] = ["tool.", "sys."];

/// No callback of the call has a control member.
pub fn has_no_control_member(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    for report in some_reports(frames, calls)? {
        let payload = report.body.get("payload");
        let stray = CONTROL_MEMBERS.iter().find_map(|member| Some((member, payload?.get(member)?)));
        if let Some((member, value)) = stray {
            return Err(Finding::new(
                format!("the callback has the control member `{member}`"),
                format!("leave `{member}` out of `payload`: the headers of the report say it"),
            )
            .expected("no such member")
            .actual(Some(value))
            .at(format!("/payload/{member}"))
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// The card that a report points to, of each report of the call that points to one.
fn cards<'a>(
    frames: &'a [Frame],
    calls: &Calls<'_>,
) -> Result<Vec<(&'a Frame, &'a Frame, &'a Value)>, CheckFailure> {
    let reports = some_reports(frames, calls)?.into_iter();
    let pointed: Vec<_> = reports
        .filter_map(|report| {
            let (frame, card) = seen::card_of(frames, report)?;
            Some((report, frame, card))
        })
        .collect();
    if pointed.is_empty() {
        return Err(CheckFailure::NotObserved("no report points to a card that was saved".to_owned()));
    }
    Ok(pointed)
}

/// The author of the tool.result card is who reports it, somebody that the platform knows.
pub fn is_signed(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    for (report, frame, card) in cards(frames, calls)? {
        let (reporter, author) = (report.body.get("source_agent_id"), card.get("author_id"));
        let finding = |message: &str, expected: Value, actual: Option<&Value>, at: &str| {
            let hint = "report under one identity of your own (`source_agent_id`, for example `tool.<name>`), and write it \
                        into `author_id` of the tool.result card";
            Finding::new(message, hint).expected(expected).actual(actual).at(at).frame(frame).frame(report)
        };
        let Some(name) = reporter.and_then(Value::as_str).filter(|name| is_actor(calls, name)) else {
            let message = "the report names nobody as its source that the platform knows";
            let expected =
                Value::from("an agent of the roster, or a name that begins with `tool.` or `sys.`");
            return Err(finding(message, expected, reporter, "/source_agent_id").into());
        };
        if author.and_then(Value::as_str) != Some(name) {
            let message = "the author of the tool.result card is not who reports it";
            return Err(finding(message, Value::from(name), author, "/card/author_id").into());
        }
    }
    Ok(())
}

fn is_actor(calls: &Calls<'_>, name: &str) -> bool {
    let is_agent = [AGENT, HELPER, OTHER_HELPER].contains(&name) || calls.subject.agent_id() == Some(name);
    is_agent || ACTORS.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
}

/// The tool.result card names the tool; that of a call without a tool's name names something. What stands where the
/// command's name is no text, nobody says.
pub fn names_function(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let named = calls.subject.command.get("tool_name").filter(|name| !name.is_null());
    if named.is_some_and(|name| !name.is_string()) {
        return Ok(());
    }
    let tool = named.and_then(Value::as_str).filter(|name| !name.is_empty());
    for (report, frame, card) in cards(frames, calls)? {
        let value = member_at(card, "/metadata/function_name");
        let name = value.and_then(Value::as_str).filter(|name| !name.is_empty());
        if name.is_none() || (tool.is_some() && name != tool) {
            return Err(Finding::new(
                "the tool.result card does not name its tool",
                "write the name of the tool into `metadata.function_name` of the tool.result card",
            )
            .expected(tool.unwrap_or("a name"))
            .actual(value)
            .at("/card/metadata/function_name")
            .frame(frame)
            .frame(report)
            .into());
        }
    }
    Ok(())
}

/// Nothing that the target publishes has another version token than the command.
pub fn keeps_its_version(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let version = calls.subject.subject.split('.').nth(1);
    let is_other = |frame: &&Frame| {
        frame.direction == Direction::FromTarget && frame.token(0) == Some("cg") && frame.token(1) != version
    };
    match frames.iter().find(is_other) {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the target publishes on a subject of another version",
            "take the version token of every subject from the protocol version that is spoken",
        )
        .expected(version.map(Value::from).unwrap_or_default())
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into()),
    }
}

/// The call failed with one of these codes and no other.
pub fn has_only_code(frames: &[Frame], calls: &Calls<'_>, codes: &[&str]) -> Judgement {
    let (frame, card) = seen::result_card(frames, calls).ok_or_else(|| {
        CheckFailure::NotObserved("the target saved no tool.result card for the call".to_owned())
    })?;
    let pointer = "/content/error/code";
    let value = member_at(card, pointer);
    if value.and_then(Value::as_str).is_some_and(|code| codes.contains(&code)) {
        return Ok(());
    }
    Err(Finding::new(
        format!("the refusal does not have the code {}", quoted(codes)),
        format!("refuse the command with `error.code` {}", quoted(codes)),
    )
    .expected(codes.join(" or "))
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame)
    .into())
}

/// No report is about the call.
pub fn is_not_reported(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    match seen::report(frames, calls) {
        None => Ok(()),
        Some(report) => Err(Finding::new(
            "a callback is reported for a command that names no call",
            "report nothing where neither the headers nor the card say which call it is",
        )
        .expected("no report")
        .actual(Some(&report.body))
        .frame(report)
        .into()),
    }
}
