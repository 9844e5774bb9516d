//! One whole exchange of each protocol, with the messages as they crossed the wire.

use maud::{Markup, html};

use super::frame;
use super::layout::{self, Sheet};
use super::model::{AnnotatedFrame, Document, Exchange, Page, Recording};
use super::parts;
use super::parts::segment;
use super::scenario;
use super::view::View;
use crate::text;

pub(super) fn page(view: &View<'_>) -> Page {
    let protocols: Vec<(&Document, Vec<&Exchange>)> = view
        .site
        .documents
        .iter()
        .map(|document| {
            let own = view.site.exchanges.iter().filter(|exchange| exchange.document == document.id);
            (document, own.collect())
        })
        .collect();
    let main = html! {
        h1 { "One whole exchange of each protocol" }
        p.lead {
            "Every message below is real: the reference implementation sent or received it when this page was written, "
            "while the suite played everybody else. "
            "Ids and times that differ from run to run have names in angle brackets, and messages that may cross stand in the order in which they follow from each other."
        }
        nav.contents aria-label="Protocols" {
            ul { @for (document, _) in &protocols { li { a href={ "#" (document.id) } { (document.title) } } } }
        }
        @for (document, exchanges) in &protocols {
            section.protocol aria-labelledby=(document.id) {
                h2 id=(document.id) { (document.title) }
                p.about { (parts::prose(&document.about)) " " a href=(parts::document_path(&document.id)) { "Its rules" } }
                @for change in view.site.changes.iter().filter(|change| change.documents.contains(&document.id)) {
                    p.about { a href=(parts::change_path(&change.id)) { "What changed in " (change.to) } }
                }
                @if exchanges.is_empty() && !view.site.changes.iter().any(|change| change.documents.contains(&document.id)) { p { "No exchange was recorded for this document." } }
                @for exchange in exchanges { (shown(exchange)) }
            }
        }
    };
    let sheet = Sheet { path: "first.html", title: "First exchange", above: None, scripted: false };
    layout::page(view, &sheet, &main)
}

fn shown(exchange: &Exchange) -> Markup {
    let id = exchange.recordings.first().map(|own| segment(&own.scenario)).unwrap_or_default();
    html! {
        section.exchange aria-labelledby=(id) {
            h3 id=(id) { (exchange.title) }
            p.about { (parts::prose(&exchange.about)) }
            @match exchange.recordings.as_slice() {
                [one] => (recording(one)),
                several => (tabs(&id, several)),
            }
        }
    }
}

/// A tab for each revision, made of radio buttons: they need no script, and arrow keys go from one to the next.
fn tabs(id: &str, recordings: &[Recording]) -> Markup {
    let name = format!("{id}.revision");
    html! {
        fieldset.tabs {
            legend { "Revision" }
            @for (n, own) in recordings.iter().enumerate() {
                input type="radio" name=(name) id={ (name) "." (n) } checked[n == 0];
                label for={ (name) "." (n) } { (own.revision) }
            }
            @for own in recordings { div.panel { (recording(own)) } }
        }
    }
}

fn recording(recording: &Recording) -> Markup {
    html! {
        p.source { "Recorded in the scenario " a href=(link(&recording.scenario)) { (recording.scenario) } "." }
        ol.frames { @for message in &recording.messages { (annotated(message)) } }
    }
}

fn annotated(message: &AnnotatedFrame) -> Markup {
    let frame = &message.frame;
    html! {
        li {
            p.note { (parts::prose(&message.note)) }
            p.channel { span.route { (message.route) } " " code { (text::line(&frame.channel, text::LINE)) } }
            (frame::shown(frame))
        }
    }
}

/// The scenario on the page of its role: `utp/execution/lifecycle/…` stands on `utp.execution.html`.
fn link(scenario: &str) -> String {
    // A scenario that is run in several revisions stands there once.
    let scenario = scenario.split('@').next().unwrap_or_default();
    let mut segments = scenario.split('/');
    let profile = [segments.next().unwrap_or_default(), segments.next().unwrap_or_default()].join(".");
    format!("{}#{}", parts::role_path(&profile), scenario::anchor(scenario))
}
