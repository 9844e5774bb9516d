//! References to outputs of earlier steps: `${step.path[0].field}` anywhere in the texts of an input.
//!
//! What is put in is not read again, so that an output cannot contain references of its own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::breadcrumb::tool::{ToolFailure, shorten};

/// No input may become longer by what is put into it.
const INPUT_BYTES: usize = 1024 * 1024;

/// What a text consists of.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Literal(&'a str),
    /// What is between the brackets.
    Reference(&'a str),
    /// A bracket that is not closed, and all behind it.
    Open(&'a str),
}

fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    while let Some(start) = text.find("${") {
        if start > 0 {
            parts.push(Part::Literal(&text[..start]));
        }
        let rest = &text[start + 2..];
        let Some(end) = rest.find('}') else {
            parts.push(Part::Open(&text[start..]));
            return parts;
        };
        parts.push(Part::Reference(rest[..end].trim()));
        text = &rest[end + 1..];
    }
    if !text.is_empty() {
        parts.push(Part::Literal(text));
    }
    parts
}

/// Shows every reference of an input.
pub(super) fn each(input: &Map<String, Value>, seen: &mut impl FnMut(&str)) {
    let mut open: Vec<&Value> = input.values().collect();
    // A loop, so that deep nesting costs no stack.
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                for part in parts(text) {
                    if let Part::Reference(reference) = part {
                        seen(reference);
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The step of a reference and the path behind it. Ids may contain dots: the longest that fits is meant.
pub(super) fn step_of<'a>(reference: &'a str, places: &BTreeMap<String, usize>) -> Option<(usize, &'a str)> {
    let ends = reference.match_indices(['.', '[']).map(|(end, _)| end);
    let mut longest_first = std::iter::once(reference.len()).chain(ends.rev());
    longest_first.find_map(|end| {
        let (id, path) = reference.split_at(end);
        places.get(id).map(|place| (*place, path))
    })
}

/// The value at a path such as `.usage.total_tokens` or `.numbers[0]`.
fn at<'a>(mut value: &'a Value, mut path: &str) -> Option<&'a Value> {
    while !path.is_empty() {
        if let Some(rest) = path.strip_prefix('[') {
            let (index, rest) = rest.split_once(']')?;
            value = value.get(index.trim().parse::<usize>().ok()?)?;
            path = rest;
        } else {
            let rest = path.strip_prefix('.')?;
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, rest) = rest.split_at(end);
            value = match value {
                Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
                other => other.get(name)?,
            };
            path = rest;
        }
    }
    Some(value)
}

/// Puts values in the place of references.
pub(super) struct Resolver<'a, L> {
    /// The output of the step that a reference names, and the path into it.
    pub(super) lookup: L,
    /// Whether a text that is nothing but a reference stays a text.
    pub(super) as_text: bool,
    left: usize,
    marker: std::marker::PhantomData<&'a Value>,
}

