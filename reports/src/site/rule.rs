//! A rule, and the list of all rules.

use maud::{Markup, html};

use super::layout::{self, Sheet};
use super::model::{MutantText, Page, RuleText};
use super::parts;
use super::role;
use super::scenario::{self, Heading, Place};
use super::view::{Found, View};
use crate::record::{Level, Outcome};
use crate::{text, view};

/// All rules, with a filter for those whose browser runs scripts.
pub(super) fn list(view: &View<'_>) -> Page {
    let main = html! {
        h1 { "All rules" }
        p.lead { (view.site.rules.len()) " rules, in the order of their documents." }
        (filter(view))
        @for document in &view.site.documents {
            section {
                h2 id=(document.id) { a href=(parts::document_path(&document.id)) { (document.title) } }
                (parts::rule_rows(view, "", &view.of_document(&document.prefix)))
            }
        }
    };
    let sheet = Sheet { path: "rules.html", title: "All rules", above: None, scripted: true };
    layout::page(view, &sheet, &main)
}

fn filter(view: &View<'_>) -> Markup {
    html! {
        // Without the script it would do nothing, so the script shows it.
        form.filter data-filter hidden role="search" {
            div.wide { label for="text" { "Words" } input #text name="text" type="search" autocomplete="off" placeholder="an id, a member, a word"; }
            div { label for="role" { "Role" } select #role name="role" {
                option value="" { "all" }
                @for role in &view.site.roles { option value=(role.id) { (role.id) } }
            } }
            div { label for="level" { "Level" } select #level name="level" {
                option value="" { "all" }
                @for level in [Level::Must, Level::Should, Level::May] { option value=(level.name()) { (view::level(level)) } }
            } }
            @if let Some(run) = &view.site.run {
                div { label for="outcome" { "Outcome" } select #outcome name="outcome" {
                    option value="" { "all" }
                    @for outcome in Outcome::ALL { @if run.summary.count(outcome) > 0 { option value=(outcome.name()) { (view::label(outcome)) } } }
                } }
            }
            button type="reset" { "Reset" }
            output aria-live="polite" {}
        }
    }
}

/// One rule: what `callmark explain` prints, and what the run says.
pub(super) fn page(view: &View<'_>, rule: &RuleText) -> Page {
    const UP: &str = "../";
    let found = view.scenarios(&rule.id);
    let document = view.site.documents.iter().find(|document| rule.id.starts_with(&document.prefix));
    let main = html! {
        h1.rule-id { (rule.id) " " (parts::level(rule.level)) }
        p.statement { (parts::prose(&rule.statement)) }
        dl.facts {
            div { dt { "Source" } dd { (rule.source) } }
            (revisions(view, UP, rule))
            div { dt { @if rule.profiles.len() == 1 { "Role" } @else { "Roles" } } dd { (parts::role_links(UP, &rule.profiles)) } }
            @match &rule.excluded {
                Some(reason) => div { dt { "Not tested" } dd { (parts::prose(reason)) } },
                None => {
                    div { dt { "Judged in" } dd { (parts::prose(&rule.judged_in)) } }
                    div { dt { "Try it" } dd { code { "callmark certify --bundled --rule " (rule.id) } } }
                }
            }
        }
        (run(view, rule))
        (neighbours(view, rule))
        @for profile in &rule.profiles {
            @let own: Vec<&Found<'_>> = found.iter().filter(|found| found.chapter.profile == *profile).collect();
            @let mutants: Vec<&MutantText> = rule.mutants.iter().filter(|mutant| mutant.profile == *profile).collect();
            @if !own.is_empty() || !mutants.is_empty() {
                section.feature {
                    h2 id=(profile) { @if rule.profiles.len() > 1 { code { (profile) } ": " } (text::count(own.len(), "scenario")) }
                    @for (n, found) in own.iter().enumerate() {
                        @if n == 0 || !std::ptr::eq(own[n - 1].group, found.group) { (standing(found)) }
                        (scenario::scenario(view, &Place { up: UP, rule: Some(&rule.id), heading: Heading::Third }, found.scenario))
                    }
                    (broken(view, UP, &mutants))
                }
            }
        }
    };
    let path = parts::rule_path(&rule.id);
    let up = document.map(|document| (parts::document_path(&document.id), document.title.as_str()));
    let above = up.as_ref().map(|(path, title)| (path.as_str(), *title));
    layout::page(view, &Sheet { path: &path, title: &rule.id, above, scripted: false }, &main)
}

