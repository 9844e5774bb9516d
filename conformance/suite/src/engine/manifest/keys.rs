//! Which keys a manifest may have, as its schema says; and which character no value may.

use callmark_schemas::SchemaName;
use serde_json::Value;

use crate::spec::registry::nearest;

/// Keys that no manifest has, each with the nearest one that there is.
pub(super) fn unknown(value: &Value) -> Vec<String> {
    // The schema travels inside the binary; that it is JSON is tested with it.
    let schema: Value = serde_json::from_str(SchemaName::Manifest.source()).unwrap_or_default();
    let mut faults = Vec::new();
    look(&schema, &schema, value, "", &mut faults);
    faults.sort();
    faults
}

/// Values with a NUL character, which can stand in no command line, path, variable or header.
pub(super) fn with_nul(value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    look_for_nul(value, "", &mut faults);
    faults
}

fn look_for_nul(value: &Value, path: &str, faults: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains('\0') => {
            faults.push(format!("`{path}` holds a NUL character (`\\u0000`): leave it out"));
        }
        Value::Object(members) => {
            for (key, member) in members {
                let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                look_for_nul(member, &full, faults);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| look_for_nul(item, path, faults)),
        _ => {}
    }
}

fn look(root: &Value, schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let schema = resolved(root, schema);
    match value {
        Value::Object(members) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            for (key, member) in members {
                let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match known.and_then(|known| known.get(key)) {
                    Some(own) => look(root, own, member, &full, faults),
                    None if is_closed => {
                        let own = || known.into_iter().flatten().map(|(name, _)| name.as_str());
                        let advice = match nearest(key, own()) {
                            Some(meant) => format!("did you mean `{meant}`?"),
                            None => format!("known here: {}", own().collect::<Vec<_>>().join(", ")),
                        };
                        faults.push(format!("unknown key `{full}`; {advice}"));
                    }
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(own) = schema.get("items") else { return };
            for item in items {
                look(root, own, item, path, faults);
            }
        }
        _ => {}
    }
}

/// The schema that a reference leads to.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
