//! What a call returns: one strict JSON object in one text block (contract, Response).
//!
//! The same top-level keys for every tool; `next_actions` and `bounded` only where there is something to say.
//! `result.json` is this object as well; that of a failed call has `error` in the place of `result`.

use serde_json::{Map, Value, json};

use super::bound::Truncation;

/// The ids of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the names are the contract's")]
pub(crate) struct Trace {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    pub(crate) parent_span_id: Option<String>,
}

impl Trace {
    pub(crate) fn to_json(&self) -> Value {
        json!({"trace_id": self.trace_id, "span_id": self.span_id, "parent_span_id": self.parent_span_id})
    }
}

/// Where the artifacts of a call are, as far as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uris {
    pub(crate) context: Option<String>,
    pub(crate) json: Option<String>,
}

/// How a call ended, secrets and excess removed.
#[derive(Debug)]
pub(crate) enum CallEnding {
    Result { result: Value, truncation: Option<Truncation>, next_actions: Option<Value> },
    Error(Value),
}

/// Everything about a call that may be shown.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) tool: String,
    pub(crate) action: Option<String>,
    pub(crate) trace: Trace,
    pub(crate) duration_ms: u64,
    pub(crate) ending: CallEnding,
}

impl Envelope {
    pub(crate) fn to_json(&self, uris: &Uris) -> Value {
        let mut envelope = Map::new();
        let mut put = |key: &str, value: Value| envelope.insert(key.to_owned(), value);
        put("tool", json!(self.tool));
        put("action", json!(self.action));
        match &self.ending {
            CallEnding::Result { result, .. } => put("result", result.clone()),
            CallEnding::Error(error) => put("error", error.clone()),
        };
        put("trace", self.trace.to_json());
        put("duration_ms", json!(self.duration_ms));
        put("artifact_uri_context", json!(uris.context));
        put("artifact_uri_json", json!(uris.json));
        if let CallEnding::Result { truncation, next_actions, .. } = &self.ending {
            if let Some(next_actions) = next_actions {
                put("next_actions", next_actions.clone());
            }
            if let Some(truncation) = truncation {
                put("bounded", truncation.to_json());
            }
        }
        Value::Object(envelope)
    }
}
