//! What there is before the call: a server, and the call's arguments.

use cucumber::given;
use serde_json::{Map, Value, json};

use super::{InScope, ProbeName};
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::toolbus::answer;
use crate::families::toolbus::call;
use crate::families::toolbus::call::{Filling, Probe};
use crate::families::toolbus::judge::shape;
use crate::families::toolbus::manifest::Transport;
use crate::families::toolbus::observed::EveryCall;
use crate::families::toolbus::reason::Undeclared;
use crate::families::toolbus::revision::Era;
use crate::families::toolbus::scene::Call;
use crate::families::toolbus::server::Opening;
use crate::families::toolbus::session::RootKind;
use crate::families::toolbus::world::World;

/// Length of the strings of which large lists and objects are made.
const SHORT: usize = 160;

vocabulary! {
    /// What is unusual about the server.
    enum ServerKind "server_kind" {
        " of its own for large calls" => OwnForLargeCalls,
        " of its own" => Own,
        " of its own with replicas" => OwnWithReplicas,
        " with replicas" => WithReplicas,
        " whose context root is configured under the second name alone" => SecondRoot,
        " without a context root" => NoRoot,
        "" => Shared,
    }
}

vocabulary! {
    /// Which calls of the run are judged.
    enum Ended "ended" {
        "successful call" => Successful,
        "failed call" => Failed,
        "stored call" => Stored,
        "answered call" => Answered,
        "call answered by a result" => WithResult,
    }
}

vocabulary! {
    /// What is asked for by the arguments of the calls that are judged.
    enum ArgumentsPredicate "arguments_predicate" {
        "no correlation ids" => NoIds,
        "a shaped result" => Shaped,
        "the whole result" => Whole,
        "no mode" => NoMode,
        "the mode ai" => Ai,
        "the mode compact" => Compact,
    }
}

#[given(expr = "every {ended} of the run")]
fn every_call(world: &mut World, ended: Ended) {
    world.judge_every(match ended {
        Ended::Successful => EveryCall::Successful,
        Ended::Failed => EveryCall::Failed,
        Ended::Stored => EveryCall::Stored,
        Ended::Answered => EveryCall::Answered,
        Ended::WithResult => EveryCall::WithResult,
    });
}

#[given(expr = "it asks for {arguments_predicate}")]
fn asks_for(world: &mut World, predicate: ArgumentsPredicate) -> Step {
    world.only_calls(match predicate {
        ArgumentsPredicate::NoIds => |arguments| {
            ["trace_id", "span_id", "parent_span_id"].iter().all(|name| !arguments.contains_key(*name))
        },
        ArgumentsPredicate::Shaped => |arguments| arguments.contains_key("output"),
        ArgumentsPredicate::Whole => |arguments| !arguments.contains_key("output"),
        ArgumentsPredicate::NoMode => |arguments| !arguments.contains_key("response_mode"),
        ArgumentsPredicate::Ai => |arguments| arguments.get("response_mode").is_some_and(|mode| mode == "ai"),
        ArgumentsPredicate::Compact => {
            |arguments| arguments.get("response_mode").is_some_and(|mode| mode == "compact")
        }
    })
}

#[given(expr = "its arguments hold {string}")]
fn arguments_hold(world: &mut World, argument: String) -> Step {
    world.only_calls_with(argument)
}

#[given(expr = "an MCP server{server_kind}")]
async fn server(world: &mut World, kind: ServerKind) -> Step {
    match kind {
        ServerKind::Shared => world.open(RootKind::First).await,
        ServerKind::Own => world.open_own().await,
        ServerKind::OwnForLargeCalls => world.open_own_in_turn().await,
        ServerKind::OwnWithReplicas => world.open_new(Transport::Http, Opening::Greeted).await,
        // Replicas are those of a server over HTTP, whichever transport the run uses.
        ServerKind::WithReplicas => world.open_over(Transport::Http).await,
        ServerKind::SecondRoot => world.open(RootKind::Second).await,
        ServerKind::NoRoot => world.open(RootKind::None).await,
    }
}

