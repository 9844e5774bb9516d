//! Given: a target, a call, and what is unusual about it.

use std::sync::Arc;

use cucumber::given;
use serde_json::{Value, json};

use super::executor::{filled, remove_row_option, set_row_option};
use super::{CalledTool, Executor};
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{Abort, FamilyWorld as _, HasCore as _, Step};
use crate::families::utp::call::Call;
use crate::families::utp::observed::EveryCall;
use crate::families::utp::reason::Undeclared;
use crate::families::utp::scene::Scene;
use crate::families::utp::trace::Traceparent;
use crate::families::utp::world::World;
use crate::transcript::Transcript;

vocabulary! {
    /// What can be wrong with a tool.call card.
    enum CardDefect "card_defect" {
        "is missing" => Missing,
        "exists in another project only" => Elsewhere,
        "holds plain text" => Text,
        "holds text that looks like arguments" => JsonText,
        "holds an arbitrary object" => Object,
        "has no arguments" => NoArguments,
        "holds null" => Null,
        "holds a list" => List,
        "has null as its arguments" => NullArguments,
        "has text as its arguments" => TextArguments,
        "has a list as its arguments" => ListArguments,
    }
}

vocabulary! {
    /// What a scenario alters before it sends the command.
    enum Document "document" {
        "the command" => Command,
        "the payload" => Payload,
        "the tool.call card's metadata" => Metadata,
        "the tool.call card's argument" => Argument,
        "its row" => Row,
    }
}

vocabulary! {
    /// What is different about the command that follows.
    enum NextCommand "next_command" {
        "is for a card of its own" => OwnCard,
        "is for a card without arguments" => NoArguments,
        "has its tool_call_id in another turn" => OtherTurn,
        "has all its ids in another project" => OtherProject,
    }
}

#[given(expr = "a/an {executor}")]
fn open(world: &mut World, executor: Executor) -> Step {
    world.open_scene(executor.role())
}

