//! Words a violation without repeating the value.
//!
//! The validator's own texts print the whole instance, which a hostile peer can make megabytes long.
//! Nothing here decides what is a violation.

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// How much of a text of the value a message shows, in characters.
const EXCERPT_CHARS: usize = 60;

/// How many names a message lists before it only counts.
const LISTED_NAMES: usize = 5;

/// What is wrong, as a fragment of at most `max_chars` characters.
pub(crate) fn of(error: &ValidationError<'_>, max_chars: usize) -> String {
    cut(&text(error.kind(), error), max_chars)
}

fn text(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    let value = || excerpt(error.instance());
    match kind {
        Kind::Required { property } => format!("{} is missing", excerpt(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let verb = if unexpected.len() == 1 { "is" } else { "are" };
            format!("{} {verb} not known here", names(unexpected))
        }
        Kind::Type { kind } => format!("is {}, not {}", type_of(error.instance()), types(kind)),
        Kind::Enum { options } => format!("{} is none of {}", value(), choices(options)),
        Kind::Constant { expected_value } => {
            format!("{} is not {}", value(), excerpt(expected_value))
        }
        Kind::Pattern { pattern } => format!("{} does not match `{pattern}`", value()),
        Kind::MinLength { limit: 1 } => "is empty".to_owned(),
        Kind::MinLength { limit } => format!("has fewer than {limit} characters"),
        Kind::MaxLength { limit } => format!("has more than {limit} characters"),
        Kind::MinItems { limit } => format!("has fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("has more than {limit} items"),
        Kind::UniqueItems => "has equal items".to_owned(),
        Kind::Contains => "has no item of a kind that must be there".to_owned(),
        Kind::Minimum { limit } => format!("{} is less than {limit}", value()),
        Kind::Maximum { limit } => format!("{} is greater than {limit}", value()),
        Kind::ExclusiveMinimum { limit } => format!("{} is not greater than {limit}", value()),
        Kind::Not { schema } => format!("{} is not allowed here: excluded is `{schema}`", value()),
        Kind::PropertyNames { error } => {
            format!("has a wrong member name: {}", text(error.kind(), error))
        }
        // Keywords that no schema here uses; the tests of the crate would show one that slips in.
        other => format!("breaks `{}`", other.keyword()),
    }
}

/// A short form of a value: text and numbers themselves, of containers only their type.
fn excerpt(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => type_of(value).to_owned(),
        scalar => format!("`{scalar}`"),
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", printable(&cut(text, EXCERPT_CHARS)))
}

fn names(all: &[String]) -> String {
    let listed: Vec<_> = all.iter().take(LISTED_NAMES).map(|name| quoted(name)).collect();
    let mut text = listed.join(", ");
    if all.len() > LISTED_NAMES {
        // Writing to a String does not fail.
        let _ = write!(text, " and {} more", all.len() - LISTED_NAMES);
    }
    text
}

fn choices(options: &Value) -> String {
    let options: Vec<_> = options.as_array().into_iter().flatten().map(excerpt).collect();
    options.join(", ")
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => article(*one).to_owned(),
        TypeKind::Multiple(set) => {
            let all: Vec<_> = set.iter().map(article).collect();
            all.join(" or ")
        }
    }
}

fn article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Escapes what a terminal would act on or not show; quotes and backslashes stay as they are.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    shown
}

/// At most `max_chars` characters, the last of them an ellipsis where something was left out.
fn cut(text: &str, max_chars: usize) -> String {
    if text.len() <= max_chars || text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{cut, excerpt, names, printable};

    #[test]
    fn cuts_by_characters() {
        assert_eq!(cut("häfen", 5), "häfen");
        assert_eq!(cut("häfen", 4), "häf…");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn escapes_what_a_terminal_would_act_on() {
        assert_eq!(printable("a\u{1b}[2J\u{202e}\n\"b\""), "a\\u{1b}[2J\\u{202e}\\n\"b\"");
    }

    #[test]
    fn shows_scalars_and_names_containers() {
        assert_eq!(excerpt(&json!("x")), "`x`");
        assert_eq!(excerpt(&json!(1.5)), "`1.5`");
        assert_eq!(excerpt(&json!(null)), "`null`");
        assert_eq!(excerpt(&json!({"a": 1})), "an object");
        assert_eq!(excerpt(&json!([1])), "an array");
    }

    #[test]
    fn counts_what_it_does_not_list() {
        let all: Vec<_> = (1..=7).map(|n| format!("k{n}")).collect();
        assert_eq!(names(&all), "`k1`, `k2`, `k3`, `k4`, `k5` and 2 more");
    }
}
