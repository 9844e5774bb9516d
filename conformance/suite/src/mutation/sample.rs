//! Some of many mutants.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::digest::hash;
use crate::mutation::mutant::Mutant;

/// So many of the mutants, always the same and in their order: of each profile its share, and one before any has two.
pub fn sample(mutants: Vec<Mutant>, number: usize) -> Vec<Mutant> {
    let mut profiles: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, mutant) in mutants.iter().enumerate() {
        profiles.entry(&mutant.profile).or_default().push(index);
    }
    let mut queue: Vec<(usize, usize)> = Vec::new();
    for indices in profiles.values_mut() {
        // Mutants that stand beside each other are alike.
        indices.sort_by_cached_key(|index| hash(&[&mutants[*index].id]));
        let size = indices.len();
        let turns = indices.iter().enumerate().map(|(place, index)| (place * mutants.len() / size, *index));
        queue.extend(turns);
    }
    queue.sort_unstable();
    let taken: BTreeSet<usize> = queue.into_iter().take(number).map(|(_, index)| index).collect();
    mutants
        .into_iter()
        .enumerate()
        .filter(|(index, _)| taken.contains(index))
        .map(|(_, mutant)| mutant)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::mutant;
    use crate::spec::registry::Registry;

    #[test]
    fn a_sample_has_mutants_of_all_profiles() {
        let all = mutant::mutants(&Registry::load().expect("a registry")).expect("mutants");
        let profiles = |mutants: &[Mutant]| -> BTreeSet<String> {
            mutants.iter().map(|mutant| mutant.profile.clone()).collect()
        };
        for number in [1, 7, 100, all.len(), all.len() + 1] {
            assert_eq!(sample(all.clone(), number).len(), number.min(all.len()));
        }
        let some = sample(all.clone(), 100);
        assert_eq!(profiles(&some), profiles(&all));
        let ids = |mutants: &[Mutant]| -> Vec<String> { mutants.iter().map(|own| own.id.clone()).collect() };
        assert_eq!(ids(&some), ids(&sample(all.clone(), 100)));
        assert!(sample(Vec::new(), 3).is_empty());
    }
}
