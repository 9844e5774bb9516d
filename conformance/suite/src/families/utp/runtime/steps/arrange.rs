//! Given: a runtime, its tools, and what the model wants.

use cucumber::given;
use serde_json::{Value, json};

use super::CallKind;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::project_name::ProjectName;
use crate::families::utp::runtime::model::Ending;
use crate::families::utp::runtime::observed::{EveryCommand, ResultControl};
use crate::families::utp::runtime::turn::{MIXED_ID, MODEL_ID, PATH_ID, Row, type_of};
use crate::families::utp::runtime::world::World;
use crate::transcript::Kind;

vocabulary! {
    /// Where an argument of the call comes from.
    enum Giver "giver" {
        "tool has the default" => Default,
        "tool fixes" => Fixed,
        "model gives" => Model,
    }
}

vocabulary! {
    /// Whom commands go to.
    enum Receiver "receiver" {
        "a tool" => Tool,
        "the PMO" => Pmo,
        "anyone" => Anyone,
    }
}

vocabulary! {
    /// Which valid callbacks are judged.
    enum Callbacks "callbacks" {
        "no control" => Plain,
        "the override \"suspend\"" => Suspends,
        "the override \"terminate\"" => Terminates,
    }
}

vocabulary! {
    /// What a further call of a tool is given.
    enum ArgumentsGiven "arguments_given" {
        ", with the same arguments" => Same,
        "" => Own,
    }
}

vocabulary! {
    /// What a model's id of a call looks like.
    pub(super) enum IdForm "id_form" {
        "a number" => Number,
        "a path" => Path,
        "in both cases" => Mixed,
        "over a hundred characters long" => Long,
    }
}

impl IdForm {
    /// An id of the form. A target may remember ids, so each is of its own project.
    pub(super) fn id(self, name: &ProjectName) -> String {
        match self {
            Self::Number => name.number(),
            Self::Path => format!("{}{PATH_ID}{}:0", name.prefix, name.unique),
            Self::Mixed => format!("{}{MIXED_ID}{}-Cd", name.prefix, name.unique),
            Self::Long => {
                format!("{}{MODEL_ID}{}_{}", name.prefix, name.unique, "0123456789abcdef".repeat(7))
            }
        }
    }
}

/// The agent of another turn. Its id begins with that of the first, which is no reason to mix them up.
const SECOND_AGENT: &str = "ag_pilot_second";

#[given(expr = "every command to {receiver}")]
fn every_command(world: &mut World, receiver: Receiver) {
    world.judge_every(match receiver {
        Receiver::Tool => EveryCommand::Tool,
        Receiver::Pmo => EveryCommand::Pmo,
        Receiver::Anyone => EveryCommand::Anyone,
    });
}

#[given("every valid callback that was reported")]
fn every_callback(world: &mut World) -> Step {
    world.judge_every_report()
}

#[given(expr = "its {string} is {string}")]
fn callback_says(world: &mut World, name: String, value: String) -> Step {
    world.judge_observed_reports(move |own| is_one(own.text(&name) == value))
}

#[given(expr = "its card has {callbacks}")]
fn card_has(world: &mut World, which: Callbacks) -> Step {
    let expected = match which {
        Callbacks::Plain => ResultControl::Plain,
        Callbacks::Suspends => ResultControl::Overrides("suspend"),
        Callbacks::Terminates => ResultControl::Overrides("terminate"),
    };
    world.judge_observed_reports(move |own| is_one(own.control() == Some(expected)))
}