#[given(expr = "a live {executor}")]
async fn open_live(world: &mut World, executor: Executor) -> Step {
    world.open_scene(executor.role())?;
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

#[given("every command of the run")]
fn every_command(world: &mut World) {
    world.judge_every(EveryCall::Named);
}

#[given("every valid command of the run")]
fn every_valid_command(world: &mut World) {
    world.judge_every(EveryCall::Valid);
}

#[given(expr = "a command for {called_tool}")]
async fn command(world: &mut World, called: CalledTool) -> Step {
    match called {
        CalledTool::One(tool) if tool.asks_upstream() => world.prepare_own(tool),
        CalledTool::One(tool) => world.prepare(tool).await,
        CalledTool::AnyBuiltin => {
            let sentinel = world.session()?.sentinel();
            world.prepare(sentinel).await
        }
    }
}

#[given(expr = "a command for {called_tool} was answered")]
async fn answered_command(world: &mut World, called: CalledTool) -> Step {
    command(world, called).await?;
    world.send().await?;
    world.answered().await
}

#[given(expr = "{document}('s) {string} is {json}")]
fn set_member(world: &mut World, document: Document, member: String, value: Json) -> Step {
    match document {
        Document::Command => {
            let value = match value.0 {
                // An id with a chosen spelling still has to be one that no other call has.
                Value::String(text) => Value::from(named(world, &text)?),
                other => other,
            };
            world.call()?.set(&member, value);
        }
        Document::Payload => {
            let value = match value.0 {
                Value::String(text) => Value::from(named(world, &text)?),
                other => other,
            };
            world.call()?.misplaced.insert(member, value);
            return Ok(());
        }
        Document::Metadata => world.call()?.set_metadata(&member, value.0),
        Document::Argument => {
            takes_any_argument(world)?;
            let value = match value.0 {
                Value::String(text) => Value::from(filled(world, &text)?),
                other => other,
            };
            world.call()?.card["content"]["arguments"][member] = value;
        }
        Document::Row => return set_row_option(world, &member, value.0),
    }
    keep_card(world)
}

#[given(expr = "{document} lacks {string}")]
fn remove_member(world: &mut World, document: Document, member: String) -> Step {
    match document {
        Document::Command => {
            world.call()?.remove(&member);
            return Ok(());
        }
        Document::Payload => {
            world.call()?.misplaced.remove(&member);
            return Ok(());
        }
        Document::Metadata => take_out(&mut world.call()?.card["metadata"], &member),
        Document::Argument => {
            takes_any_argument(world)?;
            take_out(&mut world.call()?.card["content"]["arguments"], &member);
        }
        Document::Row => return remove_row_option(world, &member),
    }
    keep_card(world)
}

/// Arguments of the suite's own are for a probe that gives them back.
fn takes_any_argument(world: &mut World) -> Step {
    if world.call()?.shows_its_work_alone() {
        return Err(world.abort(Undeclared::Echo.into()));
    }
    Ok(())
}

/// Fills in the ids of the call.
fn named(world: &mut World, text: &str) -> Result<String, Abort> {
    let scene = world.scene()?;
    let (project, unique) = (scene.project.id.clone(), scene.project.name.unique.clone());
    let call = world.call()?;
    let turn = call.card_metadata("agent_turn_id").and_then(Value::as_str).unwrap_or_default();
    Ok(text
        .replace("{project}", &project)
        .replace("{turn}", turn)
        .replace("{call}", &call.tool_call_id)
        .replace("{unique}", &unique))
}

fn take_out(object: &mut Value, member: &str) {
    if let Some(members) = object.as_object_mut() {
        members.remove(member);
    }
}

#[given(expr = "the command's header {string} is {string}")]
fn set_header(world: &mut World, name: String, text: String) -> Step {
    let call = world.call()?;
    if let Some(trace) = Traceparent::parse(&text).filter(|_| name == "traceparent") {
        call.trace = trace;
    }
    call.set_header(name, text);
    Ok(())
}

#[given(expr = "the command has no header {string}")]
fn remove_header(world: &mut World, name: String) -> Step {
    world.call()?.remove_header(&name);
    Ok(())
}

#[given("the command has no headers")]
fn remove_headers(world: &mut World) -> Step {
    world.call()?.remove_headers();
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
    if call.shows_its_work_alone() {
        let tool = call.tool;
        let table = world.scene()?.table(tool);
        let both = [table.arguments.as_ref(), table.work.as_ref().map(|work| &work.other_arguments)];
        let own = &call.card["content"]["arguments"];
        let other = both.into_iter().flatten().find(|arguments| *arguments != own).cloned();
        world.call()?.command.insert(member, other.unwrap_or_default());
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
    // The card says which subject it was written for.
    if let Some(written_for) = call.card.pointer_mut("/content/target_subject") {
        *written_for = Value::from(call.subject.clone());
    }
    if call.command.contains_key("channel_id") {
        call.command.insert("channel_id".to_owned(), Value::from(channel));
    }
    let id = call.card["card_id"].as_str().unwrap_or_default().to_owned();
    // A call without a card stays without one.
    if world.scene()?.project.card(&id).is_some() { keep_card(world) } else { Ok(()) }
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
        tool if tool.is_builtin() || tool.asks_upstream() || call.shows_its_work_alone() => {
            call.card["content"]["arguments"].clone()
        }
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
        CardDefect::NoArguments => with_arguments(&call, json!({})),
        CardDefect::Null => Value::Null,
        CardDefect::List => json!([arguments]),
        CardDefect::NullArguments => with_arguments(&call, Value::Null),
        CardDefect::TextArguments => with_arguments(&call, json!(arguments.to_string())),
        CardDefect::ListArguments => with_arguments(&call, json!([arguments])),
    };
    world.call()?.card["content"] = content;
    keep_card(world)
}

/// The content of the call's card with other arguments.
fn with_arguments(call: &Call, arguments: Value) -> Value {
    let mut content = call.card["content"].clone();
    content["arguments"] = arguments;
    content
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

#[given(expr = "the next command {next_command}")]
async fn next_command(world: &mut World, next: NextCommand) -> Step {
    if next == NextCommand::OtherProject {
        return in_another_project(world).await;
    }
    let earlier = next_call(world).await?;
    let call = world.call()?;
    match next {
        NextCommand::OtherProject | NextCommand::OwnCard => return Ok(()),
        NextCommand::NoArguments => {
            call.card["content"]["arguments"] = json!({});
            call.token = earlier.token;
            if earlier.proof.is_a_result() {
                call.proof = earlier.proof;
            }
        }
        NextCommand::OtherTurn => call.set("tool_call_id", Value::from(earlier.tool_call_id)),
    }
    keep_card(world)
}

/// Prepares a call whose ids and whose card's id are those of the earlier one, in a project of its own.
async fn in_another_project(world: &mut World) -> Step {
    let earlier = world.call()?.clone();
    another_project(world, "-other".to_owned())?;
    world.prepare(earlier.tool).await?;
    let own = world.call()?.card["card_id"].as_str().unwrap_or_default().to_owned();
    world.scene()?.project.remove_card(&own);
    let call = world.call()?;
    for id in ["agent_turn_id", "tool_call_id", "tool_call_card_id"] {
        call.set(id, earlier.command.get(id).cloned().unwrap_or_default());
    }
    call.card["card_id"] = earlier.card["card_id"].clone();
    keep_card(world)
}

/// What an inline value says; no card holds it.
pub(super) fn inline_token(call: &Call) -> String {
    format!("inline-{}", call.token)
}

/// Prepares another call of the same tool, and returns the earlier one.
async fn next_call(world: &mut World) -> Result<Call, Abort> {
    let earlier = world.call()?.clone();
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
