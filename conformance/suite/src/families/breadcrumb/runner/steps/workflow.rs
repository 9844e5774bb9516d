//! What a workflow is, and what it brings.

use std::str::FromStr;
use std::time::Duration;

use cucumber::gherkin;
use cucumber::{Parameter, given, then};

use crate::engine::judge::CheckFailure;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::judge;
use crate::families::breadcrumb::runner::judge::workflow::Expected;
use crate::families::breadcrumb::runner::judge::{order, workflow};
use crate::families::breadcrumb::runner::plan;
use crate::families::breadcrumb::runner::steps::arrange::{ForTheUser, usual};
use crate::families::breadcrumb::runner::world::World;

/// From two timers of a second each to this long after the call, they ran side by side.
const SIDE_BY_SIDE: Duration = Duration::from_millis(1_800);

vocabulary! {
    /// What a workflow does.
    enum WorkflowPredicate "workflow_predicate" {
        "completes every step" => Completes,
        "lists its results by step" => Results,
        "brings the outputs of the tools" => Outputs,
        "names each step once in its order" => Order,
        "lists every step after its dependencies" => Ordered,
        "names no step twice" => NoneTwice,
        "reports trouble" => CheckFailure,
        "has no errors" => NoErrors,
        "leaves no reference in the input of a step" => Unresolved,
        "is answered once" => Once,
        "lists results of its own steps only" => OwnResults,
    }
}

/// What a step brings.
#[derive(Clone, Debug, Parameter)]
#[param(
    name = "step_output",
    regex = r#""[^"]*"|about [0-9]+|what [a-z]+ brings|the number of [a-z]+ and [0-9]+|the id of item [0-9]+ of [a-z]+"#
)]
struct StepOutputPredicate(Expected);

impl FromStr for StepOutputPredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
        Ok(Self(match words.as_slice() {
            _ if text.starts_with('"') => Expected::This(text.trim_matches('"').to_owned()),
            ["about", seconds] => Expected::About(number(seconds)?),
            ["what", step, "brings"] => Expected::Same((*step).to_owned()),
            ["the", "number", "of", step, "and", more] => Expected::More((*step).to_owned(), number(more)?),
            ["the", "id", "of", "item", item, "of", step] => {
                let item = item.parse().map_err(|_| format!("`{item}` is no number"))?;
                Expected::Found((*step).to_owned(), item)
            }
            _ => return Err(format!("`{text}` is nothing that a step brings")),
        }))
    }
}

#[given("a workflow of these steps")]
fn steps(world: &mut World, step: &gherkin::Step) -> Step {
    let rows = step.table.as_ref().map(|table| table.rows.as_slice()).unwrap_or_default();
    let scene = world.scene()?;
    let row = |cells: &Vec<String>| {
        let cell = |index: usize| cells.get(index).map(String::as_str).unwrap_or_default();
        scene.step(cell(0), cell(1), cell(2), cell(3))
    };
    let steps = rows.iter().skip(1).map(row).collect();
    let call = scene.workflow(steps);
    scene.calls.push(call);
    Ok(())
}

/// Another message can come while it is carried out, and what it brings is known.
#[given(expr = "a workflow that waits{for_the_user}")]
async fn waiting_workflow(world: &mut World, for_the_user: ForTheUser) -> Step {
    usual(world, "timer").await?;
    let echo = usual(world, "echo").await?;
    let scene = world.scene()?;
    let message = echo.sign.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let seconds = scene.session.seconds().to_string();
    let steps = [scene.step("pause", "timer", &seconds, ""), scene.step("word", "echo", message, "pause")];
    let call = Call { sign: echo.sign.clone(), ..scene.workflow_of(&steps) };
    scene.calls.push(for_the_user.aim(call));
    Ok(())
}

