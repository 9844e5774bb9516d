//! What MCP asks of the beginning of a session, in its revisions that have one.

use serde_json::Value;

use super::Reply;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer::{self, Answer};
use crate::families::toolbus::modern::UNSUPPORTED_VERSION;
use crate::families::toolbus::revision;
use crate::families::toolbus::wire_format::METHOD_NOT_FOUND;
use crate::transcript::shorten;

/// The answer to `initialize` names a revision that MCP has, and that has sessions. A server that refuses a revision
/// which it does not have names none, and one transport may have revisions without sessions alone.
pub fn agrees_to_a_revision(reply: &Reply<'_>) -> Judgement {
    let frame = answer::frame(reply.frames, reply.made.id);
    let requested = answer::request(reply.frames, reply.made.id);
    let requested = requested.and_then(|request| request.text("/params/protocolVersion"));
    match &*reply.answer {
        Answer::Error(_) if requested.is_some_and(|requested| !revision::is_known(requested)) => {
            return Ok(());
        }
        Answer::Error(error) if has_no_sessions(error) => return Ok(()),
        Answer::Error(_) => {
            return Err(CheckFailure::NotObserved(
                "the server does not have the revision that was asked for".to_owned(),
            ));
        }
        Answer::Success(_) | Answer::ToolError(_) => {}
        other => return Err(super::reply::unanswered(reply, other)),
    }
    let version = frame.and_then(|frame| frame.member("/result/protocolVersion"));
    let (fault, hint) = match version.and_then(Value::as_str) {
        Some(version) => match revision::fault_of_session(version) {
            None => return Ok(()),
            Some(fault) => fault,
        },
        None => (
            "the answer to `initialize` names no protocol version".to_owned(),
            "put the revision that the session has into `protocolVersion`".to_owned(),
        ),
    };
    Err(reply
        .finding(fault, hint)
        .expected(format!("one of {}", revision::WITH_A_SESSION.join(", ")))
        .actual(Some(&version.map_or_else(|| Value::from("absent"), shorten)))
        .at("/result/protocolVersion")
        .into())
}

/// Whether an error refuses `initialize` as a server does that has no revision with sessions.
fn has_no_sessions(error: &Value) -> bool {
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    match error.get("code").and_then(Value::as_i64) {
        Some(METHOD_NOT_FOUND) => true,
        Some(UNSUPPORTED_VERSION) => supported.is_some_and(|supported| {
            let mut versions = supported.iter().filter_map(Value::as_str).peekable();
            versions.peek().is_some() && versions.all(|version| !revision::WITH_A_SESSION.contains(&version))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_transport_without_sessions_says_so() {
        let check = |error: Value, expect: bool| assert_eq!(has_no_sessions(&error), expect, "{error}");
        let unsupported = |supported: Value| json!({"code": -32022, "data": {"supported": supported}});
        check(unsupported(json!(["2026-07-28"])), true);
        check(unsupported(json!(["2026-07-28", "2025-11-25"])), false);
        check(unsupported(json!([])), false);
        check(json!({"code": -32022}), false);
        check(json!({"code": -32601, "message": "no such method"}), true);
        check(json!({"code": -32602}), false);
    }
}
