//! When: the worker sends something.

use std::sync::Arc;
use std::time::Duration;

use callmark_reports::record::Direction;
use cucumber::when;
use serde_json::{Value, json};

use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, Step};
use crate::families::utp::call::Call;
use crate::families::utp::capture::CapturedKind;
use crate::families::utp::world::World;
use crate::transcript;
use crate::transcript::{Frame, Kind, Message};

vocabulary! {
    /// What is sent in place of a command.
    enum Garbage "garbage" {
        "malformed JSON" => Malformed,
        "a JSON list" => List,
        "the JSON value null" => Null,
        "a JSON number" => Number,
        "a JSON string" => Text,
        "an empty payload" => Empty,
        "a large payload" => Large,
        "bytes that are not UTF-8" => NotUtf8,
        "JSON nested a thousand levels deep" => Nested,
    }
}

impl Garbage {
    fn body(self) -> Value {
        match self {
            Self::Malformed => json!("{\"agent_id\": \"ag_pilot\", \"agent_turn_id\": "),
            Self::List => json!([1, 2, 3]),
            Self::Null => Value::Null,
            Self::Number => json!(7),
            Self::Text => json!("\"tide\""),
            Self::Empty => json!(""),
            // Below the usual limit of a broker, and no JSON.
            Self::Large => Value::from("x".repeat(512 * 1024)),
            Self::Nested => Value::from(format!("{}{}", "[".repeat(1000), "]".repeat(1000))),
            Self::NotUtf8 => json!("{\"agent_id\": \"\u{fffd}\u{fffd}\"}"),
        }
    }
}

vocabulary! {
    /// Captured messages.
    enum Examined "examined" {
        "tool commands" => Commands,
        "callbacks" => Callbacks,
        "tool rows" => Rows,
    }
}

vocabulary! {
    /// When a command is sent again.
    enum RepeatTime "repeat_time" {
        "in a row" => AfterItsAnswer,
        "at once" => BeforeItsAnswer,
    }
}

/// Other commands that are under way together.
const AT_A_TIME: usize = 5;
/// Deliveries of one command that come without a pause.
const COPIES: usize = 3;

#[when("the worker sends the command")]
async fn send(world: &mut World) -> Step {
    world.send().await
}

#[when("the worker sends the command and another like it")]
async fn send_and_another(world: &mut World) -> Step {
    world.send().await?;
    if world.call()?.is_bound_to_fail() {
        world.answered_anyway().await?;
    } else {
        // It may be refused without an answer.
        world.settled().await?;
    }
    let earlier = world.call()?.clone();
    let scene = world.scene()?;
    let another = scene.prepare_like(&earlier);
    scene.put_under_test(another);
    world.send().await
}

#[when("the worker sends the command three times in a row")]
async fn send_three_times(world: &mut World) -> Step {
    send_twice_in_a_row(world).await?;
    world.send().await?;
    world.settled().await
}

#[when(expr = "the worker sends the command twice {repeat_time}")]
async fn send_twice(world: &mut World, time: RepeatTime) -> Step {
    match time {
        RepeatTime::AfterItsAnswer => send_twice_in_a_row(world).await,
        RepeatTime::BeforeItsAnswer => send_twice_at_once(world).await,
    }
}

async fn send_twice_in_a_row(world: &mut World) -> Step {
    world.send().await?;
    world.answered().await?;
    if world.call()?.is_bound_to_fail() {
        // A service may note that a call has failed only when its report was taken.
        world.alive().await?;
    }
    world.send().await?;
    world.settled().await
}

#[when(expr = "the worker sends the command and repeats it after {int} others")]
async fn repeat_after_others(world: &mut World, others: usize) -> Step {
    world.send().await?;
    world.answered().await?;
    // A few at a time: one after another takes too long where the tool is slow.
    for sent in (0..others).step_by(AT_A_TIME) {
        world.alive_after(AT_A_TIME.min(others - sent)).await?;
    }
    world.send().await?;
    world.settled().await
}

#[when(expr = "the worker sends the command and repeats it after {int} seconds")]
async fn repeat_after_a_time(world: &mut World, seconds: u64) -> Step {
    world.send().await?;
    world.answered().await?;
    transcript::sleep_unless_replaying(Duration::from_secs(seconds)).await;
    world.send().await?;
    world.settled().await
}

#[when(expr = "the worker sends the command and repeats it {repeat_time} with {string} {string}")]
async fn repeat_with_header(world: &mut World, time: RepeatTime, name: String, text: String) -> Step {
    repeat_otherwise(world, time, |again| again.set_header(name, text)).await
}

