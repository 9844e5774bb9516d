//! What a server makes up differs from run to run; in reports a name stands for it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer;
use crate::engine::naming::Naming;
use crate::transcript::{Frame, Kind};

/// Names for it. Ids of a server also stand within uris and texts.
#[derive(Debug)]
pub(crate) struct ToolbusNaming;

impl Naming for ToolbusNaming {
    fn ids(&self, frames: &[Frame]) -> BTreeMap<String, String> {
        target_generated_ids(frames)
    }

    fn normalized(&self, body: &Value) -> Value {
        normalized_body(body)
    }
}

/// Keys of times and durations.
fn is_time(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["_ms", "_us", "_ns", "_at", "_seconds"].iter().any(|end| key.ends_with(end))
        || ["duration", "elapsed", "timestamp", "time", "date", "pid"].contains(&key.as_str())
}

/// Names for the ids that the server made, in the order of their first appearance.
pub fn target_generated_ids(frames: &[Frame]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for frame in frames.iter().filter(|frame| matches!(frame.kind, Kind::Response)) {
        let text = frame.body.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let Ok(envelope) = answer::strict(text) else { continue };
        let scenario = frame.headers.get(crate::net::wire::SCENARIO).map(String::as_str).unwrap_or_default();
        for member in envelope.get("trace").and_then(Value::as_object).into_iter().flatten() {
            let (_, Value::String(id)) = member else { continue };
            if id.len() >= 4 && !id.contains(scenario) {
                let next = names.len() + 1;
                names.entry(id.clone()).or_insert_with(|| format!("<id {next}>"));
            }
        }
    }
    names
}

/// A body with names in place of times and of the numbers of requests.
pub fn normalized_body(body: &Value) -> Value {
    match body {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| {
                    let member = match member {
                        Value::Number(_) | Value::String(_) if is_time(name) => Value::from("<time>"),
                        // How requests of different scenarios are numbered depends on their order.
                        Value::Number(_) if name == "id" && members.contains_key("jsonrpc") => Value::from(1),
                        Value::String(text) if name == "text" => Value::from(steady_text(text)),
                        other => normalized_body(other),
                    };
                    (name.clone(), member)
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(normalized_body).collect(),
        plain => plain.clone(),
    }
}

/// The text of an envelope or an artifact, made steady where it is JSON.
pub fn steady_text(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => normalized_body(&value).to_string(),
        _ => text.to_owned(),
    }
}
