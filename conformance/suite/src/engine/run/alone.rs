//! What ended in silence beside others is run again alone: a busy machine must not look like a broken target. So is what a
//! target reports a timeout of, since it waits for the suite's own parties. Where the suite was held up even then, nothing
//! is concluded of it yet.
//!
//! A wrong answer is one however many scenarios ran, and is not looked at here.

use std::collections::{BTreeMap, BTreeSet};

use super::Remark;
use super::hung::{give_up, is_hung, silent};
use super::repeats::{MOST, Repeats};
use super::rerun::Drive;
use super::scenario_result::{RerunReason, ScenarioResult};
use super::vocabulary::Driven;
use super::writer::Facts;
use crate::engine::family::Family;
use crate::engine::judge::{Cause, CheckFailure};
use crate::spec::catalog::Case;

/// What came of scenarios that had to be run again.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// What is to be said of them.
    pub(super) remarks: Vec<Remark>,
    /// The profiles whose target hangs.
    pub(super) hung: Vec<String>,
}

/// Runs again what has to be, and puts what comes of it in place of what was: of each target until about `limit` scenarios
/// came to the same end again or [`MOST`] times as many were run.
pub(super) async fn settle(
    limit: usize,
    cases: &[&Case],
    driven: &mut Driven,
    drive: &impl Drive,
) -> Settled {
    let mut settled = Settled::default();
    if limit == 0 {
        return settled;
    }
    let mut again = doubtful(limit, cases, driven, drive, &mut settled).await;
    // What would be a failure comes first, should there be too many.
    again.sort_by_key(|case| urgency(driven.facts.get(&case.at)));
    let shares = by_target(&again, limit.saturating_mul(MOST), drive);
    let repeated: usize = shares.iter().map(|share| share.repeated.len()).sum();
    if repeated > 0 {
        drive.announce(repeated);
    }
    for Share { families, repeated, beyond } in shares {
        let mut repeats = Repeats::new(limit, beyond);
        for family in families {
            let own: Vec<&Case> = repeated.iter().filter(|case| family.has(&case.profile)).copied().collect();
            repeats.run(family, own, driven, drive).await;
        }
        settled.remarks.append(&mut repeats.remarks);
        settled.remarks.extend(repeats.leave(driven));
    }
    settled
}

/// What has to be run again of one target. What another one does says nothing of it.
struct Share<'a> {
    families: Vec<&'static dyn Family>,
    repeated: Vec<&'a Case>,
    /// Are too many.
    beyond: Vec<&'a Case>,
}

/// Scenarios that have to be run again, by their targets: at most so many of each, the first ones.
fn by_target<'a>(again: &[&'a Case], most: usize, drive: &impl Drive) -> Vec<Share<'a>> {
    let mut families: Vec<(&str, Vec<&'static dyn Family>)> = Vec::new();
    for family in drive.families().iter() {
        let target = drive.target_of(family);
        match families.iter_mut().find(|(own, _)| *own == target) {
            Some((_, families)) => families.push(family),
            None => families.push((target, vec![family])),
        }
    }
    let share = |(_, families): (&str, Vec<&'static dyn Family>)| {
        let is_own = |case: &&Case| families.iter().any(|family| family.has(&case.profile));
        let mut repeated: Vec<&Case> = again.iter().copied().filter(is_own).collect();
        let beyond = repeated.split_off(repeated.len().min(most));
        Share { families, repeated, beyond }
    };
    families.into_iter().map(share).collect()
}

