//! What the author of a tool does.

use cucumber::when;

use crate::engine::world::Step;
use crate::families::utp::registry::world::World;

#[when("the definition is uploaded")]
async fn uploads(world: &mut World) -> Step {
    world.scene()?.upload().await;
    Ok(())
}

#[when("the definition is uploaded between two good ones")]
async fn uploads_between(world: &mut World) -> Step {
    world.scene()?.upload_between().await;
    Ok(())
}
