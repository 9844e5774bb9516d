//! What an agent does.

use cucumber::when;

use crate::engine::parameters::Json;
use crate::engine::world::Step;
use crate::families::breadcrumb::runner::world::World;

#[when(regex = "^the agent makes the calls?$")]
async fn makes(world: &mut World) -> Step {
    let made = world.scene()?.make().await;
    world.reached(made)?;
    world.scene()?.wait().await;
    Ok(())
}

#[when("the agent makes the calls one by one")]
async fn makes_each(world: &mut World) -> Step {
    let made = world.scene()?.make_each().await;
    world.reached(made)
}

#[when(regex = "^the agent makes the (odd|failing) calls? between two harmless ones$")]
async fn makes_between(world: &mut World, which: String) -> Step {
    let made = world.scene()?.make_between(which == "failing").await;
    world.reached(made)
}

#[when("the agent makes the calls and waits for one more answer")]
async fn makes_and_waits(world: &mut World) -> Step {
    let made = world.scene()?.make().await;
    world.reached(made)?;
    world.scene()?.wait().await;
    let window = world.session()?.window();
    let quiet = world.scene()?.quiet(window).await;
    world.reached(quiet)
}

#[when("the agent makes the calls at the same time")]
async fn makes_side_by_side(world: &mut World) -> Step {
    let made = world.scene()?.make_side_by_side().await;
    world.reached(made)
}

#[when("the agent makes the call, and then one for the user")]
async fn makes_and_shows(world: &mut World) -> Step {
    let made = world.scene()?.make().await;
    world.reached(made)?;
    world.scene()?.wait().await;
    let shown = world.scene()?.show_another().await;
    world.reached(shown)
}

#[when("the agent makes the calls and says nothing more")]
async fn makes_and_is_silent(world: &mut World) -> Step {
    let made = world.scene()?.make().await;
    world.reached(made)?;
    world.scene()?.wait().await;
    let quiet = world.scene()?.prove_alive().await;
    world.reached(quiet)
}

#[when(expr = "the call stands in a breadcrumb of schema {word}")]
async fn other_schema(world: &mut World, schema: String) -> Step {
    let put = world.scene()?.put_under(&schema).await;
    world.reached(put)
}

#[when(expr = "the agent speaks with {json} as its tool_requests")]
async fn speaks(world: &mut World, requests: Json) -> Step {
    let said = world.scene()?.say(Some(requests.0)).await;
    world.reached(said)
}

#[when("the agent speaks without tool_requests")]
async fn only_speaks(world: &mut World) -> Step {
    let said = world.scene()?.say(None).await;
    world.reached(said)
}
