//! The baseline: failures that a team knows of and has given a reason for, so that a run distinguishes new ones from
//! them.
//!
//! `file` reads and writes it, `date` is what an entry expires on. What is known becomes
//! [`Outcome::KnownFailing`] and no longer decides the verdict; an entry that has nothing left to cover is stale.
//! Everything here is a function of the record, the entries and a date that the caller names.
//! Deliberately absent: reading files, the clock, exit codes (`cli`), and any pattern or wildcard in an entry:
//! each names its rule, so that what is new is never known by accident.

mod date;
mod file;

use crate::record::{Outcome, RuleEntry, RunRecord, ScenarioEntry, Summary};
use crate::{text, view};

pub use date::Date;
pub use file::BaselineError;

/// Known failures, in the order of their file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// No two of them name the same.
    pub entries: Vec<Known>,
}

/// One known failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Id of the rule.
    pub rule: String,
    /// Id of the one scenario that may fail; without it all of the rule may.
    pub scenario: Option<String>,
    /// Why it is accepted for now.
    pub reason: String,
    /// Where it is followed up.
    pub issue: Option<String>,
    /// The last day on which it is accepted.
    pub expires: Option<Date>,
}

/// An entry that a run has shown to be out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Which.
    pub entry: Known,
    /// Why.
    pub cause: StaleCause,
}

/// Why an entry is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StaleCause {
    /// Everything that it covers was checked and holds, or is not asked of the target any more.
    NoLongerFails,
    /// There is no such rule.
    UnknownRule,
    /// The rule has no such scenario.
    UnknownScenario,
    /// Its last day is over. It still covers its failure, so that the run reports nothing else in its place.
    Expired,
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", text::line(&self.entry.rule, 80))?;
        if let Some(scenario) = &self.entry.scenario {
            write!(f, " in `{}`", text::line(scenario, text::LINE))?;
        }
        match self.cause {
            StaleCause::NoLongerFails => write!(f, " no longer fails"),
            StaleCause::UnknownRule => write!(f, " is no rule"),
            StaleCause::UnknownScenario => write!(f, " is no scenario of the rule"),
            StaleCause::Expired => match self.entry.expires {
                Some(date) => write!(f, " was accepted until {date}"),
                None => write!(f, " has expired"),
            },
        }
    }
}

/// A scenario of a rule, as the features have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleScenario {
    /// Its id.
    pub id: String,
    /// Whether a whole run of this target runs it. A run that did not cannot know whether an entry is stale.
    pub is_expected: bool,
}

/// All scenarios of a rule; nothing for a rule that there is not.
pub type ScenariosOf<'a> = &'a dyn Fn(&str) -> Option<Vec<RuleScenario>>;

impl Baseline {
    /// Makes the failures of a record that are known `known-failing`, and its verdict accordingly.
    /// Answers the stale entries, in the order of the file.
    pub fn apply(&self, record: &mut RunRecord, today: Date, scenarios: ScenariosOf<'_>) -> Vec<Stale> {
        let mut used = vec![false; self.entries.len()];
        for rule in &mut record.rules {
            self.cover(rule, &mut used);
        }
        record.summary = Summary::of(&record.rules);
        record.verdict = record.concluded();
        let entries = self.entries.iter().zip(used);
        let stale = |(entry, used): (&Known, bool)| {
            let cause = entry.stale(used, record, today, scenarios)?;
            Some(Stale { entry: entry.clone(), cause })
        };
        entries.filter_map(stale).collect()
    }

    /// The baseline with which the record would not fail: what is known already with its reason, and an entry for
    /// each further failure. Entries for what does not fail any more are dropped.
    #[must_use]
    pub fn renewed(&self, record: &RunRecord, today: Date, scenarios: ScenariosOf<'_>) -> Self {
        let mut rest = record.clone();
        let stale = self.apply(&mut rest, today, scenarios);
        let is_gone = |entry: &Known| {
            stale.iter().any(|stale| stale.entry == *entry && stale.cause != StaleCause::Expired)
        };
        let mut entries: Vec<Known> = self.entries.iter().filter(|entry| !is_gone(entry)).cloned().collect();
        for rule in view::with_outcome(&rest, Outcome::Failed) {
            for entry in new_entries(rule, &rest) {
                // A rule of several profiles is named once.
                if !entries.iter().any(|own| own.rule == entry.rule && own.scenario == entry.scenario) {
                    entries.push(entry);
                }
            }
        }
        Self { entries }
    }

