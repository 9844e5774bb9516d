//! The tools that this server offers.
//!
//! A tool knows its own arguments and its work; what all tools share (correlation, shaping, storing, bounds,
//! redaction, artifacts) is the bus's. `probes` make the bus visible from outside, `state` reads and writes what
//! `store_as` stores, `depot` and `text` are ordinary.

mod depot;
mod probes;
mod state;
mod text;

use serde_json::Value;

use super::arguments::{self, Argument, Arguments, Kind};
use super::failure::{Failure, NextAction};
use super::state::States;

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
pub(crate) trait Tool: Send + Sync {
    fn definition(&self) -> &'static Definition;
    /// Does the work; it may wait for a disk.
    fn run(&self, call: &Call<'_>) -> Result<Output, Failure>;
}

/// All tools, in the order in which they are listed.
pub(crate) fn all() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(depot::Depot),
        Box::new(text::Statistics),
        Box::new(state::State),
        Box::new(probes::Echo),
        Box::new(probes::Fail),
        Box::new(probes::Large),
        Box::new(probes::Secret),
        Box::new(probes::Partial),
    ]
}
