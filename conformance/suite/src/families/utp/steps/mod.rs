//! Steps: the vocabulary of the features, one module a noun.
//!
//! A step is short and calls a function named like it. What it may do is arrange, act, or judge what was
//! seen; the protocol's knowledge is in `utp` and `judge`.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured values to a step by value")]

mod act;
mod arrange;
mod callback;
mod captured;
mod card;
mod executor;
mod failure;
mod pmo;
mod refusal;
mod wakeup;

use std::convert::Infallible;
use std::str::FromStr;

use cucumber::Parameter;

use super::manifest::ProbeName;

/// `echo`, `count`, `fail` or `ctl`.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "probe", regex = "echo|count|fail|ctl")]
pub(crate) struct Probe(pub ProbeName);

impl FromStr for Probe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        ProbeName::ALL
            .into_iter()
            .find(|probe| probe.name() == text)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no probe"))
    }
}

/// One of the five statuses of a callback.
#[derive(Clone, Debug, Parameter)]
#[param(name = "status", regex = "success|failed|canceled|timeout|partial")]
pub(crate) struct Status(pub String);

impl FromStr for Status {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}
