//! What MCP asks of the beginning of a session, in its revisions that have one.

use serde_json::Value;

use super::Reply;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer::{self, Answer};
use crate::families::toolbus::revision;
use crate::transcript::shorten;

/// The answer to `initialize` names a revision that MCP has, and that has sessions. A server that refuses a revision
/// which it does not have names none.
pub fn agrees_to_a_revision(reply: &Reply<'_>) -> Judgement {
    let frame = answer::frame(reply.frames, reply.made.id);
    let requested = answer::request(reply.frames, reply.made.id);
    let requested = requested.and_then(|request| request.text("/params/protocolVersion"));
    match &*reply.answer {
        Answer::Error(_) if requested.is_some_and(|requested| !revision::is_known(requested)) => {
            return Ok(());
        }
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
