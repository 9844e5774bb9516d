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
mod identity;
mod noted;
mod pmo;
mod refusal;
mod replicas;
mod two_calls;
mod wakeup;

use std::convert::Infallible;
use std::str::FromStr;

use cucumber::Parameter;

use super::manifest::{Builtin, ProbeName};
use super::tool::{Role, Tool};
use crate::engine::parameters::vocabulary;

vocabulary! {
    /// What executes tool calls.
    enum Executor "executor" {
        "Tool Service" => ToolService,
        "OpenAPI executor" => OpenApi,
        "PMO" => Pmo,
    }
}

impl Executor {
    fn role(self) -> Role {
        match self {
            Self::ToolService => Role::ToolService,
            Self::OpenApi => Role::OpenApi,
            Self::Pmo => Role::Pmo,
        }
    }
}

/// A tool that is called.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "called_tool",
    regex = "the (?:echo|count|fail|ctl) probe|the (?:search|reader) tool|a built-in|provision_agent|delegate_async|\
             launch_principal|ask_expert|fork_join"
)]
enum CalledTool {
    One(Tool),
    /// One that the PMO has.
    AnyBuiltin,
}

impl FromStr for CalledTool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let builtin = || Builtin::ALL.into_iter().find(|builtin| builtin.name() == text).map(Tool::from);
        let probe = || {
            let name = text.strip_prefix("the ")?.strip_suffix(" probe")?;
            ProbeName::ALL.into_iter().find(|probe| probe.name() == name).map(Tool::from)
        };
        match text {
            "a built-in" => Ok(Self::AnyBuiltin),
            "the search tool" => Ok(Self::One(Tool::Search)),
            "the reader tool" => Ok(Self::One(Tool::Reader)),
            _ => probe().or_else(builtin).map(Self::One).ok_or_else(|| format!("`{text}` is no tool")),
        }
    }
}

vocabulary! {
    /// Whether what a step judges need be there.
    enum IfAny "if_any" {
        ", if there is one," => MayBeMissing,
        "" => MustBeThere,
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
