//! Then: how the turn goes on or ends.

use std::time::Duration;

use cucumber::then;

use super::CallKind;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, FamilyWorld as _, HasCore as _, Step};
use crate::families::utp::runtime::judge::{refusal, turn};
use crate::families::utp::runtime::observed::ObservedReport;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::seen::Behaviour;
use crate::families::utp::runtime::view::View;
use crate::families::utp::runtime::world::World;
use crate::transcript::Frame;

vocabulary! {
    /// What a turn does after a result.
    enum Continuation "continuation" {
        "goes on" => GoesOn,
        "ends" => Ends,
    }
}

#[then(expr = "the turn {continuation}")]
async fn continues(world: &mut World, continuation: Continuation) -> Step {
    let expected = match continuation {
        Continuation::GoesOn => Behaviour::Next,
        Continuation::Ends => Behaviour::End,
    };
    if world.judges_every() {
        return judge_each_behaviour(world, move |own, seen| {
            turn::does(own.frames, own.view(), expected, seen)
        });
    }
    let seen = behaviour(world, 0).await?;
    world.judge_call(0, |frames, view| turn::does(frames, view, expected, seen))
}

#[then("the model is not asked again")]
async fn asked_no_more(world: &mut World) -> Step {
    if world.judges_every() {
        return judge_each_behaviour(world, |own, _| turn::asks_no_more(own.frames, own.view()));
    }
    let session = world.session()?;
    world.scene()?.wait_settle_window(&session).await;
    world.judge_call(0, turn::asks_no_more)
}

#[then("the turn has a deliverable")]
async fn delivers(world: &mut World) -> Step {
    ended_for_good(world).await?;
    world.judge_call(0, turn::delivers)
}

/// Waits for the other sign of a turn's end. Event and card may come in either order; what does not come is for the
/// judgement to report.
pub(super) async fn ended_for_good(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let own = scene.turns[0].clone();
    let both = |frames: &[crate::transcript::Frame]| {
        (seen::task(frames, &own).is_some() && seen::deliverable(frames, &own).is_some()).then_some(())
    };
    let _ =
        scene.project.transcript.wait(session.timeouts.late.max(session.timeouts.settle_window), both).await;
    Ok(())
}

#[then(expr = "the turn behaves as after a plain {kind}")]
async fn behaves_as(world: &mut World, kind: CallKind) -> Step {
    let session = world.session()?;
    let other = kind.other().to_owned();
    let judgement = move |frames: &[Frame], view: View<'_>, seen: Behaviour| {
        let [expected, other] = [&kind.0, &other].map(|kind| session.baseline_after(kind, view.status()));
        turn::does_as(frames, view, (&kind.0, expected), other, seen)
    };
    if world.judges_every() {
        return judge_each_behaviour(world, move |own, seen| judgement(own.frames, own.view(), seen));
    }
    let seen = behaviour(world, 0).await?;
    world.judge_call(0, |frames, view| judgement(frames, view, seen))
}

#[then(expr = "after the next call it behaves as after a plain {kind}")]
async fn next_behaves_as(world: &mut World, kind: CallKind) -> Step {
    let session = world.session()?;
    if !world.scene()?.await_command(&session, 1, session.timeouts.answer).await {
        world.unless_ended().await?;
        let message = "the model's next call does not come out as a command".to_owned();
        return Err(world.abort(CheckFailure::NotObserved(message)));
    }
    super::act::report(world, 1).await?;
    let seen = behaviour(world, 1).await?;
    let [expected, other] = [&kind.0, kind.other()].map(|kind| session.baseline_after(kind, "success"));
    world.judge_call(1, |frames, view| turn::does_as(frames, view, (&kind.0, expected), other, seen))
}

