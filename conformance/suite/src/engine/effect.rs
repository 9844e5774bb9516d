//! What a scenario does to a target, as far as its steps say so.

use gherkin::StepType;

use crate::spec::catalog::Case;

/// What a scenario leaves at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What it is, in the plural, for example `mails sent`.
    pub what: &'static str,
    /// How many of them.
    pub count: usize,
    /// Whether people get it who have nothing to do with the run.
    pub reaches_people: bool,
}

/// Calls that the steps of a scenario make: each thing that is done is one, and two where it is done twice or another
/// follows; what must not happen is shown by one more.
pub(crate) fn calls(case: &Case) -> usize {
    let steps = &case.scenario().steps;
    let done = steps.iter().filter(|step| step.ty == StepType::When);
    let follows = [" twice", " and then", " again", " both ", " afterwards"];
    let made: usize =
        done.map(|step| 1 + usize::from(follows.iter().any(|word| step.value.contains(word)))).sum();
    let before =
        steps.iter().filter(|step| step.ty == StepType::Given && step.value.contains(" was answered"));
    let denied = steps.iter().any(|step| {
        step.ty == StepType::Then
            && [" not ", " nothing", " no "].iter().any(|word| step.value.contains(word))
    });
    (made + before.count() + usize::from(denied)).max(1)
}
