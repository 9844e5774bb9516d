//! From facts to outcomes, from outcomes to a verdict: pure, and sorted.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::{
    Evidence, Level, Outcome, RUN_SCHEMA, RuleEntry, RunRecord, ScenarioEntry, SuiteInfo, Summary, Verdict,
};

use super::engine::undeclared;
use super::remains::Remains;
use super::writer::Facts;
use super::{Library, RunPlan, evidence};
use crate::catalogue::{Case, Place};
use crate::judge::Trouble;
use crate::library;
use crate::registry::{PROFILES, Rule};

/// Makes the record.
pub(super) fn fold(
    library: &Library,
    plan: &RunPlan,
    cases: &[&Case],
    capabilities: &BTreeSet<String>,
    facts: &BTreeMap<Place, Facts>,
    remains: &BTreeMap<String, Remains>,
) -> RunRecord {
    let judge = Fold { plan, capabilities, facts, remains };
    let mut rules = Vec::new();
    for profile in
        PROFILES.iter().filter(|profile| plan.selection.profiles.iter().any(|own| own == profile.id))
    {
        for rule in library.registry.of_profile(profile.id).filter(|rule| !rule.is_pending(profile.id)) {
            let own: Vec<&Case> = cases
                .iter()
                .copied()
                .filter(|case| case.profile == profile.id && case.rules.contains(&rule.id))
                .collect();
            if !own.is_empty() || (rule.excluded.is_some() && plan.selection.names(&rule.id)) {
                rules.push(judge.rule(rule, profile.id, &own));
            }
        }
    }
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        suite: SuiteInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            features_sha256: library::features_sha256().to_owned(),
            seed: plan.seed,
        },
        target: plan.target.clone(),
        verdict: Verdict::of(&rules),
        summary: Summary::of(&rules),
        rules,
    }
}

struct Fold<'a> {
    plan: &'a RunPlan,
    capabilities: &'a BTreeSet<String>,
    facts: &'a BTreeMap<Place, Facts>,
    remains: &'a BTreeMap<String, Remains>,
}

impl Fold<'_> {
    fn rule(&self, rule: &Rule, profile: &str, cases: &[&Case]) -> RuleEntry {
        let scenarios: Vec<ScenarioEntry> = cases.iter().map(|case| self.scenario(rule, case)).collect();
        let (outcome, reason) = match &rule.excluded {
            Some(reason) => (Outcome::Excluded, Some(reason.clone())),
            None => summed(&scenarios),
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

    fn scenario(&self, rule: &Rule, case: &Case) -> ScenarioEntry {
        let (outcome, reason, evidence) = self.outcome(rule, case);
        let reason = reason.map(|reason| self.redacted(reason));
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

    /// A reason without secrets: it may repeat what the target said.
    fn redacted(&self, reason: String) -> String {
        self.plan.secrets.iter().fold(reason, |reason, secret| reason.replace(secret, "***"))
    }

    fn outcome(&self, rule: &Rule, case: &Case) -> (Outcome, Option<String>, Option<Evidence>) {
        if let Some((cause, message)) = self.plan.blocked.get(&case.profile) {
            return (Outcome::CouldNotRun, Some(format!("{}: {message}", cause.name())), None);
        }
        let missing = undeclared(case, self.capabilities);
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
            Some(Trouble::NotObserved(reason)) => (Outcome::NotObserved, Some(reason.clone()), None),
            Some(Trouble::NotApplicable(reason)) => (Outcome::NotApplicable, Some(reason.clone()), None),
            Some(Trouble::CouldNotRun { cause, message }) => {
                (Outcome::CouldNotRun, Some(format!("{}: {message}", cause.name())), None)
            }
            Some(Trouble::Broken(finding)) => {
                let level = [Some(rule.level), case.level, finding.level].into_iter().flatten().max();
                let outcome = match level {
                    Some(Level::May) => return (Outcome::Noted, Some(finding.message.clone()), None),
                    Some(Level::Should) if !self.plan.strict => Outcome::Warned,
                    _ => Outcome::Failed,
                };
                let nothing = Remains::default();
                let context = evidence::Context {
                    case,
                    rule: &rule.id,
                    facts,
                    remains: self.remains.get(&case.id).unwrap_or(&nothing),
                    rerun: &self.plan.rerun,
                    secrets: &self.plan.secrets,
                };
                (outcome, None, Some(evidence::of(finding, &context)))
            }
        }
    }

    fn without_trouble(&self, rule: &Rule, case: &Case) -> (Outcome, Option<String>, Option<Evidence>) {
        if let Some(reason) = self.plan.stage.idle(&case.profile) {
            return (Outcome::NotObserved, Some(reason.to_owned()), None);
        }
        let notes = self
            .remains
            .get(&case.id)
            .map(|remains| remains.notes.join("; "))
            .filter(|text| !text.is_empty());
        let outcome = if rule.level == Level::May { Outcome::Noted } else { Outcome::Passed };
        (outcome, notes, None)
    }
}

/// The outcome of a rule: its scenarios' most urgent one; not-applicable ones do not speak.
fn summed(scenarios: &[ScenarioEntry]) -> (Outcome, Option<String>) {
    let speaking = scenarios.iter().filter(|scenario| scenario.outcome != Outcome::NotApplicable);
    // `Outcome` is ordered by urgency.
    match speaking.min_by_key(|scenario| scenario.outcome) {
        Some(scenario) => (scenario.outcome, scenario.reason.clone()),
        None => (Outcome::NotApplicable, scenarios.first().and_then(|scenario| scenario.reason.clone())),
    }
}
