//! A PMO: its built-ins, and what becomes of the children that they start.

use std::convert::Infallible;
use std::str::FromStr;
use std::time::Instant;

use cucumber::{Parameter, given, then, when};

use super::Status;
use crate::engine::world::Step;
use crate::families::utp::judge::children;
use crate::families::utp::judge::seen;
use crate::families::utp::judge::seen::STATUSES;
use crate::families::utp::platform::{ChildOutcome, Order};
use crate::families::utp::world::World;
use crate::transcript::Frame;

/// Children of one call that are ended one by one; a PMO that starts more is given up.
const MAX_CHILDREN: usize = 32;

/// What the platform does with what a built-in asks for.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "obstacle", regex = "refuses|answers with nonsense")]
struct Obstacle(ChildOutcome);

impl FromStr for Obstacle {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(if text == "refuses" { ChildOutcome::Refused } else { ChildOutcome::Nonsense }))
    }
}

/// Which of several children is done first.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "order", regex = "first|last")]
struct ChildOrder(Order);

impl FromStr for ChildOrder {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(if text == "first" { Order::FirstStarted } else { Order::LastStarted }))
    }
}

#[given(expr = "the platform {obstacle} what the built-in asks for")]
fn obstructed(world: &mut World, obstacle: Obstacle) -> Step {
    decide(world, obstacle.0)
}

#[given(expr = "its children end as {status}")]
fn children_end_as(world: &mut World, status: Status) -> Step {
    let status = STATUSES.into_iter().find(|known| *known == status.0).unwrap_or_default();
    decide(world, ChildOutcome::Ends(status))
}

#[given(expr = "its first child ends as {status} and the others as success")]
fn first_child_ends_as(world: &mut World, status: Status) -> Step {
    let status = STATUSES.into_iter().find(|known| *known == status.0).unwrap_or_default();
    decide(world, ChildOutcome::FirstEnds(status))
}

fn decide(world: &mut World, child_outcome: ChildOutcome) -> Step {
    let call = world.call()?;
    // A call whose children do not do what they were asked to need not succeed.
    call.obstructed = !matches!(child_outcome, ChildOutcome::Ends("success") | ChildOutcome::Waits);
    let token = call.token.clone();
    world.scene()?.project.decide_children(&token, child_outcome);
    Ok(())
}

#[when(expr = "the worker sends the command and the child that was started {order} ends first")]
async fn send_and_end_children(world: &mut World, order: ChildOrder) -> Step {
    decide(world, ChildOutcome::Waits)?;
    world.send().await?;
    let session = world.session()?;
    let call = world.call()?.clone();
    let scene = world.scene()?;
    let project = scene.project.clone();
    let reported = |frames: &[Frame]| seen::outcome(frames, &call).map(|_| ());
    let began = Instant::now();
    for _ in 0..MAX_CHILDREN {
        let one_waits = |frames: &[Frame]| reported(frames).or_else(|| project.child_waits().then_some(()));
        let waiting = session
            .test_environment
            .unless_ended(project.transcript.wait(session.timeouts.answer, one_waits));
        let one = async { waiting.await.is_some() };
        let waiting = project.transcript.record_external_async("a child waits", one).await;
        // The others of them, and an answer that does not wait, are given the time to come.
        let window = session.timeouts.settle_window_after(began.elapsed());
        let early = project.transcript.linger(window, reported).await;
        let end = || session.test_environment.platform_service.end_child(&project, order.0);
        if !waiting || early.is_some() || !project.transcript.record_external("a child ends", end) {
            break;
        }
    }
    // What still waits when the call has been answered ends too.
    let end = || session.test_environment.platform_service.end_child(&project, order.0);
    while project.transcript.record_external("a child ends", end) {}
    Ok(())
}

#[then("the arguments of the card show in what the built-in does")]
async fn shows_work(world: &mut World) -> Step {
    world.wait_for_effect().await?;
    world.judge_call(children::shows_work)
}

#[then("the call is answered after its last child")]
async fn answered_last(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(children::answered_last)
}
