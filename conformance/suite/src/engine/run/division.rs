//! How the scenarios of a selection are divided into shards, so that several machines run a part each.
//!
//! The division follows from the selection, the number of shards and the times of an earlier run, and from nothing else:
//! each machine makes it for itself. Neighbours: `merge` puts the records together again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Library, Selection, always};
use crate::engine::digest::hash;
use crate::spec::catalog::Case;

/// Microseconds that scenarios took, by id. One that is not there did not run.
pub type Durations = BTreeMap<String, u64>;

/// The scenarios of each shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division(Vec<BTreeSet<String>>);

impl Division {
    /// Divides a selection into this many shards: those that took long first, each to the shard that has least to do so
    /// far. Those of unknown length are dealt out by number.
    ///
    /// What judges every exchange belongs to each shard that has another scenario, since it judges theirs.
    pub fn of(library: &Library, selection: &Selection, shards: u16, durations: &Durations) -> Self {
        let cases = library.select(selection);
        let (watching, acting): (Vec<&Case>, Vec<&Case>) =
            cases.into_iter().partition(|case| always::is_always(case));
        let known = |case: &&Case| durations.contains_key(&case.id);
        let (mut timed, unknown): (Vec<&Case>, Vec<&Case>) = acting.into_iter().partition(known);
        let took = |case: &Case| durations.get(&case.id).copied().unwrap_or_default();
        // Stable: those that took as long stay in the order of the features.
        timed.sort_by_key(|case| Reverse(took(case)));
        let mut own = vec![BTreeSet::new(); usize::from(shards.max(1))];
        deal(&mut own, &timed, took);
        deal(&mut own, &unknown, |_| 1);
        let watching = || watching.iter().map(|case| case.id.clone());
        for shard in own.iter_mut().filter(|shard| !shard.is_empty()) {
            shard.extend(watching());
        }
        if let (Some(first), true) = (own.first().cloned(), own.iter().all(BTreeSet::is_empty)) {
            own[0] = first.into_iter().chain(watching()).collect();
        }
        Self(own)
    }

    /// The scenarios of a shard, counted from 1.
    pub fn scenarios(&self, index: u16) -> BTreeSet<String> {
        let place = usize::from(index).checked_sub(1);
        place.and_then(|place| self.0.get(place)).cloned().unwrap_or_default()
    }

    /// What two divisions have in common only where they are the same.
    pub fn digest(&self) -> String {
        let end = std::iter::once("");
        let parts: Vec<&str> =
            self.0.iter().flat_map(|shard| shard.iter().map(String::as_str).chain(end.clone())).collect();
        hash(&parts)
    }
}

/// Gives each case to the shard that has least of these so far, the first of several.
fn deal(shards: &mut [BTreeSet<String>], cases: &[&Case], weight: impl Fn(&Case) -> u64) {
    let mut loads = vec![0_u64; shards.len()];
    for case in cases {
        let lightest = loads.iter_mut().zip(shards.iter_mut()).min_by_key(|(load, _)| **load);
        if let Some((load, shard)) = lightest {
            // What took no time counts too, so that it is dealt out as well.
            *load = load.saturating_add(weight(case).max(1));
            shard.insert(case.id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;

    fn library() -> Library {
        Library::of(families::ALL).expect("a sound library")
    }

    fn selection(profiles: &[&str]) -> Selection {
        Selection { profiles: profiles.iter().map(|&own| own.to_owned()).collect(), ..Selection::default() }
    }

    /// The numbers of scenarios of each shard that send something.
    fn sizes(library: &Library, division: &Division, shards: u16) -> Vec<usize> {
        let acts = |id: &String| {
            library.catalogue.cases().iter().any(|case| case.id == *id && !always::is_always(case))
        };
        (1..=shards).map(|index| division.scenarios(index).iter().filter(|id| acts(id)).count()).collect()
    }

    #[test]
    fn each_scenario_is_in_one_shard_and_what_judges_every_exchange_in_all() {
        let library = library();
        let selection = selection(&["hub.server", "toolbus.server"]);
        let division = Division::of(&library, &selection, 5, &Durations::new());
        for case in library.select(&selection) {
            let holding = (1..=5).filter(|index| division.scenarios(*index).contains(&case.id)).count();
            assert_eq!(holding, if always::is_always(case) { 5 } else { 1 }, "{}", case.id);
        }
        let sizes = sizes(&library, &division, 5);
        assert!(sizes.iter().max() <= sizes.iter().min().map(|least| least + 1).as_ref(), "{sizes:?}");
        assert_eq!(division, Division::of(&library, &selection, 5, &Durations::new()));
        assert_eq!((division.scenarios(0), division.scenarios(6)), Default::default());
    }

    #[test]
    fn what_took_long_is_balanced_by_its_time_and_the_rest_by_number() {
        let library = library();
        let selection = selection(&["hub.server"]);
        let acting: Vec<String> = library
            .select(&selection)
            .into_iter()
            .filter(|case| !always::is_always(case))
            .map(|case| case.id.clone())
            .collect();
        // One took as long as all others that are known together; half of all are not.
        let known = &acting[..acting.len() / 2];
        let others = u64::try_from(known.len() - 1).expect("few");
        let mut durations: Durations = known.iter().map(|id| (id.clone(), 10)).collect();
        durations.insert(known[0].clone(), 10 * others);
        let division = Division::of(&library, &selection, 2, &durations);
        let known_in = |index| division.scenarios(index).iter().filter(|id| known.contains(*id)).count();
        assert_eq!((known_in(1), known_in(2)), (1, known.len() - 1));
        let unknown = acting.len() - known.len();
        let sizes = sizes(&library, &division, 2);
        assert_eq!(sizes, [1 + unknown.div_ceil(2), known.len() - 1 + unknown / 2]);
    }

    #[test]
    fn divisions_have_one_digest_only_where_they_are_the_same() {
        let library = library();
        let selection = selection(&["hub.server"]);
        let digest =
            |shards, durations: &Durations| Division::of(&library, &selection, shards, durations).digest();
        let none = Durations::new();
        assert_eq!(digest(3, &none), digest(3, &none));
        assert_ne!(digest(3, &none), digest(4, &none));
        let some =
            library.select(&selection).into_iter().rev().zip(1..).map(|(case, took)| (case.id.clone(), took));
        assert_ne!(digest(3, &none), digest(3, &some.collect()));
    }

    #[test]
    fn more_shards_than_scenarios_leave_some_without_any() {
        let library = library();
        let mut selection = selection(&["hub.server"]);
        let first =
            library.select(&selection).into_iter().find(|case| !always::is_always(case)).expect("one");
        selection.scenarios = Some(BTreeSet::from([first.id.clone()]));
        let division = Division::of(&library, &selection, 3, &Durations::new());
        assert_eq!(sizes(&library, &division, 3), [1, 0, 0]);
        let watching = library.catalogue.cases().iter().find(|case| always::is_always(case)).expect("one");
        selection.profiles = vec![watching.profile.clone()];
        selection.scenarios = Some(BTreeSet::from([watching.id.clone()]));
        let division = Division::of(&library, &selection, 2, &Durations::new());
        let held = [1, 2].map(|index| division.scenarios(index).len());
        assert_eq!(held, [1, 0], "what would judge every exchange of none is run once");
    }
}
