//! What checks say that do not count, since they are newer than the edition that is pinned.

use maud::{Markup, html};

use super::{findings, parts};
use crate::record::{RuleEntry, RunRecord};
use crate::{text, view};

/// The id of the section.
pub(super) const ANCHOR: &str = "newer";

/// The section; nothing where every check counts.
pub(super) fn section(record: &RunRecord) -> Markup {
    let rules = view::newer_rules(record);
    let count = |outcome| rules.iter().filter(|rule| rule.outcome == outcome).count();
    html! {
        @if !rules.is_empty() {
            section.findings aria-labelledby=(ANCHOR) {
                h2 id=(ANCHOR) { (text::capitalised(&view::newer_title(record))) " " span.n { (view::remarks(record).len()) } }
                p.lead { "Checks that the pinned edition does not have. They do not count: " (view::counts(count)) "." }
                @for rule in view::remarks(record) { (remark(rule)) }
            }
        }
    }
}

/// As a finding, but a rule may be both, so that its place is named otherwise.
fn remark(rule: &RuleEntry) -> Markup {
    html! {
        article.finding id={ "newer-" (parts::anchor(rule)) } {
            h3 { (parts::badge(rule.outcome)) " " span.rule { (text::line(&rule.id, 80)) } " " span.message { (parts::prose(view::reason(rule))) } }
            (findings::asked(rule))
            (findings::scenarios(&format!("newer-{}", parts::sequence_anchor(rule)), rule, false))
        }
    }
}
