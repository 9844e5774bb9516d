//! What the client does.

use cucumber::when;
use serde_json::json;

use crate::engine::judge::Cause;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::toolbus::call::Probe;
use crate::families::toolbus::world::World;

#[when("the client makes the call")]
async fn make(world: &mut World) -> Step {
    world.make().await.map(|_| ())
}

#[when("the client makes the call twice")]
async fn make_twice(world: &mut World) -> Step {
    world.make().await?;
    world.make().await.map(|_| ())
}

#[when("the client makes the call and then an echo call")]
async fn make_and_echo(world: &mut World) -> Step {
    world.make().await?;
    world.prepare(Probe::Echo, json!({"note": "afterwards"}))?;
    world.make().await.map(|_| ())
}

#[when("the client makes the call in `compact` mode and then without a mode")]
async fn make_compact_and_plain(world: &mut World) -> Step {
    world.call()?.arguments.insert("response_mode".to_owned(), json!("compact"));
    world.make().await?;
    world.call()?.arguments.shift_remove("response_mode");
    world.make().await.map(|_| ())
}

#[when(expr = "the client makes the call in {string} mode")]
async fn make_in_mode(world: &mut World, mode: String) -> Step {
    world.call()?.arguments.insert("response_mode".to_owned(), mode.into());
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

#[when("the client makes the call and the server is started anew")]
async fn make_and_restart(world: &mut World) -> Step {
    world.make().await?;
    restart(world).await
}

#[when(expr = "the client makes the call and {int} others, and the server is started anew")]
async fn make_others_and_restart(world: &mut World, others: usize) -> Step {
    let made = world.make().await?;
    world.look_for_artifacts(&made).await?;
    world.remembered = world.scene()?.frames().into_iter().filter(super::artifact::is_artifact).collect();
    for number in 0..others {
        world.prepare(Probe::Echo, json!({"number": number}))?;
        world.make().await?;
    }
    restart(world).await?;
    world.scene()?.made = vec![made];
    Ok(())
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
