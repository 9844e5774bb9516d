//! What Cucumber calls the outcome of each step.
//!
//! Neighbours: the parent writes it down. The record names one step at most: the one that found what is wrong.

use crate::record::{Outcome, RuleEntry, ScenarioEntry};
use crate::{plain, text, view};

/// Every rule that a scenario speaks for, in registry order.
pub(super) type Entries<'a> = Vec<(&'a RuleEntry, &'a ScenarioEntry)>;

/// The result of a step.
pub(super) struct Step {
    pub(super) status: &'static str,
    /// Why it is that.
    pub(super) message: Option<String>,
    /// What is to be read beside a step that did not fail.
    pub(super) log: Option<String>,
}

/// A result for each of the `lines` on which the steps stand.
pub(super) fn of(entries: &Entries<'_>, lines: &[u32]) -> Vec<Step> {
    let outcome = entries.iter().map(|(rule, scenario)| view::outcome_of(rule, scenario)).min();
    let outcome = outcome.unwrap_or(Outcome::NotObserved);
    let last = lines.len().saturating_sub(1);
    let found = entries.iter().find_map(|(rule, scenario)| {
        let found = scenario.evidence.as_ref().filter(|_| view::outcome_of(rule, scenario) == outcome)?;
        let (_, line, _) = view::place(&found.location)?;
        lines.iter().position(|own| *own == line)
    });
    let at = match outcome {
        Outcome::Failed | Outcome::KnownFailing | Outcome::Warned => found.unwrap_or(last),
        _ => 0,
    };
    let words = words(entries);
    let step = |n| {
        let status = status(outcome, n, at);
        let words = words.clone().filter(|_| n == at);
        // Beside any other status Cucumber's reports do not show a message, but they do show a log.
        let is_message = matches!(status, "FAILED" | "PENDING");
        let (message, log) = if is_message { (words, None) } else { (None, words) };
        Step { status, message, log }
    };
    (0..lines.len()).map(step).collect()
}

fn status(outcome: Outcome, n: usize, at: usize) -> &'static str {
    match outcome {
        Outcome::Failed if n == at => "FAILED",
        Outcome::Failed | Outcome::KnownFailing if n < at => "PASSED",
        Outcome::Failed | Outcome::KnownFailing | Outcome::NotApplicable | Outcome::Excluded => "SKIPPED",
        Outcome::Passed | Outcome::Noted | Outcome::Warned => "PASSED",
        // Which step had no chance is not recorded, so all of them share it.
        Outcome::NotObserved => "PENDING",
        Outcome::CouldNotRun => "UNKNOWN",
    }
}

/// What there is to say about a scenario that did not just pass.
fn words(entries: &Entries<'_>) -> Option<String> {
    let speaks = |(rule, scenario): &&(&RuleEntry, &ScenarioEntry)| {
        view::outcome_of(rule, scenario) != Outcome::Passed || view::why(scenario).is_some()
    };
    let said: Vec<_> = entries
        .iter()
        .filter(speaks)
        .map(|(rule, scenario)| {
            let outcome = view::label(view::outcome_of(rule, scenario));
            let why = view::why(scenario).or(rule.reason.as_deref()).unwrap_or(&rule.statement);
            format!("{outcome}: {}\n{}", text::line(why, text::LINE), plain::summary(rule, scenario))
        })
        .collect();
    (!said.is_empty()).then(|| said.join("\n"))
}
