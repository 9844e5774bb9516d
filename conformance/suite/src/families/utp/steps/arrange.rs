//! Given: a target, a call, and what is unusual about it.

use std::sync::Arc;

use cucumber::{Parameter, given};
use serde_json::{Value, json};

use super::Probe;
use crate::engine::parameters::Json;
use crate::engine::world::{HasCore as _, Step};
use crate::families::utp::call::Call;
use crate::families::utp::scene::Scene;
use crate::families::utp::tool::Role;
use crate::families::utp::world::World;
use crate::transcript::Transcript;

/// What can be wrong with a tool.call card.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "card_defect",
    regex = "is missing|exists in another project only|holds plain text|holds text that looks like arguments|holds an arbitrary object|has no arguments"
)]
enum CardDefect {
    Missing,
    Elsewhere,
    Text,
    JsonText,
    Object,
    NoArguments,
}

impl std::str::FromStr for CardDefect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "is missing" => Self::Missing,
            "exists in another project only" => Self::Elsewhere,
            "holds plain text" => Self::Text,
            "holds text that looks like arguments" => Self::JsonText,
            "holds an arbitrary object" => Self::Object,
            "has no arguments" => Self::NoArguments,
            other => return Err(format!("a card cannot be `{other}`")),
        })
    }
}

#[given("a Tool Service")]
fn tool_service(world: &mut World) -> Step {
    world.open_scene(Role::ToolService)
}

#[given("a live Tool Service")]
async fn live_tool_service(world: &mut World) -> Step {
    world.open_scene(Role::ToolService)?;
    world.alive().await
}

#[given(expr = "another project with the suffix {string}")]
fn another_project(world: &mut World, suffix: String) -> Step {
    let session = world.session()?;
    let id = world.scene()?.project.name.stable.clone();
    let transcript = world.core().written();
    *world.scene()? = Scene::bare(&session, session.test_environment.project_of(&id, &suffix, transcript));
    Ok(())
}

#[given(expr = "a command for the {probe} probe")]
async fn command(world: &mut World, probe: Probe) -> Step {
    world.prepare(probe.0.into()).await
}

#[given(expr = "a command for the {probe} probe was answered")]
async fn answered_command(world: &mut World, probe: Probe) -> Step {
    world.prepare(probe.0.into()).await?;
    world.send().await?;
    world.answered().await
}

#[given("the next command is for a card without arguments")]
async fn next_without_arguments(world: &mut World) -> Step {
    let earlier = next_call(world).await?;
    let call = world.call()?;
    call.card["content"]["arguments"] = json!({});
    call.token = earlier.token;
    keep_card(world)
}

#[given("the next command is for a card of its own")]
async fn next_for_own_card(world: &mut World) -> Step {
    next_call(world).await.map(|_| ())
}

#[given("the next command has its tool_call_id in another turn")]
async fn next_in_another_turn(world: &mut World) -> Step {
    let earlier = next_call(world).await?;
    world.call()?.set("tool_call_id", Value::from(earlier.tool_call_id));
    keep_card(world)
}

#[given(expr = "the command lacks {string}")]
fn command_lacks(world: &mut World, member: String) -> Step {
    world.call()?.command.remove(&member);
    Ok(())
}

#[given(expr = "the command's {string} is {json}")]
fn command_member(world: &mut World, member: String, value: Json) -> Step {
    let unique = world.scene()?.project.name.unique.clone();
    let value = match value.0 {
        // An id with a chosen spelling still has to be one that no other call has.
        Value::String(text) => Value::from(text.replace("{unique}", &unique)),
        other => other,
    };
    world.call()?.set(&member, value);
    keep_card(world)
}

#[given(expr = "the command's header {string} is {string}")]
fn command_header(world: &mut World, name: String, value: String) -> Step {
    world.call()?.headers.insert(name, value);
    Ok(())
}

#[given(expr = "the command carries {string} inline")]
fn command_carries_inline(world: &mut World, member: String) -> Step {
    let call = world.call()?.clone();
    let inline = inline_token(&call);
    if call.tool.is_builtin() {
        // Arguments that a built-in could work with.
        let value = call.arguments(world.scene()?.table(call.tool), &inline, "suspend");
        world.call()?.command.insert(member, value);
        return Ok(());
    }
    let arguments = call.card["content"]["arguments"].as_object();
    let names = arguments
        .filter(|members| !members.is_empty())
        .map_or(vec!["k".to_owned()], |members| members.keys().cloned().collect());
    let value: serde_json::Map<String, Value> = names.into_iter().map(|name| (name, json!(inline))).collect();
    world.call()?.command.insert(member, Value::Object(value));
    Ok(())
}

