//! The shape of a value as nested lists of members, after its JSON Schema.
//!
//! Neighbours: `words` says what is asked of one value. What is not said here the schema itself shows, which stands
//! below on the same page.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::references::{anchor, link};
use super::{parts, words};

/// Where a schema stands.
#[derive(Clone, Copy)]
struct Context<'a> {
    /// Paths of all messages, for references.
    known: &'a [&'a str],
    /// Whether it is a branch that says more of members which are described elsewhere.
    branch: bool,
}

/// The schema's description.
pub(super) fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// What a whole message looks like.
pub(super) fn shape(known: &[&str], schema: &Value) -> Markup {
    let ctx = Context { known, branch: false };
    html! {
        p.kind-of { "Form: " (words::kind(ctx.known, schema)) "." }
        (below(ctx, schema))
    }
}

/// A definition that several members share.
pub(super) fn definition(known: &[&str], name: &str, schema: &Value) -> Markup {
    let ctx = Context { known, branch: false };
    html! {
        section.definition {
            h3 id=(anchor(name)) { code { (name) } }
            p { (words::kind(ctx.known, schema)) @if !description(schema).is_empty() { ". " (parts::prose(description(schema))) } }
            (below(ctx, schema))
        }
    }
}

/// Everything that lies deeper than the value itself.
fn below(ctx: Context<'_>, schema: &Value) -> Markup {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // A condition may ask for members that are described elsewhere.
    let bare: Vec<&&str> = required.iter().filter(|name| !properties.contains_key(**name)).collect();
    html! {
        @if !properties.is_empty() {
            ul.members { @for (name, member) in properties { (one(ctx, name, member, required.contains(&name.as_str()))) } }
        }
        @if !bare.is_empty() {
            p.also { "Required: " @for (n, name) in bare.iter().enumerate() { @if n > 0 { ", " } code { (name) } } "." }
        }
        @match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => p.also { "There are no other members." },
            Some(other) if other.is_object() => {
                p.also { "Every other member: " (words::kind(ctx.known, other)) " " (parts::prose(description(other))) }
                (below(ctx, other))
            }
            _ => {}
        }
        @if let Some(names) = schema.get("propertyNames") { p.also { "Names of members: " (words::kind(ctx.known, names)) "." } }
        (items(ctx, schema))
        (conditions(ctx, schema))
    }
}

fn one(ctx: Context<'_>, name: &str, member: &Value, required: bool) -> Markup {
    html! {
        li {
            p {
                code.name { (name) } " "
                @if required { span.required { "required" } } @else if !ctx.branch && !words::is_absent(member) { span.optional { "optional" } }
                " " span.type { (words::kind(ctx.known, member)) }
            }
            @if !description(member).is_empty() { p.about { (parts::prose(description(member))) } }
            (below(ctx, member))
        }
    }
}

fn items(ctx: Context<'_>, schema: &Value) -> Markup {
    let first: Vec<&Value> =
        schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten().collect();
    html! {
        @for (n, item) in first.iter().enumerate() { (each(ctx, &format!("Item {}", n + 1), item)) }
        @if let Some(item) = schema.get("items").filter(|item| item.is_object()) { (each(ctx, "Each item", item)) }
        @if let Some(item) = schema.get("contains") { (each(ctx, "One item at least", item)) }
        @if let Some(target) = schema.get("contentSchema").and_then(|own| own.get("$ref")).and_then(Value::as_str) {
            p.also { "The text holds: " (link(ctx.known, target)) "." }
        }
    }
}

fn each(ctx: Context<'_>, name: &str, item: &Value) -> Markup {
    html! {
        div.item {
            p.also { (name) ": " (words::kind(ctx.known, item)) @if !description(item).is_empty() { ". " (parts::prose(description(item))) } }
            (below(ctx, item))
        }
    }
}

/// `if`, `then`, `else`, `allOf`, and negations of members.
fn conditions(ctx: Context<'_>, schema: &Value) -> Markup {
    let all: Vec<&Value> = schema.get("allOf").and_then(Value::as_array).into_iter().flatten().collect();
    html! {
        @for part in all {
            @if part.get("$ref").is_some() { p.also { "Also: " (words::kind(ctx.known, part)) "." } }
            (below(ctx, part))
        }
        @if let Some(when) = schema.get("if") {
            @if let Some(then) = schema.get("then") {
                div.case { p.also { "Where " (words::condition(ctx.known, when)) ":" } (asked(ctx, then)) }
            }
            @if let Some(other) = schema.get("else") {
                div.case { p.also { "Unless " (words::condition(ctx.known, when)) ":" } (asked(ctx, other)) }
            }
        }
        @if let Some(not) = schema.get("not").filter(|not| not.get("properties").is_some() || not.get("required").is_some()) {
            p.also { "Not allowed: that " (words::condition(ctx.known, not)) "." }
        }
    }
}

/// What a branch asks of the same value.
fn asked(ctx: Context<'_>, schema: &Value) -> Markup {
    let ctx = Context { branch: true, ..ctx };
    let kind = words::kind(ctx.known, schema);
    html! {
        @if !kind.0.is_empty() { p.also { "it is " (kind) "." } }
        (below(ctx, schema))
    }
}
