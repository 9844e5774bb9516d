//! What shows that the work of a call was done.

use serde_json::Value;

use super::message::{Likeness, likeness, mentions};
use crate::engine::volatile;

/// What only who did the work of a call can show.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// A word: the token of the card, or what the upstream says to who asks for it.
    Word(String),
    /// What the tool was found to give for the arguments of the call, where it repeats no word of them.
    Result(WorkResult),
}

/// What a tool gives for the arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkResult {
    /// For those of its card.
    pub expected: Value,
    /// For others.
    pub other: Value,
    /// Where in `content.result` it is.
    pub pointer: String,
    /// JSON Pointers into `content.result` to what may differ each time.
    pub volatile: Vec<String>,
}

impl WorkResult {
    /// The part of a result that depends on the arguments.
    pub(super) fn part(result: &Value, pointer: &str, volatile: &[String]) -> Option<Value> {
        volatile::without(result.clone(), volatile).pointer(pointer).cloned()
    }

    fn is(&self, result: &Value, expected: &Value) -> bool {
        let part = Self::part(result, &self.pointer, &self.volatile);
        part.is_some_and(|part| likeness(expected, &part) != Likeness::Different)
    }
}

impl Proof {
    /// Whether a result shows it.
    pub fn is_in_result(&self, result: &Value) -> bool {
        match self {
            Self::Word(word) => mentions(result, word),
            Self::Result(own) => own.is(result, &own.expected),
        }
    }

    /// Whether the part of a result at a pointer shows it.
    pub fn is_at(&self, result: &Value, pointer: &str) -> bool {
        match self {
            Self::Word(word) => result.pointer(pointer).is_some_and(|value| mentions(value, word)),
            Self::Result(_) => self.is_in_result(result),
        }
    }

    /// Whether a tool.result card shows it.
    pub fn is_in_card(&self, card: &Value) -> bool {
        match self {
            Self::Word(word) => mentions(card, word),
            Self::Result(_) => {
                card.pointer("/content/result").is_some_and(|result| self.is_in_result(result))
            }
        }
    }

    /// Whether anything else repeats it: a result is not distinguished from other values there.
    pub fn is_repeated_in(&self, value: &Value) -> bool {
        matches!(self, Self::Word(word) if mentions(value, word))
    }

    /// Whether a result shows arguments that stand in the command and not in the card: `inline` is a word of theirs.
    pub fn is_of_inline(&self, result: &Value, inline: &str) -> bool {
        match self {
            Self::Word(_) => mentions(result, inline),
            Self::Result(own) => own.is(result, &own.other),
        }
    }

    /// Whether it is what a tool gives, and no word.
    pub fn is_a_result(&self) -> bool {
        matches!(self, Self::Result(_))
    }

    /// As a finding shows it.
    pub fn shown(&self) -> Value {
        match self {
            Self::Word(word) => Value::from(word.clone()),
            Self::Result(own) => own.expected.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tide(metres: f64) -> Proof {
        Proof::Result(WorkResult {
            expected: json!({"metres": metres}),
            other: json!({"metres": 1.25}),
            pointer: "/tide".to_owned(),
            volatile: vec!["/tide/at".to_owned()],
        })
    }

    #[test]
    fn a_result_is_told_by_the_part_that_depends_on_the_arguments() {
        let result = |metres: f64| json!({"tide": {"metres": metres, "at": "12:00"}, "run": 7});
        assert!(tide(2.5).is_in_result(&result(2.5)));
        assert!(!tide(2.5).is_in_result(&result(1.25)));
        assert!(!tide(2.5).is_in_result(&json!({"metres": 2.5})));
        assert!(tide(2.5).is_of_inline(&result(1.25), "a word"));
        assert!(tide(2.5).is_in_card(&json!({"content": {"result": result(2.5)}})));
        assert!(!tide(2.5).is_repeated_in(&result(2.5)));
    }
}