#[given(expr = "the command goes to channel {string}")]
fn command_channel(world: &mut World, channel: String) -> Step {
    let call = world.call()?;
    let mut tokens: Vec<&str> = call.subject.split('.').collect();
    if let Some(token) = tokens.get_mut(3) {
        *token = &channel;
    }
    call.subject = tokens.join(".");
    Ok(())
}

#[given("the command goes to the subject of another tool")]
fn command_subject_of_another_tool(world: &mut World) -> Step {
    let call = world.call()?;
    let tokens: Vec<&str> = call.subject.split('.').take(6).collect();
    call.subject = format!("{}.callmark_unregistered.call", tokens.join("."));
    Ok(())
}

#[given(expr = "the tool.call card {card_defect}")]
fn card_defect(world: &mut World, defect: CardDefect) -> Step {
    let session = world.session()?;
    let call = world.call()?.clone();
    let id = call.card["card_id"].as_str().unwrap_or_default().to_owned();
    let project = world.scene()?.project.clone();
    project.remove_card(&id);
    let arguments = match call.tool {
        tool if tool.is_builtin() || tool.asks_upstream() => call.card["content"]["arguments"].clone(),
        _ => json!({"k": call.token}),
    };
    let content = match defect {
        CardDefect::Missing => return Ok(()),
        CardDefect::Elsewhere => {
            let elsewhere = session.test_environment.project_of(
                &project.name.stable,
                "-elsewhere",
                Arc::new(Transcript::of_attempt(project.transcript.attempt())),
            );
            elsewhere.seed_card(&call.card);
            return Ok(());
        }
        CardDefect::Text => json!(format!("please run it with {}", call.token)),
        CardDefect::JsonText => json!(arguments.to_string()),
        CardDefect::Object => {
            let mut object = arguments;
            object["z"] = json!(1);
            object
        }
        CardDefect::NoArguments => {
            let mut content = call.card["content"].clone();
            content["arguments"] = json!({});
            content
        }
    };
    world.call()?.card["content"] = content;
    keep_card(world)
}

#[given(expr = "the tool.call card's metadata {string} is {json}")]
fn card_metadata(world: &mut World, member: String, value: Json) -> Step {
    world.call()?.card["metadata"][member] = value.0;
    keep_card(world)
}

#[given(expr = "the tool.call card's metadata lacks {string}")]
fn card_metadata_lacks(world: &mut World, member: String) -> Step {
    if let Some(metadata) = world.call()?.card["metadata"].as_object_mut() {
        metadata.remove(&member);
    }
    keep_card(world)
}

#[given(expr = "the tool is registered with after_execution {string}")]
fn registration(world: &mut World, after_execution: String) -> Step {
    let tool = world.call()?.tool;
    world.scene()?.register(tool, after_execution);
    Ok(())
}

#[given(expr = "the tool is asked to override with {string}")]
fn override_with(world: &mut World, after_execution: String) -> Step {
    let tool = world.call()?.tool;
    let table = world.scene()?.table(tool).clone();
    world.call()?.set_arguments(&table, &after_execution);
    keep_card(world)
}

#[given(expr = "the caller is served by {string}")]
fn caller_served_by(world: &mut World, worker_target: String) -> Step {
    let agent = world.call()?.agent_id().unwrap_or_default().to_owned();
    world.scene()?.project.assign(&agent, &worker_target);
    Ok(())
}

#[given("captured messages")]
fn captured_messages(world: &mut World) -> Step {
    world.capture().map(|_| ())
}

/// What an inline value says; no card holds it.
pub(super) fn inline_token(call: &Call) -> String {
    format!("inline-{}", call.token)
}

/// Prepares another call of the same tool; the earlier one becomes one of the others.
async fn next_call(world: &mut World) -> Result<Call, crate::engine::world::Abort> {
    let earlier = world.call()?.clone();
    world.scene()?.others.extend(earlier.names());
    world.prepare(earlier.tool).await?;
    Ok(earlier)
}

/// Puts the call's card into the store as it is now.
pub(super) fn keep_card(world: &mut World) -> Step {
    let call = world.call()?;
    if call.card["card_id"].is_null() {
        return Ok(());
    }
    let card = call.card.clone();
    world.scene()?.project.seed_card(&card);
    Ok(())
}
