//! What the server sends or asks for beside the answer: requests, logs, noise, sessions.

use serde_json::Value;

use super::{member, status};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::judge::Reply;
use crate::families::toolbus::judge::reply::unanswered;
use crate::families::toolbus::modern::{
    CLIENT_CAPABILITIES, INPUT_REQUIRED, LOG_LEVEL, VERSION_HEADER, revision_of,
};
use crate::families::toolbus::revision::MODERN;
use crate::families::toolbus::wire_format::{BESIDE, NAMED_SESSION, STDOUT};
use crate::transcript::Frame;

/// The answer names no session.
pub fn names_no_session(reply: &Reply<'_>) -> Judgement {
    let Some(frame) = answer::frame(reply.frames, reply.made.id) else {
        return Err(unanswered(reply, &reply.answer));
    };
    if status(frame).is_none() {
        return Err(CheckFailure::NotObserved("the answer came without HTTP".to_owned()));
    }
    let request = answer::request(reply.frames, reply.made.id);
    let is_modern = |request: &Frame| {
        revision_of(request) == Some(MODERN)
            && request.headers.get(VERSION_HEADER).is_some_and(|version| version == MODERN)
    };
    match frame.headers.get(NAMED_SESSION).filter(|_| request.is_some_and(is_modern)) {
        None => Ok(()),
        Some(session) => Err(reply
            .finding(
                "the answer names a session",
                "send no `Mcp-Session-Id` in answer to a request of this revision, which has no sessions",
            )
            .expected("no header `Mcp-Session-Id`")
            .actual(Some(&Value::from(session.clone())))
            .into()),
    }
}

/// What the server sent beside the answer, of its own accord.
fn asides<'a>(reply: &'a Reply<'_>) -> impl Iterator<Item = &'a Frame> {
    let id = reply.made.id.to_string();
    reply.frames.iter().filter(move |frame| frame.headers.get(BESIDE) == Some(&id))
}

/// The server asks its client nothing.
pub fn asks_nothing(reply: &Reply<'_>) -> Judgement {
    let request =
        asides(reply).find(|frame| frame.member("/id").is_some() && frame.text("/method").is_some());
    match request {
        None => Ok(()),
        Some(frame) => Err(about(reply, frame)
            .finding_with(
                "the server sends a request to its client",
                "answer the call with `input_required` and `inputRequests` where the client must do something, and only \
                 with what its `clientCapabilities` declare",
            )
            .into()),
    }
}

/// Log messages come only where the request asks for them.
pub fn logs_nothing_unasked(reply: &Reply<'_>) -> Judgement {
    let request = answer::request(reply.frames, reply.made.id);
    let level = request.and_then(|frame| frame.member("/params/_meta")).and_then(|meta| meta.get(LOG_LEVEL));
    let logged = asides(reply).find(|frame| frame.text("/method") == Some("notifications/message"));
    match logged.filter(|_| level.is_none()) {
        None => Ok(()),
        Some(frame) => Err(about(reply, frame)
            .finding_with(
                "the server sends a log message that the request did not ask for",
                "send `notifications/message` only where `_meta` of the request has \
                 `io.modelcontextprotocol/logLevel`",
            )
            .into()),
    }
}

/// A call with a message that came beside its answer.
struct About<'a, 'r> {
    reply: &'a Reply<'r>,
    frame: &'a Frame,
}

fn about<'a, 'r>(reply: &'a Reply<'r>, frame: &'a Frame) -> About<'a, 'r> {
    About { reply, frame }
}

impl About<'_, '_> {
    fn finding_with(&self, message: &str, hint: &str) -> Finding {
        let finding = self.reply.finding(message, hint).frame(self.frame);
        finding.expected("nothing beside the answer").actual(Some(&self.frame.body))
    }
}

/// Whether a client declared the capability that it needs to serve one of the requests of an answer.
fn is_declared(reply: &Reply<'_>, input: &Value) -> bool {
    let capability = match input.get("method").and_then(Value::as_str) {
        Some("sampling/createMessage") => "sampling",
        Some("elicitation/create") => "elicitation",
        Some("roots/list") => "roots",
        _ => return false,
    };
    let request = answer::request(reply.frames, reply.made.id);
    let meta = request.and_then(|frame| frame.member("/params/_meta"));
    meta.and_then(|meta| meta.get(CLIENT_CAPABILITIES)?.get(capability)).is_some()
}

/// An answer that asks for more asks only for what the client declared. That of a run declares nothing; others may.
pub fn asks_only_for_what_is_declared(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return Ok(()) };
    if result.get("resultType").is_none_or(|kind| kind != INPUT_REQUIRED) {
        return Ok(());
    }
    let finding = |message: &str, hint: &str| {
        reply.finding(message, hint).actual(Some(&reply.shown())).at("/result/inputRequests")
    };
    let requests = result.get("inputRequests").and_then(Value::as_object);
    if let Some(requests) = requests.filter(|requests| !requests.is_empty()) {
        if requests.values().all(|input| is_declared(reply, input)) {
            return Ok(());
        }
        return Err(finding(
            "the call is answered by requests that the client did not declare to serve",
            "ask only for what `clientCapabilities` declare, and answer -32021 where the call needs more",
        )
        .expected("no `inputRequests` but for what the client declared")
        .into());
    }
    if result.get("requestState").is_some_and(Value::is_string) {
        return Ok(());
    }
    Err(finding(
        "an answer that asks for more names neither requests nor a state",
        "give an answer with `input_required` `inputRequests`, `requestState`, or both",
    )
    .expected("`inputRequests` or `requestState`")
    .into())
}

/// Standard output carries messages only.
pub fn writes_only_messages(reply: &Reply<'_>) -> Judgement {
    member(reply, "")?;
    let is_noise = |frame: &&Frame| frame.channel == STDOUT;
    match reply.frames.iter().find(is_noise) {
        None => Ok(()),
        Some(frame) => Err(reply
            .finding(
                "the server writes to its standard output what is no MCP message, or answers a request twice",
                "write logs to standard error, and answer each request once: standard output carries JSON-RPC messages \
                 and nothing else",
            )
            .frame(frame)
            .expected("JSON-RPC messages")
            .actual(Some(&frame.body))
            .into()),
    }
}
