//! From facts to outcomes, from outcomes to a verdict: pure, and sorted.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use callmark_reports::record::{
    Edition, Evidence, Level, Outcome, Partial, RUN_SCHEMA, RuleEntry, RunRecord, ScenarioEntry, SuiteInfo,
    Summary, Verdict,
};

use super::counting::Counting;
use super::scenario_result::ScenarioResult;
use super::writer::Facts;
use super::{Library, RunPlan, Selection, always, evidence};
use crate::engine::family::Families;
use crate::engine::family::Profile;
use crate::engine::judge::{CheckFailure, Finding};
use crate::engine::secrets::Redactor;
use crate::engine::session::Declared;
use crate::spec::catalog::{Case, Place};
use crate::spec::library;
use crate::spec::registry::Rule;

/// Tag of scenarios that pass where nothing happens: they show that a live target leaves something alone.
pub(crate) const ABSENCE: &str = "absence";

/// Makes the record, without these secrets.
pub(super) fn fold(
    library: &Library,
    (plan, secrets): (&RunPlan, &[String]),
    (counting, cases): (&Counting, &[&Case]),
    facts: &BTreeMap<Place, Facts>,
    results: &BTreeMap<String, ScenarioResult>,
    partial: Option<Partial>,
) -> RunRecord {
    let secrets = Arc::new(Redactor::hiding(secrets));
    let declared = Declared::by(&plan.sessions);
    let judge = Fold { families: library.families, secrets, plan, declared, facts, results };
    let concluded = conclude(library, &plan.selection, (counting, cases), |rule, case| {
        Ok::<_, Infallible>(judge.scenario(rule, case))
    });
    let Ok((rules, edition)) = concluded;
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        suite: SuiteInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            features_sha256: library::features_sha256().to_owned(),
            seed: plan.seed,
        },
        target: plan.target.clone(),
        edition,
        shard: plan.selection.shard,
        partial,
        verdict: if plan.selection.shard.is_some() || partial.is_some() {
            Verdict::of_part(&rules)
        } else {
            Verdict::of(&rules)
        },
        summary: Summary::of(&rules),
        rules,
        chaos: Vec::new(),
    }
}

/// What the rules come to by the cases that count, and what the record says of the edition.
pub(super) fn conclude<E>(
    library: &Library,
    selection: &Selection,
    (counting, cases): (&Counting, &[&Case]),
    entry: impl Fn(&Rule, &Case) -> Result<ScenarioEntry, E>,
) -> Result<(Vec<RuleEntry>, Option<Edition>), E> {
    let (counted, newer) = counting.split(cases);
    let newer = if newer.is_empty() { Vec::new() } else { rules(library, selection, &newer, &entry)? };
    Ok((rules(library, selection, &counted, entry)?, counting.entry(newer)))
}

/// The selected rules that have one of these cases or are excluded, in the order of the registry, with an entry for each
/// case.
pub(super) fn rules<E>(
    library: &Library,
    selection: &Selection,
    cases: &[&Case],
    entry: impl Fn(&Rule, &Case) -> Result<ScenarioEntry, E>,
) -> Result<Vec<RuleEntry>, E> {
    let mut rules = Vec::new();
    let is_selected = |profile: &&Profile| selection.profiles.iter().any(|own| own == profile.id);
    for profile in library.families.profiles().filter(is_selected) {
        for rule in library.registry.of_profile(profile.id).filter(|rule| !rule.is_pending(profile.id)) {
            let own: Vec<&Case> = cases
                .iter()
                .copied()
                .filter(|case| case.profile == profile.id && case.rules.contains(&rule.id))
                .collect();
            if own.is_empty() && !(rule.excluded.is_some() && selection.names(&rule.id)) {
                continue;
            }
            let scenarios = own.iter().map(|case| entry(rule, case)).collect::<Result<_, E>>()?;
            rules.push(rule_entry(rule, profile.id, &own, scenarios));
        }
    }
    Ok(rules)
}