/// Whether a callback is one of those that are judged.
fn is_one(property: bool) -> Judgement {
    if property {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the callback is another one".to_owned()))
}

#[given("an agent runtime")]
fn runtime(world: &mut World) -> Step {
    world.open_scene("")
}

#[given(expr = "an agent runtime in a project whose id ends in {string}")]
fn runtime_in_project(world: &mut World, suffix: String) -> Step {
    world.open_scene(&suffix)
}

#[given(expr = "a model that calls a {kind} tool")]
fn calls_tool(world: &mut World, kind: CallKind) -> Step {
    let session = world.session()?;
    world.scene()?.plan_call(&session, &kind.0);
    Ok(())
}

#[given(expr = "a model that calls the PMO built-in {string} with {json}")]
fn calls_builtin(world: &mut World, builtin: String, arguments: Json) -> Step {
    let session = world.session()?;
    let row = Row::builtin(&session.test_environment.version, &builtin, &arguments.0);
    world.scene()?.plan(row, Some(arguments.0));
    Ok(())
}

#[given("a model that submits its result")]
fn submits(world: &mut World) -> Step {
    world.scene()?.ending = Ending::Submit;
    Ok(())
}

#[given("a model that submits its result in the same answer as its calls")]
fn submits_beside(world: &mut World) -> Step {
    world.scene()?.ending = Ending::SubmitBeside;
    Ok(())
}

#[given(expr = "a model that calls the same tool once more in that answer{arguments_given}")]
fn calls_again(world: &mut World, given: ArgumentsGiven) -> Step {
    let first = world.call(0)?.clone();
    let scene = world.scene()?;
    match given {
        ArgumentsGiven::Own => scene.plan(first.row, None),
        ArgumentsGiven::Same => {
            let call = scene.plan(first.row, Some(first.arguments));
            // It stands in the arguments.
            scene.calls[call].argument_token = first.argument_token;
            call
        }
    };
    Ok(())
}

#[given("a model that calls the same tool again after the result")]
fn calls_again_later(world: &mut World) -> Step {
    let first = world.call(0)?.clone();
    let scene = world.scene()?;
    let call = scene.plan(first.row, Some(first.arguments));
    let own = &mut scene.calls[call];
    // Equal arguments would not show which of the two a command is of.
    if let Some(token) = own.arguments.get_mut("token") {
        *token = Value::from(own.argument_token.clone());
    }
    comes_after(world)
}

#[given(expr = "a model that calls the PMO built-in {string} after the result, with {json}")]
fn calls_builtin_later(world: &mut World, builtin: String, arguments: Json) -> Step {
    calls_builtin(world, builtin, arguments)?;
    comes_after(world)
}

/// The last call stands in an answer of its own, after those of all others.
fn comes_after(world: &mut World) -> Step {
    let calls = &mut world.scene()?.calls;
    let rounds = calls.iter().map(|call| call.round).max().unwrap_or_default();
    if let Some(last) = calls.last_mut() {
        last.round = rounds + 1;
    }
    Ok(())
}

#[given(expr = "a model that calls the same tool in another agent's turn, in channel {string}")]
fn calls_in_another_turn(world: &mut World, channel: String) -> Step {
    let session = world.session()?;
    let row = world.call(0)?.row.clone();
    let scene = world.scene()?;
    let turn = scene.add_turn(&session);
    let own = &mut scene.turns[turn];
    SECOND_AGENT.clone_into(&mut own.agent_id);
    own.parent_step_id.push_str("_2");
    own.channel = channel;
    scene.assign(SECOND_AGENT, &session.worker_target);
    scene.plan(row, None);
    Ok(())
}

#[given(expr = "the tool {string} is registered on {string}")]
fn registered_on(world: &mut World, tool_name: String, target: String) -> Step {
    let version = world.session()?.test_environment.version.clone();
    let row = &mut world.call(0)?.row;
    row.target_subject = crate::families::utp::subject::usual(&version, &target);
    row.tool_name = tool_name;
    Ok(())
}

#[given(expr = "the {giver} {string} = {json}")]
fn argument(world: &mut World, giver: Giver, name: String, value: Json) -> Step {
    property(world, &name, &value.0)?;
    let call = world.call(0)?;
    match giver {
        Giver::Default => call.row.options["args"]["defaults"][name] = value.0,
        Giver::Fixed => call.row.options["args"]["fixed"][name] = value.0,
        Giver::Model => call.arguments[name] = value.0,
    }
    Ok(())
}

#[given(expr = "the model gives {string} a text of {int} kB")]
fn long_text(world: &mut World, name: String, length: usize) -> Step {
    argument(world, Giver::Model, name, Json(text_of(length)))
}

/// A text of so many kB whose every part is found in it once.
pub(super) fn text_of(length: usize) -> Value {
    let lines =
        (1..=length * 1000 / 10).fold(String::new(), |text, number| format!("{text}line {number:04};"));
    Value::from(lines)
}

#[given(expr = "the tool takes {string} from the environment variable {string}")]
fn from_environment(world: &mut World, name: String, variable: String) -> Step {
    property(world, &name, &json!(""))?;
    world.call(0)?.row.options["envs"][name] = Value::from(variable);
    Ok(())
}

#[given(expr = "its row says {kind}")]
fn is_of_kind(world: &mut World, kind: CallKind) -> Step {
    world.call(0)?.row.after_execution = kind.0;
    Ok(())
}

#[given(expr = "the tool requires {string}")]
fn requires(world: &mut World, name: String) -> Step {
    world.call(0)?.row.required.push(name);
    Ok(())
}

#[given("the model gives no arguments")]
fn gives_nothing(world: &mut World) -> Step {
    world.call(0)?.arguments = json!({});
    Ok(())
}

#[given(expr = "the turn runs in channel {string}")]
fn runs_in_channel(world: &mut World, channel: String) -> Step {
    world.scene()?.turns[0].channel = channel;
    Ok(())
}

#[given(expr = "the turn is that of the agent {string}")]
fn is_of_agent(world: &mut World, agent_id: String) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    scene.turns[0].agent_id.clone_from(&agent_id);
    scene.assign(&agent_id, &session.worker_target);
    Ok(())
}

