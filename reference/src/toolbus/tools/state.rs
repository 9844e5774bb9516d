//! `mcp_state`: the values that `store_as` stores, to read and to write (contract, Request); and sessions to have some in.

use serde_json::{Value, json};

use super::tool::{BusTool, Call, Definition, Output};
use crate::toolbus::arguments::{Argument, Kind};
use crate::toolbus::failure::Failure;
use crate::toolbus::redact::{REDACTED, is_secret, redact};
use crate::toolbus::state::{KEY_BYTES, Scope};

const DEFINITION: Definition = Definition {
    name: "mcp_state",
    description: "Reads and writes values by key, those that `store_as` stored among them.",
    arguments: &[
        Argument::required("action", Kind::OneOf(&["get", "set", "list", "delete"]), "What to do."),
        Argument::optional("key", Kind::Name(KEY_BYTES), "The value's key; not for `list`."),
        Argument::optional("value", Kind::Any, "The value, for `set`; its secrets are not kept."),
        Argument::optional("scope", Kind::OneOf(&Scope::NAMES), "Where; `session` when left out."),
    ],
    break_glass: None,
};

pub(crate) struct StateTool;

impl BusTool for StateTool {
    fn definition(&self) -> &'static Definition {
        &DEFINITION
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let states = call.states;
        let scope = call.text("scope").and_then(Scope::parse).unwrap_or(Scope::Session);
        let key = || {
            call.text("key").ok_or_else(|| Failure::argument("key", "`key` is required for this `action`"))
        };
        let result = match call.text("action") {
            Some("list") => json!({"scope": scope.name(), "keys": states.keys(scope)?}),
            Some("get") => {
                let value = states.value(scope, key()?)?;
                json!({"key": key()?, "scope": scope.name(), "found": value.is_some(), "value": value})
            }
            Some("set") => {
                let value = call
                    .arguments
                    .get("value")
                    .ok_or_else(|| Failure::argument("value", "`value` is required for `set`"))?;
                states.set(scope, key()?, without_secrets(key()?, value))?;
                json!({"key": key()?, "scope": scope.name(), "stored": true})
            }
            _ => json!({"key": key()?, "scope": scope.name(), "deleted": states.delete(scope, key()?)?}),
        };
        Ok(result.into())
    }
}

/// `session_open`: a session of the caller's own, where MCP has none (MCP 2026-07-28, Basic).
pub(crate) struct OpenSession;

const OPEN: Definition = Definition {
    name: "session_open",
    description: "Opens a session: calls that name it as `session` share the values of the scope `session`.",
    arguments: &[],
    break_glass: None,
};

impl BusTool for OpenSession {
    fn definition(&self) -> &'static Definition {
        &OPEN
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        Ok(json!({"session": call.states.opened.open()?}).into())
    }
}

/// The value as it may be kept; a key that names a secret makes its value one.
fn without_secrets(key: &str, value: &Value) -> Value {
    if is_secret(key) {
        return json!(REDACTED);
    }
    let mut value = value.clone();
    redact(&mut value);
    value
}
