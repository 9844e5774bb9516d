//! Given: what is unusual about the tool's answer, its card and its callback.

use cucumber::given;
use serde_json::{Value, json};

use super::arrange::{IdForm, text_of};
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::Step;
use crate::families::utp::runtime::world::World;

vocabulary! {
    /// What can be wrong with a tool.result card.
    enum Defect "result_defect" {
        "is missing" => Missing,
        "is of another type" => OtherType,
        "belongs to another call" => OtherCall,
        "holds plain text" => Text,
        "holds an arbitrary object" => Object,
        "names no function" => NoFunction,
        "is by another author" => OtherAuthor,
    }
}

vocabulary! {
    /// What a scenario chooses of the result.
    enum ResultPart "result_part" {
        "the result's control" => Control,
        "the result's override" => Override,
        "the result" => All,
    }
}

vocabulary! {
    /// What a scenario alters before the tool reports.
    enum Altered "altered" {
        "callback" => Callback,
        "card" => Card,
        "report's header" => Header,
        "report" => Report,
        "payload" => Payload,
    }
}

vocabulary! {
    /// What says how the call ended.
    enum AccordingTo "according_to" {
        ", but only the card says so" => Card,
        "" => Both,
    }
}

#[given(expr = "{result_part} is {json}")]
fn result(world: &mut World, part: ResultPart, value: Json) -> Step {
    let result = &mut world.call(0)?.card["content"]["result"];
    match part {
        ResultPart::All => *result = value.0,
        ResultPart::Control => result["__cg_control"] = value.0,
        ResultPart::Override => result["__cg_control"] = json!({"after_execution": value.0}),
    }
    Ok(())
}

#[given(expr = "the {altered}('s) {string} is {json}")]
fn member(world: &mut World, altered: Altered, name: String, value: Json) -> Step {
    let call = world.call(0)?;
    match altered {
        Altered::Callback => {
            call.callback.insert(name, value.0);
        }
        Altered::Report => drop(call.envelope.insert(name, value.0)),
        Altered::Payload => drop(call.payload.insert(name, value.0)),
        Altered::Card => put(&mut call.card, &name, value.0),
        Altered::Header => {
            call.headers.insert(name, value.0.as_str().unwrap_or_default().to_owned());
        }
    }
    Ok(())
}

#[given(expr = "the {altered}('s) {string} is a text of {int} kB")]
fn long_member(world: &mut World, altered: Altered, name: String, length: usize) -> Step {
    member(world, altered, name, Json(text_of(length)))
}

#[given(expr = "the id of the tool.result card is {id_form}")]
fn card_id(world: &mut World, form: IdForm) -> Step {
    let id = form.id(&world.scene()?.project.name);
    world.call(0)?.give_card_id(id);
    Ok(())
}

#[given(expr = "the call ended as {string}{according_to}")]
fn ended_as(world: &mut World, status: String, according_to: AccordingTo) -> Step {
    let call = world.call(0)?;
    match according_to {
        AccordingTo::Both => call.set_status(&status),
        AccordingTo::Card => call.set_card_status(&status),
    }
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

#[given(expr = "the second callback lacks {string}")]
fn second_callback_lacks(world: &mut World, member: String) -> Step {
    world.call(1)?.callback.remove(&member);
    Ok(())
}

#[given(expr = "the callback lacks {string}")]
fn callback_lacks(world: &mut World, member: String) -> Step {
    world.call(0)?.callback.remove(&member);
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
        Defect::NoFunction => {
            call.card["metadata"].as_object_mut().map(|metadata| metadata.remove("function_name"));
        }
        Defect::OtherAuthor => call.card["author_id"] = json!("tool.logs"),
        Defect::Object => call.card["content"] = json!({"high_water": token, "z": 1}),
    }
    Ok(())
}

/// Sets the member at a pointer whose parent is there.
fn put(value: &mut Value, pointer: &str, new: Value) {
    let Some((parent, member)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(members)) = value.pointer_mut(parent) {
        members.insert(member.to_owned(), new);
    }
}
