//! The shape of each message, and the list of them.

use maud::html;
use serde_json::Value;

use super::layout::{self, Sheet};
use super::model::{MessageShape, Page};
use super::parts;
use super::shape;
use super::view::View;
use crate::text;

/// Cap on a schema that is shown as it is; ours are far below.
const SOURCE: usize = 256 * 1024;

/// Families of messages: folder, and what is in it. Of several that fit, the first counts.
const FAMILIES: [(&str, &str); 6] = [
    ("breadcrumb/tools/", "Inputs and outputs of breadcrumb tools"),
    ("utp/", "UTP Tool Protocol and Tool Development Guide"),
    ("toolbus/", "Tool bus v1"),
    ("hub/", "Tool Execution Contract"),
    ("breadcrumb/", "Universal Tool Invocation"),
    ("callmark/", "Callmark's own files"),
];

/// The order in which the families are listed.
const ORDER: [usize; 6] = [1, 3, 4, 0, 2, 5];

pub(super) fn list(view: &View<'_>) -> Page {
    let main = html! {
        h1 { "Messages" }
        p.lead { "The shape of every message, as JSON Schema 2020-12 states it. A schema holds what every reading of the documents agrees on; what a document merely recommends is a rule." }
        @for family in ORDER {
            @let own: Vec<_> = view.site.messages.iter().filter(|message| family_of(&message.path) == Some(family)).collect();
            @if !own.is_empty() {
                section {
                    h2 { (FAMILIES[family].1) }
                    table.messages {
                        thead { tr { th scope="col" { "Message" } th scope="col" { "What it is" } } }
                        tbody { @for message in own {
                            tr {
                                th scope="row" { a href=(parts::message_path(&message.path)) { (title(message)) } div.source { (message.path) } }
                                td { (parts::prose(first_sentence(shape::description(&message.schema)))) }
                            }
                        } }
                    }
                }
            }
        }
    };
    let sheet = Sheet { path: "messages.html", title: "Messages", above: None, scripted: false };
    layout::page(view, &sheet, &main)
}

pub(super) fn page(view: &View<'_>, message: &MessageShape) -> Page {
    let schema = &message.schema;
    let known: Vec<&str> = view.site.messages.iter().map(|message| message.path.as_str()).collect();
    let examples: Vec<&Value> =
        schema.get("examples").and_then(Value::as_array).into_iter().flatten().collect();
    let main = html! {
        h1 { (title(message)) " " code.profile { (message.path) } }
        p.lead { (parts::prose(shape::description(schema))) }
        (shape::shape(&known, schema))
        @if let Some(definitions) = schema.get("$defs").and_then(Value::as_object) {
            h2 #definitions { "Definitions" }
            @for (name, definition) in definitions { (shape::definition(&known, name, definition)) }
        }
        @if !examples.is_empty() {
            h2 #examples { @if examples.len() == 1 { "Example" } @else { "Examples" } }
            @for example in examples { pre tabindex="0" role="group" aria-label="Example" { code { (text::value_block(example, SOURCE)) } } }
        }
        h2 #schema { "Schema" }
        details { summary { "The schema itself" } pre tabindex="0" role="group" aria-label="Schema" { code { (text::value_block(schema, SOURCE)) } } }
    };
    let path = parts::message_path(&message.path);
    let above = Some(("messages.html", "Messages"));
    layout::page(view, &Sheet { path: &path, title: title(message), above, scripted: false }, &main)
}

fn family_of(path: &str) -> Option<usize> {
    FAMILIES.iter().position(|(folder, _)| path.starts_with(folder))
}

fn title(message: &MessageShape) -> &str {
    message.schema.get("title").and_then(Value::as_str).unwrap_or(&message.path)
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(words: &str) -> &str {
    words.find(". ").map_or(words, |at| &words[..=at])
}
