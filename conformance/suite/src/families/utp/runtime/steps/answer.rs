//! Given: what is unusual about the tool's answer, its card and its callback.

use cucumber::{Parameter, given};
use serde_json::{Value, json};

use crate::engine::parameters::Json;
use crate::engine::world::Step;
use crate::families::utp::runtime::world::World;

/// What can be wrong with a tool.result card.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "result_defect",
    regex = "is missing|is of another type|belongs to another call|holds plain text|holds an arbitrary object"
)]
enum Defect {
    Missing,
    OtherType,
    OtherCall,
    Text,
    Object,
}

impl std::str::FromStr for Defect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "is missing" => Self::Missing,
            "is of another type" => Self::OtherType,
            "belongs to another call" => Self::OtherCall,
            "holds plain text" => Self::Text,
            "holds an arbitrary object" => Self::Object,
            other => return Err(format!("a card cannot be `{other}`")),
        })
    }
}

#[given(expr = "the result overrides with {json}")]
fn overrides(world: &mut World, value: Json) -> Step {
    world.call(0)?.card["content"]["result"]["__cg_control"] = json!({"after_execution": value.0});
    Ok(())
}

#[given(expr = "the result's control is {json}")]
fn control(world: &mut World, value: Json) -> Step {
    world.call(0)?.card["content"]["result"]["__cg_control"] = value.0;
    Ok(())
}

#[given(expr = "the result is {json}")]
fn result(world: &mut World, value: Json) -> Step {
    world.call(0)?.card["content"]["result"] = value.0;
    Ok(())
}

#[given(expr = "the card says {string} at {string}")]
fn card_says(world: &mut World, value: String, pointer: String) -> Step {
    let call = world.call(0)?;
    put(&mut call.card, &pointer, Value::from(value));
    Ok(())
}

#[given(expr = "the card has a control at {string}")]
fn control_at(world: &mut World, place: String) -> Step {
    world.call(0)?.card[place]["__cg_control"] = json!({"after_execution": "terminate"});
    Ok(())
}

#[given("both callbacks name the same step")]
fn same_step(world: &mut World) -> Step {
    for call in [0, 1] {
        world.call(call)?.callback.insert("step_id".to_owned(), json!("step_both"));
    }
    Ok(())
}

#[given(expr = "the callback's {string} is {json}")]
fn callback_member(world: &mut World, member: String, value: Json) -> Step {
    world.call(0)?.callback.insert(member, value.0);
    Ok(())
}

#[given(expr = "the callback lacks {string}")]
fn callback_lacks(world: &mut World, member: String) -> Step {
    world.call(0)?.callback.remove(&member);
    Ok(())
}

#[given(expr = "the call ended as {string}")]
fn ended_as(world: &mut World, status: String) -> Step {
    world.call(0)?.set_status(&status);
    Ok(())
}

#[given(expr = "the card says that the call ended as {string}")]
fn card_ended_as(world: &mut World, status: String) -> Step {
    world.call(0)?.set_card_status(&status);
    Ok(())
}

#[given(expr = "the tool.result card {result_defect}")]
fn card_defect(world: &mut World, defect: Defect) -> Step {
    let call = world.call(0)?;
    let token = call.token.clone();
    match defect {
        Defect::Missing => {
            call.callback.insert("tool_result_card_id".to_owned(), json!("card_that_is_not_there"));
        }
        Defect::OtherType => call.card["type"] = json!("task.instruction"),
        Defect::OtherCall => {
            call.card["tool_call_id"] = json!("call_of_another");
            call.card["metadata"]["tool_call_id"] = json!("call_of_another");
        }
        Defect::Text => call.card["content"] = json!(format!("High water: {token}")),
        Defect::Object => call.card["content"] = json!({"high_water": token, "z": 1}),
    }
    Ok(())
}

#[given(expr = "the report has the header {string} = {string}")]
fn header(world: &mut World, name: String, value: String) -> Step {
    world.call(0)?.headers.insert(name, value);
    Ok(())
}

/// Sets the member at a pointer whose parent is there.
fn put(value: &mut Value, pointer: &str, new: Value) {
    let Some((parent, member)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(members)) = value.pointer_mut(parent) {
        members.insert(member.to_owned(), new);
    }
}