#[given(expr = "a call of the {tool} probe")]
async fn call_of(world: &mut World, probe: ProbeName) -> Step {
    // A value like no other, so that it can be distinguished from what another call left.
    let value = json!({"alpha": {"beta": 5}, "gamma": 1, "note": world.scene()?.id("note")});
    if probe.0 == Probe::State {
        return call_of_state(world, value).await;
    }
    world.prepare(probe.0, value)
}

/// Reads a key that a call before has stored, since a reader may call an unknown one an error.
async fn call_of_state(world: &mut World, value: Value) -> Step {
    world.prepare(Probe::Echo, value)?;
    stored(world, "read".to_owned(), InScope(None))?;
    world.make().await?;
    read_state(world, "read".to_owned())
}

/// A call of the state probe, in the first scope.
#[given(expr = "a call that reads {string} from the state")]
fn read_state(world: &mut World, key: String) -> Step {
    world.prepare(Probe::State, Value::Null)?;
    let scene = world.scene()?;
    let scope = scene.session.table.scopes.first().cloned().unwrap_or_default();
    let filling = scene.filling(Value::Null, &scene.id(&key), &scope, 0);
    if let Some(table) = Probe::State.table(&scene.session.table) {
        let call = world.call()?;
        call.set_up = call::set_up(&table, &filling);
        call.arguments = call::arguments(Probe::State, &table, filling);
    }
    Ok(())
}

/// A call that needs no arguments, and has not even an empty object of them: MCP lets a client leave it out.
#[given("a call without arguments")]
fn bare(world: &mut World) -> Step {
    let session = world.session()?;
    let needs_none = |probe: &Probe| {
        let table = probe.table(&session.table);
        table.is_some_and(|table| call::arguments(*probe, &table, Filling::default()).is_empty())
    };
    let harmless = [Probe::Other(0), Probe::Other(1), Probe::Partial];
    let Some(probe) = harmless.into_iter().find(needs_none) else {
        return Err(world.abort(Undeclared::BareCall.into()));
    };
    world.prepare(probe, Value::Null)?;
    world.call()?.is_bare = true;
    Ok(())
}

/// Something that is no object, which MCP does not allow.
#[given(expr = "its arguments are {json}")]
fn odd_arguments(world: &mut World, arguments: Json) -> Step {
    world.call()?.odd_arguments = Some(arguments.0);
    Ok(())
}

#[given(expr = "a call of the echo probe with {json}")]
fn echo(world: &mut World, value: Json) -> Step {
    world.prepare(Probe::Echo, value.0)
}

#[given("a call of a tool that does not exist")]
fn no_such_tool(world: &mut World) -> Step {
    let call = Call::of(call::NO_TOOL);
    world.scene()?.call = Some(call);
    Ok(())
}

/// Ids end with what makes the scenario unlike any other.
#[given(expr = "the argument {string} is {json}")]
fn argument(world: &mut World, name: String, value: Json) -> Step {
    let scene = world.scene()?;
    let value = match value.0 {
        Value::String(text) if name.ends_with("_id") => Value::from(scene.id(&text)),
        other => other,
    };
    world.call()?.arguments.insert(name, value);
    Ok(())
}

#[given("its correlation ids")]
fn correlation(world: &mut World) -> Step {
    for (name, id) in [("trace_id", "tr-01"), ("span_id", "sp-01"), ("parent_span_id", "sp-00")] {
        argument(world, name.to_owned(), Json(Value::from(id)))?;
    }
    Ok(())
}

vocabulary! {
    /// Ways out of a directory.
    enum Escape "escape" {
        "a climbing path" => Climbing,
        "a path that climbs far" => Far,
        "an absolute path" => Absolute,
    }
}

#[given(expr = "the id {string} is {escape}")]
fn escaping(world: &mut World, name: String, escape: Escape) -> Step {
    let scene = world.scene()?;
    let outside = scene.id("outside");
    let id = match escape {
        // What a store with few folders lets out, and one with many.
        Escape::Climbing => format!("{}{outside}", "../".repeat(5)),
        Escape::Far => format!("{}{outside}", "../".repeat(9)),
        Escape::Absolute => scene.session.outside().join(outside).display().to_string(),
    };
    world.call()?.arguments.insert(name, Value::from(id));
    Ok(())
}