/// What fails is judged only where a workflow is seen to work.
#[given("a sound workflow beside it")]
fn beside(world: &mut World) -> Step {
    let scene = world.scene()?;
    let first = scene.step("first", "echo", "amber-{mark}", "");
    let second = scene.step("second", "echo", "more ${first.echo}", "first");
    let call = scene.workflow_of(&[first, second]);
    scene.calls.push(call);
    Ok(())
}

#[then(expr = "the workflow {workflow_predicate}")]
fn does(world: &mut World, deed: WorkflowPredicate) -> Step {
    if world.judges_every() {
        return each_does(world, deed);
    }
    if matches!(deed, WorkflowPredicate::OwnResults) {
        return lists_no_others(world);
    }
    let steps = world.scene()?.fixtures.steps.clone();
    seen_to_work(world)?;
    world.judge_first(|frames, call| {
        let answer = Answer::of(frames, call).ok_or_else(|| judge::answer::missing(frames, call))?;
        match deed {
            WorkflowPredicate::Completes => workflow::completes(call, &answer, &steps),
            WorkflowPredicate::Results => workflow::has_results(call, &answer, &steps),
            WorkflowPredicate::Outputs => workflow::has_outputs(call, &answer, &steps),
            WorkflowPredicate::Order => order::has_order(call, &answer, &steps),
            WorkflowPredicate::Ordered => order::is_ordered(call, &answer, &steps),
            WorkflowPredicate::NoneTwice => order::names_none_twice(&answer),
            WorkflowPredicate::CheckFailure => workflow::reports_trouble(&answer),
            WorkflowPredicate::NoErrors => workflow::has_no_errors(call, &answer),
            WorkflowPredicate::Unresolved => workflow::leaves_nothing_unresolved(frames, &answer, &steps),
            WorkflowPredicate::Once => workflow::is_answered_once(frames, call),
            WorkflowPredicate::OwnResults => Ok(()),
        }
    })
}

/// Has each workflow of the scenario judged by the steps of all others.
fn lists_no_others(world: &mut World) -> Step {
    let calls = world.scene()?.calls.clone();
    let steps = |call: &Call| call.input.as_ref().map(plan::steps).unwrap_or_default();
    world.judge_answers(|call, answer| {
        let others: Vec<_> = calls.iter().filter(|other| other.id() != call.id()).flat_map(steps).collect();
        workflow::has_own_results_only(call, answer, &steps(call), &others)
    })
}

#[given("it is of a workflow whose steps are sound and independent")]
fn is_plain(world: &mut World) -> Step {
    let session = world.session()?;
    world.judge_observed(move |own| {
        let table = &session.table;
        let has = |tool: &str| table.catalog.contains(tool) || table.extra.contains_key(tool);
        let is_workflow = own.call.tool() == "workflow";
        if is_workflow && own.sound_steps(has).is_some_and(|steps| plan::is_plain(&steps)) {
            return Ok(());
        }
        Err(CheckFailure::NotObserved("the call is another one".to_owned()))
    })
}

/// Has every workflow of the run judged that can be carried out, and was.
fn each_does(world: &mut World, deed: WorkflowPredicate) -> Step {
    let session = world.session()?;
    world.judge_observed(move |own| {
        let (call, answer) = (&own.call, &own.answer);
        let other =
            || CheckFailure::NotObserved("the call is of no sound workflow that succeeded".to_owned());
        if call.tool() != "workflow" {
            return Err(other());
        }
        if matches!(deed, WorkflowPredicate::Once) {
            return workflow::is_answered_once(own.frames, call);
        }
        let table = &session.table;
        let has = |tool: &str| table.catalog.contains(tool) || table.extra.contains_key(tool);
        let steps = own.sound_steps(has).ok_or_else(other)?;
        if matches!(deed, WorkflowPredicate::NoErrors) && plan::is_plain(&steps) && answer.succeeded() {
            return workflow::has_no_errors(call, answer);
        }
        // What became of its steps is judged where none of them failed.
        if !answer.succeeded() || workflow::has_no_errors(call, answer).is_err() {
            return Err(other());
        }
        match deed {
            WorkflowPredicate::Results => workflow::has_results(call, answer, &steps),
            WorkflowPredicate::Outputs => workflow::has_outputs(call, answer, &steps),
            WorkflowPredicate::Order => order::has_order(call, answer, &steps),
            WorkflowPredicate::Ordered => order::is_ordered(call, answer, &steps),
            _ => Err(other()),
        }
    })
}

