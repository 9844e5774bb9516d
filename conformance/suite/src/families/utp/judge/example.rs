//! Calls and messages for the tests of judgements.

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::utp::call::{Blueprint, Call};
use crate::families::utp::project_name::ProjectName;
use crate::families::utp::revision::Revision;
use crate::families::utp::tool::{Tool, ToolTable};
use crate::transcript::{Frame, Kind};

/// The nth call of a scenario.
pub(super) fn call(revision: Revision, tool: Tool, number: u32) -> Call {
    let unique = "unique".to_owned();
    let name = ProjectName { prefix: String::new(), stable: unique.clone(), unique, suffix: String::new() };
    let table = ToolTable { tool_name: tool.capability().to_owned(), ..ToolTable::default() };
    Call::new(Blueprint {
        tool,
        table: &table,
        version: revision.name(),
        project_id: "prj_unique",
        name: &name,
        seed: &number.to_string(),
    })
}

/// The command of a call.
pub(super) fn command(call: &Call) -> Frame {
    let (headers, payload) = call.encoded();
    let (direction, kind) = (Direction::ToTarget, Kind::Command);
    let (channel, body) = (call.subject.clone(), Value::Object(payload));
    Frame { n: 0, at_us: 0, direction, kind, channel, headers, body }
}

/// The tool.result card of a call.
pub(super) fn saved(call: &Call, content: &Value) -> Frame {
    let id = &call.tool_call_id;
    let body = json!({"card": {
        "card_id": format!("card_tr_{id}"), "type": "tool.result", "tool_call_id": id, "content": content,
        "metadata": {"tool_call_id": id},
    }});
    let (direction, kind) = (Direction::FromTarget, Kind::CardSave);
    let channel = "l0.v1.prj_unique.cards.save".to_owned();
    Frame { n: 0, at_us: 0, direction, kind, channel, headers: call.encoded().0, body }
}

/// The report of a call that succeeded.
pub(super) fn report(call: &Call) -> Frame {
    let id = &call.tool_call_id;
    let mut payload = json!({
        "status": "success", "after_execution": "suspend", "tool_result_card_id": format!("card_tr_{id}"),
    });
    for member in ["tool_call_id", "agent_turn_id", "agent_id"] {
        if call.revision.header(member).is_none() {
            payload[member] = call.command[member].clone();
        }
    }
    let body = json!({"message_type": "tool_result", "correlation_id": id, "payload": payload});
    let (direction, kind) = (Direction::FromTarget, Kind::Report);
    let channel = "l0.v1.prj_unique.public.report".to_owned();
    Frame { n: 0, at_us: 0, direction, kind, channel, headers: call.encoded().0, body }
}

/// What is judged of a call whose scenario has these messages, in this order.
pub(super) fn judged(
    frames: impl IntoIterator<Item = Frame>,
    subject: &Call,
    judgement: impl Fn(&[Frame], &Calls<'_>) -> Judgement,
) -> Result<(), &'static str> {
    let frames: Vec<Frame> = (1..).zip(frames).map(|(n, frame)| Frame { n, ..frame }).collect();
    match judgement(&frames, &Calls::new(subject, &[])) {
        Ok(()) => Ok(()),
        Err(CheckFailure::Broken(finding)) if finding.lenience().is_some() => Err("recommended"),
        Err(CheckFailure::Broken(_)) => Err("broken"),
        Err(_) => Err("not judged"),
    }
}
