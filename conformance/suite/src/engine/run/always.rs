//! The scenarios that send nothing: they judge every exchange of the others, once all of those have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::counting::Counting;
use super::scenario_result::ScenarioResult;
use super::threads::on_all_processors;
use super::writer::{Facts, StepPlace};
use crate::engine::invariant::{ALWAYS, Invariant};
use crate::engine::judge::{CheckFailure, Finding};
use crate::engine::world::ScenarioArtifacts;
use crate::spec::catalog::{Case, Place};
use crate::transcript::Frame;

/// Whether a scenario judges what others send and receive.
pub(super) fn is_always(case: &Case) -> bool {
    case.tags.contains(ALWAYS)
}

/// Why a scenario is not observed that would judge every exchange.
pub(super) const NO_EXCHANGE: &str = "no exchange of the run shows it";

/// What a scenario that judges every exchange came to, beside its entry in the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// How many there were; those after the one that broke it are not counted.
    pub exchanges: usize,
    /// What broke it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offence: Option<Offence>,
}

/// The exchange that broke what holds in every one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offence {
    /// Id of the scenario in which it was.
    pub scenario: String,
    /// Whether it is against a recommendation only, so that a worse one counts in its place.
    pub is_recommended: bool,
}

impl Watched {
    /// Whether there was nothing to judge.
    pub fn saw_nothing(&self) -> bool {
        self.exchanges == 0 && self.offence.is_none()
    }
}

/// What an invariant has come to so far.
struct Watch<'a> {
    case: &'a Case,
    invariant: Arc<dyn Invariant>,
    exchanges: usize,
    broken: Option<Broken>,
}

impl Watch<'_> {
    fn result(&self) -> Watched {
        let offence = self.broken.as_ref().map(|broken| Offence {
            scenario: broken.scenario.clone(),
            is_recommended: broken.finding.level().is_some(),
        });
        Watched { exchanges: self.exchanges, offence }
    }

    /// Whether nothing worse can be found.
    fn is_settled(&self) -> bool {
        self.broken.as_ref().is_some_and(|broken| broken.finding.level().is_none())
    }
}

/// What breaks it, and where that stands.
struct Broken {
    /// Number of the judgement.
    check: usize,
    finding: Box<Finding>,
    scenario: String,
    frames: Vec<Frame>,
}

/// Judges every exchange of the scenarios that ran, those of a profile by what holds for it. Answers what each that
/// judges came to.
pub(super) fn judge(
    counting: &Counting,
    cases: &[&Case],
    facts: &mut BTreeMap<Place, Facts>,
    results: &mut BTreeMap<String, ScenarioResult>,
) -> BTreeMap<String, Watched> {
    let mut by_profile: BTreeMap<&str, Vec<Watch<'_>>> = BTreeMap::new();
    for case in cases.iter().filter(|case| is_always(case)) {
        let invariant = results.get(&case.id).and_then(|own| own.invariant.clone());
        // One that could not be set up says so itself.
        let is_set_up = facts.get(&case.at).is_some_and(|facts| facts.trouble.is_none());
        if let Some(invariant) = invariant.filter(|_| is_set_up) {
            let own = Watch { case, invariant, exchanges: 0, broken: None };
            by_profile.entry(&case.profile).or_default().push(own);
        }
    }
    on_all_processors(by_profile.iter_mut(), |(profile, watched)| {
        judge_profile(profile, (counting, cases), results, watched);
    });
    let mut watched = BTreeMap::new();
    for own in by_profile.into_values().flatten() {
        watched.insert(own.case.id.clone(), own.result());
        settle(own, facts, results);
    }
    watched
}

