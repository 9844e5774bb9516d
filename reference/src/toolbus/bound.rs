//! Results to a size that fits (contract, Response and Artifacts: bounded).
//!
//! The contract gives no number; here a result is at most [`RESULT_BYTES`] of JSON, at most [`DEPTH`] levels deep.
//! What is cut keeps its kind: a shorter string, an array or object with fewer members. [`Truncation`] says what was cut.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value, json};

/// The most JSON that a result may be, in bytes.
pub(crate) const RESULT_BYTES: usize = 128 * 1024;
/// The deepest that a result may be nested; what lies deeper is replaced.
pub(crate) const DEPTH: usize = 64;

/// The longest string, in bytes of JSON, of a result that does not fit; so that one string leaves room for others.
const STRING_BYTES: usize = RESULT_BYTES / 4;
/// The longest key of a result that does not fit.
const KEY_BYTES: usize = 1024;
/// What stands at the end of a string that was cut, and in the place of what was too deep.
const ELLIPSIS: &str = "…";

/// What was cut from a result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Truncation {
    /// Size before, in bytes of JSON.
    pub(crate) original_bytes: usize,
    limit_bytes: usize,
    strings: usize,
    items: usize,
    members: usize,
    levels: usize,
}

impl Truncation {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "limit_bytes": self.limit_bytes,
            "original_bytes": self.original_bytes,
            "strings_cut": self.strings,
            "items_dropped": self.items,
            "members_dropped": self.members,
            "too_deep": self.levels,
        })
    }
}

/// The value in at most `limit` bytes of JSON, and what had to go.
pub(crate) fn bound(value: Value, limit: usize) -> (Value, Option<Truncation>) {
    let original_bytes = size(&value);
    if original_bytes <= limit && depth(&value) <= DEPTH {
        return (value, None);
    }
    let mut truncator = Truncator {
        left: limit,
        truncation: Truncation { original_bytes, limit_bytes: limit, ..Truncation::default() },
    };
    let cut = truncator.cut(value, 1).unwrap_or(Value::Null);
    (cut, Some(truncator.truncation))
}

/// How many bytes of JSON a value is.
pub(crate) fn size(value: &Value) -> usize {
    let mut counter = Counter(0);
    // The counter cannot fail.
    let _ = write!(counter, "{value}");
    counter.0
}

/// How many levels a value has; a scalar has one.
pub(crate) fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

struct Counter(usize);

impl fmt::Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

struct Truncator {
    left: usize,
    truncation: Truncation,
}

impl Truncator {
    /// What fits of a value; nothing when not even its beginning does.
    fn cut(&mut self, value: Value, level: usize) -> Option<Value> {
        match value {
            Value::String(text) => self.string(&text),
            Value::Array(_) | Value::Object(_) if level > DEPTH => {
                self.truncation.levels += 1;
                self.string(ELLIPSIS)
            }
            Value::Array(items) => self.array(items, level),
            Value::Object(members) => self.object(members, level),
            scalar => {
                self.spend(size(&scalar))?;
                Some(scalar)
            }
        }
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    fn string(&mut self, text: &str) -> Option<Value> {
        let room = self.left.min(STRING_BYTES);
        // A text that is too long unescaped is not counted.
        if text.len() + 2 <= room {
            let whole = escaped(text) + 2;
            if whole <= room {
                self.spend(whole)?;
                return Some(Value::String(text.to_owned()));
            }
        }
        let room = room.checked_sub(2 + ELLIPSIS.len())?;
        let mut kept = String::new();
        let mut spent = 0;
        for c in text.chars() {
            let cost = escaped(c.encode_utf8(&mut [0; 4]));
            if spent + cost > room {
                break;
            }
            spent += cost;
            kept.push(c);
        }
        kept.push_str(ELLIPSIS);
        self.truncation.strings += 1;
        self.spend(spent + 2 + ELLIPSIS.len())?;
        Some(Value::String(kept))
    }

    fn array(&mut self, items: Vec<Value>, level: usize) -> Option<Value> {
        self.spend(2)?;
        let all = items.len();
        let mut kept = Vec::new();
        for item in items {
            let before = self.left;
            // One byte for the comma, also where there is none: the last byte of the limit does not matter.
            let Some(item) = self.spend(1).and_then(|()| self.cut(item, level + 1)) else {
                self.left = before;
                break;
            };
            kept.push(item);
        }
        self.truncation.items += all - kept.len();
        Some(Value::Array(kept))
    }

    fn object(&mut self, members: Map<String, Value>, level: usize) -> Option<Value> {
        self.spend(2)?;
        let all = members.len();
        let mut kept = Map::new();
        for (key, value) in members {
            let cost = escaped(&key) + 4;
            if cost > KEY_BYTES {
                continue;
            }
            let before = self.left;
            let Some(value) = self.spend(cost).and_then(|()| self.cut(value, level + 1)) else {
                self.left = before;
                break;
            };
            kept.insert(key, value);
        }
        self.truncation.members += all - kept.len();
        Some(Value::Object(kept))
    }
}

/// How many bytes a text is within the quotes of JSON.
fn escaped(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..0x20 => 6,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DEPTH, bound, depth, size};

    fn check(value: Value, limit: usize) -> Value {
        let (cut, truncation) = bound(value, limit);
        assert!(size(&cut) <= limit, "{} bytes", size(&cut));
        assert!(depth(&cut) <= DEPTH + 1);
        assert!(truncation.is_some());
        cut
    }

    #[test]
    fn what_fits_is_left_alone() {
        let value = json!({"a": [1, "b", null], "c": {"d": 1.5}});
        assert_eq!(bound(value.clone(), size(&value)), (value, None));
    }

    #[test]
    fn every_kind_is_cut_and_keeps_its_kind() {
        assert!(check(json!("x".repeat(100)), 20).as_str().expect("a string").ends_with('…'));
        assert!(check(json!("\u{1}".repeat(100)), 20).is_string());
        let items = check(json!((0..100).collect::<Vec<_>>()), 20);
        assert_eq!(items, json!([0, 1, 2, 3, 4, 5, 6, 7, 8]));
        let members: serde_json::Map<String, Value> = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
        assert!(!check(Value::Object(members), 40).as_object().expect("an object").is_empty());
        check(json!({"k".repeat(5000): 1, "b": "x".repeat(200_000)}), 10_000);
        check(json!(["x".repeat(100_000), "y".repeat(100_000), "z"]), 128 * 1024);
    }

    #[test]
    fn what_lies_too_deep_is_replaced() {
        let deep = (0..DEPTH + 20).fold(json!(1), |inner, _| json!([inner]));
        check(deep, 10_000);
    }
}
