//! The identity of a command: members of the payload in `v1r3`, headers in `v1r4`.
//!
//! Pure. Where the rest of a command stands is the same in both; `tool_service::command` reads it.

use serde_json::{Map, Value, json};

use super::Revision;
use super::headers::{self, Headers, text, whole_number};
use crate::utp::subject::CommandSubject;
use crate::utp::trace::{RECURSION_DEPTH, TraceHeaders};

/// Which call of which turn this is; needed to answer at all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identity {
    pub(crate) tool_call_id: String,
    pub(crate) agent_turn_id: String,
    /// As it came: a JSON value of any type in `v1r3`, the text of the header in `v1r4`.
    pub(crate) turn_epoch: Value,
    pub(crate) agent_id: String,
    pub(crate) step_id: Option<String>,
}

impl Identity {
    /// The first of call and turn that is empty, by the name of its header.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        let named = [(&self.tool_call_id, headers::TOOL_CALL_ID), (&self.agent_turn_id, headers::TURN_ID)];
        named.into_iter().find(|(id, _)| id.is_empty()).map(|(_, name)| name)
    }

    /// The identity as members of a payload, which `v1r3` has in a command.
    fn to_members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("agent_id".to_owned(), json!(self.agent_id));
        members.insert("agent_turn_id".to_owned(), json!(self.agent_turn_id));
        members.insert("turn_epoch".to_owned(), self.turn_epoch.clone());
        if let Some(step_id) = &self.step_id {
            members.insert("step_id".to_owned(), json!(step_id));
        }
        members.insert("tool_call_id".to_owned(), json!(self.tool_call_id));
        members
    }

    /// The identity as headers, which `v1r4` has on a command and on its report.
    pub(crate) fn to_headers(&self, project_id: &str, channel_id: &str) -> Headers {
        let mut headers = Headers::default();
        headers.set(headers::PROJECT_ID, project_id);
        headers.set(headers::CHANNEL_ID, channel_id);
        headers.set(headers::AGENT_ID, &*self.agent_id);
        headers.set(headers::TURN_ID, &*self.agent_turn_id);
        headers.set(headers::TURN_EPOCH, epoch_text(&self.turn_epoch));
        headers.set_some(headers::STEP_ID, self.step_id.as_deref());
        headers.set(headers::TOOL_CALL_ID, &*self.tool_call_id);
        headers
    }
}

/// An epoch as it stands in a header.
pub(crate) fn epoch_text(epoch: &Value) -> String {
    epoch.as_str().map_or_else(|| epoch.to_string(), str::to_owned)
}

/// Reads whom a command is from and about what, or says why it cannot be answered.
///
/// In `v1r4` call and turn may be empty: the `tool.call` card may name them, and the command is refused all the same.
pub(crate) fn identity<'a>(
    revision: Revision,
    subject: &CommandSubject,
    payload: &Map<String, Value>,
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Result<Identity, String> {
    match revision {
        Revision::V1r3 => in_payload(payload).map_err(|member| format!("`{member}` is missing or empty")),
        Revision::V1r4 => in_headers(subject, lookup),
    }
}

/// The member by which a payload breaks its revision.
pub(crate) fn forbidden(revision: Revision, payload: &Map<String, Value>) -> Option<&'static str> {
    match revision {
        Revision::V1r3 => None,
        Revision::V1r4 => headers::control_member(payload),
    }
}

/// Adds the identity of a command to its business members: payload and headers as they are sent.
pub(crate) fn written(
    revision: Revision,
    (project_id, channel_id): (&str, &str),
    identity: &Identity,
    business: Map<String, Value>,
    trace: &TraceHeaders,
) -> (Value, Headers) {
    let (mut payload, headers) = match revision {
        Revision::V1r3 => (identity.to_members(), Headers::default()),
        Revision::V1r4 => (Map::new(), identity.to_headers(project_id, channel_id)),
    };
    payload.extend(business);
    (Value::Object(payload), headers.with_trace(trace))
}

/// The identity, or the name of the first member that is missing.
fn in_payload(payload: &Map<String, Value>) -> Result<Identity, &'static str> {
    let needed = |member: &'static str| text_member(payload, member).ok_or(member);
    let turn_epoch = match payload.get("turn_epoch") {
        None | Some(Value::Null) => return Err("turn_epoch"),
        Some(Value::String(text)) if text.is_empty() => return Err("turn_epoch"),
        Some(value) => value.clone(),
    };
    Ok(Identity {
        tool_call_id: needed("tool_call_id")?,
        agent_turn_id: needed("agent_turn_id")?,
        turn_epoch,
        agent_id: needed("agent_id")?,
        step_id: text_member(payload, "step_id"),
    })
}

fn in_headers<'a>(
    subject: &CommandSubject,
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Result<Identity, String> {
    let found = |name: &str| text(&lookup, name).map(str::to_owned);
    agrees(&lookup, headers::PROJECT_ID, subject.project_id.as_str())?;
    agrees(&lookup, headers::CHANNEL_ID, subject.channel_id.as_str())?;
    let agent_id =
        found(headers::AGENT_ID).ok_or_else(|| format!("`{}` is missing or empty", headers::AGENT_ID))?;
    let turn_epoch = found(headers::TURN_EPOCH)
        .filter(|epoch| whole_number(epoch).is_some())
        .ok_or_else(|| format!("`{}` is no whole number", headers::TURN_EPOCH))?;
    depth(&lookup)?;
    Ok(Identity {
        tool_call_id: found(headers::TOOL_CALL_ID).unwrap_or_default(),
        agent_turn_id: found(headers::TURN_ID).unwrap_or_default(),
        turn_epoch: Value::String(turn_epoch),
        agent_id,
        step_id: found(headers::STEP_ID),
    })
}

