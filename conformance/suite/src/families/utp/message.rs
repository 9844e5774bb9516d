//! What is read from a message without a call to compare it with.

use memchr::memmem::Finder;
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

/// Where the control object of a card has its override (Guide §1).
pub const OVERRIDE: &str = "/content/result/__cg_control/after_execution";

/// The override of a card; null is none.
pub fn override_of(card: &Value) -> Option<&Value> {
    card.pointer(OVERRIDE).filter(|value| !value.is_null())
}

/// A number without a fraction as a whole one, as which it has the same value: `1.0` is `1`. Anything else as it is.
pub fn whole(value: &Value) -> Value {
    /// From here on not every whole number is one of these.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < EXACT =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number that fits")]
            Value::from(number as i64)
        }
        _ => value.clone(),
    }
}

/// Whether a text occurs anywhere in a value: in a string, or in a member's name.
pub fn mentions(value: &Value, text: &str) -> bool {
    occurs(&Finder::new(text), value)
}

/// As [`mentions`], for whoever looks for the same text in many values.
pub fn occurs(text: &Finder<'_>, value: &Value) -> bool {
    let is_in = |own: &str| text.find(own.as_bytes()).is_some();
    match value {
        Value::String(own) => is_in(own),
        Value::Array(items) => items.iter().any(|item| occurs(text, item)),
        Value::Object(members) => members.iter().any(|(name, member)| is_in(name) || occurs(text, member)),
        _ => false,
    }
}

/// Why a rounded number is no more than a warning.
pub const ROUNDED: &str = "RFC 8259 §6 lets a reader keep no more digits of a number than a double has";

/// How far a value is what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// The same; members have no order, and a number may be written with a point.
    Same,
    /// The same, but for the last digits of an integer that no double holds exactly (RFC 8259 §6).
    Rounded,
    /// Something else.
    Different,
}

/// Compares two values with all that is in them.
pub fn likeness(expected: &Value, actual: &Value) -> Likeness {
    let worst = |all: &mut dyn Iterator<Item = Likeness>| all.max().unwrap_or(Likeness::Same);
    match (expected, actual) {
        (Value::Object(members), Value::Object(others)) if members.len() == others.len() => {
            let of = |(name, own)| others.get(name).map_or(Likeness::Different, |other| likeness(own, other));
            worst(&mut members.iter().map(of))
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            worst(&mut items.iter().zip(others).map(|(own, other)| likeness(own, other)))
        }
        (Value::Number(one), Value::Number(other)) if one != other => {
            let is_whole = |number: &serde_json::Number| number.is_i64() || number.is_u64();
            match (one.as_f64(), other.as_f64()) {
                (Some(one_value), Some(other_value)) if one_value.total_cmp(&other_value).is_ne() => {
                    Likeness::Different
                }
                _ if is_whole(one) && !is_whole(other) && one.as_f64().is_some_and(is_exact) => {
                    Likeness::Same
                }
                _ => Likeness::Rounded,
            }
        }
        _ if expected == actual => Likeness::Same,
        _ => Likeness::Different,
    }
}

/// Whether a double of this size holds every integer exactly.
fn is_exact(value: f64) -> bool {
    value.abs() < 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_without_a_fraction_is_a_whole_one() {
        for (value, expect) in [
            (json!(1.0), json!(1)),
            (json!(-3.0), json!(-3)),
            (json!(7_340_032), json!(7_340_032)),
            (json!(1.5), json!(1.5)),
            (json!(1e300), json!(1e300)),
            (json!("1.0"), json!("1.0")),
            (json!(null), json!(null)),
        ] {
            assert_eq!(whole(&value), expect, "{value}");
        }
    }

    #[test]
    fn a_value_is_the_same_with_all_that_is_in_it() {
        use Likeness::{Different, Rounded, Same};
        for (expected, actual, expect) in [
            (json!({"a": [1, {"b": null}], "c": 0.5}), json!({"c": 0.5, "a": [1, {"b": null}]}), Same),
            (json!({"a": null}), json!({}), Different),
            (json!({}), json!({"a": null}), Different),
            (json!([1, 2]), json!([2, 1]), Different),
            (json!(5), json!(5.0), Same),
            (json!(0.5), json!(0), Different),
            (json!(false), json!(null), Different),
            (json!(""), json!(null), Different),
            (json!(5), json!("5"), Different),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_993_u64), Same),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), Rounded),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), Rounded),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_995_u64), Different),
            (json!([9_007_199_254_740_993_u64, 1]), json!([9_007_199_254_740_992_u64, 2]), Different),
        ] {
            assert_eq!(likeness(&expected, &actual), expect, "{expected} and {actual}");
        }
    }
}
