//! Calls as the messages of a scenario show them, whichever probe they are of: what `@always` scenarios judge.

use std::borrow::Cow;

use serde_json::Value;

use super::answer;
use super::answer::Answer;
use super::judge::Reply;
use super::modern;
use super::scene::{Call, Made};
use super::session::ToolbusSession;
use super::wire_format::{BYTES, HTTP_STATUS};
use crate::engine::invariant::ExchangeKind;
use crate::net::wire::{CALL, STATUS};
use crate::transcript::{Frame, Kind};

/// Every call that ended in one of these ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EveryCall {
    /// With a result.
    Successful,
    /// With an error, in one of the two forms that MCP has.
    Failed,
    /// In any way, one that asks for more among them.
    Answered,
    /// With a result, one that says that the call has failed among them.
    WithResult,
    /// With a result, where the artifacts of the call were read.
    Stored,
}

/// A call, what came back, and the messages of the scenario in which it was made.
pub(super) struct ObservedCall<'a> {
    frames: &'a [Frame],
    request: &'a Frame,
    made: Made,
    answer: Answer,
}

impl ObservedCall<'_> {
    /// What came back, where that is a message of MCP.
    fn response(&self) -> Option<&Frame> {
        answer::frame(self.frames, self.made.id).filter(|frame| frame.kind == Kind::Response)
    }

    /// Whether the header does not name the revision of its body: a server of both eras may have taken it for a call of the
    /// legacy one.
    fn is_undecided(&self) -> bool {
        let is_over_http = self
            .response()
            .is_some_and(|frame| [STATUS, HTTP_STATUS].iter().any(|name| frame.headers.contains_key(*name)));
        let header = self.request.headers.get(modern::VERSION_HEADER).map(String::as_str);
        is_over_http && modern::revision_of(self.request).is_some_and(|revision| header != Some(revision))
    }

    /// The call as judgements know it.
    pub(super) fn reply<'r>(&'r self, session: &'r ToolbusSession) -> Reply<'r> {
        Reply::with(self.frames, &self.made, Cow::Borrowed(&self.answer), session)
    }
}

impl ExchangeKind for EveryCall {
    type Exchange<'a> = ObservedCall<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedCall<'a>> {
        let requests = frames.iter().filter(|frame| frame.kind == Kind::Request);
        let called = requests.filter_map(|request| observed(frames, request));
        called.filter(|own| self.includes(own)).collect()
    }

    fn stimulus(exchange: &ObservedCall<'_>) -> u32 {
        exchange.request.n
    }
}

impl EveryCall {
    fn includes(self, own: &ObservedCall<'_>) -> bool {
        let is_success = matches!(own.answer, Answer::Success(_));
        match self {
            Self::Successful => is_success,
            Self::Answered => own.response().is_some(),
            Self::WithResult => {
                own.response().is_some_and(|frame| frame.member("/result").is_some()) && !own.is_undecided()
            }
            Self::Failed => own.answer.is_failure(),
            Self::Stored => is_success && has_artifacts(own.frames, own.request),
        }
    }
}

/// Whether an artifact of the call was read.
fn has_artifacts(frames: &[Frame], request: &Frame) -> bool {
    let mut artifacts = frames.iter().filter(|frame| frame.kind == Kind::Artifact);
    artifacts.any(|artifact| {
        artifact.headers.get(CALL) == request.headers.get(CALL) && artifact.headers.contains_key(BYTES)
    })
}

/// The call that a request makes; nothing where it names no tool.
fn observed<'a>(frames: &'a [Frame], request: &'a Frame) -> Option<ObservedCall<'a>> {
    let id = request.headers.get(CALL)?.parse().ok()?;
    let is_call = request.text("/method") == Some("tools/call");
    let tool = request.text("/params/name").filter(|tool| is_call && !tool.is_empty())?;
    let arguments = request.body.pointer("/params/arguments").and_then(Value::as_object);
    let call = Call {
        arguments: arguments.cloned().unwrap_or_default(),
        is_bare: arguments.is_none(),
        ..Call::of(tool)
    };
    Some(ObservedCall { frames, request, made: Made { call, id }, answer: answer::of(frames, id) })
}
