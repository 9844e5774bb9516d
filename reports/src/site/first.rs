//! One whole exchange of each protocol, with the messages as they crossed the wire.

use maud::{Markup, html};

use super::layout::{self, Sheet};
use super::model::{AnnotatedFrame, Document, Exchange, Page};
use super::parts;
use super::parts::segment;
use super::scenario;
use super::view::View;
use crate::text;

/// Cap on a message: a whole exchange should be whole.
const MESSAGE: usize = 64 * 1024;

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
                @if exchanges.is_empty() { p { "No exchange was recorded for this document." } }
                @for exchange in exchanges { (shown(exchange)) }
            }
        }
    };
    let sheet = Sheet { path: "first.html", title: "First exchange", above: None, scripted: false };
    layout::page(view, &sheet, &main)
}

fn shown(exchange: &Exchange) -> Markup {
    let id = segment(&exchange.scenario);
    html! {
        section.exchange aria-labelledby=(id) {
            h3 id=(id) { (exchange.title) }
            p.about { (parts::prose(&exchange.about)) }
            p.source { "Recorded in the scenario " a href=(link(&exchange.scenario)) { (exchange.scenario) } "." }
            ol.frames { @for message in &exchange.messages { (annotated(message)) } }
        }
    }
}

fn annotated(message: &AnnotatedFrame) -> Markup {
    let frame = &message.frame;
    html! {
        li {
            p.note { (parts::prose(&message.note)) }
            p.channel { span.route { (message.route) } " " code { (text::line(&frame.channel, text::LINE)) } }
            @if !frame.headers.is_empty() {
                dl.headers { @for (name, value) in &frame.headers {
                    div { dt { (text::line(name, text::LINE)) } dd { (text::line(value, text::LINE)) } }
                } }
            }
            pre tabindex="0" role="group" aria-label="Message" { code { (text::body_block(&frame.body, MESSAGE)) } }
        }
    }
}

/// The scenario on the page of its role: `utp/execution/lifecycle/…` stands on `utp.execution.html`.
fn link(scenario: &str) -> String {
    let mut segments = scenario.split('/');
    let profile = [segments.next().unwrap_or_default(), segments.next().unwrap_or_default()].join(".");
    format!("{}#{}", parts::role_path(&profile), scenario::anchor(scenario))
}