#[given(expr = "the output is {json}")]
fn output(world: &mut World, spec: Json) -> Step {
    let scene = world.scene()?;
    let output = call::output(&spec.0, &scene.session.table);
    world.call()?.arguments.insert("output".to_owned(), output);
    Ok(())
}

vocabulary! {
    /// What an output does with a key of the result.
    enum KeyUse "key_use" {
        "picks" => Picks,
        "omits" => Omits,
        "follows" => Follows,
    }
}

#[given(expr = "the output {key_use} one key of the result")]
fn output_of_one_key(world: &mut World, key_use: KeyUse) -> Step {
    let session = world.session()?;
    let probe = world.call()?.probe.unwrap_or(Probe::Echo);
    let result = envelope_before(world, probe)?.pointer(&session.result_pointer).cloned();
    let result = result.unwrap_or_default();
    let key = match key_use {
        KeyUse::Follows => shape::key_to_follow(&result),
        KeyUse::Picks | KeyUse::Omits => shape::key_to_pick(&result),
    };
    let key = match key {
        Ok(key) => key,
        // What the others give back is for the manifest to choose.
        Err(_) if !matches!(probe, Probe::Other(0 | 1) | Probe::Partial) => {
            return Err(world.abort(Undeclared::KeyOfResult.of(probe.name())));
        }
        Err(trouble) => return Err(world.abort(trouble)),
    };
    let output = match key_use {
        KeyUse::Picks => json!({"pick": [key]}),
        KeyUse::Omits => json!({"omit": [key]}),
        KeyUse::Follows => match call::path_in_result(&key, &session.table, &session.value_base) {
            Some(path) => json!({"path": path}),
            None => return Err(world.abort(Undeclared::KeyOfResult.of(probe.name()))),
        },
    };
    let call = world.call()?;
    call.arguments.insert("output".to_owned(), output);
    call.picked = Some(key);
    Ok(())
}

/// What the probe's call before gave back, else the one that was made when the run began.
fn envelope_before(world: &mut World, probe: Probe) -> Result<Value, Abort> {
    let session = world.session()?;
    let scene = world.scene()?;
    let before = scene.made.last().filter(|made| made.call.probe == Some(probe));
    let before = before.and_then(|made| answer::of(&scene.frames(), made.id).envelope().ok());
    let baseline = || session.baseline(probe).and_then(|baseline| baseline.as_ref().ok()).cloned();
    Ok(before.or_else(baseline).unwrap_or_default())
}

#[given(expr = "the result is stored under {string}{in_scope}")]
fn stored(world: &mut World, key: String, scope: InScope) -> Step {
    let session = world.session()?;
    let scopes = session.table.scopes.clone();
    if session.era == Era::Modern && scopes.is_empty() {
        return Err(world.abort(Undeclared::NoScope.into()));
    }
    let unique = world.scene()?.id(&key);
    let call = world.call()?;
    call.arguments.insert("store_as".to_owned(), Value::from(unique));
    let scope = scope.0.map(|scope| scope.value(&scopes));
    if let Some(scope) = &scope {
        call.arguments.insert("store_scope".to_owned(), Value::from(scope.clone()));
    }
    call.stored = Some((key, scope));
    Ok(())
}

vocabulary! {
    /// What a large value is made of.
    enum Shape "shape" {
        "string" => String,
        "object with one long key" => LongKey,
        "list" => List,
        "object" => Object,
        "list of lists" => Lists,
        "list of texts in three-byte letters" => Letters,
    }
}

#[given(expr = "a call of the large probe for {int} KiB")]
fn large(world: &mut World, kib: usize) -> Step {
    world.prepare(Probe::Large, Value::Null)?;
    let scene = world.scene()?;
    let filling = scene.filling(Value::Null, "", "", kib * 1024);
    if let Some(table) = Probe::Large.table(&scene.session.table) {
        world.call()?.arguments = call::arguments(Probe::Large, &table, filling);
    }
    Ok(())
}

