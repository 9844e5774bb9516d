//! What is concluded of a target that ended in the middle of the run: what is reported of it, and whose message ended it.
//!
//! What ran when it ended is run again, one by one, on a target that was started once more. Whoever ends it again breaks
//! a rule; all others could not run. A process is gone a while after it has stopped listening: what ended in silence
//! meanwhile is judged by how it is answered now.

use std::collections::BTreeSet;

use callmark_reports::record::Direction;
use futures::future::LocalBoxFuture;

use super::hung::in_flight;
use super::plan::Remark;
use super::scenario_result::{RerunReason, ScenarioResult};
use super::vocabulary::Driven;
use super::writer::StepPlace;
use crate::engine::family::{Families, Family};
use crate::engine::judge::{Cause, CheckFailure, Finding};
use crate::spec::catalog::Case;

/// Lines of a log that are shown with a target's end.
pub(super) const LINES: usize = 40;
/// Scenarios that are blamed for ending one target, at most: each has it started once more.
const CULPRITS: usize = 3;
/// Scenarios that ended in silence before, which may have been the target's end already: on a busy machine a process takes
/// seconds to end, and a scenario that nothing answers takes a moment.
const SILENT: usize = 32;

/// The end of a target.
pub(super) struct End<'a> {
    /// The target, as [`Revive::target_of`] names it.
    target: &'static str,
    /// The scenario that found it first.
    first: &'a Case,
    /// What may have ended it: first what ended in silence before that, the last one first.
    suspects: Vec<&'a Case>,
    /// How many of them ended in silence before.
    silent: usize,
    /// The end of its log.
    log: Vec<String>,
}

