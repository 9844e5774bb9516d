//! What ended in silence beside others is run again alone: a busy machine must not look like a broken target.
//!
//! A wrong answer is one however many scenarios ran, and is not looked at here.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::LocalBoxFuture;

use super::Remark;
use super::scenario_result::RerunReason;
use super::vocabulary::Driven;
use super::writer::Facts;
use crate::engine::family::{Families, Family};
use crate::engine::judge::{Cause, CheckFailure};
use crate::spec::catalog::Case;

/// What ended in silence.
struct Silent<'a> {
    case: &'a Case,
    /// Whether others ran meanwhile.
    in_company: bool,
    /// Whether others ran against its target.
    shares_target: bool,
    order: usize,
}

/// Who runs scenarios again.
pub(super) trait Drive {
    /// The families of the run.
    fn families(&self) -> Families;

    /// Whether what the target does counts for this profile.
    fn counts(&self, profile: &str) -> bool;

    /// Runs scenarios of one family again, one at a time.
    fn drive<'a>(&'a self, family: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven>;
}

/// Runs again what has to be, at most `limit` scenarios, and puts what comes of it in place of what was. Gives back what is to be said of it.
pub(super) async fn settle(
    limit: usize,
    cases: &[&Case],
    driven: &mut Driven,
    drive: &impl Drive,
) -> Vec<Remark> {
    if limit == 0 {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let mut again: Vec<&Case> = Vec::new();
    for family in drive.families().iter() {
        let own: Vec<&Case> = cases.iter().filter(|case| family.has(&case.profile)).copied().collect();
        let profiles: BTreeSet<&str> = own.iter().map(|case| case.profile.as_str()).collect();
        // Of a target that never worked nothing counts anyway.
        for profile in profiles.into_iter().filter(|profile| drive.counts(profile)) {
            let own: Vec<&Case> = own.iter().filter(|case| case.profile == profile).copied().collect();
            let silent = silent(&own, driven);
            if !silent.is_empty() && is_hung(family, &own, driven, drive).await {
                remarks.extend(give_up(profile, &silent, driven));
                continue;
            }
            again.extend(silent.iter().filter(|silent| silent.in_company).map(|silent| silent.case));
            let is_other = |case: &&Case| {
                let remains = driven.remains.get(&case.id);
                remains.is_some_and(|own| own.again.is_some_and(|reason| reason != RerunReason::Silence))
            };
            again.extend(own.iter().filter(|case| is_other(case)).copied());
        }
    }
    // What would be a failure comes first, should there be too many.
    again.sort_by_key(|case| urgency(driven.facts.get(&case.at)));
    let beyond = again.split_off(again.len().min(limit));
    let mut confirmed = true;
    for family in drive.families().iter() {
        let own: Vec<&Case> = again.iter().filter(|case| family.has(&case.profile)).copied().collect();
        if own.is_empty() {
            continue;
        }
        let Driven { facts, mut remains } = drive.drive(family, &own).await;
        for case in own {
            let (Some(facts), Some(now)) = (facts.get(&case.at), remains.remove(&case.id)) else { continue };
            let before = driven.remains.get(&case.id).map(|own| (own.again, own.beside));
            // Who was alone with the target when it ended is not excused by that end.
            if now.has_ended && before.is_some_and(|(_, beside)| beside.target == 0) {
                continue;
            }
            let is_confirmed = facts.trouble.is_some();
            confirmed &= is_confirmed;
            if let (Some((Some(reason), beside)), false) = (before, is_confirmed) {
                remarks.push(remark(case, reason, beside.any));
            }
            driven.facts.insert(case.at.clone(), facts.clone());
            driven.remains.insert(case.id.clone(), now);
        }
    }
    if !beyond.is_empty() {
        remarks.push(Remark {
            scenario: None,
            text: format!(
                "{} more scenarios have to be repeated alone than the {limit} that were",
                beyond.len()
            ),
            log: Vec::new(),
        });
        // Where all that were repeated came to the same again, so would the others.
        if !confirmed {
            let message = format!("it has to be repeated alone, and {limit} were already ({SERIAL})");
            for case in &beyond {
                could_not_run(driven, case, message.clone());
            }
        }
    }
    remarks
}

/// What helps a target that is only late because others come before.
const SERIAL: &str = "`serial = true` in the manifest has scenarios run one by one";

fn remark(case: &Case, reason: RerunReason, beside: usize) -> Remark {
    let text = match reason {
        RerunReason::Silence => {
            format!("`{}` is answered alone, and was not beside {beside} others: {SERIAL}", case.id)
        }
        RerunReason::Borrowed => format!(
            "`{}` was repeated with a server of its own, since an earlier scenario may have harmed the one it had",
            case.id
        ),
        RerunReason::Shortage => {
            format!("`{}` was repeated, since this machine lacked something meanwhile", case.id)
        }
        RerunReason::HeldUp => format!(
            "`{}` was repeated, since this machine held the suite up meanwhile, and its own parties were late",
            case.id
        ),
    };
    Remark { scenario: Some(case.id.clone()), text, log: Vec::new() }
}

/// What ended in silence, in the order in which it ended.
fn silent<'a>(cases: &[&'a Case], driven: &Driven) -> Vec<Silent<'a>> {
    let of = |case: &&'a Case| {
        let remains = driven.remains.get(&case.id).filter(|own| own.again == Some(RerunReason::Silence))?;
        Some(Silent {
            case,
            in_company: remains.beside.any > 0,
            shares_target: remains.beside.target > 0,
            order: remains.order,
        })
    };
    let mut silent: Vec<Silent<'a>> = cases.iter().filter_map(of).collect();
    silent.sort_by_key(|silent| silent.order);
    silent
}

