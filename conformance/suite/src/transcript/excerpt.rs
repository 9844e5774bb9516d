//! Values and texts as reports show them, shortened for readers, and the texts in a value. How much is kept, `bounds` says.

use serde_json::Value;

/// Characters of one string in an excerpt.
const EXCERPT_STRING: usize = 400;
/// Members or items of one container in an excerpt.
const EXCERPT_MEMBERS: usize = 60;

/// A value with long strings cut and large containers thinned out, for reports.
pub fn shorten(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shorten_text(text)),
        Value::Array(items) => {
            let mut kept: Vec<Value> = items.iter().take(EXCERPT_MEMBERS).map(shorten).collect();
            if items.len() > EXCERPT_MEMBERS {
                kept.push(Value::String(format!("… {} more", items.len() - EXCERPT_MEMBERS)));
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let mut kept: serde_json::Map<String, Value> = members
                .iter()
                .take(EXCERPT_MEMBERS)
                .map(|(name, value)| (shorten_text(name), shorten(value)))
                .collect();
            if members.len() > EXCERPT_MEMBERS {
                kept.insert("…".to_owned(), Value::from(members.len() - EXCERPT_MEMBERS));
            }
            Value::Object(kept)
        }
        plain => plain.clone(),
    }
}

/// A text, cut at 400 characters.
pub fn shorten_text(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_STRING) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

/// All texts of a value, without the names of members.
pub fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
