//! What judged windows came to, counted by clause.

use std::collections::BTreeMap;

use callmark_reports::record::Evidence;

use super::At;

/// What one clause came to.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Exchanges that showed what it is about.
    pub exchanges: u64,
    /// Windows in which it was broken.
    pub breaches: u64,
    /// The first breach, of the whole rule before one of a recommendation.
    pub first: Option<First>,
}

/// Where a clause was broken first.
#[derive(Clone, Debug)]
pub struct First {
    /// Whether it is against a recommendation only.
    pub is_recommended: bool,
    /// Where the exchange begins.
    pub at: At,
    /// What shows it.
    pub evidence: Evidence,
}

/// What was judged.
#[derive(Debug, Default)]
pub struct Tally {
    /// By role and by index of the clause.
    pub counts: BTreeMap<&'static str, Vec<Count>>,
    /// Exchanges that showed what at least one rule is about.
    pub exchanges: u64,
    /// Messages in them.
    pub messages: u64,
}

impl Tally {
    /// Adds what another one judged.
    pub(super) fn extend(&mut self, other: Self) {
        self.exchanges += other.exchanges;
        self.messages += other.messages;
        for (profile, theirs) in other.counts {
            let own = self.counts.entry(profile).or_default();
            own.resize_with(own.len().max(theirs.len()), Count::default);
            for (own, theirs) in own.iter_mut().zip(theirs) {
                own.exchanges += theirs.exchanges;
                own.breaches += theirs.breaches;
                if let Some(first) = &theirs.first {
                    own.offer(first);
                }
            }
        }
    }
}

impl Count {
    /// Takes this for the first one where it is.
    pub(super) fn offer(&mut self, first: &First) {
        let rank = |first: &First| (first.is_recommended, first.at);
        if self.first.as_ref().is_none_or(|own| rank(first) < rank(own)) {
            self.first = Some(first.clone());
        }
    }
}