/// Judges the exchanges of the scenarios of one profile. What a scenario brings about that does not count is judged by
/// what does not count either, so that it breaks nothing else.
fn judge_profile(
    profile: &str,
    (counting, cases): (&Counting, &[&Case]),
    results: &BTreeMap<String, ScenarioResult>,
    watched: &mut [Watch<'_>],
) {
    for case in cases.iter().filter(|case| case.profile == profile && !is_always(case)) {
        let transcript = results.get(&case.id).and_then(|own| own.artifacts.transcript.as_ref());
        if let Some(transcript) = transcript {
            let counts = counting.counts(case);
            transcript.with(|frames| judge_in(case, frames, watched, |own| counts || !counting.counts(own)));
        }
    }
}

/// Judges the exchanges of one scenario by those that may judge them.
fn judge_in(case: &Case, frames: &[Frame], watched: &mut [Watch<'_>], may_judge: impl Fn(&Case) -> bool) {
    let open = watched.iter_mut().filter(|own| !own.is_settled() && may_judge(own.case));
    let mut waiting: Vec<&mut Watch<'_>> = open.collect();
    while let Some(first) = waiting.first() {
        let all: Vec<&dyn Invariant> = waiting.iter().map(|own| &*own.invariant).collect();
        let judged = first.invariant.judge(&all, frames);
        let mut others = Vec::new();
        for (own, judged) in waiting.into_iter().zip(judged) {
            let Some(judged) = judged else {
                others.push(own);
                continue;
            };
            own.exchanges += judged.exchanges;
            let Some((check, finding)) = judged.broken else { continue };
            // A second one that is against a recommendation only adds nothing.
            if own.broken.is_none() || finding.level().is_none() {
                own.broken =
                    Some(Broken { check, finding, scenario: case.id.clone(), frames: frames.to_vec() });
            }
        }
        waiting = others;
    }
}

/// Puts down what an invariant has come to.
fn settle(
    own: Watch<'_>,
    facts: &mut BTreeMap<Place, Facts>,
    results: &mut BTreeMap<String, ScenarioResult>,
) {
    let Watch { case, invariant, exchanges, broken } = own;
    let Some(facts) = facts.get_mut(&case.at) else { return };
    let Some(broken) = broken else {
        if exchanges == 0 {
            facts.trouble = Some(CheckFailure::NotObserved(NO_EXCHANGE.to_owned()));
        }
        return;
    };
    facts.step = step(case, broken.check, invariant.checks());
    facts.trouble = Some(CheckFailure::Broken(broken.finding));
    let home = results.get(&broken.scenario).map(|home| ScenarioArtifacts {
        // Its messages are written down with it.
        transcript: None,
        ..home.artifacts.clone()
    });
    if let Some(own) = results.get_mut(&case.id) {
        own.artifacts = home.unwrap_or_default();
        own.judged = Some(broken.frames);
        own.found_in = Some(broken.scenario);
    }
}

/// The step that makes a judgement; the last one where steps make several.
pub(super) fn step(case: &Case, check: usize, checks: usize) -> Option<StepPlace> {
    let is_judging = |step: &&gherkin::Step| step.ty == gherkin::StepType::Then;
    let steps: Vec<&gherkin::Step> = case.scenario().steps.iter().filter(is_judging).collect();
    let own = if steps.len() == checks { steps.get(check) } else { steps.last() };
    own.copied().map(StepPlace::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::invariant::Judged;
    use crate::spec::catalog::Catalogue;
    use crate::transcript::Transcript;

    const FEATURE: &str = "@role:p
Feature: F

  @A-1
  Rule: R

    Scenario: That counts
      Given a service

    Scenario: That is newer
      Given a service

    @always
    Scenario: In every exchange, that counts
      Given a service

    @always
    Scenario: In every exchange, that is newer
      Given a service
";

    /// Counts an exchange in each scenario.
    struct Seen;

    impl Invariant for Seen {
        fn judge(&self, all: &[&dyn Invariant], _: &[Frame]) -> Vec<Option<Judged>> {
            all.iter().map(|_| Some(Judged { exchanges: 1, broken: None })).collect()
        }

        fn checks(&self) -> usize {
            1
        }
    }

    #[test]
    fn what_a_newer_scenario_brings_about_is_judged_by_newer_ones_only() {
        let files = [("features/p/f.feature".to_owned(), FEATURE)];
        let catalogue = Catalogue::from_files(files).expect("a feature");
        let cases: Vec<&Case> = catalogue.cases().iter().collect();
        let result = || {
            let mut result = ScenarioResult::default();
            result.artifacts.transcript = Some(Arc::new(Transcript::of_attempt(0)));
            result
        };
        let results = cases.iter().map(|case| (case.id.clone(), result())).collect();
        let check = |counting: &Counting, expect: [usize; 2]| {
            let mut watched: Vec<Watch<'_>> = cases
                .iter()
                .filter(|case| is_always(case))
                .map(|case| Watch { case, invariant: Arc::new(Seen), exchanges: 0, broken: None })
                .collect();
            judge_profile("p", (counting, &cases), &results, &mut watched);
            assert_eq!(watched.iter().map(|own| own.exchanges).collect::<Vec<_>>(), expect);
        };
        check(&Counting::default(), [2, 2]);
        check(&Counting::pinned(&["p/f/A-1/2", "p/f/A-1/4"]), [1, 2]);
    }
}