impl<'a, L: for<'r> Fn(&'r str) -> Option<(&'a Value, &'r str)>> Resolver<'a, L> {
    pub(super) fn new(lookup: L, as_text: bool) -> Self {
        Self { lookup, as_text, left: INPUT_BYTES, marker: std::marker::PhantomData }
    }

    /// The input with all references replaced.
    pub(super) fn members(
        &mut self,
        members: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolFailure> {
        members.iter().map(|(name, value)| Ok((name.clone(), self.value(value)?))).collect()
    }

    fn value(&mut self, value: &Value) -> Result<Value, ToolFailure> {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => self.members(members).map(Value::Object),
            other => Ok(other.clone()),
        }
    }

    fn text(&mut self, text: &str) -> Result<Value, ToolFailure> {
        let parts = parts(text);
        if let ([Part::Reference(reference)], false) = (parts.as_slice(), self.as_text) {
            let value = self.found(reference)?;
            self.spend(value.to_string().len())?;
            return Ok(value.clone());
        }
        let mut resolved = String::new();
        for part in parts {
            match part {
                Part::Literal(literal) => resolved.push_str(literal),
                Part::Reference(reference) => {
                    let value = match self.found(reference)? {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    self.spend(value.len())?;
                    resolved.push_str(&value);
                }
                Part::Open(rest) => {
                    return Err(ToolFailure::new(format!("the reference `{}` is not closed", shorten(rest))));
                }
            }
        }
        Ok(Value::String(resolved))
    }

    fn found(&self, reference: &str) -> Result<&'a Value, ToolFailure> {
        let value = (self.lookup)(reference).and_then(|(output, path)| at(output, path));
        value.ok_or_else(|| {
            ToolFailure::new(format!(
                "there is nothing that the reference `{}` stands for",
                shorten(reference)
            ))
        })
    }

    fn spend(&mut self, bytes: usize) -> Result<(), ToolFailure> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            ToolFailure::new(format!("the references stand for more than {INPUT_BYTES} bytes"))
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Map, Value, json};

    use super::{Resolver, step_of};

    fn resolved(text: Value, as_text: bool) -> Result<Value, String> {
        let outputs = [
            ("a", json!({"echo": "hej", "numbers": [33, 5], "usage": {"total_tokens": 7}, "none": null})),
            ("b.c", json!({"echo": "${a.echo}", "list": [{"x": true}]})),
        ];
        let places: BTreeMap<_, _> =
            outputs.iter().enumerate().map(|(place, (id, _))| ((*id).to_owned(), place)).collect();
        let members: Map<_, _> = [("v".to_owned(), text)].into_iter().collect();
        let lookup = |reference: &str| step_of(reference, &places).map(|(place, _)| place);
        let resolver_lookup = |reference: &'_ str| -> Option<(usize, usize)> {
            let place = lookup(reference)?;
            Some((place, outputs[place].0.len()))
        };
        let mut resolver = Resolver::new(
            for_lifetimes(|reference| {
                let (place, length) = resolver_lookup(reference)?;
                Some((&outputs[place].1, &reference[length..]))
            }),
            as_text,
        );
        let mut members = resolver.members(&members).map_err(|failure| failure.to_string())?;
        Ok(members.remove("v").unwrap_or_default())
    }

    /// Helps the compiler to see the lifetimes of a closure.
    fn for_lifetimes<'a, F: for<'r> Fn(&'r str) -> Option<(&'a Value, &'r str)>>(lookup: F) -> F {
        lookup
    }

    #[test]
    fn references_become_what_they_stand_for() {
        #[expect(clippy::needless_pass_by_value, reason = "the table below reads better")]
        fn check(text: Value, expect: Value) {
            assert_eq!(resolved(text.clone(), false), Ok(expect), "{text}");
        }
        check(json!("${a.echo}"), json!("hej"));
        check(json!("${a.numbers[0]}"), json!(33));
        check(json!("${a.numbers.1}"), json!(5));
        check(json!("${ a.usage.total_tokens }"), json!(7));
        check(json!("${a.usage}"), json!({"total_tokens": 7}));
        check(json!("${a.none}"), json!(null));
        check(json!("${a.numbers[0]} + 5"), json!("33 + 5"));
        check(json!("${a.echo}-${a.numbers[1]}${a.echo}"), json!("hej-5hej"));
        check(json!("is ${a.usage}"), json!("is {\"total_tokens\":7}"));
        check(json!({"deep": ["${b.c.list[0].x}", 1]}), json!({"deep": [true, 1]}));
        check(json!("${b.c.echo}!"), json!("${a.echo}!"));
        check(json!("$a {b} $ {a.echo}"), json!("$a {b} $ {a.echo}"));
        check(json!(""), json!(""));
    }

    #[test]
    fn a_lone_reference_can_stay_a_text() {
        assert_eq!(resolved(json!("${a.numbers[0]}"), true), Ok(json!("33")));
        assert_eq!(resolved(json!("${a.echo}"), true), Ok(json!("hej")));
    }

    #[test]
    fn what_stands_for_nothing_fails() {
        for text in [
            "${a.nothing}",
            "${a.numbers[2]}",
            "${c.x}",
            "${}",
            "${a.numbers[x]}",
            "${a.echo.x}",
            "x ${a.echo",
            "${b}",
        ] {
            assert!(resolved(json!(text), false).is_err(), "{text}");
        }
    }
}
