//! What ended in silence beside others is run again alone: a busy machine must not look like a broken target. So is what a
//! target reports a timeout of, since it waits for the suite's own parties. Where the suite was held up even then, nothing
//! is concluded of it yet.
//!
//! A wrong answer is one however many scenarios ran, and is not looked at here.

use std::collections::{BTreeMap, BTreeSet};

use super::Remark;
use super::exits::Exits;
use super::hung::{give_up, is_hung, silent};
use super::rerun::{Drive, HINDERED_AGAIN, could_not_run};
use super::scenario_result::{RerunReason, ScenarioResult};
use super::vocabulary::Driven;
use super::writer::Facts;
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

/// Runs again what has to be, at most `limit` scenarios, and puts what comes of it in place of what was.
pub(super) async fn settle(
    limit: usize,
    cases: &[&Case],
    driven: &mut Driven,
    drive: &impl Drive,
) -> Settled {
    if limit == 0 {
        return Settled::default();
    }
    let (mut remarks, mut hung) = (Vec::new(), Vec::new());
    let mut again: Vec<&Case> = Vec::new();
    for family in drive.families().iter() {
        let own: Vec<&Case> = cases.iter().filter(|case| family.has(&case.profile)).copied().collect();
        let profiles: BTreeSet<&str> = own.iter().map(|case| case.profile.as_str()).collect();
        // Of a target that never worked nothing counts anyway.
        for profile in profiles.into_iter().filter(|profile| drive.counts(profile)) {
            let own: Vec<&Case> = own.iter().filter(|case| case.profile == profile).copied().collect();
            let silent = silent(&own, driven);
            if !silent.is_empty() && is_hung(family, &own, (&silent, limit), driven, drive).await {
                remarks.extend(give_up(profile, &silent, driven));
                hung.push(profile.to_owned());
                continue;
            }
            let doubtful = silent.iter().filter(|silent| silent.in_company || silent.held_up);
            again.extend(doubtful.map(|silent| silent.case));
            let is_other = |case: &&Case| driven.results.get(&case.id).is_some_and(is_doubtful);
            again.extend(own.iter().filter(|case| is_other(case)).copied());
        }
    }
    // What would be a failure comes first, should there be too many.
    again.sort_by_key(|case| urgency(driven.facts.get(&case.at)));
    // What this machine or the broker stood in the way of is as many as ran at that moment, and none of it is the target's.
    let is_ours = |case: &&Case| {
        driven.results.get(&case.id).is_some_and(|own| own.again == Some(RerunReason::Shortage))
    };
    let (mut ours, mut again): (Vec<&Case>, Vec<&Case>) = again.into_iter().partition(is_ours);
    let mut beyond = again.split_off(again.len().min(limit));
    beyond.extend(ours.split_off(ours.len().min(limit.saturating_mul(SHORTAGES))));
    again.extend(ours);
    if !again.is_empty() {
        drive.announce(again.len());
    }
    let mut confirmed = true;
    for family in drive.families().iter() {
        let mut own: Vec<&Case> = again.iter().filter(|case| family.has(&case.profile)).copied().collect();
        let mut exits = Exits::default();
        for left in (0..=HINDERED_AGAIN).rev() {
            if own.is_empty() {
                break;
            }
            let mut doubtful = Vec::new();
            let mut goes_on = false;
            for some in own.chunks(TOGETHER) {
                // What stood in the way of all that were tried last stands in the way of the others.
                if goes_on {
                    doubtful.extend(some);
                    confirmed &= left > 0;
                    continue;
                }
                let Driven { mut facts, mut results } = drive.drive(family, some).await;
                let stands_in_the_way = |case: &&Case| {
                    results.get(&case.id).is_some_and(|own| own.again == Some(RerunReason::Shortage))
                };
                goes_on = some.len() == TOGETHER && some.iter().all(stands_in_the_way);
                for case in some {
                    let (Some(facts), Some(now)) = (facts.get_mut(&case.at), results.remove(&case.id)) else {
                        continue;
                    };
                    let before = driven.results.get(&case.id).map(|own| (own.again, own.beside));
                    let shortage = driven.results.get(&case.id).and_then(|own| own.shortage.clone());
                    // Who was alone with the target when it ended is not excused by that end.
                    if now.has_ended && before.is_some_and(|(_, beside)| beside.target == 0) {
                        continue;
                    }
                    let held_up = now.held_up;
                    // A broker elects its leaders for as long as it takes, for a repeat as for what came before.
                    let is_hindered = held_up || now.again == Some(RerunReason::Shortage);
                    if is_hindered && left > 0 {
                        doubtful.push(*case);
                        continue;
                    }
                    let exited = driven.results.get(&case.id).and_then(|own| own.exited.clone());
                    exits.repeated((case, drive.is_required(case)), exited, (facts, &now));
                    let is_confirmed = facts.trouble.is_some() && !held_up;
                    confirmed &= is_confirmed;
                    if let (Some((Some(reason), beside)), None) = (before, &facts.trouble) {
                        remarks.push(remark(case, reason, beside.any, &shortage.unwrap_or_default()));
                    }
                    driven.facts.insert(case.at.clone(), facts.clone());
                    driven.results.insert(case.id.clone(), now);
                    if held_up {
                        could_not_run(driven, case, Cause::Environment, HELD_UP.to_owned());
                    }
                }
            }
            own = doubtful;
        }
        exits.settle(driven);
    }
    if !beyond.is_empty() {
        remarks.push(leave(&beyond, (limit, confirmed), driven));
    }
    Settled { remarks, hung }
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

/// Leaves what cannot be repeated any more as it is, where all that was repeated came to the same again (`confirmed`): so
/// would the others. Otherwise nothing is concluded of it.
fn leave(beyond: &[&Case], (limit, confirmed): (usize, bool), driven: &mut Driven) -> Remark {
    if !confirmed {
        let message = format!("it has to be repeated alone, and {limit} were already ({SERIAL})");
        for case in beyond {
            could_not_run(driven, case, Cause::Implementation, message.clone());
        }
    }
    let text =
        format!("{} more scenarios have to be repeated alone than the {limit} that were", beyond.len());
    Remark { scenario: None, text, log: Vec::new() }
}

/// Times as many scenarios are repeated at most where something of ours stood in the way.
const SHORTAGES: usize = 4;
/// Scenarios that are repeated before it is looked at whether something stands in the way of all of them.
const TOGETHER: usize = 16;
/// Why nothing is concluded of a scenario then.
const HELD_UP: &str = "this machine held the suite up whenever the scenario was repeated, so that the suite's own \
                       parties were late: run it on a machine that is less busy";

/// What helps a target that is only late because others come before.
const SERIAL: &str = "`serial = true` in the manifest has scenarios run one by one";

/// Says why a scenario was repeated; `why` is what stood in the way.
fn remark(case: &Case, reason: RerunReason, beside: usize, why: &str) -> Remark {
    let text = match reason {
        RerunReason::Silence => {
            format!("`{}` is answered alone, and was not beside {beside} others: {SERIAL}", case.id)
        }
        RerunReason::Timeout => {
            format!(
                "the target reports no timeout in `{}` alone, and did beside {beside} others: {SERIAL}",
                case.id
            )
        }
        RerunReason::Borrowed => format!(
            "`{}` was repeated with a server of its own, since an earlier scenario may have harmed the one it had",
            case.id
        ),
        RerunReason::Shortage => {
            format!("`{}` was repeated, since something stood in the way meanwhile: {why}", case.id)
        }
        RerunReason::Exit => {
            format!("`{}` was repeated, since the server's process ended meanwhile", case.id)
        }
        RerunReason::HeldUp => format!(
            "`{}` was repeated, since this machine held the suite up meanwhile, and its own parties were late",
            case.id
        ),
    };
    Remark { scenario: Some(case.id.clone()), text, log: Vec::new() }
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
    use super::*;
    use crate::engine::family::{Families, Family};
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
        let is_own =
            |case: &&Case| case.profile == "hub.server" && !DEAR.iter().any(|tag| case.tags.contains(*tag));
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
        let (failed, could_not_run, _, remarks) = check(6, 8, 4, &|place| place == 1).await;
        assert_eq!((failed, could_not_run), (vec![1], vec![5, 6]));
        assert!(remarks.iter().any(|remark| remark.text.starts_with("2 more scenarios")), "{remarks:?}");
        let (failed, could_not_run, ..) = check(6, 8, 4, &|place| place > 0).await;
        assert_eq!((failed, could_not_run), ((1..=6).collect(), vec![]));
    }

    #[tokio::test]
    async fn what_stood_in_the_way_of_many_at_once_is_made_good_for_all() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases = of_a_hub(&catalogue, 9);
        for (reason, expect) in [(RerunReason::Shortage, 8), (RerunReason::HeldUp, 2)] {
            let mut driven = Driven::default();
            for (order, case) in cases.iter().enumerate() {
                put(&mut driven, case, (order > 0).then_some(reason), 8, order);
            }
            let alone = Alone { ends: &|_| None, held_up: &|_| 0, ran: RefCell::default() };
            settle(2, &cases, &mut driven, &alone).await;
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
