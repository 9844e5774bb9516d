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
        for (profile, own) in edition.into_iter().flat_map(Edition::scenarios) {
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
