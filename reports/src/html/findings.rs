//! What is wrong: a section per outcome that asks for attention, each finding with its evidence.

use maud::{Markup, html};

use super::compare::compare;
use super::parts;
use crate::record::{Direction, Evidence, FrameExcerpt, Outcome, RuleEntry, RunRecord, ScenarioEntry};
use crate::{plain, sequence, text, view};

/// More scenarios of one rule than this are counted.
const SCENARIOS: usize = 12;

/// A part of the page that is about one outcome.
pub(super) struct Section {
    pub(super) outcome: Outcome,
    pub(super) title: &'static str,
    /// Says what the outcome means to somebody who sees it for the first time.
    lead: &'static str,
    /// Many rules can share one cause, which is then reported once.
    by_cause: bool,
}

/// In reading order.
pub(super) const SECTIONS: [Section; 5] = [
    Section {
        outcome: Outcome::Failed,
        title: "Failed",
        lead: "The target does what a rule forbids, or does not do what it demands.",
        by_cause: false,
    },
    Section {
        outcome: Outcome::Warned,
        title: "Warnings",
        lead: "Recommendations that the target does not follow. They do not change the verdict unless the run is strict.",
        by_cause: false,
    },
    Section {
        outcome: Outcome::CouldNotRun,
        title: "Could not run",
        lead: "These checks had no chance. They say nothing about the target, and without them there is no verdict on it.",
        by_cause: true,
    },
    Section {
        outcome: Outcome::NotObserved,
        title: "Not observed",
        lead: "These checks ran and saw nothing to judge. That is never a pass.",
        by_cause: true,
    },
    Section {
        outcome: Outcome::KnownFailing,
        title: "Known failing",
        lead: "Broken, as the baseline already says.",
        by_cause: false,
    },
];

/// All sections that have something to show.
pub(super) fn sections(record: &RunRecord) -> Markup {
    html! {
        @for section in &SECTIONS {
            @let rules = view::with_outcome(record, section.outcome);
            @if !rules.is_empty() {
                section.findings aria-labelledby=(section.outcome.name()) {
                    h2 id=(section.outcome.name()) { (section.title) " " span.n { (rules.len()) } }
                    p.lead { (section.lead) }
                    @if section.by_cause {
                        @for cause in view::causes(record, section.outcome) { (by_cause(&cause)) }
                    } @else {
                        @for rule in rules { (finding(rule)) }
                    }
                }
            }
        }
    }
}

fn finding(rule: &RuleEntry) -> Markup {
    html! {
        article.finding id=(parts::finding_anchor(rule)) {
            h3 { (parts::badge(rule.outcome)) " " a.rule href={ "#" (parts::anchor(rule)) } { (text::line(&rule.id, 80)) } " " span.message { (parts::prose(view::reason(rule))) } }
            (asked(rule))
            (scenarios(&parts::sequence_anchor(rule), rule, rule.outcome == Outcome::Failed))
        }
    }
}

/// What the rule says, and where.
pub(super) fn asked(rule: &RuleEntry) -> Markup {
    html! {
        p.asked {
            span.level { (view::level(rule.level)) } " " (parts::prose(&rule.statement)) " "
            span.source { (text::line(&rule.source, text::LINE)) " · " (text::line(&rule.profile, 80)) }
        }
    }
}

/// The scenarios that broke it. What failed lies open; what is less urgent, and what repeats it, unfolds. The ids of their
/// diagrams begin with `id`.
pub(super) fn scenarios(id: &str, rule: &RuleEntry, is_open: bool) -> Markup {
    let scenarios = view::explaining(rule);
    html! {
        @for (n, scenario) in scenarios.iter().take(SCENARIOS).enumerate() {
            @let id = format!("{id}-{n}");
            @if n == 0 && is_open { (seen(&id, scenario)) } @else {
                details.other { summary { (parts::prose(&scenario.name)) } (seen(&id, scenario)) }
            }
        }
        @if scenarios.len() > SCENARIOS {
            p { "… and " (text::count(scenarios.len() - SCENARIOS, "more scenario")) }
        }
    }
}

