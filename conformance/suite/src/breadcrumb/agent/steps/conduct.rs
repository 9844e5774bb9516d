//! What the agent makes of the answers.

use cucumber::then;

use super::super::judge::conduct;
use super::super::world::World;
use crate::world::Step;

#[then("the result is to come back to the agent")]
fn back(world: &mut World) -> Step {
    world.judge_all(|seen| conduct::returns(seen, true))
}

#[then("the result is to go to the user")]
fn away(world: &mut World) -> Step {
    world.judge_all(|seen| conduct::returns(seen, false))
}

#[then("each answer is told as that of its call")]
fn pairs(world: &mut World) -> Step {
    world.judge_all(conduct::pairs)
}

#[then("nothing of the failure is told or used as a result")]
async fn heeds(world: &mut World) -> Step {
    world.scene()?.quiet().await;
    world.judge_all(conduct::heeds_the_status)
}

#[then("the agent tries again, tells the user or calls another tool")]
fn reacts(world: &mut World) -> Step {
    world.judge_all(conduct::reacts)
}

#[then("a message without a call follows")]
fn ends(world: &mut World) -> Step {
    world.judge_all(conduct::ends)
}

#[then("what follows is made of the result")]
fn builds(world: &mut World) -> Step {
    world.judge_all(conduct::builds_on_it)
}

#[then("the task ends without an open call")]
fn closes(world: &mut World) -> Step {
    world.judge_all(conduct::closes)
}

#[then("the agent tries the fallback or tells the user")]
fn falls_back(world: &mut World) -> Step {
    world.judge_all(conduct::falls_back)
}

#[then("the user is told what the fallback brought")]
fn tells(world: &mut World) -> Step {
    world.judge_all(conduct::tells_what_the_fallback_brought)
}
