//! What the client does.

use std::time::{Duration, Instant};

use cucumber::when;
use serde_json::json;

use crate::engine::judge::Cause;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::toolbus::call::Probe;
use crate::families::toolbus::scene::Made;
use crate::families::toolbus::world::World;

vocabulary! {
    /// What follows the call.
    enum AndThen "and_then" {
        " at another replica" => Elsewhere,
        " a dozen times at once" => AtOnce,
        " twice" => Again,
        " and then an echo call" => Echo,
        " and the server is started anew" => Restart,
        "" => Nothing,
    }
}

/// Calls that are made at once.
const DOZEN: usize = 12;

#[when(expr = "the client makes the call{and_then}")]
async fn make(world: &mut World, and_then: AndThen) -> Step {
    match and_then {
        AndThen::Elsewhere => world.scene()?.aim_at_another(),
        AndThen::AtOnce => return world.make_at_once(DOZEN).await,
        _ => {}
    }
    world.make().await?;
    match and_then {
        AndThen::Nothing | AndThen::Elsewhere | AndThen::AtOnce => Ok(()),
        AndThen::Again => world.make().await.map(|_| ()),
        AndThen::Echo => {
            world.prepare(Probe::Echo, json!({"note": "afterwards"}))?;
            world.make().await.map(|_| ())
        }
        AndThen::Restart => restart(world).await,
    }
}

/// For calls that are made again and again.
const MANY_CALLS: Duration = Duration::from_secs(10);

/// Whether there is time for a further one of many calls; a slow server is sent fewer.
fn has_time(world: &mut World, began: Instant) -> Result<bool, Abort> {
    let transcript = &world.scene()?.client.transcript;
    Ok(transcript.record_external("time for a further call", || began.elapsed() < MANY_CALLS))
}

vocabulary! {
    /// What a client sends beside its requests.
    enum Aside "aside" {
        "a line that is no JSON" => NoJson,
        "a cancellation of it" => Cancellation,
    }
}

#[when(expr = "the client makes the call, sends {aside}, and then makes an echo call")]
async fn make_with_aside(world: &mut World, aside: Aside) -> Step {
    let made = world.make().await?;
    match aside {
        Aside::NoJson => world.scene()?.send_text("{callmark: no JSON").await,
        Aside::Cancellation => world.scene()?.cancel(made.id).await,
    }
    world.prepare(Probe::Echo, json!({"note": "afterwards"}))?;
    world.make().await.map(|_| ())
}

#[when(expr = "the client makes the call up to {int} times, and then an echo call")]
async fn make_many(world: &mut World, times: usize) -> Step {
    let began = Instant::now();
    for _ in 0..times {
        if !has_time(world, began)? {
            break;
        }
        world.make().await?;
    }
    world.prepare(Probe::Echo, json!({"note": "afterwards"}))?;
    world.make().await.map(|_| ())
}

#[when(regex = r#"^the client makes the call in "([^"]*)" mode( and then without a mode)?$"#)]
async fn make_in_mode(world: &mut World, mode: String, and_without: String) -> Step {
    world.call()?.arguments.insert("response_mode".to_owned(), mode.into());
    world.make().await?;
    if and_without.is_empty() {
        return Ok(());
    }
    world.call()?.arguments.shift_remove("response_mode");
    world.make().await.map(|_| ())
}

#[when("the client sends `tool` and `input` in place of `name` and `arguments`")]
async fn send_illustration(world: &mut World) -> Step {
    let call = world.call()?.clone();
    let params = json!({"tool": call.tool, "input": call.arguments});
    if world.scene()?.send_params(params).await.is_none() {
        return Err(world.suite_fault("the scenario needs the echo probe"));
    }
    Ok(())
}

#[when(expr = "the client makes the call and {int} others, and the server is started anew")]
async fn make_others_and_restart(world: &mut World, others: usize) -> Step {
    let made = make_and_remember(world).await?;
    for number in 0..others {
        world.prepare(Probe::Echo, json!({"number": number}))?;
        world.make().await?;
    }
    restart(world).await?;
    world.scene()?.made = vec![made];
    Ok(())
}

#[when(expr = "the client makes the call and up to {int} others")]
async fn make_many_others(world: &mut World, others: usize) -> Step {
    let made = make_and_remember(world).await?;
    let began = Instant::now();
    for number in 0..others {
        if !has_time(world, began)? {
            break;
        }
        world.prepare(Probe::Echo, json!({"number": number}))?;
        world.make().await?;
    }
    world.scene()?.made = vec![made];
    Ok(())
}

#[when(expr = "the client makes the call and {int} others at every replica")]
async fn make_others_everywhere(world: &mut World, others: usize) -> Step {
    let made = make_and_remember(world).await?;
    for number in 0..others {
        for replica in 0..world.scene()?.replicas_count() {
            world.prepare(Probe::Echo, json!({"number": number, "replica": replica}))?;
            world.scene()?.aim = Some(replica);
            world.make().await?;
        }
    }
    world.scene()?.made = vec![made];
    Ok(())
}

/// Makes the call, and remembers its artifacts as they are then.
async fn make_and_remember(world: &mut World) -> Result<Made, Abort> {
    let made = world.make().await?;
    world.look_for_artifacts(&made).await?;
    world.remembered = world.scene()?.frames().into_iter().filter(super::artifact::is_artifact).collect();
    Ok(made)
}

async fn restart(world: &mut World) -> Step {
    match world.scene()?.restart().await {
        Ok(()) => Ok(()),
        Err(message) => {
            let message = format!("the server cannot be started again: {message}");
            Err(world.could_not_run(Cause::Implementation, message))
        }
    }
}
