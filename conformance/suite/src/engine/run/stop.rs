//! Where a run is to end at the first failure: what has begun ends, and nothing more begins.
//!
//! Silence beside others is no failure yet: `alone` has the last word, and where nothing is broken after all the run goes
//! on with what was refused.

use std::collections::BTreeSet;
use std::sync::Mutex;

use callmark_reports::record::Outcome;

use crate::transcript::lock;

/// Which scenarios may begin.
#[derive(Debug, Default)]
pub(super) struct Stop {
    is_wanted: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    has_failed: bool,
    begun: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Stop {
    /// Stops at the first failure where that is wanted, else never.
    pub(super) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, state: Mutex::default() }
    }

    /// Whether a scenario may begin, by its id. Who may has begun.
    pub(super) fn begin(&self, id: &str) -> bool {
        let mut state = lock(&self.state);
        let is_refused = state.has_failed;
        let own = if is_refused { &mut state.refused } else { &mut state.begun };
        own.insert(id.to_owned());
        !is_refused
    }

    /// A scenario has ended so.
    pub(super) fn ended(&self, outcome: Outcome) {
        if self.is_wanted && outcome == Outcome::Failed {
            lock(&self.state).has_failed = true;
        }
    }

    /// Whether a scenario has begun, by its id.
    pub(super) fn has_begun(&self, id: &str) -> bool {
        lock(&self.state).begun.contains(id)
    }

    /// Whether a scenario did not run since the run ended before, by its id.
    pub(super) fn leaves_out(&self, id: &str) -> bool {
        lock(&self.state).refused.contains(id)
    }

    /// Whether scenarios did not run.
    pub(super) fn has_stopped(&self) -> bool {
        !lock(&self.state).refused.is_empty()
    }

    /// Lets what was refused begin, unless something is broken; whether there is such.
    pub(super) fn goes_on(&self, is_broken: bool) -> bool {
        let mut state = lock(&self.state);
        if is_broken || state.refused.is_empty() {
            return false;
        }
        state.has_failed = false;
        state.refused.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_after_the_first_failure_until_that_proves_to_be_none() {
        let stop = Stop::new(true);
        assert!(stop.begin("a"));
        stop.ended(Outcome::Warned);
        stop.ended(Outcome::CouldNotRun);
        assert!(stop.begin("b"));
        stop.ended(Outcome::Failed);
        assert!(!stop.begin("c") && stop.leaves_out("c") && !stop.leaves_out("a"));
        assert!(stop.has_stopped() && !stop.goes_on(true) && stop.has_stopped());
        assert!(stop.goes_on(false), "there is something left");
        assert!(!stop.has_stopped() && stop.has_begun("b") && !stop.has_begun("c"));
        assert!(stop.begin("c") && !stop.goes_on(false), "nothing is left");
    }

    #[test]
    fn who_does_not_ask_for_it_is_not_stopped() {
        let stop = Stop::default();
        stop.ended(Outcome::Failed);
        assert!(stop.begin("a") && !stop.has_stopped());
    }
}
