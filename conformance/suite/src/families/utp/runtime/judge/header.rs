//! What `v1r4` asks of a command: its identity in headers, nothing of it in the payload, the version in subjects
//! (Guide r4 §1, Context §3.2, Migration §1).

use callmark_reports::record::Direction;
use serde_json::Value;

use super::meaningless;
use crate::engine::judge::{Finding, Judgement};
use crate::families::utp::revision::{CONTROL_MEMBERS, Revision};
use crate::transcript::Frame;

/// What to change where a command lacks a header.
pub(super) fn hint(name: &str) -> String {
    format!("put the header `{name}` on every command, spelt like that")
}

/// What a header of a command says is what its subject and its tool.call card say, where these say something.
pub(super) fn agrees(frame: &Frame, member: &str, card: Option<&Value>) -> Judgement {
    let text = Revision::V1r4.sent(frame, member);
    let of_card = |pointer: &str| card.and_then(|card| card.pointer(pointer)?.as_str());
    let is_number = || text.is_some_and(is_whole_number);
    let expected = match member {
        "project_id" => frame.token(2),
        "channel_id" => frame.token(3),
        "agent_turn_id" => of_card("/metadata/agent_turn_id"),
        "step_id" => of_card("/metadata/step_id"),
        "turn_epoch" | "recursion_depth" if !is_number() => Some("a whole number of at least 0"),
        _ => None,
    };
    match expected {
        Some(expected) if text != Some(expected) => {
            Err(meaningless(frame, member, Revision::V1r4).expected(expected).into())
        }
        _ => Ok(()),
    }
}

/// Whether a text is decimal digits alone.
fn is_whole_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The payload of a command has no control member.
pub fn repeats_nothing(command: &Frame) -> Judgement {
    let stray = CONTROL_MEMBERS.iter().find_map(|member| Some((member, command.body.get(member)?)));
    let Some((member, value)) = stray else { return Ok(()) };
    Err(Finding::new(
        format!("the payload of the command has the control member `{member}`"),
        format!("leave `{member}` out of the payload of every command: its headers say it"),
    )
    .expected("no such member")
    .actual(Some(value))
    .at(format!("/{member}"))
    .frame(command)
    .into())
}

/// Nothing that the target publishes has another version token than this.
pub fn keeps_its_version(frames: &[Frame], version: &str) -> Judgement {
    let is_other = |frame: &&Frame| {
        frame.direction == Direction::FromTarget
            && frame.token(0) == Some("cg")
            && frame.token(1) != Some(version)
    };
    let Some(frame) = frames.iter().find(is_other) else { return Ok(()) };
    Err(Finding::new(
        "the target publishes on a subject of another version",
        "take the version token of a command's subject from the tool's row, and that of all others from the protocol \
         version that is spoken",
    )
    .expected(version)
    .actual(Some(&Value::from(frame.channel.clone())))
    .frame(frame)
    .into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::transcript::Kind;

    fn command(headers: &[(&str, &str)], body: Value) -> Frame {
        let headers: BTreeMap<String, String> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let channel = "cg.v1r4.prj.ch.cmd.tool.tides.lookup".to_owned();
        Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::Command,
            channel,
            headers,
            body,
        }
    }

    #[test]
    fn headers_agree_with_subject_and_card() {
        let card = json!({"metadata": {"step_id": "step", "agent_turn_id": "turn"}});
        let check = |name: &str, value: &str, member: &str, expect: bool| {
            let command = command(&[(name, value)], json!({}));
            assert_eq!(agrees(&command, member, Some(&card)).is_ok(), expect, "{name}: {value}");
        };
        check("cg-project-id", "prj", "project_id", true);
        check("cg-project-id", "other", "project_id", false);
        check("cg-channel-id", "ch", "channel_id", true);
        check("cg-channel-id", "public", "channel_id", false);
        check("cg-step-id", "step", "step_id", true);
        check("cg-step-id", "step_2", "step_id", false);
        check("cg-turn-id", "turn", "agent_turn_id", true);
        check("cg-turn-id", "another", "agent_turn_id", false);
        check("cg-agent-id", "anybody", "agent_id", true);
        for (value, expect) in [("0", true), ("19", true), ("-1", false), ("1.5", false), ("one", false)] {
            check("cg-recursion-depth", value, "recursion_depth", expect);
            check("cg-turn-epoch", value, "turn_epoch", expect);
        }
        // What the card leaves open is open.
        assert_eq!(agrees(&command(&[("cg-step-id", "any")], json!({})), "step_id", None), Ok(()));
    }

    #[test]
    fn a_payload_of_business_alone_is_accepted() {
        let check = |body: Value, expect: bool| {
            assert_eq!(repeats_nothing(&command(&[], body.clone())).is_ok(), expect, "{body}");
        };
        check(json!({"tool_name": "t", "context_box_id": "b"}), true);
        check(json!({"tool_name": "t", "agent_id": "a"}), false);
        check(json!({"tool_name": "t", "trace_id": null}), false);
    }

    #[test]
    fn every_subject_has_the_version() {
        let old = Frame { channel: "cg.v1r3.prj.ch.evt.agent.ag.task".to_owned(), ..command(&[], json!({})) };
        assert!(keeps_its_version(&[command(&[], json!({}))], "v1r4").is_ok());
        assert!(keeps_its_version(&[old], "v1r4").is_err());
    }
}
