//! Steps: the vocabulary of the features, one module a noun.
//!
//! A step is short and calls a function named like it. What it may do is arrange, act, or judge what was seen.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured values to a step by value")]

mod act;
mod answer;
mod arrange;
mod command;
mod inbox;
mod report;
mod turn;

use std::convert::Infallible;
use std::str::FromStr;

use cucumber::Parameter;

/// `suspend` or `terminate`.
#[derive(Clone, Debug, Parameter)]
#[param(name = "kind", regex = "suspend|terminate")]
pub(super) struct CallKind(pub String);

impl FromStr for CallKind {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl CallKind {
    /// The other one.
    pub(super) fn other(&self) -> &'static str {
        if self.0 == "suspend" { "terminate" } else { "suspend" }
    }
}
