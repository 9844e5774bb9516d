//! What the author of a tool does.

use cucumber::when;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::utp::registry::scene::SimilarNames;
use crate::families::utp::registry::world::World;

vocabulary! {
    /// What is uploaded around a definition.
    enum OtherUploads "other_uploads" {
        " between two good ones, and looked at later" => GoodOnesAndLater,
        " between two good ones" => GoodOnes,
        " three times between two good ones" => Repeated,
        " twice" => Again,
        " after a good one and a faulty one of its name" => GoodAndFaulty,
        ", then a new version, then the definition again" => NewVersion,
        ", then a new version" => Revised,
        ", and another under its name in another project" => Namesake,
        " between two whose names differ from its name in case" => OtherCase,
        " between two that have a letter for the underscore of its name" => OtherLetter,
        " between two whose names begin with its name" => LongerName,
        "" => Nothing,
    }
}

#[when(expr = "the definition is uploaded{other_uploads}")]
async fn uploads(world: &mut World, other_uploads: OtherUploads) -> Step {
    let scene = world.scene()?;
    match other_uploads {
        OtherUploads::GoodOnesAndLater => scene.upload_between_and_look_later().await,
        OtherUploads::GoodOnes => scene.upload_between(1).await,
        OtherUploads::Repeated => scene.upload_between(3).await,
        OtherUploads::Again => scene.upload_again(false).await,
        OtherUploads::NewVersion => scene.upload_again(true).await,
        OtherUploads::GoodAndFaulty => {
            scene.register().await;
            scene.upload_faulty().await;
            scene.upload().await;
        }
        OtherUploads::Revised => {
            scene.register().await;
            scene.upload().await;
        }
        OtherUploads::Namesake => scene.upload_beside_a_namesake().await,
        OtherUploads::OtherCase => scene.upload_beside_similar_names(SimilarNames::Case).await,
        OtherUploads::OtherLetter => scene.upload_beside_similar_names(SimilarNames::Pattern).await,
        OtherUploads::LongerName => scene.upload_beside_similar_names(SimilarNames::Beginning).await,
        OtherUploads::Nothing => scene.upload().await,
    }
    Ok(())
}

#[when(expr = "the definition is uploaded after one that differs in its {string} only")]
async fn uploads_after_another(world: &mut World, member: String) -> Step {
    world.scene()?.upload_after_another(&member).await;
    Ok(())
}
