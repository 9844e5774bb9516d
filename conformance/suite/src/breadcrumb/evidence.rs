//! What a runner or an agent makes up differs from run to run; in reports a name stands for it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::transcript::{Frame, Kind};

/// Members whose values are ids that the other side made.
const IDS: [&str; 4] = ["id", "breadcrumb_id", "requestId", "request_id"];
/// Members whose values are measured, or made from the clock.
const MEASURED: [&str; 5] = ["execution_time_ms", "timestamp", "updated_at", "created_at", "ts"];
/// Shorter ones may stand in any text.
const SHORTEST: usize = 4;

/// Names for the ids that the frames show, in the order of their first appearance.
pub fn minted(frames: &[Frame]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    // What the suite itself stores has names of its own.
    for frame in frames.iter().filter(|frame| frame.kind != Kind::Put) {
        meet(&frame.body, &mut names);
    }
    names
}

/// A word that a person chose has no digit.
fn is_made(id: &str) -> bool {
    id.bytes().any(|byte| byte.is_ascii_digit())
}

fn meet(value: &Value, names: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| match member {
            Value::String(id) if IDS.contains(&name.as_str()) && id.len() >= SHORTEST && is_made(id) => {
                let next = names.len() + 1;
                names.entry(id.clone()).or_insert_with(|| format!("<id {next}>"));
            }
            other => meet(other, names),
        }),
        Value::Array(items) => items.iter().for_each(|item| meet(item, names)),
        _ => {}
    }
}

/// A body with a name in place of what is measured.
pub fn steady(body: &Value) -> Value {
    match body {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| match member {
                    Value::Number(_) | Value::String(_) if MEASURED.contains(&name.as_str()) => {
                        (name.clone(), Value::from("<time>"))
                    }
                    other => (name.clone(), steady(other)),
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(steady).collect(),
        plain => plain.clone(),
    }
}