/// What has to be run again. Of targets that hang, nothing has to be: what is to be said of them is `settled`.
async fn doubtful<'a>(
    limit: usize,
    cases: &[&'a Case],
    driven: &mut Driven,
    drive: &impl Drive,
    settled: &mut Settled,
) -> Vec<&'a Case> {
    let mut again: Vec<&Case> = Vec::new();
    for family in drive.families().iter() {
        let own: Vec<&Case> = cases.iter().filter(|case| family.has(&case.profile)).copied().collect();
        let profiles: BTreeSet<&str> = own.iter().map(|case| case.profile.as_str()).collect();
        // Of a target that never worked nothing counts anyway.
        for profile in profiles.into_iter().filter(|profile| drive.counts(profile)) {
            let own: Vec<&Case> = own.iter().filter(|case| case.profile == profile).copied().collect();
            let silent = silent(&own, driven);
            if !silent.is_empty() && is_hung(family, &own, (&silent, limit), driven, drive).await {
                settled.remarks.extend(give_up(profile, &silent, driven));
                settled.hung.push(profile.to_owned());
                continue;
            }
            let doubtful = silent.iter().filter(|silent| silent.in_company || silent.held_up);
            again.extend(doubtful.map(|silent| silent.case));
            let is_other = |case: &&Case| driven.results.get(&case.id).is_some_and(is_doubtful);
            again.extend(own.iter().filter(|case| is_other(case)).copied());
        }
    }
    again
}

/// Whether what came of a scenario, other than silence, is doubtful.
fn is_doubtful(own: &ScenarioResult) -> bool {
    match own.again {
        None | Some(RerunReason::Silence) => false,
        // Who was alone with the machine was not late for others.
        Some(RerunReason::Timeout) => own.beside.any > 0 || own.held_up,
        Some(RerunReason::Borrowed | RerunReason::Shortage | RerunReason::HeldUp | RerunReason::Exit) => true,
    }
}

fn urgency(facts: Option<&Facts>) -> u8 {
    match facts.and_then(|facts| facts.trouble.as_ref()) {
        Some(CheckFailure::Broken(_)) => 0,
        Some(CheckFailure::CouldNotRun { .. }) => 1,
        Some(CheckFailure::NotObserved(_)) => 2,
        Some(CheckFailure::NotApplicable(_) | CheckFailure::Permitted(_)) | None => 3,
    }
}

