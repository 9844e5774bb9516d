//! Judgements over the calls of an MCP server, one module a subject.
//!
//! They take frames and the call that was made, and answer `Ok` or what is wrong.

pub mod artifact;
pub mod call;
pub mod envelope;
pub mod secret;
pub mod shape;
pub mod store;

use serde_json::Value;

use super::answer;
use super::answer::Answer;
use super::scene::Made;
use crate::engine::judge::{CheckFailure, Finding};
use crate::transcript::{Frame, shorten};

/// A call, what came back from it, and where things are in the envelope.
#[derive(Clone, Debug)]
pub struct Reply<'a> {
    /// The call.
    pub made: &'a Made,
    /// All messages of the scenario.
    pub frames: &'a [Frame],
    /// What came back.
    pub answer: Answer,
    /// JSON Pointer to the results.
    pub result_pointer: &'a str,
    /// JSON Pointer to the correlation ids.
    pub trace_pointer: &'a str,
}

impl<'a> Reply<'a> {
    /// Observations for the answer of a call.
    pub fn of(frames: &'a [Frame], made: &'a Made, result_pointer: &'a str, trace_pointer: &'a str) -> Self {
        Self { made, frames, answer: answer::of(frames, made.id), result_pointer, trace_pointer }
    }

    /// A finding with the frames of the call.
    pub fn finding(&self, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        let mut finding = Finding::new(message, hint);
        if let Some(request) = answer::request(self.frames, self.made.id) {
            finding = finding.about(request).frame(request);
        }
        if let Some(answer) = answer::frame(self.frames, self.made.id) {
            finding = finding.frame(answer);
        }
        finding
    }

    /// The envelope, for rules that are not about its form.
    pub fn envelope(&self) -> Result<Value, CheckFailure> {
        call::succeeds(self)?;
        self.answer.readable().map_err(|why| {
            CheckFailure::NotObserved(format!(
                "the envelope of `{}` cannot be read: {why}",
                self.made.call.tool
            ))
        })
    }

    /// The results; nothing when they are not in the envelope.
    pub fn result(&self) -> Result<Option<Value>, CheckFailure> {
        Ok(self.envelope()?.pointer(self.result_pointer).cloned())
    }

    /// The tool's name, for messages.
    pub fn tool(&self) -> &str {
        &self.made.call.tool
    }

    /// What came, short.
    pub fn shown(&self) -> Value {
        shorten(&self.answer.shown())
    }
}