fn rule_entry(rule: &Rule, profile: &str, cases: &[&Case], scenarios: Vec<ScenarioEntry>) -> RuleEntry {
    let (outcome, reason) = if let Some(reason) = &rule.excluded {
        (Outcome::Excluded, Some(reason.clone()))
    } else {
        let speaker = |(case, entry): (&&Case, _)| Speaker { sees: Sight::of(case), entry };
        summed(&cases.iter().zip(&scenarios).map(speaker).collect::<Vec<_>>())
    };
    RuleEntry {
        id: rule.id.clone(),
        level: rule.level,
        profile: profile.to_owned(),
        statement: rule.statement.clone(),
        source: rule.source.clone(),
        outcome,
        reason,
        scenarios,
    }
}

/// The entry of a case of which this came.
pub(super) fn entry(
    case: &Case,
    (outcome, reason, evidence): (Outcome, Option<String>, Option<Evidence>),
) -> ScenarioEntry {
    ScenarioEntry {
        id: case.id.clone(),
        name: case.name.clone(),
        file: case.at.file.clone(),
        line: case.at.line,
        outcome,
        reason,
        evidence,
    }
}

struct Fold<'a> {
    families: Families,
    secrets: Arc<Redactor>,
    plan: &'a RunPlan,
    declared: Declared,
    facts: &'a BTreeMap<Place, Facts>,
    results: &'a BTreeMap<String, ScenarioResult>,
}

impl Fold<'_> {
    fn scenario(&self, rule: &Rule, case: &Case) -> ScenarioEntry {
        let (outcome, reason, evidence) = self.outcome(rule, case);
        let reason = reason.map(|reason| self.redacted(&reason));
        entry(case, (outcome, reason, evidence))
    }

    /// A reason without secrets: it may repeat what the target said.
    fn redacted(&self, reason: &str) -> String {
        self.secrets.text(reason)
    }

    fn outcome(&self, rule: &Rule, case: &Case) -> (Outcome, Option<String>, Option<Evidence>) {
        if let Some((cause, message)) = self.plan.blocked.get(&case.profile) {
            return (Outcome::CouldNotRun, Some(format!("{}: {message}", cause.name())), None);
        }
        let missing = self.declared.undeclared(case);
        if !missing.is_empty() {
            let reason = format!("the target does not declare `{}`", missing.join("`, `"));
            return (Outcome::NotApplicable, Some(reason), None);
        }
        let Some(facts) = self.facts.get(&case.at).filter(|facts| facts.finished) else {
            return (
                Outcome::CouldNotRun,
                Some("suite: the scenario did not come to an end".to_owned()),
                None,
            );
        };
        match &facts.trouble {
            None => self.without_trouble(rule, case),
            Some(CheckFailure::NotObserved(reason)) => (Outcome::NotObserved, Some(reason.clone()), None),
            Some(CheckFailure::NotApplicable(reason)) => {
                (Outcome::NotApplicable, Some(reason.to_string()), None)
            }
            Some(CheckFailure::Permitted(way)) => (Outcome::NotApplicable, Some(way.to_string()), None),
            Some(CheckFailure::CouldNotRun { cause, message }) => {
                (Outcome::CouldNotRun, Some(format!("{}: {message}", cause.name())), None)
            }
            Some(CheckFailure::Broken(finding)) => {
                let asked = rule.level.max(case.level.unwrap_or(rule.level));
                let outcome = of_finding(asked, finding, self.plan.strict);
                if outcome == Outcome::Noted {
                    return (outcome, Some(finding.message.clone()), None);
                }
                let nothing = ScenarioResult::default();
                let context = evidence::Context {
                    case,
                    naming: self.families.naming(&case.profile),
                    codec: self.families.codec(&case.profile),
                    rule: &rule.id,
                    facts,
                    result: self.results.get(&case.id).unwrap_or(&nothing),
                    rerun: &self.plan.rerun,
                    secrets: &self.secrets,
                };
                let mut evidence = evidence::of(finding, &context);
                if outcome == Outcome::Warned
                    && rule.level == Level::Must
                    && let Some(why) = lenience(finding, rule)
                {
                    evidence.hint = format!("{} (a warning and no failure: {why})", evidence.hint);
                }
                (outcome, None, Some(evidence))
            }
        }
    }

    fn without_trouble(&self, rule: &Rule, case: &Case) -> (Outcome, Option<String>, Option<Evidence>) {
        if let Some(reason) = self.families.idle(&self.plan.sessions, &case.profile) {
            return (Outcome::NotObserved, Some(reason.to_owned()), None);
        }
        let notes =
            self.results.get(&case.id).map(|result| result.notes.join("; ")).filter(|text| !text.is_empty());
        let outcome = if rule.level == Level::May { Outcome::Noted } else { Outcome::Passed };
        (outcome, notes, None)
    }
}

