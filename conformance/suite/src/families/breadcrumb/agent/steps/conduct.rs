//! What the agent makes of the answers.

use cucumber::then;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::breadcrumb::agent::judge::conduct;
use crate::families::breadcrumb::agent::world::World;

vocabulary! {
    /// Where the agent asks for the result to be sent.
    enum Destination "destination" {
        "come back to the agent" => Agent,
        "go to the user" => User,
    }
}

#[then(expr = "the result is to {destination}")]
fn result_is_routed(world: &mut World, destination: Destination) -> Step {
    world.judge_all(|seen| conduct::returns(seen, destination == Destination::Agent))
}

#[then("each answer is reported as that of its call")]
async fn answers_are_paired_with_calls(world: &mut World) -> Step {
    world.judge_settled(conduct::pairs).await
}

#[then("nothing of the failure is reported or used as a result")]
async fn failure_is_not_used(world: &mut World) -> Step {
    world.scene()?.wait_settle_window().await;
    world.judge_all(conduct::heeds_the_status)
}

#[then("the agent tries again, informs the user or calls another tool")]
async fn agent_reacts_to_failure(world: &mut World) -> Step {
    world.judge_settled(conduct::reacts).await
}

#[then("a message without a call follows")]
async fn message_without_call_follows(world: &mut World) -> Step {
    world.judge_settled(conduct::ends).await
}

#[then("what follows is made of the result")]
async fn next_message_uses_result(world: &mut World) -> Step {
    world.judge_settled(conduct::builds_on_it).await
}

#[then("the task ends without an open call")]
async fn no_call_is_left_open(world: &mut World) -> Step {
    world.judge_settled(conduct::closes).await
}

#[then("the agent tries the fallback or informs the user")]
async fn agent_falls_back(world: &mut World) -> Step {
    world.judge_settled(conduct::falls_back).await
}

#[then("the user is informed what the fallback returned")]
async fn fallback_is_reported(world: &mut World) -> Step {
    world.judge_settled(conduct::reports_what_the_fallback_brought).await
}
