//! A call with what came back from it, and whether that is a success: what all other judgements rest on.

use std::borrow::Cow;

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::engine::volatile;
use crate::families::toolbus::answer::{self, Answer, integer};
use crate::families::toolbus::modern::{self, Deviation, HEADER_MISMATCH};
use crate::families::toolbus::replicas;
use crate::families::toolbus::scene::Made;
use crate::families::toolbus::session::ToolbusSession;
use crate::transcript::{Frame, shorten};

/// A call, what came back from it, and where things are in the envelope.
#[derive(Clone, Debug)]
pub struct Reply<'a> {
    /// The call.
    pub made: &'a Made,
    /// All messages of the scenario.
    pub frames: &'a [Frame],
    /// What came back.
    pub answer: Cow<'a, Answer>,
    /// JSON Pointer to the results.
    pub result_pointer: &'a str,
    /// JSON Pointer to the correlation ids.
    pub trace_pointer: &'a str,
    /// Where in the results the value of an echo is.
    pub value_base: &'a str,
    /// The revision of MCP in which it came.
    pub revision: &'a str,
}

impl<'a> Reply<'a> {
    /// A call with the answer that the messages of its scenario show.
    pub fn of(frames: &'a [Frame], made: &'a Made, session: &'a ToolbusSession) -> Self {
        Self::with(frames, made, Cow::Owned(answer::of(frames, made.id)), session)
    }

    /// A call with an answer that was read already.
    pub fn with(
        frames: &'a [Frame],
        made: &'a Made,
        answer: Cow<'a, Answer>,
        session: &'a ToolbusSession,
    ) -> Self {
        Self {
            made,
            frames,
            answer,
            result_pointer: &session.result_pointer,
            trace_pointer: &session.table.trace_pointer,
            value_base: &session.value_base,
            revision: &session.revision,
        }
    }

    /// A finding with the frames of the call.
    pub fn finding(&self, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        let mut hint = hint.into();
        if self.follows_another_replica() {
            let place = replicas::EVERYWHERE;
            hint = format!(
                "{hint}; an earlier request of the scenario went to another replica: what a call leaves for later ones \
                 belongs {place}"
            );
        }
        let mut finding = Finding::new(message, hint);
        if let Some(request) = answer::request(self.frames, self.made.id) {
            finding = finding.about(request).frame(request);
        }
        if let Some(answer) = answer::frame(self.frames, self.made.id) {
            finding = finding.frame(answer);
        }
        finding
    }

    /// Whether a request before this one went to another replica.
    fn follows_another_replica(&self) -> bool {
        let own = replicas::asked(self.frames, self.made.id);
        let earlier = self.frames.iter().filter_map(|frame| integer(frame.member("/id")?));
        let mut earlier = earlier.filter(|id| *id < self.made.id);
        own.is_some() && earlier.any(|id| replicas::asked(self.frames, id).is_some_and(|it| Some(it) != own))
    }

    /// The envelope, for rules that are not about its form.
    pub fn envelope(&self) -> Result<Value, CheckFailure> {
        succeeds(self)?;
        self.answer.readable().map_err(|why| {
            CheckFailure::NotObserved(format!(
                "the envelope of `{}` cannot be read: {why}",
                self.made.call.tool
            ))
        })
    }

    /// The envelope without what the manifest calls volatile, to be compared with another one.
    pub fn lasting(&self) -> Result<Value, CheckFailure> {
        Ok(volatile::without(self.envelope()?, &self.made.call.volatile))
    }

    /// What was read back of the results, likewise.
    pub fn lasting_result(&self, read: Value) -> Value {
        volatile::without_below(read, &self.made.call.volatile, self.result_pointer)
    }

    /// The results without what is volatile; nothing when they are not in the envelope.
    pub fn result(&self) -> Result<Option<Value>, CheckFailure> {
        Ok(self.lasting()?.pointer(self.result_pointer).cloned())
    }

    /// A correlation id of the call: the one that it was given, else the one that its envelope has in the trace.
    pub fn id(&self, name: &str) -> Option<String> {
        answer::correlation_id(&self.made.call.arguments, &self.answer, self.trace_pointer, name)
    }