#[given("the turn's id is in both cases")]
fn turn_in_both_cases(world: &mut World) -> Step {
    let scene = world.scene()?;
    scene.turns[0].id = scene.project.name.made("Turn_Ab");
    Ok(())
}

#[given(expr = "the turn runs at depth {int}")]
fn runs_at_depth(world: &mut World, depth: u32) -> Step {
    let scene = world.scene()?;
    scene.turns.iter_mut().for_each(|turn| turn.depth = depth);
    Ok(())
}

#[given(expr = "a turn that waits for a {kind} call whose id is {id_form}")]
async fn waits_with_id(world: &mut World, kind: CallKind, form: IdForm) -> Step {
    calls_tool(world, kind)?;
    has_id(world, form)?;
    world.called().await
}

#[given(expr = "the model's id of the call is {id_form}")]
fn has_id(world: &mut World, form: IdForm) -> Step {
    let id = form.id(&world.scene()?.project.name);
    world.call(0)?.model_id = id;
    Ok(())
}

#[given(expr = "a turn that waits for a {kind} call")]
async fn waits(world: &mut World, kind: CallKind) -> Step {
    calls_tool(world, kind)?;
    world.called().await
}

#[given(expr = "a turn that waits for a {kind} call and a {kind} call")]
async fn waits_for_two(world: &mut World, first: CallKind, second: CallKind) -> Step {
    calls_tool(world, first)?;
    calls_tool(world, second)?;
    world.called().await
}

#[given("a turn that waits for three suspend calls")]
async fn waits_for_three(world: &mut World) -> Step {
    let session = world.session()?;
    for _ in 0..3 {
        world.scene()?.plan_call(&session, "suspend");
    }
    world.called().await
}

#[given("a turn whose model makes another call after the first")]
async fn two_rounds(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    scene.plan_call(&session, "suspend");
    let second = scene.plan_call(&session, "suspend");
    scene.calls[second].round = 1;
    world.called().await
}

#[given(expr = "a turn whose model makes a {kind} call after a {kind} call")]
async fn one_after_another(world: &mut World, second: CallKind, first: CallKind) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    scene.plan_call(&session, &first.0);
    let second = scene.plan_call(&session, &second.0);
    scene.calls[second].round = 1;
    world.called().await
}

#[given("a further turn of the agent, whose model gives its call the same id")]
fn same_id(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    scene.add_turn(&session);
    let second = scene.plan_call(&session, "suspend");
    scene.calls[second].row = scene.calls[0].row.clone();
    let first = scene.calls[0].model_id.clone();
    scene.calls[second].model_id = first;
    Ok(())
}

#[given(expr = "a further turn of the agent that calls the same tool, in channel {string}")]
fn calls_in_further_turn(world: &mut World, channel: String) -> Step {
    let session = world.session()?;
    let row = world.call(0)?.row.clone();
    let scene = world.scene()?;
    let turn = scene.add_turn(&session);
    let own = &mut scene.turns[turn];
    own.parent_step_id.push_str("_2");
    own.channel = channel;
    scene.plan(row, None);
    Ok(())
}

#[given("another agent's turn that waits for a suspend call too")]
async fn second_agent(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let turn = scene.add_turn(&session);
    SECOND_AGENT.clone_into(&mut scene.turns[turn].agent_id);
    scene.assign(SECOND_AGENT, &session.worker_target);
    scene.plan_call(&session, "suspend");
    world.called().await
}

#[given("a turn that waits for a call which nobody will answer")]
async fn never_answered(world: &mut World) -> Step {
    let session = world.session()?;
    let call = world.scene()?.plan_call(&session, "suspend");
    let seconds = session.deadline.unwrap_or_default().as_secs_f64();
    world.call(call)?.row.options["suspend_timeout_seconds"] = json!(seconds);
    world.called().await
}

#[given(expr = "the agent is served by {string} from now on")]
async fn served_by(world: &mut World, target: String) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let agent = scene.turns[0].agent_id.clone();
    scene.assign(&agent, &target);
    scene.is_served = false;
    if scene.project.transcript.with(|frames| frames.iter().any(|frame| frame.kind == Kind::Report)) {
        // A wakeup for an earlier report, looked up before this moment, may be on its way.
        scene.wait_settle_window(&session).await;
    }
    Ok(())
}

fn property(world: &mut World, name: &str, value: &Value) -> Step {
    let kind = match value {
        Value::Number(number) if !number.is_f64() => "integer",
        other => type_of(other),
    };
    // Null must be a value that the schema allows.
    let schema = json!({"type": [kind, "null"]});
    world.call(0)?.row.properties.entry(name).or_insert(schema);
    Ok(())
}
