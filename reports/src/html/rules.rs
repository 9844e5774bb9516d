//! Every rule, a table for each profile, with the filter above them that appears where there is script.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::parts;
use crate::record::{Level, Outcome, RuleEntry, RunRecord, ScenarioEntry};
use crate::{text, view};

/// The part of the page that lists all rules.
pub(super) fn section(record: &RunRecord) -> Markup {
    html! {
        section.all aria-labelledby="rules" {
            h2 #rules { "All rules " span.n { (record.rules.len()) } }
            (filter(record))
            @let first = first_of_each_rule(record);
            @for profile in view::profiles(record) { (table(&profile, &first)) }
        }
    }
}

/// The entries at which a link to a rule, without its profile, leads.
fn first_of_each_rule(record: &RunRecord) -> BTreeMap<String, &RuleEntry> {
    let mut first = BTreeMap::new();
    for profile in view::profiles(record) {
        for rule in profile.rules {
            first.entry(parts::rule_anchor(rule)).or_insert(rule);
        }
    }
    first
}

/// Hidden until the script shows it, for without script it would do nothing.
fn filter(record: &RunRecord) -> Markup {
    let levels = [Level::Must, Level::Should, Level::May];
    html! {
        form.filter data-filter hidden role="search" aria-label="Filter the rules" {
            div.wide {
                label for="filter-text" { "Search" }
                input #filter-text type="search" name="text" placeholder="Rule id, word, file …" autocomplete="off" spellcheck="false";
            }
            div {
                label for="filter-outcome" { "Outcome" }
                select #filter-outcome name="outcome" {
                    option value="" { "any" }
                    @for outcome in Outcome::ALL {
                        @if record.summary.count(outcome) > 0 {
                            option value=(outcome.name()) { (view::label(outcome)) }
                        }
                    }
                }
            }
            div {
                label for="filter-profile" { "Profile" }
                select #filter-profile name="profile" {
                    option value="" { "any" }
                    @for profile in view::profiles(record) {
                        option value=(parts::profile_anchor(profile.name)) { (text::line(profile.name, 80)) }
                    }
                }
            }
            div {
                label for="filter-level" { "Level" }
                select #filter-level name="level" {
                    option value="" { "any" }
                    @for level in levels { option value=(level.name()) { (view::level(level)) } }
                }
            }
            button type="reset" { "Clear" }
            output for="filter-text filter-outcome filter-profile filter-level" {}
        }
    }
}

fn table(profile: &view::Profile<'_>, first: &BTreeMap<String, &RuleEntry>) -> Markup {
    let anchor = parts::profile_anchor(profile.name);
    html! {
        section.profile aria-labelledby=(anchor) {
            h3 id=(anchor) { (text::line(profile.name, 80)) }
            p.summary { (text::count(profile.rules.len(), "rule")) ": " (profile.counts()) }
            table {
                thead {
                    tr { th scope="col" { "Outcome" } th scope="col" { "Rule" } th scope="col" { "Level" } th scope="col" { "Statement" } }
                }
                tbody {
                    @for rule in &profile.rules { (row(rule, &anchor, first)) }
                }
            }
        }
    }
}

fn row(rule: &RuleEntry, profile: &str, first: &BTreeMap<String, &RuleEntry>) -> Markup {
    let anchor = parts::anchor(rule);
    let of_rule = parts::rule_anchor(rule);
    let is_first = first.get(&of_rule).is_some_and(|own| std::ptr::eq(*own, rule));
    let is_finding = matches!(rule.outcome, Outcome::Failed | Outcome::Warned | Outcome::KnownFailing);
    html! {
        tr id=(anchor) data-outcome=(rule.outcome.name()) data-level=(rule.level.name()) data-profile=(profile) {
            td.outcome { (parts::badge(rule.outcome)) }
            th scope="row" id=[is_first.then_some(of_rule)] { a.rule href={ "#" (anchor) } { (text::line(&rule.id, 80)) } }
            td.level { (view::level(rule.level)) }
            td.statement {
                p { (parts::prose(&rule.statement)) }
                p.source { (text::line(&rule.source, text::LINE)) }
                @if let Some(reason) = &rule.reason { p.reason { (parts::prose(reason)) } }
                @if is_finding { p { a href={ "#" (parts::finding_anchor(rule)) } { "What was found" } } }
                @if !rule.scenarios.is_empty() {
                    details {
                        summary { (text::count(rule.scenarios.len(), "scenario")) }
                        ul { @for scenario in &rule.scenarios { (line(scenario, view::outcome_of(rule, scenario))) } }
                    }
                }
            }
        }
    }
}

fn line(scenario: &ScenarioEntry, outcome: Outcome) -> Markup {
    html! {
        li {
            (parts::badge(outcome)) " " (parts::prose(&scenario.name)) " "
            code.where { (text::line(&scenario.file, text::LINE)) ":" (scenario.line) }
            @if let Some(reason) = &scenario.reason { p.reason { (parts::prose(reason)) } }
        }
    }
}
