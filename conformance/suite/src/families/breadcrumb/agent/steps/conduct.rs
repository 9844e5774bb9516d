//! What the agent makes of the answers.

use cucumber::then;

use crate::engine::world::Step;
use crate::families::breadcrumb::agent::judge::conduct;
use crate::families::breadcrumb::agent::world::World;

#[then("the result is to come back to the agent")]
fn back(world: &mut World) -> Step {
    world.judge_all(|seen| conduct::returns(seen, true))
}

#[then("the result is to go to the user")]
fn away(world: &mut World) -> Step {
    world.judge_all(|seen| conduct::returns(seen, false))
}

#[then("each answer is told as that of its call")]
async fn pairs(world: &mut World) -> Step {
    world.judge_settled(conduct::pairs).await
}

#[then("nothing of the failure is told or used as a result")]
async fn heeds(world: &mut World) -> Step {
    world.scene()?.quiet().await;
    world.judge_all(conduct::heeds_the_status)
}

#[then("the agent tries again, tells the user or calls another tool")]
async fn reacts(world: &mut World) -> Step {
    world.judge_settled(conduct::reacts).await
}

#[then("a message without a call follows")]
async fn ends(world: &mut World) -> Step {
    world.judge_settled(conduct::ends).await
}

#[then("what follows is made of the result")]
async fn builds(world: &mut World) -> Step {
    world.judge_settled(conduct::builds_on_it).await
}

#[then("the task ends without an open call")]
async fn closes(world: &mut World) -> Step {
    world.judge_settled(conduct::closes).await
}

#[then("the agent tries the fallback or tells the user")]
async fn falls_back(world: &mut World) -> Step {
    world.judge_settled(conduct::falls_back).await
}

#[then("the user is told what the fallback brought")]
async fn tells(world: &mut World) -> Step {
    world.judge_settled(conduct::tells_what_the_fallback_brought).await
}