    fn cover(&self, rule: &mut RuleEntry, used: &mut [bool]) {
        if !is_broken(rule.outcome) {
            return;
        }
        let mut known = None;
        let mut is_accounted_for = false;
        for scenario in rule.scenarios.iter_mut().filter(|scenario| is_broken(scenario.outcome)) {
            is_accounted_for = true;
            if let Some(index) = self.entry(&rule.id, Some(&scenario.id)) {
                used[index] = true;
                let explanation = self.entries[index].explanation();
                scenario.outcome = Outcome::KnownFailing;
                scenario.reason = Some(explanation.clone());
                known.get_or_insert(explanation);
            }
        }
        if is_accounted_for {
            let speaking = rule.scenarios.iter().map(|scenario| scenario.outcome);
            let speaking = speaking.filter(|outcome| *outcome != Outcome::NotApplicable);
            if known.is_some() {
                rule.outcome = speaking.min().unwrap_or(rule.outcome);
            }
        } else if let Some(index) = self.entry(&rule.id, None) {
            used[index] = true;
            known = Some(self.entries[index].explanation());
            rule.outcome = Outcome::KnownFailing;
        }
        if rule.outcome == Outcome::KnownFailing {
            rule.reason = known;
        }
    }

    /// The entry for a scenario: its own before its rule's.
    fn entry(&self, rule: &str, scenario: Option<&str>) -> Option<usize> {
        let find = |wanted: Option<&str>| {
            self.entries.iter().position(|own| own.rule == rule && own.scenario.as_deref() == wanted)
        };
        scenario.and_then(|scenario| find(Some(scenario))).or_else(|| find(None))
    }
}

impl Known {
    fn explanation(&self) -> String {
        let until = self.expires.map(|date| format!("until {date}"));
        let more: Vec<_> = self.issue.iter().cloned().chain(until).collect();
        if more.is_empty() { self.reason.clone() } else { format!("{} ({})", self.reason, more.join(", ")) }
    }

    fn stale(
        &self,
        used: bool,
        record: &RunRecord,
        today: Date,
        scenarios: ScenariosOf<'_>,
    ) -> Option<StaleCause> {
        let Some(all) = scenarios(&self.rule) else { return Some(StaleCause::UnknownRule) };
        let covers = |id: &str| self.scenario.as_ref().is_none_or(|own| own == id);
        if self.scenario.is_some() && !all.iter().any(|scenario| covers(&scenario.id)) {
            return Some(StaleCause::UnknownScenario);
        }
        if self.expires.is_some_and(|last| last < today) {
            return Some(StaleCause::Expired);
        }
        if used {
            return None;
        }
        let holds = |id: &str| {
            let own = record.rules.iter().filter(|rule| rule.id == self.rule);
            let mut own =
                own.flat_map(|rule| &rule.scenarios).filter(|scenario| scenario.id == id).peekable();
            own.peek().is_some() && own.all(settled)
        };
        let mut expected =
            all.iter().filter(|scenario| scenario.is_expected && covers(&scenario.id)).peekable();
        // A target that is not asked for any of it, or a run that left some out, says nothing about the entry.
        let is_over = expected.peek().is_some() && expected.all(|scenario| holds(&scenario.id));
        is_over.then_some(StaleCause::NoLongerFails)
    }
}

/// Whether it was judged, and nothing is wrong with it.
fn settled(scenario: &ScenarioEntry) -> bool {
    matches!(scenario.outcome, Outcome::Passed | Outcome::Noted | Outcome::NotApplicable)
}

fn is_broken(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Failed | Outcome::Warned)
}

/// One entry where all of the rule fails, else one for each scenario that does: what still holds stays asked for.
fn new_entries(rule: &RuleEntry, record: &RunRecord) -> Vec<Known> {
    let everywhere: Vec<_> = record.rules.iter().filter(|own| own.id == rule.id).collect();
    let mut speaking = everywhere.iter().flat_map(|own| &own.scenarios);
    let all_fail = speaking.all(|scenario| {
        matches!(scenario.outcome, Outcome::Failed | Outcome::Warned | Outcome::NotApplicable)
    });
    let entry = |scenario: Option<&ScenarioEntry>| Known {
        rule: rule.id.clone(),
        scenario: scenario.map(|scenario| scenario.id.clone()),
        reason: format!(
            "not explained yet: {}",
            text::line(scenario.and_then(view::why).unwrap_or_else(|| view::reason(rule)), 200)
        ),
        issue: None,
        expires: None,
    };
    if all_fail {
        return vec![entry(None)];
    }
    rule.scenarios.iter().filter(|own| is_broken(own.outcome)).map(|own| entry(Some(own))).collect()
}