/// Why a finding against a MUST rule is a warning: for what it is about, or because the scenario asks for less. The lint
/// sees to it that rules of such scenarios name an ambiguity.
fn lenience<'a>(finding: &Finding, rule: &'a Rule) -> Option<&'a str> {
    finding.lenience().or(rule.ambiguity.as_deref())
}

/// What a finding comes to, for a rule and scenario of this level.
fn of_finding(level: Level, finding: &Finding, strict: bool) -> Outcome {
    match level.max(finding.level().unwrap_or(level)) {
        Level::May => Outcome::Noted,
        Level::Should if !strict => Outcome::Warned,
        Level::Must | Level::Should => Outcome::Failed,
    }
}

/// The level of a scenario: that of the strictest of its rules, unless it asks for less.
pub(super) fn level(library: &Library, case: &Case) -> Level {
    let strictest = case.rules.iter().filter_map(|id| Some(library.registry.rule(id)?.level)).min();
    strictest.unwrap_or(Level::Must).max(case.level.unwrap_or(Level::Must))
}

/// What the progress shows of a scenario of this level.
pub(super) fn shown(level: Level, facts: &Facts, strict: bool) -> Outcome {
    match &facts.trouble {
        None => Outcome::Passed,
        Some(CheckFailure::Broken(finding)) => of_finding(level, finding, strict),
        Some(CheckFailure::NotObserved(_)) => Outcome::NotObserved,
        Some(CheckFailure::NotApplicable(_) | CheckFailure::Permitted(_)) => Outcome::NotApplicable,
        Some(CheckFailure::CouldNotRun { .. }) => Outcome::CouldNotRun,
    }
}

/// The outcome of a rule: its scenarios' most urgent one; not-applicable ones do not speak.
///
/// That nothing happened, or that every exchange of other scenarios was right, does not speak for a rule alone: where all
/// scenarios that would have seen its subject are not applicable, so is the rule. What judges every exchange does not
/// speak where it saw none, unless nothing else does.
fn summed(scenarios: &[Speaker<'_>]) -> (Outcome, Option<String>) {
    let outcome_of = |speaker: &Speaker<'_>| (speaker.entry.outcome, speaker.entry.reason.clone());
    let seeing: Vec<&Speaker<'_>> =
        scenarios.iter().filter(|speaker| speaker.sees == Sight::Subject).collect();
    let is_silent = |speaker: &Speaker<'_>| {
        speaker.sees == Sight::Every && speaker.entry.outcome == Outcome::NotObserved && !seeing.is_empty()
    };
    let speaking = scenarios.iter().filter(|speaker| speaker.is_applicable() && !is_silent(speaker));
    // `Outcome` is ordered by urgency.
    let Some(most_urgent) = speaking.min_by_key(|speaker| speaker.entry.outcome) else {
        let reason = scenarios.first().and_then(|speaker| speaker.entry.reason.clone());
        return (Outcome::NotApplicable, reason);
    };
    let holds = matches!(most_urgent.entry.outcome, Outcome::Passed | Outcome::Noted);
    match seeing.first() {
        Some(first) if holds && !seeing.iter().any(|speaker| speaker.is_applicable()) => outcome_of(first),
        _ => outcome_of(most_urgent),
    }
}

/// What one scenario says of a rule.
struct Speaker<'a> {
    sees: Sight,
    entry: &'a ScenarioEntry,
}

/// What a scenario sees of the subject of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// It brings it about.
    Subject,
    /// That nothing happens.
    Absence,
    /// What other scenarios bring about.
    Every,
}

impl Sight {
    fn of(case: &Case) -> Self {
        if always::is_always(case) {
            Self::Every
        } else if case.tags.contains(ABSENCE) {
            Self::Absence
        } else {
            Self::Subject
        }
    }
}

