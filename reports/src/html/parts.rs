//! The small pieces of the page: sentences, values, commands, outcomes, anchors.

use maud::{Markup, html};

use crate::record::{Outcome, RuleEntry};
use crate::{text, view};

/// A sentence in which paired backticks mark code.
pub(crate) fn prose(words: &str) -> Markup {
    let words = text::line(words, text::LINE);
    html! {
        @for (is_code, span) in text::spans(&words) {
            @if is_code { code { (span) } } @else { (span) }
        }
    }
}

/// A word and a sign; the colour only repeats them.
pub(super) fn badge(outcome: Outcome) -> Markup {
    html! {
        span class={ "badge " (outcome.name()) } {
            span.symbol aria-hidden="true" { (view::symbol(outcome)) } " " (view::label(outcome))
        }
    }
}

/// A command that can be copied. On one line: a line break from a target would end the command where it is pasted.
/// The script adds the button: without it there would be nothing to press.
pub(super) fn command(title: &str, command: &str) -> Markup {
    html! {
        div.command {
            p.label { (title) }
            pre data-copy=(title) { code { (text::line(command, text::BODY)) } }
        }
    }
}

/// The id of a rule's row, for example `UTP-4.1-35--utp.tool-service`.
pub(super) fn anchor(rule: &RuleEntry) -> String {
    format!("{}--{}", id(&rule.id), id(&rule.profile))
}

/// The id of what was found about a rule, for example `finding-UTP-4.1-35--utp.tool-service`.
pub(super) fn finding_anchor(rule: &RuleEntry) -> String {
    format!("finding-{}", anchor(rule))
}

/// What the ids of the diagrams of a rule begin with.
pub(super) fn sequence_anchor(rule: &RuleEntry) -> String {
    format!("sequence-{}", anchor(rule))
}

/// The id of a rule in whichever profile comes first, for links that know no profile: `UTP-4.1-35`.
pub(super) fn rule_anchor(rule: &RuleEntry) -> String {
    id(&rule.id)
}

/// The id of a profile's table.
pub(super) fn profile_anchor(profile: &str) -> String {
    format!("profile-{}", id(profile))
}

/// Ids hold no blanks, and links to them should need no escapes.
fn id(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' }
    };
    name.chars().take(200).map(plain).collect()
}
