//! Five small tools that make the bus visible from outside: a result of the caller's choice, a failure, a large
//! result, secrets, and a result that calls for a follow-up.
//!
//! They are ordinary tools; nothing in the bus treats them differently.

use serde_json::{Map, Value, json};

use super::depot;
use super::tool::{BusTool, Call, Definition, Output};
use crate::toolbus::arguments::{Argument, Kind};
use crate::toolbus::failure::{Failure, NextAction};

/// The largest result that can be asked for, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

const ECHO: Definition = Definition {
    name: "probe_echo",
    description: "Returns a value as it is.",
    arguments: &[Argument::required("value", Kind::Any, "Any JSON value.")],
    break_glass: None,
};

const FAIL: Definition = Definition {
    name: "probe_fail",
    description: "Fails with an internal error.",
    arguments: &[Argument::optional("message", Kind::Text, "What the error says.")],
    break_glass: None,
};

const LARGE: Definition = Definition {
    name: "probe_large",
    description: "Returns a result of about the size asked for.",
    arguments: &[
        Argument::required("bytes", Kind::UpTo(LARGEST), "Size of the result as JSON."),
        Argument::optional(
            "shape",
            Kind::OneOf(&["text", "list", "object"]),
            "Its kind; `text` when left out.",
        ),
    ],
    break_glass: None,
};

const SECRET: Definition = Definition {
    name: "probe_secret",
    description: "Returns a marker in places that hold secrets.",
    arguments: &[
        Argument::required("marker", Kind::Text, "What stands for the secret.").secret(),
        Argument::optional(
            "reveal_secrets",
            Kind::Flag,
            "Shows the secrets in the answer; artifacts never do.",
        ),
    ],
    break_glass: Some("reveal_secrets"),
};

const PARTIAL: Definition = Definition {
    name: "probe_partial",
    description: "Returns a part of what there is and says how to get the rest.",
    arguments: &[],
    break_glass: None,
};

pub(crate) struct EchoProbe;
pub(crate) struct FailProbe;
pub(crate) struct LargeProbe;
pub(crate) struct SecretProbe;
pub(crate) struct PartialProbe;

impl BusTool for EchoProbe {
    fn definition(&self) -> &'static Definition {
        &ECHO
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        Ok(call.arguments.get("value").cloned().unwrap_or_default().into())
    }
}

impl BusTool for FailProbe {
    fn definition(&self) -> &'static Definition {
        &FAIL
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        // The one message that a caller writes, so the one that has to be looked at for secrets.
        let message: String = call.text("message").unwrap_or_default().chars().take(200).collect();
        let message = crate::toolbus::redact::text(&message);
        let message = if message.trim().is_empty() { "the probe fails as asked" } else { &*message };
        Err(Failure::internal(message).hint("`probe_echo` does not fail"))
    }
}

impl BusTool for LargeProbe {
    fn definition(&self) -> &'static Definition {
        &LARGE
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let bytes = call.arguments.get("bytes").and_then(Value::as_u64).unwrap_or_default();
        let bytes =
            usize::try_from(bytes).map_err(|_| Failure::internal("this machine cannot hold so much"))?;
        Ok(match call.text("shape") {
            // Both kinds of member are as long as the divisor says, quotes, colon and comma included.
            Some("list") => {
                json!({"list": (0..bytes / 16).map(|n| format!("item-{n:08}")).collect::<Vec<_>>()})
            }
            Some("object") => {
                let members =
                    (0..bytes / 32).map(|n| (format!("key-{n:08}"), json!(format!("value-{n:08}"))));
                json!({"object": members.collect::<Map<_, _>>()})
            }
            _ => json!({"text": "all work and no play ".repeat(bytes / 21 + 1)[..bytes]}),
        }
        .into())
    }
}

impl BusTool for SecretProbe {
    fn definition(&self) -> &'static Definition {
        &SECRET
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let marker = call.text("marker").unwrap_or_default();
        Ok(json!({
            "user": "pilot",
            "password": marker,
            "api_key": marker,
            "headers": {"Authorization": format!("Bearer {marker}")},
            "accounts": [{"client_secret": marker}],
        })
        .into())
    }
}

impl BusTool for PartialProbe {
    fn definition(&self) -> &'static Definition {
        &PARTIAL
    }

    fn run(&self, _call: &Call<'_>) -> Result<Output, Failure> {
        let (rows, total) = depot::first(2);
        Ok(Output {
            result: json!({"rows": rows, "returned": rows.len(), "total": total, "complete": false}),
            next_actions: vec![NextAction {
                tool: "depot_lookup",
                action: Some("list"),
                args: json!({"action": "list"}),
                reason: "returns all rows",
            }],
        })
    }
}
