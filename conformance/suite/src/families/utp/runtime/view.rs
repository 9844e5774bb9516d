//! A call as judgements get it, with the turn and the project that it is of.

use super::turn::{ToolCall, Turn};

/// What a judgement looks at: the scenario's first call and turn, and the project's id.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The project.
    pub project: &'a str,
    /// `<ver>` of the subjects.
    pub version: &'a str,
    /// The turn of the call.
    pub turn: &'a Turn,
    /// The call under test.
    pub call: &'a ToolCall,
}

impl View<'_> {
    /// How the call ended, as its card says.
    pub fn status(&self) -> &str {
        self.call.card.pointer("/content/status").and_then(serde_json::Value::as_str).unwrap_or_default()
    }
}
