//! What an agent does.

use cucumber::when;

use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::breadcrumb::reason::Alternative;
use crate::families::breadcrumb::runner::world::World;
use crate::transcript::{Frame, Kind};

vocabulary! {
    /// How calls are made, and what follows them.
    enum Sequence "sequence" {
        " one by one" => OneByOne,
        ", each after the answer to the one before" => InTurn,
        " at the same time" => AtTheSameTime,
        ", those of each session in a message of their own" => InSessions,
        " and waits for one more answer" => WaitsForMore,
        ", and then changes what they stand in" => Changes,
        ", and again after one more breadcrumb was stored" => SearchesAgain,
        ", and then changes the same breadcrumb twice more" => ChangesMore,
        " and says nothing more" => IsSilent,
        ", and then one for the user" => ShowsAnother,
        "" => Plain,
    }
}

#[when(expr = "the agent makes the call(s){sequence}")]
async fn makes(world: &mut World, sequence: Sequence) -> Step {
    let scene = world.scene()?;
    let made = match sequence {
        Sequence::OneByOne => scene.make_each().await,
        Sequence::InTurn => scene.make_in_turn().await,
        Sequence::AtTheSameTime => scene.make_side_by_side().await,
        Sequence::InSessions => scene.make_in_sessions().await,
        Sequence::Changes => scene.make_and_change().await,
        Sequence::SearchesAgain => scene.make_and_search_again().await,
        Sequence::ChangesMore => scene.make_and_change_more(2).await,
        _ => scene.make().await.map(|_| ()),
    };
    world.reached(made)?;
    if matches!(sequence, Sequence::Changes) {
        // What a runner deletes when it is done with it cannot be changed.
        let frames = world.scene()?.frames();
        let is_deletion =
            |frame: &&Frame| frame.kind == Kind::CrumbChange && frame.channel.starts_with("DELETE");
        if let Some(frame) = frames.iter().find(is_deletion) {
            return world.judge(Err(Alternative::Deletes.seen_in([frame])));
        }
    }
    let is_waited_for = matches!(
        sequence,
        Sequence::OneByOne
            | Sequence::InTurn
            | Sequence::AtTheSameTime
            | Sequence::InSessions
            | Sequence::Changes
            | Sequence::SearchesAgain
            | Sequence::ChangesMore
    );
    if is_waited_for {
        return Ok(());
    }
    world.scene()?.wait().await;
    let window = world.session()?.window();
    let scene = world.scene()?;
    let followed = match sequence {
        Sequence::WaitsForMore => scene.wait_settle_window(window).await,
        Sequence::IsSilent => scene.prove_alive().await,
        Sequence::ShowsAnother => scene.show_another().await,
        _ => Ok(()),
    };
    world.reached(followed)
}

#[when(regex = "^the agent makes the (odd|failing) calls? between two harmless ones$")]
async fn makes_between(world: &mut World, which: String) -> Step {
    let made = world.scene()?.make_between(which == "failing").await;
    world.reached(made)
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
