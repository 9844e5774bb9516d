//! The command: from bytes to something that may be run, or to the reason why not (UTP §4.1, Guide §1 and §2.2).
//!
//! Pure: no card is read here. Where the identity of the call stands is `revision`'s matter.
//! What is not needed is ignored (UTP §4.3), except the three inline members and those that the revision forbids.

use serde_json::{Map, Value, json};

use crate::utp::ident::digest_of;
use crate::utp::message::{AfterExecution, ErrorCode};
use crate::utp::revision::Revision;
use crate::utp::revision::command::{Identity, forbidden, identity, text_member as text};
use crate::utp::subject::CommandSubject;

use super::failure::ToolFailure;

/// The members that a Tool Service refuses: arguments come from the card alone.
const INLINE: [&str; 3] = ["args", "arguments", "result"];

/// What makes two commands the same call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_field_names, reason = "the names of the command's members")]
pub(crate) struct CallKey {
    pub(crate) project_id: String,
    pub(crate) agent_turn_id: String,
    pub(crate) tool_call_id: String,
}

impl CallKey {
    /// What stands for the call in ids and in keys of stores.
    pub(crate) fn digest(&self) -> String {
        digest_of(&[&self.project_id, &self.agent_turn_id, &self.tool_call_id])
    }
}

/// Whether a command must have a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// What the two families of commands ask for differently (UTP §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) tool_name: Need,
    pub(crate) step_id: Need,
}

impl Form {
    /// A command on `cmd.tool.*`.
    pub(crate) const TOOL: Self = Self { tool_name: Need::Required, step_id: Need::Optional };
    /// A command on `cmd.sys.pmo.internal.*`.
    pub(crate) const BUILT_IN: Self = Self { tool_name: Need::Optional, step_id: Need::Required };
}

/// A command that may be run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Command {
    pub(crate) identity: Identity,
    pub(crate) tool_call_card_id: String,
    /// There where the form requires it.
    pub(crate) tool_name: Option<String>,
    pub(crate) after_execution: AfterExecution,
    pub(crate) context_box_id: Option<String>,
}

/// A command that must not be run, but can be answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandRefusal {
    pub(crate) identity: Identity,
    /// The command's value; `suspend` where the command has none, because a callback needs one of the two.
    pub(crate) after_execution: AfterExecution,
    /// For the lineage of the answer, when there is one.
    pub(crate) tool_call_card_id: Option<String>,
    pub(crate) tool_name: Option<String>,
    pub(crate) failure: ToolFailure,
}

/// How a service reads a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParsedCommand {
    /// Run it.
    Run(Command),
    /// Answer it with a failed result.
    Refuse(CommandRefusal),
    /// It does not name call or turn, which are empty: answer it if its card does.
    Incomplete(CommandRefusal),
    /// It names no agent to answer to: the reason, for the log.
    Drop(String),
}

