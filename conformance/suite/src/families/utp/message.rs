//! What is read from a message without a call to compare it with.

use serde_json::Value;

/// JSON where it is JSON, else the text.
pub fn body(payload: &[u8]) -> Value {
    serde_json::from_slice(payload)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(payload).into_owned()))
}

/// The tool_call_id of a card: a member of its own or of its metadata.
pub fn call_id(card: &Value) -> Option<&str> {
    own_or_metadata(card, "tool_call_id")
}

/// The type of a card: a member of its own or of its metadata.
pub fn card_type(card: &Value) -> Option<&str> {
    own_or_metadata(card, "type")
}

/// A store may keep a member in either place, and null in the other.
fn own_or_metadata<'a>(card: &'a Value, member: &str) -> Option<&'a str> {
    let own = card.get(member).and_then(Value::as_str);
    own.or_else(|| card.get("metadata")?.get(member)?.as_str())
}

/// Whether a text occurs anywhere in a value: in a string, or in a member's name.
pub fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(members) => {
            members.iter().any(|(name, member)| name.contains(text) || mentions(member, text))
        }
        _ => false,
    }
}
