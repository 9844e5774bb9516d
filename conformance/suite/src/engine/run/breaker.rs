//! A circuit breaker for targets: after many scenarios in a row that a target left without an answer, the others are
//! postponed until it is known whether it answers at all. Each would wait for its deadline in vain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::transcript::lock;

/// Times the scenarios that run at once: all that ran when a target stopped answering, and as many that began later.
const ROUNDS: usize = 2;
/// The fewest scenarios that say anything.
const FEWEST: usize = 16;

/// Which scenarios may begin.
#[derive(Debug)]
pub(super) struct Breaker {
    /// Silent scenarios in a row that postpone the others; nothing where they never do.
    limit: Option<usize>,
    targets: Mutex<BTreeMap<&'static str, Row>>,
}

/// What is known of a target.
#[derive(Debug, Default)]
struct Row {
    /// Scenarios that ended in silence since it answered last.
    silent: usize,
    postponed: BTreeSet<String>,
    /// Whether it was asked already, and answered.
    is_known: bool,
}

impl Breaker {
    /// For so many scenarios at a time; `is_checked` says whether somebody finds out whether a target hangs.
    pub(super) fn new(jobs: usize, is_checked: bool) -> Self {
        let limit = is_checked.then(|| jobs.saturating_mul(ROUNDS).max(FEWEST));
        Self { limit, targets: Mutex::default() }
    }

    /// Whether a scenario may begin, by its id.
    pub(super) fn begin(&self, target: &'static str, id: &str) -> bool {
        let Some(limit) = self.limit else { return true };
        let mut targets = lock(&self.targets);
        let row = targets.entry(target).or_default();
        let is_open = !row.is_known && row.silent >= limit;
        if is_open {
            row.postponed.insert(id.to_owned());
        }
        !is_open
    }

    /// A scenario has ended in silence, or after an answer.
    pub(super) fn ended(&self, target: &'static str, is_silent: bool) {
        let mut targets = lock(&self.targets);
        let row = targets.entry(target).or_default();
        row.silent = if is_silent { row.silent + 1 } else { 0 };
    }

    /// Whether a scenario is postponed, by its id.
    pub(super) fn postpones(&self, id: &str) -> bool {
        lock(&self.targets).values().any(|row| row.postponed.contains(id))
    }

    /// Lets what is postponed begin, but for targets that hang; whether there is such. No target is asked twice.
    pub(super) fn goes_on(&self, hung: &BTreeSet<&'static str>) -> bool {
        let mut targets = lock(&self.targets);
        let answering = targets.iter_mut().filter(|(target, _)| !hung.contains(**target));
        let mut goes_on = false;
        for (_, row) in answering.filter(|(_, row)| !row.postponed.is_empty()) {
            row.postponed.clear();
            row.is_known = true;
            goes_on = true;
        }
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(breaker: &Breaker, target: &'static str, times: usize) {
        for _ in 0..times {
            breaker.ended(target, true);
        }
    }

    #[test]
    fn many_silences_in_a_row_postpone_what_has_not_begun() {
        let breaker = Breaker::new(10, true);
        silent(&breaker, "hub", 19);
        assert!(breaker.begin("hub", "a"));
        breaker.ended("hub", false);
        silent(&breaker, "hub", 19);
        assert!(breaker.begin("hub", "b"), "an answer came between");
        silent(&breaker, "hub", 1);
        assert!(!breaker.begin("hub", "c") && breaker.begin("utp", "d"));
        assert!(breaker.postpones("c") && !breaker.postpones("d"));
        // It hangs.
        assert!(!breaker.goes_on(&["hub"].into()) && breaker.postpones("c"));
        // It answers, and is not asked once more.
        assert!(breaker.goes_on(&BTreeSet::new()) && !breaker.postpones("c"));
        silent(&breaker, "hub", 50);
        assert!(breaker.begin("hub", "c") && !breaker.goes_on(&BTreeSet::new()));
    }

    #[test]
    fn few_at_a_time_say_little_and_where_nobody_asks_nothing_is_postponed() {
        let (serial, unchecked) = (Breaker::new(1, true), Breaker::new(1, false));
        silent(&serial, "hub", FEWEST - 1);
        assert!(serial.begin("hub", "a"));
        silent(&serial, "hub", 1);
        assert!(!serial.begin("hub", "b"));
        silent(&unchecked, "hub", 1_000);
        assert!(unchecked.begin("hub", "b"));
    }
}
