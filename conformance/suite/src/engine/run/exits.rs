//! What is concluded of a process that ended by itself, where the suite starts processes for scenarios: whose messages
//! ended it, if it ends again when they are sent once more; and otherwise that what it ended in could not run.

use super::ends;
use super::rerun::could_not_run;
use super::scenario_result::ScenarioResult;
use super::vocabulary::Driven;
use super::writer::{Facts, StepPlace};
use crate::engine::judge::{Cause, CheckFailure};
use crate::spec::catalog::Case;

/// The scenarios of a family in which a process ended, as they were repeated.
#[derive(Default)]
pub(super) struct Exits<'a> {
    /// Passed in their repetition, and how the process ended before.
    unexplained: Vec<(&'a Case, String)>,
    /// Whether one that is required ended a process again.
    has_culprit: bool,
}

impl<'a> Exits<'a> {
    /// Takes in what came of a repetition. Who ends a process again breaks a rule by that, if it `is_required`; and no
    /// recommendation has a server end, so that nothing is concluded of one that is not.
    pub(super) fn repeated(
        &mut self,
        (case, is_required): (&'a Case, bool),
        before: Option<String>,
        (facts, now): (&mut Facts, &ScenarioResult),
    ) {
        let Some(before) = before else { return };
        match (&now.exited, &facts.trouble) {
            (Some(again), _) if !is_required => {
                let message = format!("{again}, on what this scenario sends; a server goes on serving");
                facts.trouble = Some(CheckFailure::CouldNotRun { cause: Cause::Implementation, message });
            }
            (Some(again), None | Some(CheckFailure::CouldNotRun { .. })) => {
                facts.trouble = Some(ends::finding(again));
                facts.step = facts.step.take().or_else(|| case.scenario().steps.last().map(StepPlace::of));
                self.has_culprit = true;
            }
            (Some(_), Some(_)) => self.has_culprit = true,
            (None, None) => self.unexplained.push((case, before)),
            (None, Some(_)) => {}
        }
    }

    /// A process that ends once in a while is none that serves: nothing is concluded of what it ended in, unless it is known
    /// which other scenario ended it.
    pub(super) fn settle(self, driven: &mut Driven) {
        if self.has_culprit {
            return;
        }
        for (case, how) in self.unexplained {
            let message = format!(
                "{how}; alone, and with a process of its own, the scenario passes: a server goes on serving until its \
                 input is closed or it is asked to end"
            );
            could_not_run(driven, case, Cause::Implementation, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::catalog::Catalogue;

    /// What the repetitions of two scenarios come to, in both of which a process had ended: whether each is broken, or could
    /// not run.
    fn settled(is_required: bool, again: [Option<&str>; 2]) -> [Option<bool>; 2] {
        let catalogue = Catalogue::load().expect("a catalogue");
        let cases: Vec<&Case> = catalogue.cases().iter().take(2).collect();
        let (mut driven, mut exits) = (Driven::default(), Exits::default());
        for (case, again) in cases.iter().zip(again) {
            let mut facts = Facts::ended(None);
            let now = ScenarioResult { exited: again.map(str::to_owned), ..ScenarioResult::default() };
            exits.repeated((case, is_required), Some("it ended".to_owned()), (&mut facts, &now));
            driven.facts.insert(case.at.clone(), facts);
        }
        exits.settle(&mut driven);
        [0, 1].map(|place| {
            let trouble = driven.facts[&cases[place].at].trouble.as_ref()?;
            Some(matches!(trouble, CheckFailure::Broken(_)))
        })
    }

    #[test]
    fn who_ends_a_process_again_breaks_a_rule_and_where_nobody_does_nothing_is_concluded() {
        assert_eq!(settled(true, [Some("it ended"), None]), [Some(true), None]);
        assert_eq!(settled(true, [None, None]), [Some(false), Some(false)]);
        assert_eq!(settled(false, [Some("it ended"), None]), [Some(false), Some(false)]);
    }
}