#[given(expr = "a call of the echo probe with a {shape} of {int} KiB")]
fn large_echo(world: &mut World, shape: Shape, kib: usize) -> Step {
    // Moved, since `json!` copies.
    let key = if shape == Shape::Letters { "letters" } else { "much" };
    world.prepare(Probe::Echo, Value::Object(Map::from_iter([(key.to_owned(), much(shape, kib))])))
}

/// An argument that no tool knows, for a call that fails with or without it.
#[given(expr = "a {shape} of {int} KiB among its arguments")]
fn large_argument(world: &mut World, shape: Shape, kib: usize) -> Step {
    world.call()?.arguments.insert("much".to_owned(), much(shape, kib));
    Ok(())
}

/// A value of this length.
fn much(shape: Shape, kib: usize) -> Value {
    let count = kib * 1024 / SHORT;
    let item = "x".repeat(SHORT - 12);
    let items = |count: usize| -> Value {
        (0..count).map(|number| Value::from(format!("{item}{number:08}"))).collect()
    };
    match shape {
        // No list is long.
        Shape::Lists => (0..count.isqrt()).map(|_| items(count.isqrt())).collect(),
        // So that a cut at any place is in the middle of one at two lengths out of three.
        Shape::Letters => {
            let first = std::iter::once(Value::from("--"[..kib % 3].to_owned()));
            first.chain((0..kib).map(|_| Value::from("水".repeat(1024 / 3)))).collect()
        }
        Shape::String => Value::from("x".repeat(kib * 1024)),
        Shape::LongKey => Value::Object(Map::from_iter([("k".repeat(kib * 1024), Value::from(1))])),
        Shape::List => items(count),
        Shape::Object => Value::Object(
            (0..count).map(|number| (format!("k{number:08}"), Value::from(item.clone()))).collect(),
        ),
    }
}

#[given(regex = "^the break-glass flag is (set|false)$")]
fn break_glass(world: &mut World, to: String) -> Step {
    let session = world.session()?;
    let flag = session.table.probes.break_glass.as_ref().map(|own| own.flag.clone()).unwrap_or_default();
    world.call()?.arguments.insert(flag, Value::Bool(to == "set"));
    Ok(())
}

#[given(expr = "a secret under {string} among its arguments")]
fn secret_argument(world: &mut World, key: String) -> Step {
    let marker = world.scene()?.markers.at("password");
    world.call()?.arguments.insert(key, Value::from(marker));
    Ok(())
}

#[given(expr = "a call of the secret probe with a secret under {string}")]
fn secret(world: &mut World, place: String) -> Step {
    world.prepare(Probe::Secret, Value::Null)?;
    let session = world.session()?;
    let Some(table) = Probe::Secret.table(&session.table) else { return Ok(()) };
    let placeholder = format!("{{{place}}}");
    if !call::holds(&table, &placeholder) && !call::holds(&table, "{marker}") {
        return Err(world.abort(Undeclared::SecretPlace.of(placeholder)));
    }
    Ok(())
}

#[given(regex = r#"^a call of the echo probe with a secret under "([^"]*)"( in a list)?$"#)]
fn echo_secret(world: &mut World, key: String, in_a_list: String) -> Step {
    let marker = world.scene()?.markers.at("password");
    let account = json!({key: marker, call::BESIDE.0: call::BESIDE.1});
    let value = if in_a_list.is_empty() { account } else { json!({"accounts": [account]}) };
    world.prepare(Probe::Echo, value)
}

#[given(regex = "^a call of the echo probe with a secret in the (first|last) of (\\d+) accounts$")]
fn echo_large_secret(world: &mut World, which: String, count: usize) -> Step {
    let marker = world.scene()?.markers.at("password");
    let mut accounts: Vec<Value> =
        (1..count).map(|number| json!({call::BESIDE.0: format!("guest-{number}")})).collect();
    let place = if which == "first" { 0 } else { accounts.len() };
    accounts.insert(place, json!({"password": marker, call::BESIDE.0: call::BESIDE.1}));
    world.prepare(Probe::Echo, json!({"accounts": accounts}))
}

#[given("the client has made the call")]
async fn made_before(world: &mut World) -> Step {
    world.make().await.map(|_| ())
}
