//! What an answer is.

use cucumber::then;

use super::super::judge::answer;
use super::super::world::World;
use crate::world::Step;

#[then("the answer is a breadcrumb of schema tool.response.v1")]
async fn schema(world: &mut World) -> Step {
    world.judge_answers(|_, answer| answer::schema(answer))
}
