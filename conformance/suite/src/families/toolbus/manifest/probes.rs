//! `[toolbus.probes]`: the calls of the server's tools that let the suite see inside.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// `[toolbus.probes]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolbusProbes {
    /// Returns a value that the suite chose, `{value}`.
    #[serde(default)]
    pub echo: Option<CallTable>,
    /// Reads `{key}` of `{scope}` from `mcp_state`.
    #[serde(default)]
    pub state: Option<StateTable>,
    /// Harmless calls of other tools, whose result is an object.
    #[serde(default)]
    pub other: Vec<CallTable>,
    /// A call with invalid arguments.
    #[serde(default)]
    pub invalid: Option<InvalidTable>,
    /// A valid call that fails when it is run.
    #[serde(default)]
    pub fail: Option<CallTable>,
    /// Returns about `{bytes}` bytes.
    #[serde(default)]
    pub large: Option<CallTable>,
    /// Returns the markers that its arguments hold under keys of secrets.
    #[serde(default)]
    pub secret: Option<CallTable>,
    /// Returns a result that calls for a further call.
    #[serde(default)]
    pub partial: Option<PartialTable>,
    /// Returns `{marker}` under a key of a secret, openly if its flag is set.
    #[serde(default)]
    pub break_glass: Option<BreakGlassTable>,
}

/// A call. Strings in the arguments may hold `{placeholders}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTable {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// Calls that are made before it, each time, on the same connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SetUpTable>,
    /// JSON Pointers into the envelope to what may differ between two answers to the same call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

/// `[[toolbus.probes.<name>.before]]`: a call without which the probe's own has nothing to work on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUpTable {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, with the placeholders of the probe.
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// `[toolbus.probes.state]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateTable {
    /// The tool's name.
    #[serde(default = "state_tool")]
    pub tool: String,
    /// Its arguments.
    #[serde(default = "state_arguments")]
    pub arguments: Value,
    /// JSON Pointer to the value, within the results.
    #[serde(default = "value_pointer")]
    pub value_pointer: String,
    /// Calls that are made before it, each time, on the same connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SetUpTable>,
    /// JSON Pointers into the envelope to what may differ between two answers to the same call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

/// `[toolbus.probes.invalid]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvalidTable {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// The argument that is wrong or missing.
    #[serde(default)]
    pub argument: Option<String>,
    /// Calls that are made before it, each time, on the same connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SetUpTable>,
    /// JSON Pointers into the envelope to what may differ between two answers to the same call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

/// `[toolbus.probes.partial]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartialTable {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// JSON Pointer to the hints in the envelope.
    #[serde(default = "hint_pointer")]
    pub hint_pointer: String,
    /// Calls that are made before it, each time, on the same connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SetUpTable>,
    /// JSON Pointers into the envelope to what may differ between two answers to the same call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

/// `[toolbus.probes.break_glass]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakGlassTable {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// The argument that, when true, shows secrets.
    pub flag: String,
    /// Calls that are made before it, each time, on the same connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SetUpTable>,
    /// JSON Pointers into the envelope to what may differ between two answers to the same call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

/// Placeholders that arguments may hold.
const PLACEHOLDERS: [&str; 9] =
    ["value", "key", "scope", "bytes", "marker", "password", "api_key", "authorization", "nested"];

impl ToolbusProbes {
    /// Calls that could show nothing.
    pub(super) fn contradictions(&self) -> Vec<String> {
        let calls = [
            ("echo", self.echo.as_ref().map(|own| &own.arguments), &["{value}"][..]),
            ("large", self.large.as_ref().map(|own| &own.arguments), &["{bytes}"][..]),
            ("secret", self.secret.as_ref().map(|own| &own.arguments), &SECRETS[..]),
            ("break_glass", self.break_glass.as_ref().map(|own| &own.arguments), &["{marker}"][..]),
        ];
        let mut faults = Vec::new();
        for (name, arguments, wanted) in calls {
            let Some(Some(arguments)) = arguments else { continue };
            let text = arguments.to_string();
            if !wanted.iter().any(|placeholder| text.contains(placeholder)) {
                faults.push(format!("`toolbus.probes.{name}.arguments` holds no `{}`", wanted.join("`, `")));
            }
            for word in placeholders(&text).filter(|word| !PLACEHOLDERS.contains(word)) {
                let hint = crate::spec::registry::nearest(word, PLACEHOLDERS.into_iter())
                    .map_or_else(String::new, |meant| format!("; did you mean `{{{meant}}}`?"));
                faults
                    .push(format!("`toolbus.probes.{name}.arguments` holds the unknown `{{{word}}}`{hint}"));
            }
        }
        faults.extend(self.pointer_faults());
        faults
    }

    /// What is called volatile, and is no JSON Pointer to a part of the envelope.
    fn pointer_faults(&self) -> Vec<String> {
        let named = [
            ("echo", self.echo.as_ref().map(|own| &own.volatile)),
            ("state", self.state.as_ref().map(|own| &own.volatile)),
            ("invalid", self.invalid.as_ref().map(|own| &own.volatile)),
            ("fail", self.fail.as_ref().map(|own| &own.volatile)),
            ("large", self.large.as_ref().map(|own| &own.volatile)),
            ("secret", self.secret.as_ref().map(|own| &own.volatile)),
            ("partial", self.partial.as_ref().map(|own| &own.volatile)),
            ("break_glass", self.break_glass.as_ref().map(|own| &own.volatile)),
        ];
        let others = self.other.iter().map(|own| ("other", Some(&own.volatile)));
        let all = named.into_iter().chain(others);
        let pointers =
            all.flat_map(|(name, own)| own.into_iter().flatten().map(move |pointer| (name, pointer)));
        let faulty = pointers.filter(|(_, pointer)| !pointer.starts_with('/'));
        faulty
            .map(|(name, pointer)| {
                format!(
                    "`toolbus.probes.{name}.volatile` has `{pointer}`, which is no JSON Pointer into the envelope, for \
                     example `/result/updated_at`"
                )
            })
            .collect()
    }
}

/// Placeholders of the secret probe.
const SECRETS: [&str; 5] = ["{marker}", "{password}", "{api_key}", "{authorization}", "{nested}"];

/// Words that stand alone in braces as a whole string.
fn placeholders(json: &str) -> impl Iterator<Item = &str> {
    json.split('"').filter_map(|text| {
        let word = text.strip_prefix('{')?.strip_suffix('}')?;
        (!word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'))
            .then_some(word)
    })
}

fn state_tool() -> String {
    "mcp_state".to_owned()
}

fn state_arguments() -> Value {
    json!({"action": "get", "key": "{key}", "scope": "{scope}"})
}

fn value_pointer() -> String {
    "/value".to_owned()
}

fn hint_pointer() -> String {
    "/next_actions".to_owned()
}