/// The revisions that have a rule, and the rules before and after it; nothing where all revisions have it.
fn revisions(view: &View<'_>, up: &str, rule: &RuleText) -> Markup {
    let later = view.replaced_by(&rule.id);
    let links = |ids: &[&str]| {
        html! { @for (n, id) in ids.iter().enumerate() { @if n > 0 { ", " } (parts::rule_link(view, up, id)) } }
    };
    let replaces: Vec<&str> = rule.replaces.iter().map(String::as_str).collect();
    let mut phrases: Vec<Markup> = Vec::new();
    phrases.extend(rule.since.as_ref().map(|own| html! { "since " (own) }));
    phrases.extend(rule.until.as_ref().map(|own| html! { "up to " (own) }));
    phrases.extend((!replaces.is_empty()).then(|| html! { "replaces " (links(&replaces)) }));
    phrases.extend((!later.is_empty()).then(|| html! { "replaced by " (links(later)) }));
    let changes = view.site.changes.iter();
    let change =
        changes.filter(|own| rule.since.as_ref() == Some(&own.to) || rule.until.as_ref() == Some(&own.from));
    html! {
        @if !phrases.is_empty() {
            div { dt { "Revisions" } dd {
                @for (n, phrase) in phrases.iter().enumerate() { @if n > 0 { "; " } (phrase) }
                @for own in change { " " a href={ (up) (parts::change_path(&own.id)) } { "What changed in " (own.to) } }
            } }
        }
    }
}

/// The feature and the invariant below which scenarios stand, with the way there.
fn standing(found: &Found<'_>) -> Markup {
    let entry = found.scenario.entries().next();
    let place =
        entry.map_or_else(|| role::stem(found.chapter).to_owned(), |entry| scenario::anchor(&entry.id));
    html! {
        p.standing {
            a href={ "../" (parts::role_path(&found.chapter.profile)) "#" (place) } { (found.chapter.title) }
            @if let Some(title) = &found.group.title { " › " (parts::prose(title)) }
            @if let Some(entry) = entry { " " span.source { (found.chapter.file) ":" (entry.line) } }
        }
    }
}

fn run(view: &View<'_>, rule: &RuleText) -> Markup {
    let Some(record) = &view.site.run else { return html! {} };
    let entries: Vec<_> =
        rule.profiles.iter().filter_map(|profile| view.outcome(&rule.id, profile)).collect();
    html! {
        aside.run aria-labelledby="run" {
            h2 #run { "In the run of " bdi { (view::target(record)) } }
            @if entries.is_empty() { p { "Not part of this run." } }
            @for entry in entries {
                p {
                    (parts::badge(entry.outcome)) " as " (text::line(&entry.profile, 80))
                    @if !matches!(entry.outcome, Outcome::Passed | Outcome::Excluded) { ": " (parts::prose(view::reason(entry))) }
                }
            }
        }
    }
}

fn broken(view: &View<'_>, up: &str, mutants: &[&MutantText]) -> Markup {
    html! {
        @if !mutants.is_empty() {
            h3.broken { "Broken by an implementation that …" }
            ul.mutants {
                @for mutant in mutants {
                    li {
                        (parts::prose(&mutant.does)) div.source { code { (mutant.id) } }
                        @if mutant.collateral.iter().any(|rule| rule == "*") { div.source { "Any other rule may notice it too." } }
                        @else if !mutant.collateral.is_empty() {
                            div.source { "Noticed too by " @for rule in &mutant.collateral { (parts::rule_link(view, up, rule)) " " } }
                        }
                    }
                }
            }
        }
    }
}

/// The rules before and after it.
fn neighbours(view: &View<'_>, rule: &RuleText) -> Markup {
    let rules = &view.site.rules;
    let at = rules.iter().position(|own| own.id == rule.id).unwrap_or_default();
    let before = at.checked_sub(1).and_then(|before| rules.get(before));
    let after = rules.get(at + 1);
    html! {
        nav.neighbours aria-label="Rules beside this one" {
            @if let Some(before) = before { a rel="prev" href={ "../" (parts::rule_path(&before.id)) } { "← " (before.id) } }
            @if let Some(after) = after { a rel="next" href={ "../" (parts::rule_path(&after.id)) } { (after.id) " →" } }
        }
    }
}
