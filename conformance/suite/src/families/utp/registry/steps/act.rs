//! What the author of a tool does.

use cucumber::when;

use crate::engine::world::Step;
use crate::families::utp::registry::world::World;

#[when(regex = "^the definition is uploaded( between two good ones)?$")]
async fn uploads(world: &mut World, between: String) -> Step {
    let scene = world.scene()?;
    if between.is_empty() {
        scene.upload().await;
    } else {
        scene.upload_between().await;
    }
    Ok(())
}
