//! Steps of the tool bus features, one module a part of a scenario.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured values to a step by value")]

mod act;
mod arrange;
mod artifact;
mod envelope;
mod failure;
mod protocol;
mod result;
mod state;

use std::str::FromStr;

use cucumber::Parameter;

use super::artifacts::Form;
use super::call::Probe;

/// A probe, as features name it.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "tool",
    regex = "echo|state|first other|second other|third other|invalid|fail|large|secret|partial|break-glass"
)]
pub(super) struct ProbeName(pub Probe);

impl FromStr for ProbeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let probe = Probe::ALL.into_iter().find(|probe| probe.name() == text);
        probe.map(Self).ok_or_else(|| format!("`{text}` is no probe"))
    }
}

/// A scope of the state: by its place in the manifest, or by its name.
#[derive(Clone, Debug)]
pub(super) struct Scope(pub String);

impl Scope {
    /// The value of `store_scope`.
    pub(super) fn value(&self, scopes: &[String]) -> String {
        let own = match self.0.as_str() {
            "first" => scopes.first(),
            "second" => scopes.get(1),
            _ => None,
        };
        own.cloned().unwrap_or_else(|| self.0.clone())
    }
}

/// A scope that is named, or none.
#[derive(Clone, Debug, Parameter)]
#[param(name = "in_scope", regex = "(?: in the (?:first|second|session|persistent) scope)?")]
pub(super) struct InScope(pub Option<Scope>);

impl FromStr for InScope {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.strip_prefix(" in the ").and_then(|text| text.strip_suffix(" scope"));
        Ok(Self(name.map(|name| Scope(name.to_owned()))))
    }
}

impl InScope {
    /// The scope that is named, or the first one.
    pub(super) fn or_first(self) -> Scope {
        self.0.unwrap_or_else(|| Scope("first".to_owned()))
    }
}

/// One of the two artifacts.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "artifact", regex = "text|JSON")]
pub(super) struct Artifact(pub Form);

impl FromStr for Artifact {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self(Form::Context)),
            "JSON" => Ok(Self(Form::Json)),
            other => Err(format!("`{other}` is no artifact")),
        }
    }
}
