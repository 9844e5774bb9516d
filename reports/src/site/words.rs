//! What a schema asks of one value, in words: `text, not empty`, `one of "a", "b"`.
//!
//! Neighbours: `shape` sets members and what lies deeper.

use maud::{Markup, html};
use serde_json::Value;

use super::references::link;
use crate::text;

/// The phrases, joined by commas; nothing where anything goes.
pub(super) fn kind(known: &[&str], schema: &Value) -> Markup {
    let phrases = phrases(known, schema);
    html! { @for (n, phrase) in phrases.iter().enumerate() { @if n > 0 { ", " } (phrase) } }
}

/// A condition of an `if`: `"type" is "ping"`.
pub(super) fn condition(known: &[&str], schema: &Value) -> Markup {
    let properties: Vec<_> =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    let named = |name: &str| properties.iter().any(|(own, _)| *own == name);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let bare: Vec<&str> = required.filter_map(Value::as_str).filter(|name| !named(name)).collect();
    let count = properties.len() + bare.len();
    html! {
        @for (n, (name, member)) in properties.iter().enumerate() {
            @if n > 0 { " and " }
            code { (name) } " "
            @if member.get("properties").is_some() { "has: " (condition(known, member)) }
            @else { "is " (kind(known, member)) }
        }
        @for (n, name) in bare.iter().enumerate() {
            @if n > 0 || !properties.is_empty() { " and " }
            code { (name) } " is there"
        }
        @if let (0, Some(not)) = (count, schema.get("not")) { "not: " (condition(known, not)) }
        @else if count == 0 { "it is " (kind(known, schema)) }
    }
}

/// Whether a member of this schema can only be left out.
pub(super) fn is_absent(schema: &Value) -> bool {
    schema == &Value::Bool(false) || schema.get("not").is_some_and(is_anything)
}

fn phrases(known: &[&str], schema: &Value) -> Vec<Markup> {
    if is_absent(schema) {
        return vec![html! { "must be absent" }];
    }
    let mut phrases = Vec::new();
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        phrases.push(link(known, target));
    }
    match schema.get("type") {
        Some(Value::String(name)) => phrases.push(html! { (noun(name, schema)) }),
        Some(Value::Array(names)) => {
            let nouns: Vec<String> =
                names.iter().filter_map(Value::as_str).map(|name| noun(name, schema)).collect();
            phrases.push(html! { (nouns.join(" or ")) });
        }
        _ => {}
    }
    if let Some(value) = schema.get("const") {
        phrases.push(value_of(value));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        phrases.push(html! { "one of " (list(values)) });
    }
    phrases.extend(bounds(schema));
    if let Some(not) =
        schema.get("not").filter(|not| not.get("properties").is_none() && not.get("required").is_none())
    {
        phrases.push(html! { "not " (kind(known, not)) });
    }
    if let Some(value) = schema.get("default") {
        phrases.push(html! { "by default " (value_of(value)) });
    }
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        phrases.push(html! { "discouraged" });
    }
    phrases
}

/// Lengths, ranges, patterns.
fn bounds(schema: &Value) -> Vec<Markup> {
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    let mut phrases = Vec::new();
    let mut say = |key: &str, words: &dyn Fn(&Value) -> String| {
        phrases.extend(number(key).map(|value| html! { (words(value)) }));
    };
    say("minLength", &|n| if n == 1 { "not empty".to_owned() } else { format!("at least {n} characters") });
    say("maxLength", &|n| format!("at most {n} characters"));
    say("minimum", &|n| format!("at least {n}"));
    say("exclusiveMinimum", &|n| format!("more than {n}"));
    say("maximum", &|n| format!("at most {n}"));
    say("minItems", &|n| format!("at least {n} {}", if n == 1 { "item" } else { "items" }));
    say("maxItems", &|n| format!("at most {n} {}", if n == 1 { "item" } else { "items" }));
    say("minProperties", &|n| format!("at least {n} {}", if n == 1 { "member" } else { "members" }));
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        phrases.push(html! { "no two alike" });
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        phrases.push(html! { "matches " code { (text::line(pattern, text::LINE)) } });
    }
    if let Some(media) = schema.get("contentMediaType").and_then(Value::as_str) {
        phrases.push(html! { "holds " code { (media) } });
    }
    phrases
}

fn noun(name: &str, schema: &Value) -> String {
    match name {
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => {
            // What is said of each item in one word stands here, the rest below.
            let items = schema.get("items").and_then(|items| items.get("type")).and_then(Value::as_str);
            match items {
                Some("string") => "list of texts".to_owned(),
                Some("number" | "integer") => "list of numbers".to_owned(),
                Some("object") => "list of objects".to_owned(),
                _ => "list".to_owned(),
            }
        }
        other => other.to_owned(),
    }
}

/// A value as JSON.
pub(super) fn value_of(value: &Value) -> Markup {
    html! { code { (text::value_line(value, text::LINE)) } }
}

fn list(values: &[Value]) -> Markup {
    html! { @for (n, value) in values.iter().enumerate() { @if n > 0 { ", " } (value_of(value)) } }
}

/// Whether a schema lets everything pass, so that its negation lets nothing pass.
fn is_anything(schema: &Value) -> bool {
    schema == &Value::Bool(true) || schema.as_object().is_some_and(serde_json::Map::is_empty)
}
