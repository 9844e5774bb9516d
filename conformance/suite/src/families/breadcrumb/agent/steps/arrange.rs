//! What users want, and that they say it.

use cucumber::{given, when};

use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::breadcrumb::agent::observed::EveryConversation;
use crate::families::breadcrumb::agent::user_request::UserRequest;
use crate::families::breadcrumb::agent::world::World;

vocabulary! {
    /// Who wants something: each request adds to the task of the scenario.
    enum Who "who" {
        "a user who wants" => First,
        "another user, who wants" => Other,
        "the user then asks for" => Same,
    }
}

#[given("everything that the agent said")]
fn everything_said(world: &mut World) {
    world.judge_every(EveryConversation);
}

#[given("an agent")]
fn agent(world: &mut World) -> Step {
    world.open()
}

#[given(expr = "{who} {user_request}")]
fn wants(world: &mut World, who: Who, user_request: UserRequest) -> Step {
    // Whoever wants it, it is one more request of the scenario; who asks when is for the step that asks.
    let _ = who;
    world.scene()?.want(user_request);
    Ok(())
}

#[when(regex = "^the user asks(?: for one after the other)?$")]
async fn asks(world: &mut World) -> Step {
    let asked = world.scene()?.ask().await;
    world.reached(asked)
}

#[when("both ask at the same time")]
async fn both_ask(world: &mut World) -> Step {
    let asked = world.scene()?.ask_together().await;
    world.reached(asked)
}
