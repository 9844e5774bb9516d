//! What running scenarios again takes, and what is put down where they could not run.

use futures::future::LocalBoxFuture;

use super::vocabulary::Driven;
use crate::engine::family::{Families, Family};
use crate::engine::judge::{Cause, CheckFailure};
use crate::spec::catalog::Case;

/// Times that a scenario is repeated once more since the suite was held up, or something stood in the way, while it was
/// repeated.
pub(super) const HINDERED_AGAIN: usize = 3;
/// Who runs scenarios again.
pub(super) trait Drive {
    /// The families of the run.
    fn families(&self) -> Families;

    /// The target of a family.
    fn target_of(&self, family: &'static dyn Family) -> &'static str;

    /// Whether what the target does counts for this profile.
    fn counts(&self, profile: &str) -> bool;

    /// Whether a scenario is of a rule that must hold, and counts.
    fn is_required(&self, case: &Case) -> bool;

    /// Says that so many scenarios are run again.
    fn announce(&self, _scenarios: usize) {}

    /// Runs scenarios of one family again, one at a time.
    fn drive<'a>(&'a self, family: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven>;
}

/// Concludes nothing of a scenario.
pub(super) fn could_not_run(driven: &mut Driven, case: &Case, why: Cause, message: String) {
    if let Some(facts) = driven.facts.get_mut(&case.at) {
        facts.trouble = Some(CheckFailure::CouldNotRun { cause: why, message });
    }
}
