//! What a later revision of a protocol changed: messages of both side by side, and the rules that came, went or were
//! replaced.

use maud::{Markup, html};

use super::frame;
use super::layout::{self, Sheet};
use super::model::{Change, Comparison, Page, RuleText};
use super::parts;
use super::view::View;
use crate::record::FrameExcerpt;
use crate::text;

/// The list of them.
pub(super) fn list(view: &View<'_>) -> Page {
    let main = html! {
        h1 { "What changed" }
        p.lead { "Protocols that have more than one revision, each with its messages side by side and the rules that are different." }
        ul.cards { @for change in &view.site.changes {
            li {
                h2 { a href=(parts::change_path(&change.id)) { (change.title) } }
                p { (parts::prose(&change.about)) }
            }
        } }
    };
    let sheet = Sheet { path: parts::CHANGES, title: "What changed", above: None, scripted: false };
    layout::page(view, &sheet, &main)
}

/// One of them.
pub(super) fn page(view: &View<'_>, change: &Change) -> Page {
    let prefixes: Vec<&str> = change
        .documents
        .iter()
        .filter_map(|id| view.site.documents.iter().find(|own| own.id == *id))
        .map(|document| document.prefix.as_str())
        .collect();
    let rules = view.site.rules.iter();
    let own: Vec<&RuleText> =
        rules.filter(|rule| prefixes.iter().any(|prefix| rule.id.starts_with(prefix))).collect();
    let since = || own.iter().copied().filter(|rule| rule.since.as_ref() == Some(&change.to));
    let (replacing, came): (Vec<&RuleText>, Vec<&RuleText>) =
        since().partition(|rule| !rule.replaces.is_empty());
    let is_replaced = |rule: &RuleText| replacing.iter().any(|own| own.replaces.contains(&rule.id));
    let until = own.iter().copied().filter(|rule| rule.until.as_ref() == Some(&change.from));
    let went: Vec<&RuleText> = until.filter(|rule| !is_replaced(rule)).collect();
    let stay = own.len()
        - since().count()
        - own.iter().filter(|rule| rule.until.as_ref() == Some(&change.from)).count();
    let main = html! {
        h1 { (change.title) }
        p.lead { (parts::prose(&change.about)) }
        nav.contents aria-label="On this page" { ul {
            li { a href="#messages" { "Messages side by side" } }
            @if !came.is_empty() { li { a href="#came" { "Rules that came " span.n { (came.len()) } } } }
            @if !replacing.is_empty() { li { a href="#replaced" { "Rules that replace others " span.n { (replacing.len()) } } } }
            @if !went.is_empty() { li { a href="#went" { "Rules that went " span.n { (went.len()) } } } }
        } }
        section aria-labelledby="messages" {
            h2 #messages { "Messages side by side" }
            p.lead {
                "All of them are real: the reference implementation sent or received them when this page was written. "
                "Ids and times that differ from run to run have names in angle brackets. "
                "What only one side has is " mark { "marked" } "."
            }
            @for (n, comparison) in change.comparisons.iter().enumerate() { (compared(change, comparison, n)) }
        }
        @if !came.is_empty() {
            section aria-labelledby="came" {
                h2 #came { "Rules that came with " (change.to) }
                (parts::rule_rows(view, "", &came))
            }
        }
        @if !replacing.is_empty() {
            section aria-labelledby="replaced" {
                h2 #replaced { "Rules that replace others" }
                p.lead { "On the left the rule of " (change.to) ", below its statement those of " (change.from) " that it takes the place of." }
                @for rule in &replacing { (replaced(view, rule)) }
            }
        }
        @if !went.is_empty() {
            section aria-labelledby="went" {
                h2 #went { "Rules that went with " (change.from) }
                (parts::rule_rows(view, "", &went))
            }
        }
        p.lead { "The other " (text::count(stay, "rule")) " of these documents are the same in both." }
    };
    let path = parts::change_path(&change.id);
    let above = Some((parts::CHANGES, "What changed"));
    layout::page(view, &Sheet { path: &path, title: &change.title, above, scripted: false }, &main)
}

fn compared(change: &Change, comparison: &Comparison, n: usize) -> Markup {
    let id = format!("message-{}", n + 1);
    let (before, after) = (comparison.before.as_ref(), comparison.after.as_ref());
    html! {
        section.comparison aria-labelledby=(id) {
            h3 id=(id) { (comparison.title) }
            p.about { (parts::prose(&comparison.about)) }
            div.sides {
                (side(&comparison.title, &change.from, before, after))
                (side(&comparison.title, &change.to, after, before))
            }
        }
    }
}

fn side(title: &str, revision: &str, own: Option<&FrameExcerpt>, other: Option<&FrameExcerpt>) -> Markup {
    html! {
        div {
            h4 { (revision) }
            @match own {
                Some(own) => {
                    p.channel { code { (text::line(&own.channel, text::LINE)) } }
                    (frame::marked(own, other, &format!("{title} in {revision}")))
                }
                None => p.source { "Nothing in " (revision) " to compare with." },
            }
        }
    }
}

fn replaced(view: &View<'_>, rule: &RuleText) -> Markup {
    html! {
        article.replaced {
            p { (parts::rule_link(view, "", &rule.id)) " " (parts::level(rule.level)) " " (parts::prose(&rule.statement)) }
            ul { @for id in &rule.replaces {
                li {
                    (parts::rule_link(view, "", id))
                    @if let Some(old) = view.rule(id) { " " span.source { (parts::prose(&old.statement)) } }
                }
            } }
        }
    }
}
