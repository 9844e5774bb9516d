//! What a tool is to the bus.

use serde_json::Value;

use crate::toolbus::arguments::{self, Argument, Arguments, Kind};
use crate::toolbus::failure::{Failure, NextAction};
use crate::toolbus::state::States;

/// What a tool is called and what it takes.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    /// The flag by which a caller asks to see secrets (contract, Artifacts); only the envelope shows them then.
    pub(crate) break_glass: Option<&'static str>,
}

impl Definition {
    /// The values of `action`, for a tool that has actions.
    pub(crate) fn actions(&self) -> &'static [&'static str] {
        match self.arguments.iter().find(|argument| argument.name == "action").map(|argument| argument.kind) {
            Some(Kind::OneOf(actions)) => actions,
            _ => &[],
        }
    }
}

/// A call whose arguments fit the tool's table.
pub(crate) struct Call<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) states: &'a States<'a>,
}

impl<'a> Call<'a> {
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        arguments::text(self.arguments, name)
    }
}

/// What a tool returns.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) result: Value,
    /// Calls that the result suggests (contract, Errors).
    pub(crate) next_actions: Vec<NextAction>,
}

impl From<Value> for Output {
    fn from(result: Value) -> Self {
        Self { result, next_actions: Vec::new() }
    }
}

/// A tool.
pub(crate) trait BusTool: Send + Sync {
    fn definition(&self) -> &'static Definition;
    /// Does the work; it may wait for a disk.
    fn run(&self, call: &Call<'_>) -> Result<Output, Failure>;
}
