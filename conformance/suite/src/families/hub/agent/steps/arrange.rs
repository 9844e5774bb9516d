//! What there is before a call is made.

use cucumber::given;
use serde_json::json;

use super::{Called, Fault, HubAnswer};
use crate::engine::parameters::Json;
use crate::engine::world::Step;
use crate::families::hub::agent::call;
use crate::families::hub::agent::mock::script::ScriptAnswer;
use crate::families::hub::agent::scene::Scene;
use crate::families::hub::agent::world::World;
use crate::families::hub::contract;

#[given("every call of a Hub tool")]
fn every_call(world: &mut World) -> Step {
    world.judge_every_call()
}

#[given("an agent")]
async fn agent(world: &mut World) -> Step {
    world.open().await
}

#[given(expr = "a call of {called}")]
fn call(world: &mut World, called: Called) -> Step {
    world.prepare(called.0)
}

#[given("it is made for no end user")]
fn no_end_user(world: &mut World) -> Step {
    if let Some(call) = &mut world.scene()?.call {
        call.user_id = None;
    }
    Ok(())
}

#[given("it is made for an end user who is known by an address")]
fn end_user_with_an_address(world: &mut World) -> Step {
    let scene = world.scene()?;
    if let Some(user_id) = scene.call.as_mut().and_then(|call| call.user_id.as_mut()) {
        user_id.push_str(".Ana+1@Orchid.example");
    }
    Ok(())
}

#[given(expr = "it is made for the end user {string}")]
fn end_user(world: &mut World, user: String) -> Step {
    let scene = world.scene()?;
    let user = scene.session.named(&user);
    if let Some(call) = &mut scene.call {
        call.user_id = Some(user);
    }
    Ok(())
}

#[given(expr = "the page {web_fault}")]
fn page_fails(world: &mut World, fault: Fault) -> Step {
    let scene = world.scene()?;
    let page = scene.page();
    spoil(scene, &page, fault);
    Ok(())
}

#[given(expr = "the search {web_fault}")]
fn search_fails(world: &mut World, fault: Fault) -> Step {
    let scene = world.scene()?;
    let unique = scene.scenario_channel.unique.clone();
    spoil(scene, &unique, fault);
    Ok(())
}

/// Has the call ask for what the web answers with a fault.
fn spoil(scene: &mut Scene, asked_for: &str, fault: Fault) {
    let other = format!("{asked_for}{}", fault.0.suffix());
    if let Some(call) = &mut scene.call {
        call.inputs = call::replaced(&call.inputs, asked_for, &other);
    }
}

#[given(expr = "its input {string} is a text of {int} characters")]
fn long_input(world: &mut World, name: String, characters: usize) -> Step {
    input(world, name, Json(contract::long_text(characters).into()))
}

#[given(expr = "its input {string} is {json}")]
fn input(world: &mut World, name: String, value: Json) -> Step {
    let scene = world.scene()?;
    scene.is_varied = true;
    let inputs = scene.call.as_mut().and_then(|call| call.inputs.as_object_mut());
    if let Some(inputs) = inputs {
        inputs.insert(name, value.0);
    }
    Ok(())
}

#[given(expr = "the Hub answers it with {hub_answer}")]
fn hub_answers(world: &mut World, answer: HubAnswer) -> Step {
    let scene = world.scene()?;
    let tool = scene.call.as_ref().map(|call| call.tool.clone());
    scene.hub_answers(tool.as_deref(), answer.0);
    Ok(())
}

#[given("the Hub is down")]
fn hub_is_down(world: &mut World) -> Step {
    let body = json!("the service is unavailable");
    let answer = ScriptAnswer::Raw { status: 503, body, content_type: "text/plain".to_owned() };
    world.scene()?.hub_answers(None, answer);
    Ok(())
}