/// Reads a command; `lookup` finds its headers.
pub(crate) fn read<'a>(
    revision: Revision,
    subject: &CommandSubject,
    payload: &[u8],
    lookup: impl Fn(&str) -> Option<&'a str>,
    form: Form,
) -> ParsedCommand {
    let object: Map<String, Value> = match serde_json::from_slice(payload) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return ParsedCommand::Drop("the payload is not a JSON object".to_owned()),
        Err(error) => return ParsedCommand::Drop(format!("the payload is not JSON: {error}")),
    };
    let identity = match identity(revision, subject, &object, lookup) {
        Ok(identity) => identity,
        Err(reason) => return ParsedCommand::Drop(reason),
    };
    let after_execution = text(&object, "after_execution");
    let known_after_execution = after_execution.as_deref().and_then(AfterExecution::parse);
    let tool_call_card_id = text(&object, "tool_call_card_id");
    let tool_name = text(&object, "tool_name");
    let refusal = |code: ErrorCode, member: &str, message: String| CommandRefusal {
        identity: identity.clone(),
        after_execution: known_after_execution.unwrap_or(AfterExecution::Suspend),
        tool_call_card_id: tool_call_card_id.clone(),
        tool_name: tool_name.clone(),
        failure: ToolFailure::new(code, message).with_detail(json!({"field": member})),
    };
    let refuse = |member: &str, message: String| {
        ParsedCommand::Refuse(refusal(ErrorCode::BadRequest, member, message))
    };
    let missing = |member: &str| refuse(member, format!("the command has no `{member}`"));

    if let Some(header) = identity.lacks() {
        let message = format!("the command has no header `{header}`");
        return ParsedCommand::Incomplete(refusal(ErrorCode::ProtocolViolation, header, message));
    }
    if let Some(member) = forbidden(revision, &object) {
        let message = format!("the command's payload carries `{member}`, which belongs into headers");
        return ParsedCommand::Refuse(refusal(ErrorCode::ProtocolViolation, member, message));
    }
    if let Some(inline) = INLINE.into_iter().find(|member| object.contains_key(*member)) {
        return refuse(inline, format!("the command carries inline `{inline}`"));
    }
    let Some(after_execution) = known_after_execution else {
        return refuse(
            "after_execution",
            "the command's `after_execution` is neither `suspend` nor `terminate`".to_owned(),
        );
    };
    let Some(card_id) = &tool_call_card_id else { return missing("tool_call_card_id") };
    if form.tool_name == Need::Required && tool_name.is_none() {
        return missing("tool_name");
    }
    if form.step_id == Need::Required && identity.step_id.is_none() {
        return missing("step_id");
    }
    ParsedCommand::Run(Command {
        tool_call_card_id: card_id.clone(),
        tool_name: tool_name.clone(),
        after_execution,
        context_box_id: text(&object, "context_box_id"),
        identity,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, ParsedCommand};
    use crate::utp::message::{AfterExecution, ErrorCode};
    use crate::utp::revision::{Revision, headers};
    use crate::utp::subject::CommandSubject;

    fn read(payload: &[u8]) -> ParsedCommand {
        read_as(payload, Form::TOOL)
    }

    fn read_as(payload: &[u8], form: Form) -> ParsedCommand {
        let subject = CommandSubject::parse("cg.v1r3.prj.ch.cmd.tool.t").expect("a subject");
        super::read(Revision::V1r3, &subject, payload, |_| None, form)
    }

    fn command() -> Value {
        json!({
            "agent_id": "ag", "agent_turn_id": "turn", "turn_epoch": 6, "tool_call_id": "call",
            "tool_call_card_id": "card", "after_execution": "terminate", "tool_name": "tide_table"
        })
    }

    /// The reading of a complete command with `change` merged into it; a `null` in `change` stays a null,
    /// `"absent"` removes the member.
    fn check(change: &Value, expect: &str) {
        let mut body = command();
        for (name, value) in change.as_object().expect("an object") {
            if value == "absent" {
                body.as_object_mut().expect("an object").remove(name);
            } else {
                body[name] = value.clone();
            }
        }
        let found = match read(body.to_string().as_bytes()) {
            ParsedCommand::Run(_) => "run".to_owned(),
            ParsedCommand::Refuse(refusal) => {
                format!(
                    "refuse {}",
                    refusal.failure.detail.expect("a detail")["field"].as_str().expect("text")
                )
            }
            ParsedCommand::Incomplete(_) => "incomplete".to_owned(),
            ParsedCommand::Drop(reason) => format!("drop {reason}"),
        };
        assert_eq!(found, expect, "{change}");
    }

    #[test]
    fn a_command_is_run_refused_or_dropped() {
        check(&json!({}), "run");
        check(&json!({"x_future": {"a": 1}, "zz": [1], "context_box_id": "box_7"}), "run");
        check(&json!({"turn_epoch": 0}), "run");
        for member in ["tool_call_id", "agent_turn_id", "turn_epoch", "agent_id"] {
            for value in [json!("absent"), Value::Null, json!("")] {
                check(&json!({ member: value }), &format!("drop `{member}` is missing or empty"));
            }
        }
        for member in ["tool_call_card_id", "tool_name", "after_execution"] {
            for value in [json!("absent"), Value::Null, json!(""), json!("  "), json!(7)] {
                check(&json!({ member: value }), &format!("refuse {member}"));
            }
        }
        for value in ["pause", "Suspend", " suspend"] {
            check(&json!({"after_execution": value}), "refuse after_execution");
        }
        for member in ["args", "arguments", "result"] {
            check(&json!({ member: {"k": "inline"} }), &format!("refuse {member}"));
            check(&json!({ member: null }), &format!("refuse {member}"));
        }
    }

    #[test]
    fn a_built_in_needs_its_step_and_not_its_name() {
        fn check(change: &Value, expect: Option<&str>) {
            let mut body = command();
            body["step_id"] = json!("step_3");
            for (name, value) in change.as_object().expect("an object") {
                body[name] = value.clone();
            }
            let field = match read_as(body.to_string().as_bytes(), Form::BUILT_IN) {
                ParsedCommand::Run(_) => None,
                ParsedCommand::Refuse(refusal) => refusal.failure.detail,
                other => panic!("unexpected {other:?}"),
            };
            assert_eq!(field.as_ref().and_then(|detail| detail["field"].as_str()), expect, "{change}");
        }
        check(&json!({}), None);
        check(&json!({"tool_name": null}), None);
        check(&json!({"x_future": 1}), None);
        check(&json!({"step_id": null}), Some("step_id"));
        check(&json!({"step_id": ""}), Some("step_id"));
        check(&json!({"tool_call_card_id": ""}), Some("tool_call_card_id"));
        check(&json!({"args": {}}), Some("args"));
    }

    #[test]
    fn what_is_no_object_is_dropped() {
        for payload in ["", "{", "[]", "\"text\"", "null", "\u{0}"] {
            assert!(matches!(read(payload.as_bytes()), ParsedCommand::Drop(_)), "{payload}");
        }
        assert!(matches!(read(&[0xff, 0xfe]), ParsedCommand::Drop(_)));
    }

    #[test]
    fn a_refusal_answers_with_the_commands_value_where_it_has_one() {
        fn check(after_execution: &Value, expect: AfterExecution) {
            let mut body = command();
            body["after_execution"] = after_execution.clone();
            body["args"] = json!({});
            let ParsedCommand::Refuse(refusal) = read(body.to_string().as_bytes()) else {
                panic!("not refused: {body}");
            };
            assert_eq!(refusal.after_execution, expect);
        }
        check(&json!("terminate"), AfterExecution::Terminate);
        check(&json!("pause"), AfterExecution::Suspend);
        check(&Value::Null, AfterExecution::Suspend);
    }

    #[test]
    fn the_epoch_keeps_its_json_type() {
        for epoch in [json!(9_007_199_254_740_993_u64), json!("6"), json!(6.5)] {
            let mut body = command();
            body["turn_epoch"] = epoch.clone();
            let ParsedCommand::Run(command) = read(body.to_string().as_bytes()) else {
                panic!("not run: {body}");
            };
            assert_eq!(command.identity.turn_epoch, epoch);
        }
    }

    /// What becomes of a command of `v1r4` without the header `absent` and with `members` in its payload.
    fn check_v1r4(absent: &str, members: &Value, expect: Option<(ErrorCode, &str)>) {
        let complete = [
            (headers::AGENT_ID, "ag"),
            (headers::TURN_ID, "turn"),
            (headers::TURN_EPOCH, "6"),
            (headers::TOOL_CALL_ID, "call"),
        ];
        let mut body = json!({"tool_call_card_id": "card", "after_execution": "suspend", "tool_name": "t"});
        for (name, value) in members.as_object().expect("an object") {
            body[name] = value.clone();
        }
        let subject = CommandSubject::parse("cg.v1r4.prj.ch.cmd.tool.t").expect("a subject");
        let lookup = |name: &str| {
            complete.iter().find(|(known, _)| *known == name && *known != absent).map(|(_, value)| *value)
        };
        let payload = body.to_string();
        let failure = match super::read(Revision::V1r4, &subject, payload.as_bytes(), lookup, Form::TOOL) {
            ParsedCommand::Run(_) => None,
            ParsedCommand::Refuse(refusal) => Some((refusal.failure, absent.is_empty())),
            ParsedCommand::Incomplete(refusal) => Some((refusal.failure, !absent.is_empty())),
            ParsedCommand::Drop(reason) => panic!("dropped: {reason}"),
        };
        let found = failure.as_ref().map(|(failure, _)| {
            let field = failure.detail.as_ref().and_then(|detail| detail["field"].as_str());
            (failure.code, field.unwrap_or_default())
        });
        assert_eq!(found, expect, "without `{absent}`, with {members}");
        assert!(failure.is_none_or(|(_, kind)| kind), "without `{absent}`, with {members}");
    }

    #[test]
    fn a_command_of_v1r4_has_its_identity_in_headers_alone() {
        let violation = |field| Some((ErrorCode::ProtocolViolation, field));
        check_v1r4("", &json!({}), None);
        check_v1r4("", &json!({"x_future": 1, "context_box_id": "box"}), None);
        for member in ["agent_id", "turn_epoch", "channel", "trace_id", "recursion_depth", "parent_step_id"] {
            check_v1r4("", &json!({ member: "x" }), violation(member));
            check_v1r4("", &json!({ member: null }), violation(member));
        }
        check_v1r4("", &json!({"args": {}}), Some((ErrorCode::BadRequest, "args")));
        for header in [headers::TOOL_CALL_ID, headers::TURN_ID] {
            check_v1r4(header, &json!({}), violation(header));
            check_v1r4(header, &json!({"tool_call_id": "call", "agent_turn_id": "turn"}), violation(header));
        }
    }
}