#[when(expr = "the worker sends the command and repeats it {repeat_time} in turn epoch {int}")]
async fn repeat_in_epoch(world: &mut World, time: RepeatTime, epoch: u64) -> Step {
    repeat_otherwise(world, time, |again| again.set("turn_epoch", epoch.into())).await
}

/// Sends the command, and again after a change.
async fn repeat_otherwise(world: &mut World, time: RepeatTime, change: impl FnOnce(&mut Call)) -> Step {
    let repeat = async |world: &mut World| {
        let session = world.session()?;
        let mut again = world.call()?.clone();
        change(&mut again);
        world.scene()?.send(&session, &again).await;
        Ok(())
    };
    match time {
        RepeatTime::AfterItsAnswer => {
            world.send().await?;
            world.answered().await?;
            repeat(world).await?;
        }
        RepeatTime::BeforeItsAnswer => {
            send_and_meanwhile(world, repeat).await?;
            world.answered().await?;
        }
    }
    world.settled().await
}

async fn send_twice_at_once(world: &mut World) -> Step {
    send_and_meanwhile(world, async |world| world.send().await).await?;
    world.answered().await?;
    world.settled().await
}

/// The deliveries come so close together that the target may look for the call in all of them before it writes down the
/// first. The card comes later, so that none can be over before the last is sent.
#[when("the worker sends the command three times without a pause")]
async fn send_three_without_a_pause(world: &mut World) -> Step {
    let card = card_id(world)?;
    let project = Arc::clone(&world.scene()?.project);
    project.hold(&card);
    let sent = async {
        for _ in 0..COPIES {
            world.send().await?;
        }
        card_asked_for(world).await
    }
    .await;
    project.release();
    sent?;
    world.answered().await?;
    world.settled().await
}

/// Sends the command, and does something else before its card is there.
pub(super) async fn send_and_meanwhile(world: &mut World, act: impl AsyncFnOnce(&mut World) -> Step) -> Step {
    let card = card_id(world)?;
    let project = Arc::clone(&world.scene()?.project);
    project.hold(&card);
    let acted = async {
        world.send().await?;
        card_asked_for(world).await?;
        act(world).await
    }
    .await;
    project.release();
    acted
}

#[when(expr = "the worker sends the command and the caller moves to {string} before the answer")]
async fn send_and_move(world: &mut World, worker_target: String) -> Step {
    send_and_meanwhile(world, async |world| {
        let agent = world.call()?.agent_id().unwrap_or_default().to_owned();
        world.scene()?.project.assign(&agent, &worker_target);
        Ok(())
    })
    .await?;
    world.answered().await
}

#[when(expr = "the worker sends {garbage} in place of the command")]
async fn send_garbage(world: &mut World, garbage: Garbage) -> Step {
    let session = world.session()?;
    let call = world.call()?.clone();
    let message = Message {
        direction: Direction::ToTarget,
        kind: Kind::Command,
        channel: call.subject,
        headers: call.headers,
        body: garbage.body(),
    };
    world.scene()?.publish(&session, message).await;
    Ok(())
}

#[when("the worker sends a command for a missing card")]
async fn send_for_missing_card(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let mut call = scene.prepare(session.sentinel());
    call.set("tool_call_card_id", json!("card_that_is_not_there"));
    scene.send(&session, &call).await;
    Ok(())
}

#[when(expr = "the {examined} are examined")]
fn examine(world: &mut World, examined: Examined) -> Step {
    let kind = match examined {
        Examined::Commands => CapturedKind::Command,
        Examined::Callbacks => CapturedKind::Callback,
        Examined::Rows => CapturedKind::Tool,
    };
    let entries = world.capture()?.of_kind(kind);
    world.examine(entries);
    Ok(())
}

/// Waits until the target has asked for the card of the call: from then on the call is running.
async fn card_asked_for(world: &mut World) -> Result<(), Abort> {
    let session = world.session()?;
    let card_id = card_id(world)?;
    let has_asked = |frames: &[Frame]| {
        frames
            .iter()
            .any(|frame| {
                frame.kind == Kind::CardsGet && crate::families::utp::message::mentions(&frame.body, &card_id)
            })
            .then_some(())
    };
    let project = Arc::clone(&world.scene()?.project);
    // A target that never asks has its own finding; here it only means that there is nothing to wait for.
    let _ = project.transcript.wait(session.timeouts.answer, has_asked).await;
    Ok(())
}

/// The id of the call's card.
fn card_id(world: &mut World) -> Result<String, Abort> {
    Ok(world.call()?.card["card_id"].as_str().unwrap_or_default().to_owned())
}
