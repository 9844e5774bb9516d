//! A PMO: its built-ins, and what becomes of the children that they start.

use std::convert::Infallible;
use std::str::FromStr;
use std::time::Instant;

use cucumber::{Parameter, given, then, when};
use serde_json::Value;

use super::Status;
use super::arrange::keep_card;
use crate::engine::judge::CheckFailure;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::utp::call::Call;
use crate::families::utp::judge::seen::{Calls, STATUSES};
use crate::families::utp::judge::{children, seen, tasks};
use crate::families::utp::platform::{ChildOutcome, Order};
use crate::families::utp::reason::Undeclared;
use crate::families::utp::tool::Tool;
use crate::families::utp::world::World;
use crate::transcript;
use crate::transcript::{Frame, Transcript};

/// Names under which arguments say what is to be done.
const TEXTS: [&str; 2] = ["instruction", "question"];
/// What a long text is made of.
const WORDS: &str = "Compare the tables of the tides. ";
/// A text of several lines and alphabets, with what has a meaning in JSON, in HTML, in templates and in shells.
const MARKED: &str = "Règle № 7 <ask \"the pilot\" & note it>:\n\n  - 東京, Łódź\t- below 20 °C\\n 🌊\n  {project_id} {} {{0}} ${agent_id} $HOME %s 100 % `a` 'b' \\1  ";
/// Children of one call that are ended one by one; a PMO that starts more is given up.
const MAX_CHILDREN: usize = 32;

vocabulary! {
    /// A third task of a card.
    enum ThirdTask "third_task" {
        "for the agent of the second" => SameAgent,
        "like the second" => Alike,
    }
}

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

#[given(expr = "its card has a third task {third_task}")]
fn third_task(world: &mut World, third: ThirdTask) -> Step {
    add_tasks(world, |second, token| {
        let mut task = second.clone();
        if third == ThirdTask::SameAgent {
            task["instruction"] = Value::from(format!("third {token}"));
        }
        vec![task]
    })
}

#[given("its card has a single task")]
fn single_task(world: &mut World) -> Step {
    change_tasks(world, |tasks, _| tasks.truncate(1))
}

#[given(expr = "its card has {int} tasks")]
fn several_tasks(world: &mut World, number: usize) -> Step {
    add_tasks(world, |second, token| {
        let task = |n| {
            let mut task = second.clone();
            task["instruction"] = Value::from(format!("task {n} {token}"));
            task
        };
        (3..=number).map(task).collect()
    })
}

/// Adds tasks to a card that has two: what is made of the second one and of the call's token.
fn add_tasks(world: &mut World, more: impl FnOnce(&Value, &str) -> Vec<Value>) -> Step {
    change_tasks(world, |tasks, token| tasks.extend(more(&tasks[1], token)))
}

/// Changes the tasks of a card that has two, given the call's token.
fn change_tasks(world: &mut World, change: impl FnOnce(&mut Vec<Value>, &str)) -> Step {
    let call = world.call()?;
    let tasks = call.card["content"]["arguments"]["tasks"].as_array_mut();
    let tasks = tasks.filter(|tasks| tasks.len() == 2 && tasks[1]["instruction"].is_string());
    let Some(tasks) = tasks else { return Err(world.abort(Undeclared::Tasks.into())) };
    change(tasks, &call.token);
    keep_card(world)
}

#[given(expr = "what its card asks for is a text of more than {int} characters")]
fn long_text(world: &mut World, length: usize) -> Step {
    ask_for(world, &WORDS.repeat(length / WORDS.len() + 1))
}

#[given("what its card asks for is a text of several lines and alphabets")]
fn marked_text(world: &mut World) -> Step {
    ask_for(world, MARKED)
}

/// Has the card ask for more: what its texts ask for, behind these words.
fn ask_for(world: &mut World, words: &str) -> Step {
    let call = world.call()?;
    let token = call.token.clone();
    if !lengthen(&mut call.card["content"]["arguments"], &token, words) {
        return Err(world.abort(Undeclared::Tasks.into()));
    }
    keep_card(world)
}

