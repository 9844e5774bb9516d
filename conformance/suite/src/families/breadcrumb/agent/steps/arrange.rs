//! What users want, and that they say it.

use cucumber::{given, when};

use crate::engine::world::Step;
use crate::families::breadcrumb::agent::task::UserRequest;
use crate::families::breadcrumb::agent::world::World;

#[given("an agent")]
fn agent(world: &mut World) -> Step {
    world.open()
}

#[given(expr = "a user who wants {user_request}")]
fn user(world: &mut World, user_request: UserRequest) -> Step {
    world.scene()?.want(user_request);
    Ok(())
}

#[given(expr = "the user then asks for {user_request}")]
#[given(expr = "another user, who wants {user_request}")]
fn more(world: &mut World, user_request: UserRequest) -> Step {
    user(world, user_request)
}

#[when("the user asks")]
#[when("the user asks for one after the other")]
async fn asks(world: &mut World) -> Step {
    let asked = world.scene()?.ask().await;
    world.reached(asked)
}

#[when("both ask at the same time")]
async fn both_ask(world: &mut World) -> Step {
    let asked = world.scene()?.ask_together().await;
    world.reached(asked)
}
