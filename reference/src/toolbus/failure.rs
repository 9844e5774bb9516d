//! A call that cannot be served: what is wrong, and what the caller can do about it.
//!
//! Contract, Errors: failures are MCP errors, and tools should give recovery hints. Hints have stable places:
//! `hint` and `next_actions` in the error's `data`, as `next_actions` in the envelope of a success.
//! Messages name arguments, never their values: a value may be a secret under any name.

use serde_json::{Map, Value, json};

/// JSON-RPC's code for parameters that the tool cannot take.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC's code for a failure inside the tool.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// A call that would help the caller further.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NextAction {
    pub(crate) tool: &'static str,
    pub(crate) action: Option<&'static str>,
    pub(crate) args: Value,
    pub(crate) reason: &'static str,
}

impl NextAction {
    pub(crate) fn to_json(&self) -> Value {
        json!({"tool": self.tool, "action": self.action, "args": self.args, "reason": self.reason})
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
    /// Stable fields of the error's `data`, `hint` and `next_actions` among them.
    pub(crate) data: Map<String, Value>,
}

impl Failure {
    /// The caller has to change the parameters.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into(), data: Map::new() }
    }

    /// The named argument is what has to change.
    pub(crate) fn argument(name: &str, message: impl Into<String>) -> Self {
        Self::invalid(message).with("argument", json!(name))
    }

    /// The parameters are fine and the call failed all the same.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, message: message.into(), data: Map::new() }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.with("hint", Value::String(hint.into()))
    }

    pub(crate) fn next(self, action: &NextAction) -> Self {
        self.with("next_actions", json!([action.to_json()]))
    }

    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.data.insert(key.to_owned(), value);
        self
    }
}

/// What kind of JSON value it is, for messages that must not show the value.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A name that a caller chose, short enough for a message and without characters that would break its line.
pub(crate) fn shown_name(name: &str) -> String {
    const MOST: usize = 64;
    let mut shown: String =
        name.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if name.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    super::redact::text(&shown).into_owned()
}

/// The known name that a caller may have meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer names are not typing errors of the short names there are, and distance costs the product of lengths.
    if name.len() > 64 {
        return None;
    }
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::{nearest, shown_name};

    #[test]
    fn the_nearest_name_is_within_a_third_of_its_length() {
        fn check(name: &str, expect: Option<&str>) {
            assert_eq!(nearest(name, ["trace_id", "output", "value"].into_iter()), expect);
        }
        check("trace-id", Some("trace_id"));
        check("traceid", Some("trace_id"));
        check("ouptut", Some("output"));
        check("colour", None);
        check(&"x".repeat(70), None);
    }

    #[test]
    fn names_in_messages_are_short_and_on_one_line() {
        assert_eq!(shown_name("a\nb"), "a\u{fffd}b");
        assert_eq!(shown_name(&"x".repeat(100)).chars().count(), 65);
    }
}