/// Checks that a header which repeats a token of the subject says the same.
pub(crate) fn agrees<'a>(
    lookup: impl Fn(&str) -> Option<&'a str>,
    name: &str,
    token: &str,
) -> Result<(), String> {
    match text(lookup, name) {
        Some(value) if value != token => Err(format!("`{name}` is `{value}`, the subject says `{token}`")),
        _ => Ok(()),
    }
}

/// The depth of a call; one that says none is not nested.
pub(crate) fn depth<'a>(lookup: impl Fn(&str) -> Option<&'a str>) -> Result<u64, String> {
    match lookup(RECURSION_DEPTH) {
        None => Ok(0),
        Some(text) => whole_number(text).ok_or_else(|| format!("`{RECURSION_DEPTH}` is no whole number")),
    }
}

/// A string member that holds more than blanks.
pub(crate) fn text_member(object: &Map<String, Value>, member: &str) -> Option<String> {
    let text = object.get(member)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::{Headers, Identity, Revision, headers, identity, written};
    use crate::utp::subject::CommandSubject;
    use crate::utp::trace::{RECURSION_DEPTH, TraceHeaders};

    const COMPLETE: [(&str, &str); 8] = [
        (headers::PROJECT_ID, "prj"),
        (headers::CHANNEL_ID, "ch"),
        (headers::AGENT_ID, "ag"),
        (headers::TURN_ID, "turn"),
        (headers::TURN_EPOCH, "6"),
        (headers::STEP_ID, "step"),
        (headers::TOOL_CALL_ID, "call"),
        (RECURSION_DEPTH, "1"),
    ];

    fn subject(revision: Revision) -> CommandSubject {
        CommandSubject::parse(&format!("cg.{revision}.prj.ch.cmd.tool.t")).expect("a subject")
    }

    /// Reads a complete command of `v1r4` with one header changed, or left out.
    fn read(name: &str, value: Option<&'static str>) -> Result<Identity, String> {
        // The payload says something else, which must not matter.
        let payload = json!({"agent_id": "x", "agent_turn_id": "x", "turn_epoch": 9, "tool_call_id": "x"});
        let payload = payload.as_object().cloned().unwrap_or_default();
        identity(Revision::V1r4, &subject(Revision::V1r4), &payload, |wanted| {
            if wanted == name {
                return value;
            }
            COMPLETE.into_iter().find(|(known, _)| *known == wanted).map(|(_, value)| value)
        })
    }

    #[test]
    fn headers_name_the_call_and_the_payload_does_not() {
        let found = read("", None).expect("an identity");
        assert_eq!((found.agent_id.as_str(), found.tool_call_id.as_str()), ("ag", "call"));
        assert_eq!((found.agent_turn_id.as_str(), found.step_id.as_deref()), ("turn", Some("step")));
        assert_eq!(found.turn_epoch, "6");
    }

    #[test]
    fn a_command_that_cannot_be_answered_has_no_identity() {
        fn check(name: &'static str, value: Option<&'static str>, expect: bool) {
            assert_eq!(read(name, value).is_ok(), expect, "{name} {value:?}");
        }
        for name in [headers::PROJECT_ID, headers::CHANNEL_ID] {
            check(name, None, true);
            check(name, Some("other"), false);
        }
        check(headers::STEP_ID, None, true);
        check(headers::AGENT_ID, None, false);
        check(headers::AGENT_ID, Some(" "), false);
        check(RECURSION_DEPTH, None, true);
        for name in [headers::TURN_EPOCH, RECURSION_DEPTH] {
            check(name, Some("0"), true);
            for odd in ["", "-1", "1.5", "six"] {
                check(name, Some(odd), false);
            }
        }
        check(headers::TURN_EPOCH, None, false);
        assert_eq!(read(headers::TOOL_CALL_ID, None).expect("one").lacks(), Some(headers::TOOL_CALL_ID));
        assert_eq!(read(headers::TURN_ID, Some("")).expect("one").lacks(), Some(headers::TURN_ID));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let sent = Identity {
            tool_call_id: "call".to_owned(),
            agent_turn_id: "turn".to_owned(),
            turn_epoch: json!(6),
            agent_id: "ag".to_owned(),
            step_id: Some("step".to_owned()),
        };
        for revision in Revision::ALL {
            let business: Map<_, _> = [("tool_name".to_owned(), json!("t"))].into_iter().collect();
            let trace = TraceHeaders::fresh();
            let (payload, headers): (_, Headers) = written(revision, ("prj", "ch"), &sent, business, &trace);
            let payload = payload.as_object().cloned().unwrap_or_default();
            assert_eq!(payload.contains_key("agent_id"), revision == Revision::V1r3);
            assert_eq!(headers.value(headers::AGENT_ID).is_some(), revision == Revision::V1r4);
            let found =
                identity(revision, &subject(revision), &payload, |name| headers.value(name)).expect("one");
            let epoch = if revision == Revision::V1r3 { json!(6) } else { json!("6") };
            assert_eq!(found, Identity { turn_epoch: epoch, ..sent.clone() });
        }
    }
}