/// CheckFailure of this machine is not the target's.
pub(super) fn blame_the_machine(driven: &mut Driven, cases: &[&Case]) {
    let places: BTreeMap<&str, &Case> = cases.iter().map(|case| (case.id.as_str(), *case)).collect();
    for (id, result) in &driven.results {
        let (Some(shortage), Some(case)) = (&result.shortage, places.get(id.as_str())) else { continue };
        let Some(facts) = driven.facts.get_mut(&case.at) else { continue };
        if !matches!(facts.trouble, None | Some(CheckFailure::NotApplicable(_) | CheckFailure::Permitted(_)))
        {
            facts.trouble =
                Some(CheckFailure::CouldNotRun { cause: Cause::Environment, message: shortage.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures::FutureExt as _;
    use futures::future::LocalBoxFuture;

    use super::super::hung::DEAR;
    use super::super::repeats::TOGETHER;
    use super::super::rerun::HINDERED_AGAIN;
    use super::*;
    use crate::engine::family::Families;
    use crate::engine::judge::Finding;
    use crate::engine::run::company::Beside;
    use crate::engine::run::scenario_result::ScenarioResult;
    use crate::families;
    use crate::spec::catalog::Catalogue;

    /// How scenarios end that are run again, and how often the suite is held up in one of them.
    struct Alone<'a> {
        ends: &'a dyn Fn(&str) -> Option<RerunReason>,
        held_up: &'a dyn Fn(&str) -> usize,
        ran: RefCell<Vec<String>>,
    }

    impl Drive for Alone<'_> {
        fn families(&self) -> Families {
            families::ALL
        }

        fn target_of(&self, family: &'static dyn Family) -> &'static str {
            family.target()
        }

        fn is_required(&self, _: &Case) -> bool {
            true
        }

        fn counts(&self, _: &str) -> bool {
            true
        }

        fn drive<'a>(&'a self, _: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven> {
            let mut driven = Driven::default();
            for case in cases {
                let before = self.ran.borrow().iter().filter(|id| **id == case.id).count();
                self.ran.borrow_mut().push(case.id.clone());
                if before < (self.held_up)(&case.id) {
                    put(&mut driven, case, Some(RerunReason::Silence), 0, 0);
                    driven.results.get_mut(&case.id).expect("what remains").held_up = true;
                } else {
                    put(&mut driven, case, (self.ends)(&case.id), 0, 0);
                }
            }
            async { driven }.boxed_local()
        }
    }

    /// So many scenarios of a Hub.
    fn of_a_hub(catalogue: &Catalogue, count: usize) -> Vec<&Case> {
        of_profile(catalogue, "hub.server", count)
    }

    fn of_profile<'a>(catalogue: &'a Catalogue, profile: &str, count: usize) -> Vec<&'a Case> {
        let is_own =
            |case: &&Case| case.profile == profile && !DEAR.iter().any(|tag| case.tags.contains(*tag));
        catalogue.cases().iter().filter(is_own).take(count).collect()
    }

    fn put(driven: &mut Driven, case: &Case, again: Option<RerunReason>, beside: usize, order: usize) {
        let trouble = again.map(|_| Finding::new("nothing came", "answer").into());
        driven.facts.insert(case.at.clone(), Facts::ended(trouble));
        let beside = Beside { any: beside, target: beside };
        driven
            .results
            .insert(case.id.clone(), ScenarioResult { beside, order, again, ..ScenarioResult::default() });
    }

    /// Scenarios of a Hub of which the first one passes and the others are silent beside `beside` others; those that
    /// `ends` names are silent alone too. What failed in the end, what could not run, what was run again, what is said.
    async fn check(
        silent: usize,
        beside: usize,
        limit: usize,
        ends: &dyn Fn(usize) -> bool,
    ) -> (Vec<usize>, Vec<usize>, usize, Vec<Remark>) {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, silent + 1);
        assert_eq!(cases.len(), silent + 1);
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, (order > 0).then_some(RerunReason::Silence), beside, order);
        }
        let place = |id: &str| cases.iter().position(|case| case.id == id).unwrap_or_default();
        let ends = |id: &str| ends(place(id)).then_some(RerunReason::Silence);
        let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
        let remarks = settle(limit, &cases, &mut driven, &alone).await.remarks;
        let ended = |wanted: fn(&CheckFailure) -> bool| {
            let of = |case: &&Case| driven.facts[&case.at].trouble.as_ref().is_some_and(wanted);
            cases.iter().enumerate().filter(|(_, case)| of(case)).map(|(place, _)| place).collect()
        };
        let failed = ended(|trouble| matches!(trouble, CheckFailure::Broken(_)));
        let could_not_run = ended(|trouble| matches!(trouble, CheckFailure::CouldNotRun { .. }));
        (failed, could_not_run, alone.ran.into_inner().len(), remarks)
    }

    #[tokio::test]
    async fn what_is_answered_alone_passes_and_what_is_not_fails() {
        let (failed, could_not_run, ran, remarks) = check(3, 2, 50, &|place| place == 2).await;
        assert_eq!((failed, could_not_run), (vec![2], vec![]));
        // The first one shows that the target is alive.
        assert_eq!((ran, remarks.len()), (4, 2), "{remarks:?}");
        assert!(remarks[0].text.contains("beside 2 others"), "{remarks:?}");
    }

    #[tokio::test]
    async fn what_was_alone_already_is_not_run_again() {
        let (failed, could_not_run, ran, remarks) = check(3, 0, 50, &|_| false).await;
        assert_eq!((failed, could_not_run), (vec![1, 2, 3], vec![]));
        assert_eq!((ran, remarks), (1, vec![]));
    }

    #[tokio::test]
    async fn beyond_the_limit_nothing_is_concluded_unless_all_are_silent() {
        let (failed, could_not_run, _, remarks) = check(10, 8, 2, &|place| place == 1).await;
        assert_eq!((failed, could_not_run), (vec![1], vec![9, 10]));
        assert!(remarks.iter().any(|remark| remark.text.starts_with("2 more scenarios")), "{remarks:?}");
        // One shows that the target is alive.
        let (failed, could_not_run, ran, _) = check(6, 8, 4, &|place| place > 0).await;
        assert_eq!((failed, could_not_run, ran), ((1..=6).collect(), vec![], 1 + 4));
    }

    #[tokio::test]
    async fn what_is_answered_alone_does_not_use_up_the_limit() {
        let (failed, could_not_run, ran, remarks) = check(8, 8, 2, &|place| place == 8).await;
        assert_eq!((failed, could_not_run), (vec![8], vec![]));
        assert_eq!((ran, remarks.len()), (1 + 8, 7), "{remarks:?}");
    }

    #[tokio::test]
    async fn what_one_target_comes_to_leaves_the_repeats_of_another_alone() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let mut cases = of_a_hub(&catalogue, 10);
        cases.extend(of_profile(&catalogue, "toolbus.server", 10));
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, (order % 10 > 0).then_some(RerunReason::Timeout), 8, order);
        }
        let ends = |id: &str| id.starts_with("hub/").then_some(RerunReason::Timeout);
        let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
        settle(2, &cases, &mut driven, &alone).await;
        let fails = |case: &&&Case| driven.facts[&case.at].trouble.is_some();
        let count = |profile: &str| cases.iter().filter(|case| case.profile == profile).filter(fails).count();
        assert_eq!((count("hub.server"), count("toolbus.server")), (9, 1));
    }

    #[tokio::test]
    async fn of_what_was_hindered_nothing_is_concluded_unless_it_is_repeated() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 8);
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, (order > 0).then_some(RerunReason::HeldUp), 8, order);
            driven.results.get_mut(&case.id).expect("what remains").held_up = true;
        }
        let ends = |_: &str| Some(RerunReason::Silence);
        let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
        settle(2, &cases, &mut driven, &alone).await;
        let ended: Vec<Option<Cause>> = cases[1..].iter().map(|case| cause(&driven, case)).collect();
        let (ours, its) = (Some(Cause::Environment), None);
        assert_eq!(ended, [its, its, ours, ours, ours, ours, ours]);
    }

    #[tokio::test]
    async fn what_is_hindered_to_the_last_confirms_nothing_of_others() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 10);
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            let reason = if order == 9 { RerunReason::Timeout } else { RerunReason::Shortage };
            put(&mut driven, case, (order > 0).then_some(reason), 8, order);
        }
        let ends = |_: &str| Some(RerunReason::Shortage);
        let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
        settle(2, &cases, &mut driven, &alone).await;
        assert_eq!(cause(&driven, cases[9]), Some(Cause::Implementation));
    }

    /// Why a scenario could not run.
    fn cause(driven: &Driven, case: &Case) -> Option<Cause> {
        match driven.facts[&case.at].trouble {
            Some(CheckFailure::CouldNotRun { cause, .. }) => Some(cause),
            _ => None,
        }
    }

    #[tokio::test]
    async fn what_stood_in_the_way_of_many_at_once_is_made_good_for_all() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 9);
        for reason in [RerunReason::Shortage, RerunReason::HeldUp, RerunReason::Silence, RerunReason::Timeout]
        {
            let mut driven = Driven::default();
            for (order, case) in cases.iter().enumerate() {
                put(&mut driven, case, (order > 0).then_some(reason), 8, order);
            }
            let alone = Alone { ends: &|_| None, held_up: &|_| 0, ran: RefCell::default() };
            settle(2, &cases, &mut driven, &alone).await;
            // One more shows that a silent target is alive.
            let expect = 8 + usize::from(reason == RerunReason::Silence);
            assert_eq!(alone.ran.borrow().len(), expect, "{reason:?}");
        }
    }

    #[tokio::test]
    async fn what_goes_on_standing_in_the_way_is_waited_for() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 2);
        for (times, repeats, passes) in [(0_usize, 1, true), (1, 2, true), (3, 4, true), (9, 4, false)] {
            let mut driven = Driven::default();
            for (order, case) in cases.iter().enumerate() {
                put(&mut driven, case, (order == 1).then_some(RerunReason::Shortage), 8, order);
            }
            let left = std::cell::Cell::new(times);
            let ends = |_: &str| {
                let stands = left.get() > 0;
                left.set(left.get().saturating_sub(1));
                stands.then_some(RerunReason::Shortage)
            };
            let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
            settle(50, &cases, &mut driven, &alone).await;
            assert_eq!(alone.ran.borrow().len(), repeats, "{times}");
            assert_eq!(driven.facts[&cases[1].at].trouble.is_none(), passes, "{times}");
        }
    }

    #[tokio::test]
    async fn what_stands_in_the_way_of_all_is_not_tried_with_each() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 100);
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, (order > 0).then_some(RerunReason::Shortage), 8, order);
        }
        let ends = |_: &str| Some(RerunReason::Shortage);
        let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
        settle(50, &cases, &mut driven, &alone).await;
        assert_eq!(alone.ran.borrow().len(), TOGETHER * (1 + HINDERED_AGAIN));
        assert!(cases[1..].iter().all(|case| driven.facts[&case.at].trouble.is_some()));
    }

    #[tokio::test]
    async fn a_target_that_never_passed_anything_is_broken_unless_it_is_silent_on_more_than_can_be_repeated()
    {
        let catalogue = Catalogue::load().expect("a catalogue");
        for (count, hangs) in [(4, false), (9, true)] {
            let cases = of_a_hub(&catalogue, count);
            let mut driven = Driven::default();
            for (order, case) in cases.iter().enumerate() {
                put(&mut driven, case, Some(RerunReason::Silence), 8, order);
            }
            let ends = |_: &str| Some(RerunReason::Silence);
            let alone = Alone { ends: &ends, held_up: &|_| 0, ran: RefCell::default() };
            settle(4, &cases, &mut driven, &alone).await;
            let could_not_run = |case: &&&Case| {
                matches!(driven.facts[&case.at].trouble, Some(CheckFailure::CouldNotRun { .. }))
            };
            assert_eq!(cases.iter().filter(could_not_run).count() == count, hangs, "{count}");
        }
    }

    #[tokio::test]
    async fn a_target_that_hangs_breaks_only_the_rule_of_who_was_alone_with_it() {
        let (failed, could_not_run, ran, remarks) = check(6, 8, 50, &|_| true).await;
        assert_eq!((failed, could_not_run), (vec![], (1..=6).collect()));
        assert_eq!((ran, remarks.len()), (1, 1), "{remarks:?}");
        let (failed, could_not_run, ..) = check(6, 0, 50, &|_| true).await;
        assert_eq!((failed, could_not_run), (vec![1], (2..=6).collect()));
    }

    /// Three scenarios of a Hub, of which the last ended for this reason. How it ends, and how often it was run again,
    /// where the suite is held up so often while it is.
    async fn held_up(
        reason: RerunReason,
        beside: usize,
        times: usize,
        ends_well: bool,
    ) -> (Option<Cause>, usize) {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 3);
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, (order == 2).then_some(reason), beside, order);
        }
        let last = cases[2];
        driven.results.get_mut(&last.id).expect("what remains").held_up = true;
        let ends = |id: &str| (id == last.id && !ends_well).then_some(RerunReason::Silence);
        let often = |id: &str| if id == last.id { times } else { 0 };
        let alone = Alone { ends: &ends, held_up: &often, ran: RefCell::default() };
        settle(50, &cases, &mut driven, &alone).await;
        let ran = alone.ran.borrow().iter().filter(|id| **id == last.id).count();
        match &driven.facts[&last.at].trouble {
            None => (None, ran),
            Some(CheckFailure::CouldNotRun { cause, .. }) => (Some(*cause), ran),
            // Its own fault.
            Some(_) => (Some(Cause::Implementation), ran),
        }
    }

    #[tokio::test]
    async fn a_repeat_in_which_the_suite_was_held_up_is_no_verdict() {
        let (fault, ours) = (Some(Cause::Implementation), Some(Cause::Environment));
        for reason in [RerunReason::HeldUp, RerunReason::Silence] {
            assert_eq!(held_up(reason, 2, 0, false).await, (fault, 1));
            assert_eq!(held_up(reason, 2, 1, true).await, (None, 2));
            assert_eq!(held_up(reason, 2, 3, true).await, (None, 4));
            assert_eq!(held_up(reason, 2, 3, false).await, (fault, 4));
            assert_eq!(held_up(reason, 2, 9, true).await, (ours, 4));
        }
        // It was alone the first time, and the machine was not with it.
        assert_eq!(held_up(RerunReason::Silence, 0, 0, true).await, (None, 1));
    }
}
