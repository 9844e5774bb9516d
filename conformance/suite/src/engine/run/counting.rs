//! Which scenarios of a run count: all, or those of the edition that is pinned.
//!
//! What is newer than a pinned edition runs after the others of its family, judges and is judged by nothing of theirs, and
//! stands in a place of its own in the record: neither verdict nor rules depend on it.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record;
use callmark_reports::record::RuleEntry;

use super::{Library, Selection};
use crate::spec::catalog::Case;
use crate::spec::edition::{Edition, digest};

/// Which scenarios of a selection count.
#[derive(Debug, Default)]
pub(super) struct Counting {
    /// The edition that is pinned, or else the newest; nothing where there is none.
    name: Option<String>,
    is_pinned: bool,
    /// Ids of what is newer than that.
    newer: BTreeSet<String>,
}

impl Counting {
    /// Of a selection. Where it pins an edition that there is not, nothing counts.
    pub(super) fn of(library: &Library, selection: &Selection) -> Self {
        let pinned = selection.edition.as_deref();
        let edition = match pinned {
            Some(name) => library.editions.named(name).ok(),
            None => library.editions.newest(),
        };
        let name = pinned.or(edition.map(Edition::name));
        let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        // Sabotage makes thousands of runs of one profile each.
        let is_selected = |(profile, _): &(&String, _)| selection.profiles.contains(profile);
        for (profile, own) in edition.into_iter().flat_map(Edition::scenarios).filter(is_selected) {
            known.insert(profile, own.values().map(String::as_str).collect());
        }
        let is_newer = |case: &&Case| {
            let digest = digest(&library.registry, &library.catalogue, case);
            !known.get(case.profile.as_str()).is_some_and(|own| own.contains(digest.as_str()))
        };
        let cases = if name.is_some() { library.select(selection) } else { Vec::new() };
        Self {
            name: name.map(str::to_owned),
            is_pinned: pinned.is_some(),
            newer: cases.into_iter().filter(is_newer).map(|case| case.id.clone()).collect(),
        }
    }

    /// Whether a case counts.
    pub(super) fn counts(&self, case: &Case) -> bool {
        !(self.is_pinned && self.newer.contains(&case.id))
    }

    /// Those that count, and those that do not.
    pub(super) fn split<'a>(&self, cases: &[&'a Case]) -> (Vec<&'a Case>, Vec<&'a Case>) {
        cases.iter().copied().partition(|case| self.counts(case))
    }

    /// What the record says of it, with what came of rules by what does not count.
    pub(super) fn entry(&self, mut newer: Vec<RuleEntry>) -> Option<record::Edition> {
        // What no black box can test was not tried by what is newer either.
        newer.retain(|rule| !rule.scenarios.is_empty());
        Some(record::Edition {
            name: self.name.clone()?,
            pinned: self.is_pinned,
            newer: u32::try_from(self.newer.len()).unwrap_or(u32::MAX),
            rules: newer,
        })
    }
}

#[cfg(test)]
impl Counting {
    /// Of a pinned edition that does not have these scenarios.
    pub(super) fn pinned(newer: &[&str]) -> Self {
        let newer = newer.iter().map(|&id| id.to_owned()).collect();
        Self { name: Some("2026.1".to_owned()), is_pinned: true, newer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;
    use crate::spec::edition;
    use crate::spec::edition::Editions;

    /// The library with an edition that has all scenarios but one of HUB-11, and the id of that.
    fn library() -> (Library, String) {
        let mut library = Library::of(families::ALL).expect("a sound library");
        let mut all = edition::scenarios(&library.registry, &library.catalogue);
        let own = all.get_mut("hub.server").expect("scenarios");
        let id = own.keys().find(|id| id.contains("/HUB-11/")).expect("a scenario").clone();
        own.remove(&id);
        let text = edition::freeze(&Editions::default(), "2026.1", true, &all).expect("an edition");
        library.editions = Editions::from_files([("2026.1", text.as_str())]).expect("editions");
        (library, id)
    }

    #[test]
    fn what_the_edition_does_not_have_counts_only_where_nothing_is_pinned() {
        let (library, newer) = library();
        let check = |edition: Option<&str>, not_counted: &[&str], entry: (&str, bool, u32)| {
            let profiles = vec!["hub.server".to_owned()];
            let edition = edition.map(str::to_owned);
            let selection = Selection { profiles, edition, ..Selection::default() };
            let counting = Counting::of(&library, &selection);
            let cases = library.select(&selection);
            let (counted, others) = counting.split(&cases);
            assert_eq!(counted.len() + others.len(), cases.len());
            let others: Vec<&str> = others.iter().map(|case| case.id.as_str()).collect();
            assert_eq!(others, not_counted);
            let said = counting.entry(Vec::new()).expect("an edition");
            assert_eq!((said.name.as_str(), said.pinned, said.newer), entry);
        };
        check(None, &[], ("2026.1", false, 1));
        check(Some("2026.1"), &[&newer], ("2026.1", true, 1));
        let profiles = vec!["hub.server".to_owned()];
        let selection = Selection { profiles, edition: Some("2025.1".to_owned()), ..Selection::default() };
        let counting = Counting::of(&library, &selection);
        let counted = counting.split(&library.select(&selection)).0;
        assert!(counted.is_empty(), "by an edition that there is not, nothing counts");
    }
}
