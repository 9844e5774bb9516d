//! Parameters of steps that several families use.

use std::str::FromStr;

use cucumber::Parameter;
use serde_json::Value;

/// A JSON value as it stands in a step, up to the end of the line.
#[derive(Clone, Debug, Parameter)]
#[param(name = "json", regex = r#"null|true|false|-?\d+|"[^"]*"|\{.*\}|\[.*\]"#)]
pub(crate) struct Json(pub Value);

impl FromStr for Json {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text).map(Self)
    }
}
