//! The order in which scenarios run, and how many at a time.

use super::{Library, RunPlan};
use crate::engine::family::Family;
use crate::engine::session::Session;
use crate::spec::catalog::Case;

/// Tag of scenarios that may end a target.
pub(crate) const LAST: &str = "last";
/// Tag of scenarios that hold up a target which takes one call at a time.
pub(crate) const HOLDS: &str = "holds";
/// Tag of scenarios that wait a second or more by what they ask for.
const LONG: &str = "long";

/// What cucumber is given, in this order: what waits long is begun first, so that a run does not end with it.
pub(super) fn long_first(library: &Library, cases: &[&Case]) -> Vec<gherkin::Feature> {
    let (long, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.tags.contains(LONG));
    let mut features = library.catalogue.select(&long);
    features.extend(library.catalogue.select(&others));
    features
}

/// Scenarios of a family at a time. Who asked for one gets one.
pub(super) fn jobs(family: &dyn Family, plan: &RunPlan) -> usize {
    let worth = plan.sessions.of(family.id()).map_or(1, Session::least_jobs);
    if plan.jobs > 1 { plan.jobs.max(worth) } else { 1 }
}

/// The scenarios of a family in the order in which they run, and how many at a time: `jobs`, and of those that may end
/// the target one, so that it is known what ended it. Only where nothing that this target does counts anyway those are
/// `wanted` at a time too.
pub(super) fn turns<'a>(
    cases: &[&'a Case],
    jobs: usize,
    wanted: usize,
    session: Option<&dyn Session>,
) -> [(Vec<&'a Case>, usize); 3] {
    let (last, first): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.tags.contains(LAST));
    let (holding, first): (Vec<&Case>, Vec<&Case>) =
        first.into_iter().partition(|case| case.tags.contains(HOLDS));
    let counts = |session: &dyn Session| last.iter().any(|case| session.idle(&case.profile).is_none());
    let at_last = if session.is_none_or(counts) { 1 } else { wanted };
    [(first, jobs), (holding, jobs), (last, at_last)]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::families;
    use crate::spec::catalog::Catalogue;

    #[test]
    fn what_may_end_a_target_runs_last_and_one_by_one_in_every_family() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let mut seen = BTreeSet::new();
        for family in families::ALL.iter() {
            let is_own = |case: &&Case| family.has(&case.profile);
            let cases: Vec<&Case> = catalogue.cases().iter().filter(is_own).collect();
            let [first, holding, (last, jobs)] = turns(&cases, 64, 64, None);
            let is_last = |case: &&Case| case.tags.contains(LAST);
            assert!(last.iter().all(is_last) && jobs == 1, "{}: {jobs} at a time", family.id());
            assert!(!first.0.iter().chain(&holding.0).any(is_last), "{}", family.id());
            assert_eq!(first.0.len() + holding.0.len() + last.len(), cases.len(), "{}", family.id());
            assert_eq!((first.1, holding.1), (64, 64), "{}", family.id());
            seen.extend(last.iter().map(|case| case.profile.as_str()));
        }
        let tagged: BTreeSet<&str> = catalogue
            .cases()
            .iter()
            .filter(|case| case.tags.contains(LAST))
            .map(|case| case.profile.as_str())
            .collect();
        assert_eq!(seen, tagged);
        assert!(tagged.len() > 4, "{tagged:?}");
    }
}
