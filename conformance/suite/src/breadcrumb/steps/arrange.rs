//! What is given.

use cucumber::given;

use super::super::world::World;
use crate::world::Step;

#[given("a tool runner")]
async fn runner(world: &mut World) -> Step {
    world.open()
}

#[given(expr = "a call of {word}")]
async fn call(world: &mut World, tool: String) -> Step {
    let scene = world.scene()?;
    let call = scene.usual_call(&tool);
    scene.calls.push(call);
    Ok(())
}
