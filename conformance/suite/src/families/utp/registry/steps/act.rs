//! What the author of a tool does.

use cucumber::when;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::utp::registry::world::World;

vocabulary! {
    /// What is uploaded around a definition.
    enum Surroundings "surroundings" {
        " between two good ones" => GoodOnes,
        " twice" => Again,
        ", then a new version, then the definition again" => NewVersion,
        ", and another under its name in another project" => Namesake,
        "" => Nothing,
    }
}

#[when(expr = "the definition is uploaded{surroundings}")]
async fn uploads(world: &mut World, surroundings: Surroundings) -> Step {
    let scene = world.scene()?;
    match surroundings {
        Surroundings::GoodOnes => scene.upload_between().await,
        Surroundings::Again => scene.upload_again(false).await,
        Surroundings::NewVersion => scene.upload_again(true).await,
        Surroundings::Namesake => scene.upload_beside_a_namesake().await,
        Surroundings::Nothing => scene.upload().await,
    }
    Ok(())
}