/// Whether the target answers nothing any more: a scenario that it passed ends in silence now.
async fn is_hung(family: &'static dyn Family, cases: &[&Case], driven: &Driven, drive: &impl Drive) -> bool {
    let passed = |case: &&&Case| {
        let facts = driven.facts.get(&case.at);
        facts.is_some_and(|facts| facts.finished && facts.trouble.is_none())
            && !DEAR.iter().any(|tag| case.tags.contains(*tag))
    };
    let Some(control) = cases.iter().find(passed) else { return false };
    let Driven { remains, .. } = drive.drive(family, &[control]).await;
    // One that has ended says so in every scenario.
    remains.get(&control.id).is_some_and(|own| own.again == Some(RerunReason::Silence) && !own.has_ended)
}

/// Nothing is concluded from the silence of a target that hangs, but for the scenario that was alone with it when it
/// began.
fn give_up(profile: &str, silent: &[Silent<'_>], driven: &mut Driven) -> Option<Remark> {
    let first = silent.first()?;
    let rest = if first.shares_target { silent } else { &silent[1..] };
    let message = "the target answers nothing any more, not even what it answered before".to_owned();
    for silent in rest {
        could_not_run(driven, silent.case, message.clone());
    }
    let flight = driven.remains.get(&first.case.id).map(|own| in_flight(&own.flight)).unwrap_or_default();
    let text = format!("{profile}: {message}{flight}");
    Some(Remark { scenario: None, text, log: Vec::new() })
}

/// Says which scenarios ran.
pub(super) fn in_flight(ids: &[String]) -> String {
    let named: Vec<String> = ids.iter().take(FLIGHT).map(|id| format!("`{id}`")).collect();
    let rest = ids.len().saturating_sub(FLIGHT);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    if named.is_empty() { rest } else { format!("; in flight then: {}{rest}", named.join(", ")) }
}

/// Tags of scenarios that are no means to look whether a target is alive.
const DEAR: [&str; 2] = ["last", "holds"];

/// Scenarios that are named where a target hangs or ends.
const FLIGHT: usize = 8;

fn could_not_run(driven: &mut Driven, case: &Case, message: String) {
    if let Some(facts) = driven.facts.get_mut(&case.at) {
        facts.trouble = Some(CheckFailure::CouldNotRun { cause: Cause::Implementation, message });
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
    for (id, remains) in &driven.remains {
        let (Some(shortage), Some(case)) = (&remains.shortage, places.get(id.as_str())) else { continue };
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

    use super::*;
    use crate::engine::judge::Finding;
    use crate::engine::run::company::Beside;
    use crate::engine::run::scenario_result::ScenarioResult;
    use crate::families;
    use crate::spec::catalog::Catalogue;

    /// How scenarios end that are run again.
    struct Alone<'a> {
        ends: &'a dyn Fn(&str) -> Option<RerunReason>,
        ran: RefCell<Vec<String>>,
    }

    impl Drive for Alone<'_> {
        fn families(&self) -> Families {
            families::ALL
        }

        fn counts(&self, _: &str) -> bool {
            true
        }

        fn drive<'a>(&'a self, _: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven> {
            let mut driven = Driven::default();
            for case in cases {
                self.ran.borrow_mut().push(case.id.clone());
                put(&mut driven, case, (self.ends)(&case.id), 0, 0);
            }
            async { driven }.boxed_local()
        }
    }

    fn put(driven: &mut Driven, case: &Case, again: Option<RerunReason>, beside: usize, order: usize) {
        let trouble = again.map(|_| Finding::new("nothing came", "answer").into());
        driven.facts.insert(case.at.clone(), Facts::ended(trouble));
        let beside = Beside { any: beside, target: beside };
        driven
            .remains
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
        let cases: Vec<&Case> = catalogue
            .cases()
            .iter()
            .filter(|case| case.profile == "hub.server" && !DEAR.iter().any(|tag| case.tags.contains(*tag)))
            .take(silent + 1)
            .collect();
        assert_eq!(cases.len(), silent + 1);
        let mut driven = Driven::default();
        for (order, case) in cases.iter().enumerate() {
            put(&mut driven, case, (order > 0).then_some(RerunReason::Silence), beside, order);
        }
        let place = |id: &str| cases.iter().position(|case| case.id == id).unwrap_or_default();
        let ends = |id: &str| ends(place(id)).then_some(RerunReason::Silence);
        let alone = Alone { ends: &ends, ran: RefCell::default() };
        let remarks = settle(limit, &cases, &mut driven, &alone).await;
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
    async fn a_target_that_hangs_breaks_only_the_rule_of_who_was_alone_with_it() {
        let (failed, could_not_run, ran, remarks) = check(6, 8, 50, &|_| true).await;
        assert_eq!((failed, could_not_run), (vec![], (1..=6).collect()));
        assert_eq!((ran, remarks.len()), (1, 1), "{remarks:?}");
        let (failed, could_not_run, ..) = check(6, 0, 50, &|_| true).await;
        assert_eq!((failed, could_not_run), (vec![1], (2..=6).collect()));
    }
}