#[then(expr = "the workflow reports that {word} failed")]
fn failed_step_is_named(world: &mut World, id: String) -> Step {
    seen_to_work(world)?;
    world.judge_first(|frames, call| {
        let answer = Answer::of(frames, call).ok_or_else(|| judge::answer::missing(frames, call))?;
        workflow::reports_failure(&answer, &id)
    })
}

#[then(expr = "step {word} brings {step_output}")]
fn brings(world: &mut World, id: String, step_output: StepOutputPredicate) -> Step {
    let scene = world.scene()?;
    let steps = scene.fixtures.steps.clone();
    let expected = match step_output.0 {
        Expected::This(text) => Expected::This(scene.in_words(&text)),
        other => other,
    };
    world.judge_first(|frames, call| {
        let answer = Answer::of(frames, call).ok_or_else(|| judge::answer::missing(frames, call))?;
        let step = steps.iter().find(|step| step.id == id);
        step.map_or(Ok(()), |step| workflow::brings(frames, call, &answer, step, &expected))
    })
}

#[then(expr = "a step has stored {string}")]
fn stored(world: &mut World, expected: String) -> Step {
    let expected = world.scene()?.in_words(&expected);
    world.judge_first(|frames, call| {
        let answer = Answer::of(frames, call).ok_or_else(|| judge::answer::missing(frames, call))?;
        workflow::stores(frames, call, &answer, &expected)
    })
}

#[then(expr = "nothing of it comes before {float} seconds have passed")]
fn waits(world: &mut World, seconds: f64) -> Step {
    world.judge_first(|frames, call| {
        let answer = Answer::of(frames, call).ok_or_else(|| judge::answer::missing(frames, call))?;
        workflow::waits(frames, call, &answer, seconds)
    })
}

#[then("it is noted whether independent steps run side by side")]
fn concurrency_is_noted(world: &mut World) -> Step {
    let steps = world.scene()?.fixtures.steps.clone();
    // What is only noted breaks nothing: a workflow that does not do its work shows nothing to be noted.
    world.judge_calls(|frames, call| {
        let answer = Answer::of(frames, call);
        let completes = answer.is_some_and(|answer| workflow::completes(call, &answer, &steps).is_ok());
        let nothing = || CheckFailure::NotObserved("the two timers do not both complete".to_owned());
        if completes { Ok(()) } else { Err(nothing()) }
    })?;
    let scene = world.scene()?;
    let (frames, call) = (scene.frames(), scene.calls[0].clone());
    let took = Answer::of(&frames, &call)
        .and_then(|answer| judge::utility::since_sent(&frames, &call, answer.frame));
    let together = took.is_some_and(|took| took < SIDE_BY_SIDE);
    world.note(if together { "independent steps run side by side" } else { "steps run one by one" });
    Ok(())
}

/// Where there is a sound workflow beside the one that is judged, it must work.
fn seen_to_work(world: &mut World) -> Step {
    let scene = world.scene()?;
    let Some(beside) = scene.calls.get(1).cloned() else { return Ok(()) };
    let expected = Expected::This(scene.in_words("more amber-{mark}"));
    let second = scene.step("second", "echo", "", "first");
    let frames = scene.frames();
    let works = Answer::of(&frames, &beside)
        .is_some_and(|answer| workflow::brings(&frames, &beside, &answer, &second, &expected).is_ok());
    if works {
        return Ok(());
    }
    Err(world.abort(CheckFailure::NotObserved("the sound workflow beside it does not work".to_owned())))
}
