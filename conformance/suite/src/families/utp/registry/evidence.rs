//! What a registry makes up differs from run to run; in reports a name stands for it.

use serde_json::Value;

use crate::engine::naming::Naming;

/// Ends of the names of members whose values are ids or times of the registry's own.
const MADE_UP: [&str; 7] = ["_at", "At", "id", "Id", "time", "timestamp", "etag"];

/// Names for it. Its ids have none of their own.
#[derive(Debug)]
pub(crate) struct RegistryNaming;

impl Naming for RegistryNaming {
    fn normalized(&self, body: &Value) -> Value {
        normalized_body(body)
    }
}

/// A body with a name in place of what the registry made up.
fn normalized_body(body: &Value) -> Value {
    match body {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| {
                    let is_generated = name != "project_id"
                        && MADE_UP.iter().any(|end| name.ends_with(end))
                        && matches!(member, Value::String(_) | Value::Number(_));
                    let member =
                        if is_generated { Value::from("<made up>") } else { normalized_body(member) };
                    (name.clone(), member)
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(normalized_body).collect(),
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_registry_makes_up_is_left_out() {
        let row = json!({"project_id": "prj", "tool_name": "x", "id": 7, "created_at": "now", "options": {"a": [1]}});
        let expect = json!({
            "project_id": "prj", "tool_name": "x", "id": "<made up>", "created_at": "<made up>", "options": {"a": [1]},
        });
        assert_eq!(normalized_body(&row), expect);
    }
}