    /// The tool's name, for messages.
    pub fn tool(&self) -> &str {
        &self.made.call.tool
    }

    /// A header that the request had otherwise than MCP asks for, to follow what it is of.
    pub fn sent_with(&self) -> String {
        match &self.made.call.deviation {
            Some(Deviation::Header(name, value)) => format!(" with the header `{name}: {value}`"),
            Some(Deviation::WithoutHeader(name)) => format!(" without the header `{name}`"),
            _ => String::new(),
        }
    }

    /// Whether its request names a session, which the modern revision does not have.
    fn names_a_session(&self) -> bool {
        matches!(&self.made.call.deviation, Some(Deviation::Header(name, _)) if name.eq_ignore_ascii_case("Mcp-Session-Id"))
    }

    /// What came, short.
    pub fn shown(&self) -> Value {
        shorten(&self.answer.shown())
    }
}

/// What is wrong where a request whose headers are right is refused for them. Those that a scenario sets itself are right
/// where it says so.
pub(super) fn refusal_of_headers(reply: &Reply<'_>) -> Option<Finding> {
    let Answer::Error(error) = &*reply.answer else { return None };
    if error.get("code").and_then(integer) != Some(HEADER_MISMATCH) {
        return None;
    }
    let request = answer::request(reply.frames, reply.made.id);
    let sent = request.map(|request| modern::own_headers(&request.headers)).unwrap_or_default();
    let sent: Vec<String> = sent.iter().map(|(name, value)| format!("`{name}: {value}`")).collect();
    let finding = reply.finding(
        format!("the call of `{}` is refused for its headers, which repeat its body", reply.tool()),
        "compare each header `Mcp-Param-…` with its argument as JSON has it (a string without quotes, `true` in small \
         letters), and decode one in `=?base64?…?=` before that",
    );
    let expected = format!("a call that agrees with {}", sent.join(", "));
    Some(finding.expected(expected).actual(Some(&reply.shown())).at("/error/code"))
}

/// The call is answered by a result that is no error.
pub fn succeeds(reply: &Reply<'_>) -> Judgement {
    let tool = reply.tool();
    let is_as_usual = reply.made.call.deviation.is_none();
    if let Some(finding) = refusal_of_headers(reply).filter(|_| is_as_usual) {
        return Err(finding.into());
    }
    let finding = match &*reply.answer {
        Answer::Success(_) => return Ok(()),
        Answer::Error(_) | Answer::ToolError(_) => reply.finding(
            format!("the call of `{tool}`{} is refused", reply.sent_with()),
            if reply.names_a_session() {
                "serve it as without the header `Mcp-Session-Id`: this revision has no sessions"
            } else {
                "serve this call: the semantic arguments are optional, and every tool takes them; if the arguments are \
                 not those that your tool knows, correct the probe in the manifest"
            },
        ),
        answer => return Err(unanswered(reply, answer)),
    };
    Err(finding.expected("a result").actual(Some(&reply.shown())).into())
}

/// No answer in the form of JSON-RPC.
pub(super) fn unanswered(reply: &Reply<'_>, answer: &Answer) -> CheckFailure {
    let tool = reply.tool();
    let finding = match answer {
        Answer::Closed(_) => reply.finding(
            format!("the server ends while `{tool}` is called"),
            "answer the call with an MCP error and go on serving",
        ),
        Answer::Other(..) => {
            let hint =
                "answer each request with one JSON-RPC message that has its `id`, and `result` or `error`";
            let fault = answer::frame(reply.frames, reply.made.id).and_then(answer::fault);
            reply.finding(
                format!("the call of `{tool}` is answered by something that is no JSON-RPC response"),
                fault.unwrap_or(hint),
            )
        }
        _ => reply.finding(
            format!("the call of `{tool}` is not answered"),
            "answer each `tools/call` with a result or an error that has its `id`",
        ),
    };
    finding.expected("a JSON-RPC response").actual(Some(&reply.shown())).into()
}