/// Who looks after targets, and runs scenarios again.
pub(super) trait Revive {
    /// The target of a family.
    fn target_of(&self, family: &'static dyn Family) -> &'static str;

    /// The last lines of the log of a target.
    fn last_lines(&self, target: &str) -> Vec<String>;

    /// What there is to say of a target that has ended, or does so shortly.
    fn ended<'a>(&'a self, target: &'a str) -> LocalBoxFuture<'a, Option<String>>;

    /// Starts a target that has ended once more, and waits until it answers.
    fn restart<'a>(&'a self, target: &'a str) -> LocalBoxFuture<'a, Result<(), String>>;

    /// Runs scenarios of one family again, one at a time.
    fn drive<'a>(&'a self, family: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven>;
}

/// The targets that were found ended, by what came of the scenarios when they ran first.
pub(super) fn find<'a>(
    cases: &[&'a Case],
    driven: &Driven,
    families: Families,
    revive: &impl Revive,
) -> Vec<End<'a>> {
    let targets: BTreeSet<&'static str> = families.iter().map(|family| revive.target_of(family)).collect();
    let ends = targets.into_iter().filter_map(|target| {
        let own: Vec<(&'a Case, &ScenarioResult)> = cases
            .iter()
            .filter(|case| {
                families.of(&case.profile).is_some_and(|family| revive.target_of(family) == target)
            })
            .filter_map(|case| Some((*case, driven.results.get(&case.id)?)))
            .collect();
        let ended = own.iter().filter(|(_, result)| result.has_ended);
        let (first, result) = *ended.min_by_key(|(_, result)| result.order)?;
        // Whoever gave up before the target answered another had run against a target that served.
        let last_answer = own.iter().filter_map(|(_, own)| own.answered).max();
        let mut silent: Vec<(&Case, usize)> = own
            .iter()
            .filter(|(_, own)| own.again == Some(RerunReason::Silence) && own.order < result.order)
            .filter(|(_, own)| own.ended >= last_answer)
            .map(|(case, own)| (*case, own.order))
            .collect();
        silent.sort_by_key(|(_, order)| std::cmp::Reverse(*order));
        silent.truncate(SILENT);
        let is_silent = |case: &Case| silent.iter().any(|(own, _)| own.id == case.id);
        let in_flight = own.iter().map(|(case, _)| *case).filter(|case| result.flight.contains(&case.id));
        let in_flight = in_flight.filter(|case| !is_silent(case));
        let mut suspects: Vec<&Case> = silent.iter().map(|(case, _)| *case).chain(in_flight).collect();
        if !suspects.iter().any(|case| case.id == first.id) {
            suspects.push(first);
        }
        Some(End { target, first, suspects, silent: silent.len(), log: revive.last_lines(target) })
    });
    ends.collect()
}

/// What is to be said of them.
pub(super) fn remarks(ends: &[End<'_>], driven: &Driven) -> Vec<Remark> {
    let text = |end: &End<'_>| {
        let result = driven.results.get(&end.first.id)?;
        let trouble = driven.facts.get(&end.first.at).and_then(|facts| facts.trouble.as_ref());
        let Some(CheckFailure::CouldNotRun { message, .. }) = trouble else { return None };
        let text = format!("{}: {message}{}", end.first.profile, in_flight(&result.flight));
        Some(Remark { scenario: Some(end.first.id.clone()), text, log: end.log.clone() })
    };
    ends.iter().filter_map(text).collect()
}

/// Finds out whose message ended a target: at most `limit` scenarios of each are run again. What ended in silence before,
/// and is answered now, had run against a target that was ending.
pub(super) async fn blame(
    ends: &[End<'_>],
    limit: usize,
    driven: &mut Driven,
    families: Families,
    revive: &impl Revive,
) {
    for end in ends {
        let mut culprits = 0;
        for (place, case) in end.suspects.iter().enumerate().take(limit) {
            let Some(family) = families.of(&case.profile).filter(|family| !family.attributes_ends()) else {
                continue;
            };
            if revive.ended(end.target).await.is_some() && revive.restart(end.target).await.is_err() {
                break;
            }
            let Driven { mut facts, mut results } = revive.drive(family, &[*case]).await;
            let (Some(mut facts), Some(result)) = (facts.remove(&case.at), results.remove(&case.id)) else {
                continue;
            };
            let Some(message) = revive.ended(end.target).await else {
                if place < end.silent && result.again.is_none() && !result.has_ended {
                    driven.facts.insert(case.at.clone(), facts);
                    driven.results.insert(case.id.clone(), result);
                }
                continue;
            };
            if !is_sent(&result) {
                continue;
            }
            facts.trouble = Some(finding(&message));
            if facts.step.is_none() {
                facts.step = case.scenario().steps.last().map(StepPlace::of);
            }
            driven.facts.insert(case.at.clone(), facts);
            driven.results.insert(case.id.clone(), result);
            culprits += 1;
            if culprits == CULPRITS {
                break;
            }
        }
    }
}

/// Who was alone with the target when it ended (`@last`), and had sent it something, breaks a rule by that, also where
/// the target cannot be started once more; all who came after it could not run.
pub(super) fn blame_the_lone(cases: &[&Case], driven: &mut Driven, families: Families) {
    for family in families.iter() {
        let ended = cases.iter().filter_map(|case| {
            let result = driven.results.get(&case.id).filter(|own| own.has_ended)?;
            family.has(&case.profile).then_some((*case, result))
        });
        let Some((case, result)) = ended.min_by_key(|(_, result)| result.order) else { continue };
        if !case.tags.contains("last")
            || result.beside.target > 0
            || !is_sent(result)
            || family.attributes_ends()
        {
            continue;
        }
        let Some(facts) = driven.facts.get_mut(&case.at) else { continue };
        if let Some(CheckFailure::CouldNotRun { cause: Cause::Implementation, message }) = &facts.trouble {
            facts.trouble = Some(finding(message));
        }
    }
}

fn is_sent(result: &ScenarioResult) -> bool {
    result.frames().iter().any(|frame| frame.direction == Direction::ToTarget)
}

/// What a target breaks that ends on what a scenario sends.
pub(super) fn finding(message: &str) -> CheckFailure {
    let hint = "catch what goes wrong with one message, also with one that cannot be read, and go on serving";
    let finding = Finding::new(format!("the target ends on what this scenario sends: {message}"), hint);
    finding.expected("a target that goes on serving").actual(Some(&"its process has ended".into())).into()
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use futures::FutureExt as _;

    use super::*;
    use crate::engine::run::company::Beside;
    use crate::engine::run::writer::Facts;
    use crate::families;
    use crate::spec::catalog::Catalogue;
    use crate::transcript::{Frame, Kind};

    /// A target that ends on what one scenario sends, or on nothing when it is started once more.
    struct Fragile {
        ends_on: Option<String>,
        has_ended: Cell<bool>,
        starts: bool,
        log: &'static [&'static str],
        ran: RefCell<Vec<String>>,
    }

    impl Revive for Fragile {
        fn target_of(&self, family: &'static dyn Family) -> &'static str {
            family.target()
        }

        fn last_lines(&self, _: &str) -> Vec<String> {
            self.log.iter().map(|&line| line.to_owned()).collect()
        }

        fn ended<'a>(&'a self, _: &'a str) -> LocalBoxFuture<'a, Option<String>> {
            let ended = self.has_ended.get().then(|| "it ended".to_owned());
            async { ended }.boxed_local()
        }

        fn restart<'a>(&'a self, _: &'a str) -> LocalBoxFuture<'a, Result<(), String>> {
            self.has_ended.set(!self.starts);
            let result = if self.starts { Ok(()) } else { Err("it cannot be started".to_owned()) };
            async { result }.boxed_local()
        }

        fn drive<'a>(&'a self, _: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven> {
            let mut driven = Driven::default();
            for case in cases {
                self.ran.borrow_mut().push(case.id.clone());
                self.has_ended.set(self.ends_on.as_ref() == Some(&case.id));
                put(&mut driven, case, false, 0, 0, Direction::ToTarget);
            }
            async { driven }.boxed_local()
        }
    }

    fn put(
        driven: &mut Driven,
        case: &Case,
        has_ended: bool,
        beside: usize,
        order: usize,
        direction: Direction,
    ) {
        let trouble = has_ended.then(|| CheckFailure::CouldNotRun {
            cause: Cause::Implementation,
            message: "it ended".to_owned(),
        });
        driven.facts.insert(case.at.clone(), Facts::ended(trouble));
        let result = ScenarioResult {
            has_ended,
            order,
            beside: Beside { any: beside, target: beside },
            judged: Some(vec![frame(direction)]),
            ..ScenarioResult::default()
        };
        driven.results.insert(case.id.clone(), result);
    }

    fn frame(direction: Direction) -> Frame {
        Frame {
            n: 1,
            at_us: 0,
            direction,
            kind: Kind::Command,
            channel: String::new(),
            headers: BTreeMap::new(),
            body: serde_json::Value::Null,
        }
    }

    fn is_broken(driven: &Driven, case: &Case) -> bool {
        matches!(driven.facts[&case.at].trouble, Some(CheckFailure::Broken(_)))
    }

    #[test]
    fn who_is_alone_with_a_target_that_ends_breaks_a_rule_and_the_rest_could_not_run() {
        let catalogue = Catalogue::load().expect("a catalogue");
        let is_own = |case: &&Case| case.profile == "utp.pmo" && case.tags.contains("last");
        let cases: Vec<&Case> = catalogue.cases().iter().filter(is_own).take(2).collect();
        assert_eq!(cases.len(), 2);
        let check = |beside: usize, direction: Direction, expect: bool| {
            let mut driven = Driven::default();
            for (order, case) in cases.iter().enumerate() {
                put(&mut driven, case, true, beside, order, direction);
            }
            blame_the_lone(&cases, &mut driven, families::ALL);
            let broken: Vec<bool> = cases.iter().map(|case| is_broken(&driven, case)).collect();
            assert_eq!(broken, [expect, false], "beside {beside}");
        };
        check(0, Direction::ToTarget, true);
        check(1, Direction::ToTarget, false);
        // It had ended before.
        check(0, Direction::FromTarget, false);
    }

    /// Four scenarios of a Hub: one that passed, and three that ran when the target ended. What is broken in the end, and
    /// what was run again, by their places.
    async fn blamed(ends_on: Option<usize>, starts: bool, limit: usize) -> (Vec<usize>, Vec<usize>) {
        blamed_by_log(ends_on, starts, limit, &["the last line"]).await
    }

    /// As [`blamed`], with this at the end of the target's log.
    async fn blamed_by_log(
        ends_on: Option<usize>,
        starts: bool,
        limit: usize,
        log: &'static [&'static str],
    ) -> (Vec<usize>, Vec<usize>) {
        let catalogue = Catalogue::load().expect("a catalogue");
        let is_own = |case: &&Case| case.profile == "hub.server";
        let cases: Vec<&Case> = catalogue.cases().iter().filter(is_own).take(4).collect();
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, order > 0, 2, order, Direction::ToTarget);
        }
        let first = driven.results.get_mut(&cases[1].id).expect("what remains");
        first.flight = cases[1..].iter().map(|case| case.id.clone()).collect();
        let fragile = Fragile {
            ends_on: ends_on.map(|place| cases[place].id.clone()),
            has_ended: Cell::new(true),
            starts,
            log,
            ran: RefCell::default(),
        };
        let ends = find(&cases, &driven, families::ALL, &fragile);
        let remarks = remarks(&ends, &driven);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert_eq!(remarks[0].log, log);
        assert!(remarks[0].text.contains("it ended; in flight then: "), "{remarks:?}");
        blame(&ends, limit, &mut driven, families::ALL, &fragile).await;
        let broken = (0..cases.len()).filter(|place| is_broken(&driven, cases[*place])).collect();
        let place = |id: &String| cases.iter().position(|case| case.id == *id).unwrap_or_default();
        let ran = fragile.ran.borrow().iter().map(place).collect();
        (broken, ran)
    }

    #[tokio::test]
    async fn who_ends_a_target_again_that_was_started_once_more_breaks_a_rule() {
        assert_eq!(blamed(Some(2), true, 50).await, (vec![2], vec![1, 2, 3]));
        // Whoever ran then, none does it again.
        assert_eq!(blamed(None, true, 50).await, (vec![], vec![1, 2, 3]));
        assert_eq!(blamed(Some(2), true, 1).await, (vec![], vec![1]));
        assert_eq!(blamed(Some(2), false, 50).await, (vec![], vec![]));
    }

    /// Eight scenarios of a Hub, of which the second ends it, the third to the seventh find it silent and the last finds it
    /// ended; the places of those that are answered meanwhile. Which are broken in the end, by their places.
    async fn broken_beside(answered: &[usize], ends_on: Option<usize>) -> Vec<usize> {
        let catalogue = Catalogue::load().expect("a catalogue");
        let is_own = |case: &&Case| case.profile == "hub.server";
        let cases: Vec<&Case> = catalogue.cases().iter().filter(is_own).take(8).collect();
        let began = Instant::now();
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, order == 7, 0, order, Direction::ToTarget);
            let at = began + Duration::from_secs(order as u64);
            let result = driven.results.get_mut(&case.id).expect("a result");
            result.ended = Some(at);
            if answered.contains(&order) {
                result.answered = Some(at);
            } else if (1..7).contains(&order) {
                result.again = Some(RerunReason::Silence);
                let silence = CheckFailure::Broken(Box::new(Finding::new("no answer", "answer")));
                driven.facts.insert(case.at.clone(), Facts::ended(Some(silence)));
            }
        }
        let fragile = Fragile {
            ends_on: ends_on.map(|place| cases[place].id.clone()),
            has_ended: Cell::new(true),
            starts: true,
            log: &[],
            ran: RefCell::default(),
        };
        let ends = find(&cases, &driven, families::ALL, &fragile);
        blame(&ends, 50, &mut driven, families::ALL, &fragile).await;
        (0..cases.len()).filter(|place| is_broken(&driven, cases[*place])).collect()
    }

    #[tokio::test]
    async fn what_ran_while_a_target_was_ending_is_judged_by_how_it_is_answered_later() {
        assert_eq!(broken_beside(&[0], Some(1)).await, [1]);
        assert!(broken_beside(&[0], None).await.is_empty());
        assert!(broken_beside(&[], None).await.is_empty());
    }

    #[tokio::test]
    async fn whoever_gave_up_before_another_was_answered_ran_against_a_target_that_served() {
        assert_eq!(broken_beside(&[0, 4], None).await, [1, 2, 3]);
        assert_eq!(broken_beside(&[0, 6], None).await, [1, 2, 3, 4, 5]);
    }

    #[tokio::test]
    async fn who_ends_a_target_is_found_where_its_log_is_empty_too() {
        assert_eq!(blamed_by_log(Some(2), true, 50, &[]).await, (vec![2], vec![1, 2, 3]));
        assert_eq!(blamed_by_log(None, true, 50, &[]).await, (vec![], vec![1, 2, 3]));
    }
}
