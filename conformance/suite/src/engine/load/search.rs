//! The highest rate that a target holds: doubled until it does not, then halved between the two.

/// Below this ratio of the two the search ends.
const NEAR: f64 = 1.05;
/// Rates that are tried at most.
const TRIALS: usize = 16;

/// A rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Calls a second.
    pub rate: f64,
    /// Whether the target held it.
    pub is_held: bool,
}

/// A search for the highest rate.
#[derive(Clone, Debug)]
pub struct Search {
    first: f64,
    most: f64,
    trials: Vec<Trial>,
}

impl Search {
    /// Begins with this rate, and never tries more than `most`.
    pub fn new(first: f64, most: f64) -> Self {
        Self { first: first.min(most), most, trials: Vec::new() }
    }

    /// The rate to try next; nothing where the search is over.
    pub fn next_rate(&self) -> Option<f64> {
        if self.trials.len() >= TRIALS {
            return None;
        }
        match (self.best(), self.lowest_not_held()) {
            (None, None) => Some(self.first),
            (Some(best), None) if best >= self.most => None,
            (Some(best), None) => Some((best * 2.0).min(self.most)),
            // A target that does not hold even one call in ten seconds holds nothing.
            (None, Some(lowest)) => Some(lowest / 2.0).filter(|rate| *rate >= 0.1),
            (Some(best), Some(lowest)) => (lowest / best > NEAR).then_some(f64::midpoint(best, lowest)),
        }
    }

    /// Whether the rate that was to be tried next was held.
    pub fn learn(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// The highest rate that was held; nothing where none was.
    pub fn best(&self) -> Option<f64> {
        let lowest = self.lowest_not_held().unwrap_or(f64::INFINITY);
        let held = self.trials.iter().filter(|trial| trial.is_held && trial.rate < lowest);
        held.map(|trial| trial.rate).reduce(f64::max)
    }

    fn lowest_not_held(&self) -> Option<f64> {
        self.trials.iter().filter(|trial| !trial.is_held).map(|trial| trial.rate).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(first: f64, most: f64, holds: impl Fn(f64) -> bool) -> (Option<f64>, usize) {
        let mut search = Search::new(first, most);
        let mut tried = 0;
        while let Some(rate) = search.next_rate() {
            assert!(rate <= most, "{rate}");
            tried += 1;
            search.learn(Trial { rate, is_held: holds(rate) });
        }
        (search.best(), tried)
    }

    #[test]
    fn the_highest_rate_that_is_held_is_found() {
        for limit in [3.0, 40.0, 777.0, 9_000.0] {
            let (best, tried) = search(50.0, 100_000.0, |rate| rate <= limit);
            let best = best.expect("a rate");
            assert!(best <= limit && best > limit / 1.06, "{best} of {limit}");
            assert!(tried <= TRIALS, "{tried}");
        }
    }

    #[test]
    fn a_target_that_holds_nothing_or_everything_ends_the_search() {
        assert_eq!(search(50.0, 1_000.0, |_| false).0, None);
        assert_eq!(search(50.0, 1_000.0, |_| true).0, Some(1_000.0));
    }
}
