//! Changes to JSON bodies, by JSON Pointers.

use serde_json::Value;

/// Fills placeholders: `{project_id}`, `{agent_id}`, and a whole `{/pointer}` with a member of `body`.
pub(super) fn filled(value: &Value, ids: &(String, String), body: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("{/") && text.ends_with('}') => {
            body.pointer(&text[1..text.len() - 1]).cloned().unwrap_or_default()
        }
        Value::String(text) => {
            Value::from(text.replace("{project_id}", &ids.0).replace("{agent_id}", &ids.1))
        }
        Value::Object(members) => Value::Object(
            members.iter().map(|(name, member)| (name.clone(), filled(member, ids, body))).collect(),
        ),
        Value::Array(items) => items.iter().map(|item| filled(item, ids, body)).collect(),
        other => other.clone(),
    }
}

/// The text with one of its parts between hyphens replaced.
pub(super) fn with_part(text: &str, index: usize, to: &str) -> String {
    let parts: Vec<&str> =
        text.split('-').enumerate().map(|(number, part)| if number == index { to } else { part }).collect();
    parts.join("-")
}

/// Splits a pointer into its parent and its last token.
fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, last) = pointer.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

pub(super) fn remove(body: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, last) = split(pointer)?;
    body.pointer_mut(parent)?.as_object_mut()?.shift_remove(&last)
}

/// Sets a member; its parent must be there. At the empty pointer a text grows.
pub(super) fn put(body: &mut Value, pointer: &str, value: Value) {
    if let (Value::String(text), "", Value::String(more)) = (&mut *body, pointer, &value) {
        text.push_str(more);
        return;
    }
    let Some((parent, last)) = split(pointer) else { return };
    match body.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(last, value);
        }
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => items[index] = value,
            _ => items.push(value),
        },
        _ => {}
    }
}

pub(super) fn change(body: &mut Value, pointer: &str, to: impl FnOnce(&Value) -> Value) {
    if let Some(value) = body.pointer_mut(pointer) {
        *value = to(value);
    }
}
