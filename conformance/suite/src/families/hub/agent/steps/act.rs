//! What the agent is driven to do.

use cucumber::when;

use crate::engine::world::Step;
use crate::families::hub::agent::session::AgentSession;
use crate::families::hub::agent::world::World;

#[when("the agent makes the call")]
async fn make(world: &mut World) -> Step {
    world.make().await?;
    world.scene()?.rest();
    Ok(())
}

#[when("the agent makes the call between two calls of Hub tools")]
async fn make_between(world: &mut World) -> Step {
    world.make_a_hub_call(None).await?;
    world.make().await?;
    world.make_a_hub_call(None).await?;
    world.scene()?.listen().await;
    Ok(())
}

#[when("the agent makes the call and time passes")]
async fn make_and_listen(world: &mut World) -> Step {
    world.make().await?;
    world.scene()?.listen().await;
    Ok(())
}

#[when("the agent makes the call and a long time passes")]
async fn make_and_wait(world: &mut World) -> Step {
    world.make().await?;
    world.scene()?.listen_long().await;
    Ok(())
}

#[when("the agent makes the call, and later another when the Hub answers as it should")]
async fn make_and_go_on_later(world: &mut World) -> Step {
    world.make().await?;
    let scene = world.scene()?;
    scene.hub_recovers();
    scene.pause().await;
    world.make_a_hub_call(None).await?;
    world.scene()?.rest();
    Ok(())
}

#[when("the agent makes the call, and another when the Hub answers as it should")]
async fn make_and_go_on(world: &mut World) -> Step {
    world.make().await?;
    world.scene()?.hub_recovers();
    world.make_a_hub_call(None).await?;
    world.scene()?.rest();
    Ok(())
}

#[when("the agent makes the call, and another for a second customer")]
async fn make_for_two(world: &mut World) -> Step {
    world.make().await?;
    let other = AgentSession::other_customer(&world.scene()?.scenario_channel.unique);
    world.make_a_hub_call(Some(&other)).await?;
    world.scene()?.rest();
    Ok(())
}
