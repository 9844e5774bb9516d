//! The small pieces: sentences, levels, outcomes, links.

use maud::{Markup, html};

use super::model::RuleText;
use super::view::View;
use crate::record::{Level, Outcome};
use crate::{text, view};

/// A sentence in which paired backticks mark code.
pub(super) fn prose(words: &str) -> Markup {
    let words = text::line(words, text::BODY);
    html! {
        @for (is_code, span) in text::spans(&words) {
            @if is_code { code { (span) } } @else { (span) }
        }
    }
}

/// `MUST`, `SHOULD` or `MAY`.
pub(super) fn level(level: Level) -> Markup {
    html! { span class={ "level " (level.name()) } { (view::level(level)) } }
}

/// A word and a sign; the colour only repeats them.
pub(super) fn badge(outcome: Outcome) -> Markup {
    html! {
        span class={ "badge " (outcome.name()) } {
            span.symbol aria-hidden="true" { (view::symbol(outcome)) } " " (view::label(outcome))
        }
    }
}

/// Path of a rule's page.
pub(super) fn rule_path(id: &str) -> String {
    format!("rules/{}.html", segment(id))
}

/// Path of a role's page.
pub(super) fn role_path(profile: &str) -> String {
    format!("{}.html", segment(profile))
}

/// Path of a document's page.
pub(super) fn document_path(id: &str) -> String {
    format!("document-{}.html", segment(id))
}

/// Path of a message's page.
pub(super) fn message_path(path: &str) -> String {
    format!("messages/{}.html", segment(&path.replace('/', ".")))
}

/// A link to a rule, where there is one of this id.
pub(super) fn rule_link(view: &View<'_>, up: &str, id: &str) -> Markup {
    html! {
        @match view.rule(id) {
            Some(rule) => a.rule href={ (up) (rule_path(id)) } title=(text::line(&rule.statement, text::LINE)) { (id) },
            None => code { (id) },
        }
    }
}

/// Links to roles.
pub(super) fn role_links(up: &str, profiles: &[String]) -> Markup {
    html! {
        @for (n, profile) in profiles.iter().enumerate() {
            @if n > 0 { ", " }
            a href={ (up) (role_path(profile)) } { (profile) }
        }
    }
}

/// What the run says of a rule, role by role where they differ.
pub(super) fn outcomes(view: &View<'_>, rule: &RuleText) -> Markup {
    let outcomes: Vec<_> = rule
        .profiles
        .iter()
        .filter_map(|profile| Some((profile, view.outcome(&rule.id, profile)?)))
        .collect();
    let one = outcomes.windows(2).all(|pair| pair[0].1.outcome == pair[1].1.outcome);
    html! {
        @if let (Some((_, entry)), true) = (outcomes.first(), one) { (badge(entry.outcome)) }
        @else { @for (profile, entry) in &outcomes { div { (badge(entry.outcome)) " " span.source { (profile) } } } }
    }
}

/// Rules as rows: id, level, statement, roles, and what the run says.
pub(super) fn rule_rows(view: &View<'_>, up: &str, rules: &[&RuleText]) -> Markup {
    let run = view.site.run.is_some();
    html! {
        table.rules {
            thead { tr { th scope="col" { "Rule" } th scope="col" { "Level" } @if run { th scope="col" { "Outcome" } } th scope="col" { "Statement" } } }
            tbody {
                @for rule in rules {
                    tr id=(segment(&rule.id)) data-level=(rule.level.name()) data-role=(rule.profiles.join(" ")) data-outcome=[run.then(|| view.names(rule))] {
                        th scope="row" { a.rule href={ (up) (rule_path(&rule.id)) } { (rule.id) } }
                        td { (level(rule.level)) }
                        @if run { td { (outcomes(view, rule)) } }
                        td { (prose(&rule.statement)) div.source { (role_links(up, &rule.profiles)) } }
                    }
                }
            }
        }
    }
}

/// Page that lists what later revisions changed.
pub(super) const CHANGES: &str = "changes.html";

/// Path of the page about what a revision changed.
pub(super) fn change_path(id: &str) -> String {
    format!("changes-{}.html", segment(id))
}

/// Page of the mutants.
pub(super) const MUTANTS: &str = "mutants.html";

/// A path within the site made of an id: what an address could not hold becomes `_`.
pub(super) fn segment(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    name.chars().take(text::LINE).map(plain).collect()
}
