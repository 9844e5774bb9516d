//! Targets that answer nothing any more: their silence breaks no rule, but that of who was alone with them.

use super::Remark;
use super::rerun::{Drive, HINDERED_AGAIN, could_not_run};
use super::scenario_result::RerunReason;
use super::vocabulary::Driven;
use crate::engine::family::Family;
use crate::engine::invariant::ALWAYS;
use crate::engine::judge::{Cause, CheckFailure};
use crate::spec::catalog::Case;

/// Tags of scenarios that are no means to look whether a target is alive.
pub(super) const DEAR: [&str; 3] = ["last", "holds", ALWAYS];

/// Scenarios that are named where a target hangs or ends.
const FLIGHT: usize = 8;

/// What is said of a target that hangs.
const MESSAGE: &str =
    "the target answers nothing any more, not even what it answered before or what is asked of it alone";

/// Why a scenario could not run whose target hangs.
pub(super) fn trouble() -> CheckFailure {
    CheckFailure::CouldNotRun { cause: Cause::Implementation, message: MESSAGE.to_owned() }
}

/// What ended in silence.
pub(super) struct Silent<'a> {
    pub(super) case: &'a Case,
    /// Whether others ran meanwhile.
    pub(super) in_company: bool,
    /// Whether others ran against its target.
    shares_target: bool,
    /// Whether the suite was held up meanwhile.
    pub(super) held_up: bool,
    order: usize,
}

/// What ended in silence, in the order in which it ended.
pub(super) fn silent<'a>(cases: &[&'a Case], driven: &Driven) -> Vec<Silent<'a>> {
    let of = |case: &&'a Case| {
        let result = driven.results.get(&case.id).filter(|own| own.again == Some(RerunReason::Silence))?;
        Some(Silent {
            case,
            in_company: result.beside.any > 0,
            shares_target: result.beside.target > 0,
            held_up: result.held_up,
            order: result.order,
        })
    };
    let mut silent: Vec<Silent<'a>> = cases.iter().filter_map(of).collect();
    silent.sort_by_key(|silent| silent.order);
    silent
}

/// Whether the target answers nothing any more: a scenario that it passed ends in silence now; or it passed none, more are
/// silent than are repeated, and one that is stays so alone.
pub(super) async fn is_hung(
    family: &'static dyn Family,
    cases: &[&Case],
    (silent, limit): (&[Silent<'_>], usize),
    driven: &Driven,
    drive: &impl Drive,
) -> bool {
    let passed = |case: &&&Case| {
        let facts = driven.facts.get(&case.at);
        facts.is_some_and(|facts| facts.finished && facts.trouble.is_none())
            && !DEAR.iter().any(|tag| case.tags.contains(*tag))
    };
    // Where nothing was passed, it is not known to have answered at all; what cannot be repeated any more is looked at by
    // the first that can.
    let is_beyond = silent.len() > limit;
    let first = silent.first().filter(|_| is_beyond).map(|silent| silent.case);
    let Some(control) = cases.iter().find(passed).copied().or(first) else { return false };
    for _ in 0..=HINDERED_AGAIN {
        let Driven { results, .. } = drive.drive(family, &[control]).await;
        let Some(own) = results.get(&control.id) else { return false };
        if !own.held_up {
            // One that has ended says so in every scenario.
            return own.again == Some(RerunReason::Silence) && !own.has_ended;
        }
    }
    false
}

/// Nothing is concluded from the silence of a target that hangs, but for the scenario that was alone with it when it
/// began.
pub(super) fn give_up(profile: &str, silent: &[Silent<'_>], driven: &mut Driven) -> Option<Remark> {
    let first = silent.first()?;
    let rest = if first.shares_target { silent } else { &silent[1..] };
    for silent in rest {
        could_not_run(driven, silent.case, Cause::Implementation, MESSAGE.to_owned());
    }
    let flight = driven.results.get(&first.case.id).map(|own| in_flight(&own.flight)).unwrap_or_default();
    let text = format!("{profile}: {MESSAGE}{flight}");
    Some(Remark { scenario: None, text, log: Vec::new() })
}

/// Says which scenarios ran.
pub(super) fn in_flight(ids: &[String]) -> String {
    let named: Vec<String> = ids.iter().take(FLIGHT).map(|id| format!("`{id}`")).collect();
    let rest = ids.len().saturating_sub(FLIGHT);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    if named.is_empty() { rest } else { format!("; in flight then: {}{rest}", named.join(", ")) }
}
