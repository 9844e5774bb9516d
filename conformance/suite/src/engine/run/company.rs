//! Who ran beside whom.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::transcript::lock;

/// Scenarios that ran beside one, at most at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// Of the whole run.
    pub any: usize,
    /// Against the same target.
    pub target: usize,
}

/// The scenarios that run just now, with the targets that they run against.
#[derive(Debug, Default)]
pub(super) struct Company {
    now: Mutex<HashMap<String, (&'static str, Beside)>>,
    left: AtomicUsize,
}

impl Company {
    /// A scenario begins.
    pub(super) fn enter(&self, id: &str, target: &'static str) {
        let mut now = lock(&self.now);
        let of = |wanted: &str, now: &HashMap<String, (&'static str, Beside)>| {
            now.values().filter(|(own, _)| *own == wanted).count()
        };
        let beside = Beside { any: now.len(), target: of(target, &now) };
        now.insert(id.to_owned(), (target, beside));
        let (any, mine) = (now.len() - 1, of(target, &now) - 1);
        for (own, beside) in now.values_mut() {
            beside.any = beside.any.max(any);
            if *own == target {
                beside.target = beside.target.max(mine);
            }
        }
    }

    /// A scenario has ended. Who was there with it, and how many had ended before.
    pub(super) fn leave(&self, id: &str) -> (Beside, usize) {
        let beside = lock(&self.now).remove(id).map(|(_, beside)| beside);
        (beside.unwrap_or_default(), self.left.fetch_add(1, Ordering::Relaxed))
    }

    /// Who runs against a target just now.
    pub(super) fn of(&self, target: &'static str) -> Vec<String> {
        let now = lock(&self.now);
        let mut own: Vec<String> =
            now.iter().filter(|(_, (own, _))| *own == target).map(|(id, _)| id.clone()).collect();
        own.sort();
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_were_there_at_a_time_are_counted() {
        let company = Company::default();
        company.enter("a", "hub.server");
        company.enter("b", "utp.service");
        assert_eq!(company.leave("b"), (Beside { any: 1, target: 0 }, 0));
        company.enter("c", "hub.server");
        assert_eq!(company.leave("a"), (Beside { any: 1, target: 1 }, 1));
        assert_eq!(company.leave("c"), (Beside { any: 1, target: 1 }, 2));
        company.enter("d", "hub.server");
        assert_eq!(company.leave("d"), (Beside::default(), 3));
    }
}
