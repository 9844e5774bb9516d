//! The sabotage matrix: what broken implementations do, and which rules notice.

use maud::{Markup, html};

use super::layout::{self, Sheet};
use super::model::Page;
use super::parts;
use super::view::View;
use crate::matrix::{ANY_RULE, Matrix, MutantResult};
use crate::text;

pub(super) fn page(view: &View<'_>, matrix: &Matrix) -> Page {
    let summary = &matrix.summary;
    let profiles = matrix.profiles();
    let main = html! {
        h1 { "Mutants" }
        p.lead {
            "Each mutant is the reference behind a wire that goes wrong in one place. Its own rule must notice: of "
            (summary.mutants) " mutants " (summary.killed) " were killed, " (summary.survived) " survived, and "
            (summary.with_undeclared_collateral) " were noticed by rules that they do not declare. Specificity: "
            (summary.specificity()) " fail their own rule and nothing undeclared."
        }
        p.source { "Try it: " code { "callmark sabotage" } }
        table.roles {
            thead { tr { th scope="col" { "Role" } th scope="col" { "Mutants" } th scope="col" { "Killed" } th scope="col" { "Survived" } th scope="col" { "Undeclared collateral" } th scope="col" { "Specificity" } } }
            tbody {
                @for (name, _, own) in &profiles {
                    tr {
                        th scope="row" { a href={ "#" (parts::segment(name)) } { (text::line(name, text::LINE)) } }
                        td { (own.mutants) } td { (own.killed) } td { (own.survived) }
                        td { (own.with_undeclared_collateral) } td { (own.specificity()) }
                    }
                }
            }
        }
        @for (name, mutants, _) in &profiles {
            section {
                h2 id=(parts::segment(name)) { code { (text::line(name, text::LINE)) } }
                table.rules {
                    thead { tr { th scope="col" { "Rule" } th scope="col" { "An implementation that …" } th scope="col" { "Killed" } th scope="col" { "Collateral" } th scope="col" { "Declared" } } }
                    tbody { @for mutant in mutants { (row(view, mutant)) } }
                }
            }
        }
    };
    layout::page(view, &Sheet { path: parts::MUTANTS, title: "Mutants", above: None, scripted: false }, &main)
}

fn row(view: &View<'_>, mutant: &MutantResult) -> Markup {
    html! {
        tr {
            th scope="row" { (parts::rule_link(view, "", &mutant.rule)) }
            td { (parts::prose(&mutant.does)) div.source { code { (text::line(&mutant.id, text::LINE)) } } }
            td { @if mutant.killed { "yes" } @else { strong { "no" } ": " (mutant.outcome.name()) } }
            td {
                @for rule in &mutant.collateral {
                    (parts::rule_link(view, "", rule))
                    @if mutant.undeclared_collateral.contains(rule) { " " strong { "undeclared" } }
                    " "
                }
            }
            td { @for rule in &mutant.declared_collateral { @if rule == ANY_RULE { "any" } @else { (parts::rule_link(view, "", rule)) } " " } }
        }
    }
}
