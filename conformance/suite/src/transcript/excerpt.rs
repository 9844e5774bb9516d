//! Values and texts as reports show them, shortened for readers, and the texts in a value. How much is kept, `bounds` says.

use serde_json::Value;

/// Characters of one string in an excerpt.
const EXCERPT_STRING: usize = 400;
/// Bytes of the longest word that is left out rather than cut.
const EXCERPT_WORD: usize = 128;
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

/// A text, cut at 400 characters, or before the word that goes on there, unless that is long.
pub fn shorten_text(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(EXCERPT_STRING) else { return text.to_owned() };
    // An id or a secret of which only the beginning is left would be known as neither.
    let is_cut = text[end..].starts_with(is_of_word);
    let word = text[..end].trim_end_matches(is_of_word).len();
    let end = if is_cut && end - word <= EXCERPT_WORD { word } else { end };
    format!("{}… ({} bytes)", &text[..end], text.len())
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_' | '.')
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_words_unless_one_is_long() {
        let check = |text: &str, expect: &str| {
            assert_eq!(shorten_text(text), format!("{expect}… ({} bytes)", text.len()));
        };
        let before = "a ".repeat(EXCERPT_STRING / 2 - 5);
        check(&format!("{before}call_0f1e2d3c4b and more"), &before);
        check(&format!("{before}0123456789 more"), &format!("{before}0123456789"));
        let long = "x".repeat(2 * EXCERPT_STRING);
        check(&long, &long[..EXCERPT_STRING]);
        assert_eq!(shorten_text(&long[..EXCERPT_STRING]), &long[..EXCERPT_STRING]);
    }
}