/// Has what the turn did judged after every callback that was reported.
fn judge_each_behaviour(
    world: &mut World,
    judgement: impl Fn(&ObservedReport<'_>, Behaviour) -> Judgement + Send + Sync + 'static,
) -> Step {
    let worker_target = world.session()?.worker_target.clone();
    world.judge_observed_reports(move |own| judgement(own, own.behaviour(&worker_target)?))
}

#[then("the override elsewhere is not taken for one")]
async fn not_terminated(world: &mut World) -> Step {
    goes_on_at_all(world)?;
    let session = world.session()?;
    world.settled().await?;
    let seen = world.scene()?.behaviour_within(&session, 0, session.timeouts.settle_window).await;
    let plain = (session.baseline.suspend, session.baseline.terminate);
    world.judge_call(0, |frames, view| turn::is_no_override(frames, view, plain, seen))
}

#[then("the next call of the model comes out as a command")]
async fn second_command(world: &mut World) -> Step {
    let session = world.session()?;
    if world.scene()?.await_command(&session, 1, session.timeouts.answer).await {
        return Ok(());
    }
    let seen = behaviour(world, 0).await?;
    let finding = crate::engine::judge::Finding::new(
        "after the result the turn did not go on with the model's next call",
        "after the result of a `suspend` call ask the model again, and make the calls that it answers with",
    )
    .expected("a command for the second call")
    .actual(Some(&serde_json::Value::from(seen.text())));
    Err(world.abort(finding.into()))
}

#[then("the turn does not end before the first call is answered")]
async fn waits_for_first(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let own = scene.turns[0].clone();
    let early = scene.project.transcript.with(|frames| seen::end(frames, &own).is_some());
    if early {
        let finding = crate::engine::judge::Finding::new(
            "the result of another call ended the turn",
            "let `terminate` act when the result of that very call arrives",
        )
        .expected("a turn that waits for its terminate call");
        return Err(world.abort(finding.into()));
    }
    scene.report(&session, 0).await;
    let seen = behaviour(world, 0).await?;
    if seen == Behaviour::Stays {
        return Err(world
            .abort(CheckFailure::NotObserved("the turn did not end with the first call either".to_owned())));
    }
    Ok(())
}

vocabulary! {
    /// What the model is given of the results.
    enum Received "received" {
        "the result once" => Once,
        "the result" => TheResult,
        "both results" => Both,
    }
}

#[then(expr = "the model receives {received}")]
async fn model_receives(world: &mut World, received: Received) -> Step {
    match received {
        Received::TheResult => model_receives_result(world).await,
        Received::Both => model_receives_both_results(world),
        Received::Once => model_receives_result_once(world).await,
    }
}

async fn model_receives_result(world: &mut World) -> Step {
    behaviour(world, 0).await?;
    receives_result_of(world, 0)
}

/// A runtime that does not go on after a plain call reports nothing.
fn receives_result_of(world: &mut World, call: usize) -> Step {
    goes_on_at_all(world)?;
    world.judge_call(call, turn::receives_result)
}

/// A runtime that never goes on shows nothing by not going on.
fn goes_on_at_all(world: &mut World) -> Step {
    if world.session()?.baseline.suspend == Behaviour::Next {
        return Ok(());
    }
    let message = "the runtime does not go on after a plain `suspend`".to_owned();
    Err(world.abort(CheckFailure::NotObserved(message)))
}

fn model_receives_both_results(world: &mut World) -> Step {
    receives_result_of(world, 0)?;
    receives_result_of(world, 1)
}

async fn model_receives_result_once(world: &mut World) -> Step {
    if world.judges_every() {
        let usual = world.session()?.baseline.asks;
        return judge_each_behaviour(world, move |own, _| {
            turn::receives_result_once(own.frames, own.view())?;
            if own.is_repeated() { turn::asks_once(own.frames, own.view(), usual) } else { Ok(()) }
        });
    }
    let session = world.session()?;
    world.scene()?.wait_settle_window(&session).await;
    receives_result_of(world, 0)?;
    world.judge_call(0, turn::receives_result_once)?;
    world.judge_call(0, |frames, view| turn::asks_once(frames, view, session.baseline.asks))
}

#[then("the further turn receives its own result")]
fn further_turn(world: &mut World) -> Step {
    receives_result_of(world, 1)
}

#[then(expr = "the effect of the {kind} override shows once")]
async fn override_once(world: &mut World, kind: CallKind) -> Step {
    let session = world.session()?;
    let (expected, other) = (session.baseline(&kind.0), session.baseline(kind.other()));
    let seen = behaviour(world, 0).await?;
    world.judge_call(0, |frames, view| turn::does_as(frames, view, (&kind.0, expected), other, seen))?;
    if expected == Behaviour::Next {
        world.judge_call(0, |frames, view| turn::asks_once(frames, view, session.baseline.asks))?;
        return world.judge_call(0, turn::receives_result_once);
    }
    world.judge_call(0, turn::ends_once)
}

#[then("the call does not succeed by it")]
async fn not_consumed(world: &mut World) -> Step {
    goes_on_at_all(world)?;
    world.settled().await?;
    let Err(abort) = world.judge_call(0, refusal::is_not_consumed) else { return Ok(()) };
    let is_broken = matches!(world.core().trouble, Some(CheckFailure::Broken(_)));
    if !is_broken || !world.call(0)?.has_result_card() {
        return Err(abort);
    }
    let session = world.session()?;
    if !world.scene()?.goes_on_unreported(&session).await {
        return Err(abort);
    }
    let message =
        "the runtime goes on as soon as the tool.result card is saved, whatever is reported".to_owned();
    Err(world.abort(CheckFailure::NotObserved(message)))
}

#[then("a correct callback still answers it, unless the failure shows")]
async fn recovers(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    if scene.behaviour_within(&session, 0, Duration::ZERO).await != Behaviour::Stays {
        return Ok(());
    }
    scene.correct(0);
    scene.report(&session, 0).await;
    let seen = behaviour(world, 0).await?;
    let scene = world.scene()?;
    if seen == Behaviour::Stays && session.has_inbox() {
        scene.read_inbox(&session, 0).await;
    }
    world.judge_call(0, |frames, view| refusal::leaves_a_way(frames, view, seen))
}

#[then("the inline result is not used")]
async fn inline_not_used(world: &mut World) -> Step {
    goes_on_at_all(world)?;
    world.settled().await?;
    world.judge_call(0, |frames, view| turn::never_receives(frames, view, "inline-result"))
}

#[then("the turn marks the call as failed")]
async fn turn_marks_call_failed(world: &mut World) -> Step {
    if behaviour(world, 0).await? == Behaviour::End {
        ended_for_good(world).await?;
    }
    world.judge_call(0, turn::reports_failure)
}

#[then("the reason of the failure is passed on")]
async fn reason_is_passed_on(world: &mut World) -> Step {
    if world.judges_every() {
        return judge_each_behaviour(world, |own, _| {
            if own.has_ended_for_good() {
                return turn::gives_reason(own.frames, own.view());
            }
            Err(CheckFailure::NotObserved("the reason may still come with the turn's end".to_owned()))
        });
    }
    if behaviour(world, 0).await? == Behaviour::End {
        ended_for_good(world).await?;
    }
    world.judge_call(0, turn::gives_reason)
}

#[then("both turns go on in the same place")]
async fn same_place(world: &mut World) -> Step {
    behaviour(world, 0).await?;
    behaviour(world, 1).await?;
    let session = world.session()?;
    let scene = world.scene()?;
    let view = |call: usize| View {
        project: &scene.project.id,
        version: &session.test_environment.version,
        turn: &scene.turns[scene.calls[call].turn],
        call: &scene.calls[call],
    };
    let judgement = scene
        .project
        .transcript
        .with(|frames| turn::alike(frames, (view(0), &scene.calls[0]), (view(1), &scene.calls[1])));
    world.judge(judgement)
}

#[then("the call fails for its deadline")]
fn timed_out(world: &mut World) -> Step {
    world.judge_call(0, turn::timeout_code)
}

/// What follows the report of a call.
async fn behaviour(world: &mut World, call: usize) -> Result<Behaviour, Abort> {
    let session = world.session()?;
    let seen = world.scene()?.behaviour(&session, call).await;
    if seen == Behaviour::Stays {
        world.unless_ended().await?;
    }
    Ok(seen)
}
