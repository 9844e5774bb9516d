//! When: the model calls, the tool reports.

use cucumber::{given, when};
use serde_json::json;

use crate::engine::judge::{Cause, CheckFailure};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, FamilyWorld as _, HasCore as _, Step};
use crate::families::utp::reason::Alternative;
use crate::families::utp::runtime::scene::Stuck;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::seen::Behaviour;
use crate::families::utp::runtime::world::World;
use crate::transcript::Frame;

vocabulary! {
    /// How the first call is reported once more.
    enum SecondReport "second_report" {
        " twice" => Same,
        ", again with other members and another card," => Otherwise,
        ", again under another step and with another card," => OtherStep,
        ", again under no step and with another card," => NoStep,
        "" => Never,
    }
}

#[when("the model calls the tool")]
async fn calls(world: &mut World) -> Step {
    world.called().await
}

#[when("the model calls the tool, if the worker lets it")]
async fn calls_perhaps(world: &mut World) -> Step {
    let Err(abort) = world.called().await else { return Ok(()) };
    if matches!(world.core().trouble, Some(CheckFailure::Broken(_))) {
        world.core_mut().trouble = None;
        world.settled().await?;
        let frames = world.scene()?.project.transcript.frames();
        let own = world.scene()?.turns[0].clone();
        return Err(world.abort(Alternative::NoCall.seen_in(seen::requests(&frames, &own))));
    }
    Err(abort)
}

#[when("the tool is called and answered, and the turn runs on")]
async fn answered_and_runs(world: &mut World) -> Step {
    world.called().await?;
    report(world, 0).await?;
    run_to_end(world).await
}

#[when("the model calls the tools, and each answers at once")]
async fn calls_and_answers_each(world: &mut World) -> Step {
    let Some(call) = answer_each(world).await? else { return Ok(()) };
    let session = world.session()?;
    let frames = world.scene()?.project.transcript.frames();
    let (turn, own) = (world.scene()?.turns[0].clone(), world.call(call)?.clone());
    let is_answered = seen::nexts(&frames, &turn).any(|next| !seen::results_of(next, &turn, &own).is_empty());
    // A worker may make so many calls of an answer only, and say so to the model, or make them in an order of its own.
    let is_limited = is_answered || session.baseline.parallel == Some(false);
    let alternative = if is_answered { Alternative::NoCall } else { Alternative::OneByOne };
    if is_limited {
        return Err(world.abort(alternative.seen_in(seen::requests(&frames, &turn))));
    }
    Err(world.stuck(&session, Stuck::NoCommand(call)).await)
}

#[when("the model makes one call after another, and each is answered")]
async fn calls_one_after_another(world: &mut World) -> Step {
    let Some(call) = answer_each(world).await? else { return Ok(()) };
    if world.call(call)?.round == 0 {
        let session = world.session()?;
        return Err(world.stuck(&session, Stuck::NoCommand(call)).await);
    }
    // Whether a turn goes on after a result is another rule's.
    world.unless_ended().await?;
    let why = "after the result the turn did not go on with the model's next call".to_owned();
    Err(world.abort(CheckFailure::NotObserved(why)))
}

/// Starts the first turn, and answers each call when its command comes. The first call whose command did not come, if any.
async fn answer_each(world: &mut World) -> Result<Option<usize>, Abort> {
    world.start_first_turn().await?;
    let session = world.session()?;
    for call in 0..world.scene()?.calls.len() {
        if !world.scene()?.await_command(&session, call, session.timeouts.answer).await {
            return Ok(Some(call));
        }
        report(world, call).await?;
    }
    Ok(None)
}

#[when("the turn runs, and the tool answers if it is called")]
async fn runs_and_calls_perhaps(world: &mut World) -> Step {
    world.start_first_turn().await?;
    let session = world.session()?;
    let call = world.call(0)?.clone();
    let scene = world.scene()?;
    let (turn, project) = (scene.turns[0].clone(), scene.project.id.clone());
    let is_called = |frames: &[Frame]| seen::command(frames, &project, &turn, &call).is_some();
    // A worker may end the turn without the call.
    scene.wait(&session, |frames| is_called(frames) || seen::end(frames, &turn).is_some()).await;
    if scene.project.transcript.with(is_called)
        && scene.await_command(&session, 0, session.timeouts.answer).await
    {
        report(world, 0).await?;
    }
    run_to_end(world).await
}

#[when("the turn runs")]
async fn runs(world: &mut World) -> Step {
    world.called().await?;
    run_to_end(world).await
}

/// Waits for the end of the first turn, and a little longer.
async fn run_to_end(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let turn = scene.turns[0].clone();
    // What does not come is for the judgement to report.
    scene.wait(&session, |frames| seen::end(frames, &turn).is_some()).await;
    scene.wait_settle_window(&session).await;
    Ok(())
}

