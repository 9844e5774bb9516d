//! What is left to drive, in the order in which lanes take it.
//!
//! What may end a target (`@last`) comes after everything else that runs against that target, whatever its family.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use crate::engine::family::Family;

/// What a lane does next.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// The scenarios of a family that a target survives.
    First(&'static dyn Family),
    /// Those that may end it, of all families that share it, one family after the other.
    Last(Vec<&'static dyn Family>),
}

/// Who asks for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// A thread that drives any family.
    Main,
    /// One that drives only families that mostly wait, beside the others.
    Beside,
}

/// What is left.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<Work>,
    /// Families that do little but wait.
    idle: VecDeque<Work>,
    /// Families of which [`Work::First`] is not done yet, by target.
    left: BTreeMap<&'static str, usize>,
    /// All families, each with its target.
    families: Vec<(&'static dyn Family, &'static str)>,
}

impl Queue {
    /// Families with their targets. Those begin that share theirs with most others, since what may end it waits for all of
    /// them and then runs one by one; of those the ones that wait most.
    pub(super) fn of(families: impl Iterator<Item = (&'static dyn Family, &'static str)>) -> Self {
        let mut families: Vec<(&'static dyn Family, &'static str)> = families.collect();
        let mut left: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (_, target) in &families {
            *left.entry(*target).or_default() += 1;
        }
        families.sort_by_key(|(family, target)| Reverse((left[target], family.waits())));
        let (idle, waiting) = families.iter().partition::<Vec<_>, _>(|(family, _)| family.mostly_waits());
        let first = |families: Vec<(&'static dyn Family, _)>| {
            families.into_iter().map(|(family, _)| Work::First(family)).collect()
        };
        Self { waiting: first(waiting), idle: first(idle), left, families }
    }

    /// What is next. Whoever has done something asks again after [`Queue::done`], which may add to it.
    pub(super) fn next(&mut self, lane: Lane) -> Option<Work> {
        let next = match lane {
            Lane::Main => self.waiting.pop_front(),
            Lane::Beside => None,
        };
        next.or_else(|| self.idle.pop_front())
    }

    /// Something is done. What may end its target becomes ready with the last of what it survives.
    pub(super) fn done(&mut self, work: &Work) {
        let Work::First(family) = work else { return };
        let own = self.families.iter().find(|(own, _)| own.id() == family.id());
        let Some((_, target)) = own.copied() else { return };
        let Some(left) = self.left.get_mut(target) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let own = self.families.iter().filter(|(_, own)| *own == target).map(|(family, _)| *family);
        self.waiting.push_front(Work::Last(own.collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;

    #[test]
    fn a_lane_beside_does_only_what_mostly_waits() {
        let all = || families::ALL.iter().map(|family| (family, family.target()));
        let family_of = |work: &Work| match work {
            Work::First(family) => *family,
            Work::Last(_) => panic!("nothing is done yet"),
        };
        let mut queue = Queue::of(all());
        let beside: Vec<Work> = std::iter::from_fn(|| queue.next(Lane::Beside)).collect();
        assert!(!beside.is_empty() && beside.iter().all(|work| family_of(work).mostly_waits()));
        let others = std::iter::from_fn(|| queue.next(Lane::Main)).count();
        assert_eq!(beside.len() + others, all().count());
        // Where nobody took it, it comes last.
        let mut queue = Queue::of(all());
        let main: Vec<Work> = std::iter::from_fn(|| queue.next(Lane::Main)).collect();
        let waiting: Vec<bool> = main.iter().map(|work| family_of(work).mostly_waits()).collect();
        assert!(waiting.is_sorted(), "{waiting:?}");
        assert_eq!(main.len(), all().count());
    }

    #[test]
    fn what_shares_a_target_comes_before_what_has_its_own() {
        let mut queue = Queue::of(families::ALL.iter().map(|family| (family, family.target())));
        let shares = |work: &Work| match work {
            Work::First(own) => families::ALL.iter().filter(|family| family.target() == own.target()).count(),
            Work::Last(_) => panic!("nothing is done yet"),
        };
        let main = std::iter::from_fn(|| queue.next(Lane::Main));
        let busy = main.filter(|work| matches!(work, Work::First(family) if !family.mostly_waits()));
        let shares: Vec<usize> = busy.map(|work| shares(&work)).collect();
        assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
        assert!(shares.first() > shares.last(), "{shares:?}");
    }

    #[test]
    fn what_may_end_a_target_waits_for_all_families_that_share_it() {
        // UTP's parties are one process for each revision.
        check(&|family| family.target(), 2);
        // Or for both.
        check(&|family| if family.id().starts_with("utp.") { "utp" } else { family.target() }, 1);
    }

    /// Drives all families; so many targets are shared.
    fn check(target_of: &dyn Fn(&dyn Family) -> &'static str, expect: usize) {
        let mut queue = Queue::of(families::ALL.iter().map(|family| (family, target_of(family))));
        let mut open: Vec<Work> = std::iter::from_fn(|| queue.next(Lane::Main)).collect();
        assert_eq!(open.len(), families::ALL.iter().count());
        let mut ended: Vec<&str> = Vec::new();
        let mut shared = 0;
        while let Some(work) = open.pop() {
            queue.done(&work);
            match &work {
                Work::First(family) => ended.push(family.id()),
                Work::Last(own) => {
                    let target = target_of(own[0]);
                    let all: Vec<&str> = families::ALL
                        .iter()
                        .filter(|family| target_of(*family) == target)
                        .map(Family::id)
                        .collect();
                    assert_eq!(own.len(), all.len(), "{target}");
                    assert!(all.iter().all(|family| ended.contains(family)), "{target}");
                    shared += usize::from(all.len() > 1);
                }
            }
            open.extend(std::iter::from_fn(|| queue.next(Lane::Main)));
        }
        assert_eq!((ended.len(), shared), (families::ALL.iter().count(), expect));
    }
}
