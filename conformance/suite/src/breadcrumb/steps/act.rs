//! What an agent does.

use cucumber::when;

use super::super::world::World;
use crate::world::Step;

#[when("the agent makes the call")]
async fn makes(world: &mut World) -> Step {
    let made = world.scene()?.make().await;
    world.reached(made)?;
    world.scene()?.wait().await;
    Ok(())
}