#[when("the tool reports")]
async fn reports(world: &mut World) -> Step {
    report(world, 0).await
}

#[when("the tool reports twice")]
async fn reports_twice(world: &mut World) -> Step {
    report(world, 0).await?;
    followed(world, 0).await?;
    report(world, 0).await?;
    world.settled().await
}

#[when(expr = "the first call is reported{second_report} and then the second")]
async fn first_and_second(world: &mut World, second: SecondReport) -> Step {
    report(world, 0).await?;
    match second {
        SecondReport::Never => {}
        SecondReport::Same => report(world, 0).await?,
        SecondReport::Otherwise => report_otherwise(world).await?,
        SecondReport::OtherStep => report_under(world, Some("step_of_another")).await?,
        SecondReport::NoStep => report_under(world, None).await?,
    }
    report(world, 1).await?;
    followed(world, 1).await
}

#[when("the first call is reported, then the second, the first again, and then the third")]
async fn first_second_first(world: &mut World) -> Step {
    for call in [0, 1, 0, 2] {
        report(world, call).await?;
    }
    followed(world, 2).await
}

/// Reports the first call again, under another step or none and with another card.
async fn report_under(world: &mut World, step: Option<&str>) -> Step {
    let call = world.call(0)?;
    let reported = call.clone();
    call.answer_otherwise();
    match step {
        Some(step) => call.callback.insert("step_id".to_owned(), json!(step)),
        None => call.callback.shift_remove("step_id"),
    };
    report(world, 0).await?;
    *world.call(0)? = reported;
    Ok(())
}

/// Reports the first call again, with other members and another card.
async fn report_otherwise(world: &mut World) -> Step {
    let call = world.call(0)?;
    let reported = call.clone();
    call.answer_otherwise();
    call.callback.insert("status".to_owned(), json!("partial"));
    call.card["content"]["status"] = json!("partial");
    call.callback.insert("x_note".to_owned(), json!("reported again"));
    report(world, 0).await?;
    *world.call(0)? = reported;
    Ok(())
}

#[given("the second call was reported")]
async fn second_reported(world: &mut World) -> Step {
    report(world, 1).await?;
    let session = world.session()?;
    let scene = world.scene()?;
    let call = scene.calls[1].clone();
    let own = scene.turns[call.turn].clone();
    // Its wakeup is not the one that is judged.
    scene.wait(&session, |frames| seen::wakeups(frames, &own, &call).next().is_some()).await;
    scene.wait_settle_window(&session).await;
    Ok(())
}

#[when("the second call is reported")]
async fn second(world: &mut World) -> Step {
    report(world, 1).await?;
    world.settled().await
}

#[when("the first turn ends and the further turn makes its call")]
async fn next_turn(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    // The further turn comes after the first one; it is planned already.
    let second = scene.turns.len() - 1;
    let own: Vec<usize> = (0..scene.calls.len()).filter(|call| scene.calls[*call].turn == second).collect();
    scene.start_turn(&session, 0, session.timeouts.answer).await.ok();
    scene.await_command(&session, 0, session.timeouts.answer).await;
    report(world, 0).await?;
    followed(world, 0).await?;
    let scene = world.scene()?;
    let turn = scene.turns[0].clone();
    scene.wait(&session, |frames| seen::end(frames, &turn).is_some()).await;
    world.called().await?;
    for call in own {
        report(world, call).await?;
        followed(world, call).await?;
    }
    Ok(())
}

#[when("the deadline of the call passes")]
async fn deadline(world: &mut World) -> Step {
    let session = world.session()?;
    let patience = session.deadline.unwrap_or_default() + session.timeouts.answer;
    let scene = world.scene()?;
    let turn = scene.turns[0].clone();
    let passed = |frames: &[Frame]| {
        (seen::nexts(frames, &turn).next().is_some() || seen::end(frames, &turn).is_some()).then_some(())
    };
    // What does not come is for the judgement to report.
    match scene.project.transcript.wait(patience, passed).await {
        Some(()) => Ok(()),
        None => world.unless_ended().await,
    }
}

/// Reports a call. Whether the runtime takes the report is part of what is judged.
pub(super) async fn report(world: &mut World, call: usize) -> Step {
    let session = world.session()?;
    world.call(call)?;
    let answer = world.scene()?.report(&session, call).await;
    if let Some(why) = session.test_environment.broker_trouble(world.core().transcript.began()) {
        return Err(world.could_not_run(Cause::Reachability, why));
    }
    if answer.is_none() {
        world.unless_ended().await?;
    }
    Ok(())
}

/// Gives what follows a report the time to come.
pub(super) async fn followed(world: &mut World, call: usize) -> Step {
    let session = world.session()?;
    if session.resumes() && world.scene()?.behaviour(&session, call).await == Behaviour::Stays {
        world.unless_ended().await?;
    }
    Ok(())
}