impl Speaker<'_> {
    fn is_applicable(&self) -> bool {
        self.entry.outcome != Outcome::NotApplicable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(outcome: Outcome) -> ScenarioEntry {
        ScenarioEntry {
            id: "f/r/s".to_owned(),
            name: "a scenario".to_owned(),
            file: "features/f.feature".to_owned(),
            line: 1,
            outcome,
            reason: (outcome == Outcome::NotApplicable).then(|| "the target does not declare `x`".to_owned()),
            evidence: None,
        }
    }

    #[test]
    fn a_warning_of_a_must_says_why() {
        let registry = crate::spec::registry::Registry::load().expect("a registry");
        let check = |id: &str, finding: Finding, expect: Option<&str>| {
            let rule = registry.rule(id).expect("a rule");
            assert_eq!(rule.level, Level::Must, "{id}");
            assert_eq!(lenience(&finding, rule), expect, "{id}");
        };
        let finding = || Finding::new("it is wrong", "change it");
        let why = "the form of an MCP error is not settled (ambiguity A8)";
        check("BUS-69", finding().recommended(why), Some(why));
        check("BUS-69", finding(), None);
        check("HUB-57", finding(), registry.rule("HUB-57").and_then(|rule| rule.ambiguity.as_deref()));
        assert_eq!(of_finding(Level::Must, &finding().recommended(why), false), Outcome::Warned);
        assert_eq!(of_finding(Level::Must, &finding().recommended(why), true), Outcome::Failed);
        assert_eq!(of_finding(Level::Must, &finding(), false), Outcome::Failed);
    }

    /// The outcome of a rule with these scenarios.
    fn outcome(speaking: &[(Sight, Outcome)]) -> Outcome {
        let entries: Vec<(Sight, ScenarioEntry)> =
            speaking.iter().map(|(sees, outcome)| (*sees, entry(*outcome))).collect();
        let speakers: Vec<Speaker<'_>> =
            entries.iter().map(|(sees, entry)| Speaker { sees: *sees, entry }).collect();
        let (outcome, reason) = summed(&speakers);
        assert_eq!(reason.is_some(), outcome == Outcome::NotApplicable, "{speaking:?}");
        outcome
    }

    #[test]
    fn what_sees_only_that_nothing_happened_does_not_speak_alone() {
        use Outcome::{Failed, NotApplicable, NotObserved, Passed};
        let check = |seeing: &[Outcome], absence: &[Outcome], expect: Outcome| {
            let seeing = seeing.iter().map(|outcome| (Sight::Subject, *outcome));
            let all: Vec<_> =
                seeing.chain(absence.iter().map(|outcome| (Sight::Absence, *outcome))).collect();
            assert_eq!(outcome(&all), expect, "{all:?}");
        };
        check(&[NotApplicable, NotApplicable], &[Passed], NotApplicable);
        check(&[NotApplicable, Passed], &[Passed], Passed);
        check(&[NotApplicable], &[Failed], Failed);
        check(&[NotApplicable], &[NotObserved], NotObserved);
        check(&[], &[Passed, NotApplicable], Passed);
        check(&[NotApplicable], &[NotApplicable], NotApplicable);
        check(&[NotObserved, Passed], &[Passed], NotObserved);
    }

    #[test]
    fn what_judges_every_exchange_speaks_where_it_saw_one_and_never_alone_for_others() {
        use Outcome::{Failed, NotApplicable, NotObserved, Passed};
        let check = |seeing: &[Outcome], every: Outcome, expect: Outcome| {
            let mut all: Vec<_> = seeing.iter().map(|outcome| (Sight::Subject, *outcome)).collect();
            all.push((Sight::Every, every));
            assert_eq!(outcome(&all), expect, "{all:?}");
        };
        check(&[Passed], Failed, Failed);
        check(&[NotApplicable], Failed, Failed);
        check(&[Passed], NotObserved, Passed);
        check(&[NotApplicable], NotObserved, NotApplicable);
        check(&[NotApplicable], Passed, NotApplicable);
        check(&[NotObserved], Passed, NotObserved);
        check(&[], Passed, Passed);
        check(&[], NotObserved, NotObserved);
    }
}
