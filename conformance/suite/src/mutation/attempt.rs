//! A mutant, tried in chosen scenarios: with one number of them at a time, or with several, which must break the same rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callmark_reports::matrix::{BrokenRules, MutantResult};
use callmark_reports::record::{Outcome, TargetInfo};

use crate::engine::judge::Cause;
use crate::engine::run::{Library, RunPlan, Selection};
use crate::engine::session::Sessions;
use crate::mutation::mutant::{EVERYTHING, Mutant};
use crate::mutation::mutating_wire::MutatingWire;
use crate::mutation::target::{Patience, TargetInstance};

/// How a mutant is tried.
pub(super) struct How {
    pub(super) selection: Selection,
    pub(super) patience: Patience,
    /// In what order, with the first number of scenarios at a time.
    pub(super) order: Order,
    /// Other numbers.
    pub(super) also: &'static [usize],
}

/// In which order the scenarios of a run are driven.
#[derive(Clone)]
pub(super) struct Order {
    /// So many at a time.
    pub(super) jobs: usize,
    /// This one first.
    pub(super) lead: Option<String>,
    /// So many again at most, because they were silent.
    pub(super) alone: usize,
}

/// Tries a mutant with each number of scenarios at a time. The result is that of the first, with what each broke where
/// that is not the same.
pub(super) async fn attempts(
    library: &Arc<Library>,
    mutant: &Mutant,
    target: &mut dyn TargetInstance,
    How { selection, patience, order, also }: &How,
) -> MutantResult {
    let mut result = attempt(library, mutant, target, (selection, *patience, order.clone())).await;
    let mut by_jobs = BTreeMap::from([(order.jobs, broken_rules(&result))]);
    for jobs in also.iter().copied() {
        let order = Order { jobs, ..order.clone() };
        let other = attempt(library, mutant, target, (selection, *patience, order)).await;
        by_jobs.insert(jobs, broken_rules(&other));
    }
    result.by_jobs = differences(by_jobs);
    result
}

/// What each number of scenarios at a time broke, where that is not the same for all.
fn differences(by_jobs: BTreeMap<usize, BTreeSet<String>>) -> Vec<BrokenRules> {
    let distinct: BTreeSet<&BTreeSet<String>> = by_jobs.values().collect();
    if distinct.len() < 2 {
        return Vec::new();
    }
    by_jobs
        .into_iter()
        .map(|(jobs, rules)| BrokenRules { jobs, rules: rules.into_iter().collect() })
        .collect()
}

fn broken_rules(result: &MutantResult) -> BTreeSet<String> {
    let own = result.killed.then_some(&result.rule);
    result.collateral.iter().chain(own).cloned().collect()
}

/// A run of a mutant, or of none.
pub(super) fn plan(
    name: &str,
    selection: Selection,
    sessions: Sessions,
    blocked: BTreeMap<String, (Cause, String)>,
    Order { jobs, lead, alone }: Order,
) -> Arc<RunPlan> {
    let target = TargetInfo { name: name.to_owned(), version: String::new() };
    Arc::new(RunPlan {
        blocked,
        jobs,
        lead,
        alone,
        rerun: "callmark sabotage".to_owned(),
        ..RunPlan::new(selection, sessions, target)
    })
}

async fn attempt(
    library: &Arc<Library>,
    mutant: &Mutant,
    target: &mut dyn TargetInstance,
    (selection, patience, order): (&Selection, Patience, Order),
) -> MutantResult {
    let wire = Arc::new(MutatingWire::of(mutant, library.families.codec(&mutant.profile)));
    let mut blocked = BTreeMap::new();
    let sessions = match target.sessions(&mutant.profile, wire, patience).await {
        Ok(sessions) => sessions,
        Err(error) => {
            blocked.insert(mutant.profile.clone(), (Cause::Reachability, error));
            Sessions::default()
        }
    };
    let plan = plan(&mutant.id, selection.clone(), sessions, blocked, order);
    let record = crate::engine::run::run(library, &plan).await.record;
    plan.sessions.close().await;
    let broken = |outcome: Outcome| matches!(outcome, Outcome::Failed | Outcome::Warned);
    let outcome = record
        .rules
        .iter()
        .find(|rule| rule.id == mutant.rule)
        .map_or(Outcome::NotObserved, |rule| rule.outcome);
    let collateral: BTreeSet<String> = record
        .rules
        .iter()
        .filter(|rule| rule.id != mutant.rule && broken(rule.outcome))
        .map(|rule| rule.id.clone())
        .collect();
    let declared = |rule: &String| mutant.collateral.contains(rule) || mutant.collateral.contains(EVERYTHING);
    MutantResult {
        id: mutant.id.clone(),
        rule: mutant.rule.clone(),
        profile: mutant.profile.clone(),
        does: mutant.does.clone(),
        killed: broken(outcome),
        outcome,
        declared_collateral: mutant.collateral.iter().cloned().collect(),
        undeclared_collateral: collateral.iter().filter(|rule| !declared(rule)).cloned().collect(),
        collateral: collateral.into_iter().collect(),
        by_jobs: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_number_broke_is_said_where_it_is_not_the_same() {
        let rules = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<String>>();
        let same = BTreeMap::from([(1, rules(&["BRD-51"])), (64, rules(&["BRD-51"]))]);
        assert!(differences(same).is_empty());
        let other = BTreeMap::from([(64, rules(&[])), (1, rules(&["BRD-51"]))]);
        assert_eq!(
            differences(other),
            [
                BrokenRules { jobs: 1, rules: vec!["BRD-51".to_owned()] },
                BrokenRules { jobs: 64, rules: vec![] }
            ]
        );
    }
}