/// Puts words before each text that says what to do, and says whether there was one.
fn lengthen(arguments: &mut Value, token: &str, words: &str) -> bool {
    let mut any = false;
    match arguments {
        Value::Array(items) => {
            for item in items {
                any |= lengthen(item, token, words);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if TEXTS.contains(&name.as_str()) && text.contains(token) => {
                        text.insert_str(0, words);
                        any = true;
                    }
                    member => any |= lengthen(member, token, words),
                }
            }
        }
        _ => {}
    }
    any
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

#[when("the worker sends the command and repeats it while its children work")]
async fn repeat_while_children_work(world: &mut World) -> Step {
    decide(world, ChildOutcome::Waits)?;
    world.send().await?;
    let session = world.session()?;
    let call = world.call()?.clone();
    let project = world.scene()?.project.clone();
    let began = Instant::now();
    let one_started = |frames: &[Frame]| (tasks::started(frames, &call) > 0).then_some(());
    let starting = project.transcript.wait(session.timeouts.answer, one_started);
    // Without a child there is nothing to repeat; that is for the judgement to report.
    let _ = session.test_environment.unless_ended(starting).await;
    let window = session.timeouts.settle_window_after(began.elapsed());
    // For the answer to its start to be taken in, and for the others to be started.
    transcript::sleep_unless_replaying(window).await;
    world.send().await?;
    let again = |frames: &[Frame]| tasks::starts_more(frames, &call).then_some(());
    let _ = project.transcript.linger(window, again).await;
    // What is started from now on ends by itself.
    decide(world, ChildOutcome::Ends("success"))?;
    let end = || session.test_environment.platform_service.end_child(&project, Order::FirstStarted);
    while project.transcript.record_external("a child ends", end) {}
    world.answered().await?;
    world.settled().await
}

/// How many turns a call like the one under test starts when its command is sent once. The documents say that of
/// `delegate_async` only, so it is found out where the call under test has started more than its card asks for.
pub(super) async fn usual_turns(world: &mut World) -> Result<Option<usize>, Abort> {
    let call = world.call()?.clone();
    let has_more = |frames: &[Frame]| tasks::starts_more(frames, &call);
    let is_open = call.tool.starts_turns() && call.tool != Tool::DelegateAsync && !call.obstructed;
    let session = world.session()?;
    let scene = world.scene()?;
    if !is_open || !scene.project.transcript.with(has_more) {
        return Ok(None);
    }
    let single = scene.prepare_like(&call);
    scene.others.extend(single.names());
    scene.send(&session, &single).await;
    let answered = |frames: &[Frame]| seen::outcome(frames, &single).map(|_| ());
    let transcript = &scene.project.transcript;
    let waiting = transcript.wait(session.timeouts.answer, answered);
    if session.test_environment.unless_ended(waiting).await.is_none() {
        return Ok(None);
    }
    let as_many = tasks_of(transcript, &call);
    let others = |frames: &[Frame]| (tasks::started(frames, &single) >= as_many).then_some(());
    let _ = transcript.linger(session.timeouts.late, others).await;
    Ok(Some(tasks_of(transcript, &single)))
}

fn tasks_of(transcript: &Transcript, call: &Call) -> usize {
    transcript.with(|frames| tasks::started(frames, call))
}

#[then("the arguments of the card show in what the built-in does")]
pub(super) async fn shows_work(world: &mut World) -> Step {
    world.wait_for_effect().await?;
    world.judge_call(tasks::shows_work)
}

#[then("each task of the card is given to a child, or the call fails")]
async fn gives_each_task(world: &mut World) -> Step {
    world.answered().await?;
    let session = world.session()?;
    let call = world.call()?.clone();
    let scene = world.scene()?;
    let calls = Calls::new(&call, &scene.others);
    // Work may come after the answer; where the call failed there is none to wait for.
    let is_judged = |frames: &[Frame]| match tasks::gives_each_task(frames, &calls) {
        Err(CheckFailure::Broken(_)) => None,
        _ => Some(()),
    };
    let _ = scene.project.transcript.wait(session.timeouts.late, is_judged).await;
    world.judge_call(tasks::gives_each_task)
}

#[then("the call is answered after its last child")]
async fn answered_last(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(children::answered_last)
}
