//! The first page: what this is, where to begin, and how a rule is read.

use maud::{Markup, html};

use super::layout::{self, Sheet};
use super::model::{Document, Page, Role};
use super::parts;
use super::view::View;
use crate::record::{Outcome, RunRecord, Verdict};
use crate::{text, view};

pub(super) fn page(view: &View<'_>) -> Page {
    let site = view.site;
    let main = html! {
        h1 { "How AI agents call tools, as rules that can be run" }
        p.lead {
            "These are the " (site.rules.len()) " rules of five protocol documents, each with the scenarios that test it. "
            "The scenarios are the specification: the same text is run against implementations by "
            code { "callmark certify" } ". A document says what is meant; a scenario here says what that looks like on the wire. "
            "New here? Begin with " a href="first.html" { "one whole exchange of each protocol" } "."
        }
        @if let Some(run) = &site.run { (run_box(view, run)) }
        section aria-labelledby="documents" {
            h2 #documents { "The five documents" }
            ul.cards { @for document in &site.documents { (document_card(view, document)) } }
        }
        section aria-labelledby="roles" {
            h2 #roles { "The roles" }
            p.lead { "An implementation is certified for the roles that it has. The suite plays everybody else." }
            table.roles {
                thead { tr { th scope="col" { "Role" } th scope="col" { "Who that is" } th scope="col" { "Played by the suite" } th scope="col" { "Rules" } @if site.run.is_some() { th scope="col" { "Outcome" } } } }
                tbody { @for role in &site.roles { (role_row(view, role)) } }
            }
        }
        (how_to_read(view))
    };
    let sheet = Sheet { path: "index.html", title: "Overview", above: None, scripted: false };
    layout::page(view, &sheet, &main)
}

fn document_card(view: &View<'_>, document: &Document) -> Markup {
    let rules = view.of_document(&document.prefix);
    html! {
        li {
            h3 { a href=(parts::document_path(&document.id)) { (document.title) } }
            p { (parts::prose(&document.about)) }
            p.source { (text::count(rules.len(), "rule")) }
        }
    }
}

fn role_row(view: &View<'_>, role: &Role) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(parts::role_path(&role.id)) { (role.title) } div.source { (role.id) } }
            td { (parts::prose(&role.about)) }
            td { (role.peers) }
            td { (view.of_role(&role.id).len()) }
            @if view.site.run.is_some() { td { (view.counts(&role.id).unwrap_or_else(|| "not in this run".to_owned())) } }
        }
    }
}

fn run_box(view: &View<'_>, run: &RunRecord) -> Markup {
    let outcome = match run.verdict {
        Verdict::Conformant => Outcome::Passed,
        Verdict::Nonconformant => Outcome::Failed,
        Verdict::Incomplete => Outcome::CouldNotRun,
    };
    html! {
        aside.run aria-labelledby="run" {
            h2 #run { "Shown with a run of " bdi { (view::target(run)) } }
            p { strong class={ "badge " (outcome.name()) } { span.symbol aria-hidden="true" { (view::symbol(outcome)) } " " (view::verdict(run)) } ": " (view::totals(run)) "." }
            @if run.suite.features_sha256 != view.site.features_sha256 {
                p { "The run was judged by other features (" code { (text::line(&run.suite.features_sha256, 12)) } ") than these: outcomes may belong to an older wording." }
            }
        }
    }
}

fn how_to_read(view: &View<'_>) -> Markup {
    let example = view.rule("UTP-4.1-35").or_else(|| view.site.rules.first());
    html! {
        section aria-labelledby="reading" {
            h2 #reading { "How to read a rule" }
            @if let Some(rule) = example {
                p.lead { "For example " (parts::rule_link(view, "", &rule.id)) ": “" (parts::prose(&rule.statement)) "”" }
            }
            dl.reading {
                div { dt { "Id" } dd { "Document, section and number. It never changes, so links to a rule stay good." } }
                div { dt { "Level" } dd { (parts::level(crate::record::Level::Must)) " must be kept; breaking " (parts::level(crate::record::Level::Should)) " is a warning; what is seen of " (parts::level(crate::record::Level::May)) " is only noted." } }
                div { dt { "Source" } dd { "Document and section. The statement is in our own words; where a document can be read in more than one way, every reading passes." } }
                div { dt { "Scenarios" } dd { "What is arranged (" span.keyword { "Given" } "), what is done (" span.keyword { "When" } "), what must then be true (" span.keyword { "Then" } "). An outline is run once for each row of its tables." } }
                div { dt { "Capability" } dd { "“Where the target declares …”: the scenario is for targets whose manifest says that they have it, and not applicable to others." } }
                div { dt { "Mutants" } dd { "What a broken implementation does. Each was tried, and the rule noticed: " code { "callmark sabotage" } " proves it again." } }
            }
        }
    }
}
