//! Then: what is asked of headers, payloads and cards since `v1r4`.

use cucumber::then;

use crate::engine::world::Step;
use crate::families::utp::judge::{callback, card, identity, lineage};
use crate::families::utp::world::World;

#[then("the callback holds no control member")]
async fn has_no_control_member(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(identity::has_no_control_member)
}

#[then("the tool.result card's author is who reports it")]
async fn is_signed(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(identity::is_signed)
}

#[then("the tool.result card names the tool as its function")]
async fn names_function(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(identity::names_function)
}

#[then("nothing is published on subjects of another version")]
async fn keeps_its_version(world: &mut World) -> Step {
    world.settled().await?;
    world.judge_call(identity::keeps_its_version)
}

#[then(expr = "the call is refused with code {string} or {string}")]
async fn is_refused_with(world: &mut World, code: String, other: String) -> Step {
    world.answered_anyway().await?;
    world.judge_call(|frames, calls| callback::has_status(frames, calls, "failed"))?;
    world.judge_call(|frames, calls| card::has_status(frames, calls, "failed"))?;
    world.judge_call(|frames, calls| identity::has_only_code(frames, calls, &[&code, &other]))
}

#[then("the turns that the call starts are one level deeper")]
async fn is_one_deeper(world: &mut World) -> Step {
    world.wait_for_effect().await?;
    world.judge_call(lineage::is_one_deeper)
}

#[then("the platform chooses the ids of the turns")]
async fn leaves_ids(world: &mut World) -> Step {
    world.wait_for_effect().await?;
    world.judge_call(lineage::leaves_ids_to_the_platform)
}

#[then("no callback is reported for the call")]
async fn is_not_reported(world: &mut World) -> Step {
    world.wait_grace_period().await?;
    world.judge_call(identity::is_not_reported)
}
