//! What passes while a profile runs without a fault.
//!
//! It decides in which scenarios mutants are tried, so a run in which the correct target was late must not count: in a
//! silent scenario nothing passes that a mutant could change.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use callmark_reports::record::{Outcome, RuleEntry};
use tokio::sync::OnceCell;

use crate::engine::run::{Library, Selection};
use crate::mutation::attempt::{Order, plan};
use crate::mutation::reach::{Recording, Traffic};
use crate::mutation::target::{Patience, TargetInstance};
use crate::net::wire::Wire;
use crate::transcript::lock;

/// How often a profile is run without a fault, until it holds its rules.
const RUNS: usize = 3;

/// Silent scenarios of such a run that are repeated alone at most: on a machine that is too busy for more, no mutant
/// could be tried either.
const ALONE: usize = 200;

/// What passes without a fault, by profile.
#[derive(Default)]
pub(super) struct Traffics(Mutex<HashMap<String, Arc<OnceCell<Option<Traffic>>>>>);

impl Traffics {
    pub(super) fn of(&self, profile: &str) -> Arc<OnceCell<Option<Traffic>>> {
        Arc::clone(lock(&self.0).entry(profile.to_owned()).or_default())
    }
}

/// Listens to a profile that runs without a fault; nothing where it cannot run.
///
/// # Errors
/// It does not hold its rules.
pub(super) async fn listen(
    library: &Arc<Library>,
    profile: &str,
    target: &mut dyn TargetInstance,
    jobs: usize,
) -> Result<Option<Traffic>, String> {
    let mut rules = Vec::new();
    for _ in 0..RUNS {
        let recording = Arc::new(Recording::default());
        let wire = Arc::clone(&recording) as Arc<dyn Wire>;
        let Ok(sessions) = target.sessions(profile, wire, Patience::Full).await else { return Ok(None) };
        let selection = Selection { profiles: vec![profile.to_owned()], ..Selection::default() };
        let order = Order { jobs, lead: None, alone: ALONE };
        let plan = plan("none", selection, sessions, BTreeMap::new(), order);
        let output = crate::engine::run::run(library, &plan).await;
        plan.sessions.close().await;
        rules = unheld(&output.record.rules);
        if rules.is_empty() {
            return Ok(Some(Traffic::of(&recording, &output, library.families.codec(profile))));
        }
    }
    let which = rules.join(", ");
    Err(format!(
        "without a fault, the target of {profile} does not hold {which}, in {RUNS} runs; either it is broken, or this \
         machine is too busy: end what runs beside, or try fewer mutants at a time"
    ))
}

/// The rules that a run has not shown to hold.
fn unheld(rules: &[RuleEntry]) -> Vec<String> {
    let is_open = |outcome: Outcome| match outcome {
        Outcome::Passed | Outcome::Noted | Outcome::NotApplicable | Outcome::Excluded => false,
        Outcome::Failed
        | Outcome::Warned
        | Outcome::KnownFailing
        | Outcome::CouldNotRun
        | Outcome::NotObserved => true,
    };
    rules.iter().filter(|rule| is_open(rule.outcome)).map(|rule| rule.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Level;

    use super::*;

    #[test]
    fn a_run_without_a_fault_counts_when_no_rule_is_open() {
        let rules: Vec<RuleEntry> = Outcome::ALL
            .into_iter()
            .map(|outcome| RuleEntry {
                id: outcome.name().to_owned(),
                level: Level::Must,
                profile: "utp.tool-service".to_owned(),
                statement: String::new(),
                source: String::new(),
                outcome,
                reason: None,
                scenarios: vec![],
            })
            .collect();
        assert_eq!(unheld(&rules), ["failed", "could-not-run", "not-observed", "warned", "known-failing"]);
        assert!(unheld(&rules[5..]).is_empty());
    }
}