fn by_cause(cause: &view::Cause<'_>) -> Markup {
    html! {
        article.finding.cause {
            h3 { (parts::prose(cause.reason)) }
            ul.rules {
                @for rule in &cause.rules {
                    li {
                        a.rule href={ "#" (parts::anchor(rule)) } { (text::line(&rule.id, 80)) } " "
                        span.level { (view::level(rule.level)) } " " (parts::prose(&rule.statement)) " "
                        span.source { (text::line(&rule.profile, 80)) }
                        @for scenario in view::explaining(rule).into_iter().filter(|scenario| scenario.evidence.is_some()).take(1) {
                            details { summary { "Evidence" } (seen(&parts::sequence_anchor(rule), scenario)) }
                        }
                    }
                }
            }
        }
    }
}

fn seen(id: &str, scenario: &ScenarioEntry) -> Markup {
    html! {
        div.evidence {
            p.scenario { span.label { "Scenario" } " " (parts::prose(&scenario.name)) }
            @match &scenario.evidence {
                Some(found) => {
                    // The headline shows the baseline's reason, so what was found is shown here.
                    @if scenario.reason.is_some() { p { span.label { "Found" } " " (parts::prose(&found.message)) } }
                    (evidence(id, found))
                },
                None => {
                    p.where { code { (text::line(&scenario.file, text::LINE)) ":" (scenario.line) } }
                    @if let Some(reason) = &scenario.reason { p { (parts::prose(reason)) } }
                }
            }
        }
    }
}

/// What shows that a rule is broken. `id` is that of its diagram, unique in the page.
pub(crate) fn evidence(id: &str, found: &Evidence) -> Markup {
    html! {
        (about(found))
        @if let Some(scenario) = &found.scenario {
            p { span.label { "Seen in" } " " code { (text::line(scenario, text::LINE)) } }
        }
        (sequence::diagram(id, &found.frames))
        @if !found.frames.is_empty() { (frames(&found.frames)) }
        (parts::command("Run again", &found.rerun))
        @if let Some(reproduce) = &found.reproduce { (parts::command("By hand", reproduce)) }
    }
}

/// What was expected, what came, and what to change.
pub(crate) fn about(found: &Evidence) -> Markup {
    html! {
        p.step { code { (text::line(&found.step, text::LINE)) } }
        p.where {
            code { (text::line(&found.location, text::LINE)) }
            @if let Some(pointer) = &found.pointer { " at " code.pointer { (text::line(pointer, text::LINE)) } }
        }
        (compare(found))
        p.hint { span.label { "Hint" } " " (parts::prose(&found.hint)) }
    }
}

/// The messages in the order in which they travelled: towards the target on one side of the line, from it on the other.
pub(super) fn frames(frames: &[FrameExcerpt]) -> Markup {
    html! {
        details.frames {
            summary { (text::count(frames.len(), "message")) }
            ol.timeline {
                @for frame in frames.iter().take(plain::FRAMES) {
                    li class=(side(frame)) value=(frame.n) {
                        p { span.route { (view::route(frame)) } " " code { (text::line(&frame.channel, text::LINE)) } }
                        @if !frame.headers.is_empty() {
                            dl.headers {
                                @for (name, value) in &frame.headers {
                                    div { dt { (text::line(name, text::LINE)) } dd { (text::line(value, text::LINE)) } }
                                }
                            }
                        }
                        pre { code { (text::body_block(&frame.body, text::BODY)) } }
                    }
                }
            }
            @if frames.len() > plain::FRAMES {
                p { "… and " (text::count(frames.len() - plain::FRAMES, "more message")) " in the transcript" }
            }
        }
    }
}

fn side(frame: &FrameExcerpt) -> &'static str {
    match frame.direction {
        Direction::ToTarget => "to-target",
        Direction::FromTarget => "from-target",
        Direction::Observed => "observed",
    }
}
