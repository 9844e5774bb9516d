//! What a call gives back, and what it leaves in the state.

use cucumber::then;
use serde_json::Value;

use super::{InScope, Scope};
use crate::engine::judge::{Cause, CheckFailure};
use crate::engine::parameters::Json;
use crate::engine::volatile;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::toolbus::answer::Answer;
use crate::families::toolbus::call::{Probe, SECRET_PLACES};
use crate::families::toolbus::judge::{Reply, call as outcome, secret, shape, store};
use crate::families::toolbus::world::World;

#[then("the call succeeds")]
fn call_succeeds(world: &mut World) -> Step {
    world.judge_call(outcome::succeeds)
}

#[then("the calls run different tools")]
fn different_tools(world: &mut World) -> Step {
    world.judge_all(outcome::run_different_tools)
}

#[then("each result is the value of its call")]
fn each_result(world: &mut World) -> Step {
    let base = world.session()?.value_base.clone();
    world.judge_all(|replies| replies.iter().try_for_each(|reply| shape::is_echoed(reply, &base)))
}

#[then(expr = "the result is {json}")]
fn result_is(world: &mut World, expected: Json) -> Step {
    world.judge_call(|reply| shape::is(reply, &expected.0))
}

#[then("the result has only the key that was picked")]
fn only_the_picked(world: &mut World) -> Step {
    world.judge_call(shape::has_only_the_picked)
}

#[then("the result has more than the key that was picked before")]
fn whole_again(world: &mut World) -> Step {
    let session = world.session()?;
    world.judge_pair(|picked, reply| {
        let at_first = reply.made.call.probe.and_then(|probe| session.baseline(probe)?.as_ref().ok());
        shape::is_whole_again(picked, reply, at_first.unwrap_or(&Value::Null))
    })
}

#[then("the result is not the whole value")]
fn not_the_whole(world: &mut World) -> Step {
    world.judge_call(shape::is_not_the_whole)
}

#[then(regex = "^no secret is in the (response|error|answer)$")]
fn no_secret(world: &mut World, answered: String) -> Step {
    match answered.as_str() {
        "error" => no_secret_in_error(world),
        "answer" => no_secret_in_answer(world),
        _ => no_secret_in_response(world),
    }
}

/// Be it a success or an error.
fn no_secret_in_answer(world: &mut World) -> Step {
    let marker = world.scene()?.markers.at("password");
    world.judge_call(|reply| match &*reply.answer {
        Answer::Success(_) => secret::is_not_in_the_response(reply, &marker, "the response"),
        Answer::Error(_) | Answer::ToolError(_) => secret::is_not_in_the_error(reply, &marker),
        _ => outcome::succeeds(reply),
    })
}

fn no_secret_in_response(world: &mut World) -> Step {
    let markers = world.scene()?.markers.clone();
    let session = world.session()?;
    let call = Probe::Secret.table(&session.table);
    world.judge_call(|reply| {
        store::gives_what_was_kept(reply, session.table.value_pointer())?;
        outcome::succeeds(reply)?;
        let mut places = SECRET_PLACES.to_vec();
        places.push("marker");
        places.into_iter().try_for_each(|place| {
            secret::is_not_in_the_response(reply, &markers.at(place), "the response")
        })?;
        secret::is_handled(reply, call.as_ref())
    })
}

fn no_secret_in_error(world: &mut World) -> Step {
    let marker = world.scene()?.markers.at("password");
    world.judge_call(|reply| {
        if !reply.answer.is_failure() {
            return outcome::fails(reply);
        }
        secret::is_not_in_the_response(reply, &marker, "the error")
    })
}

#[then(expr = "the state holds {json} under {string}{in_scope}")]
async fn state_holds(world: &mut World, expected: Json, key: String, scope: InScope) -> Step {
    let scope = scope.or_first();
    world.judge_call(outcome::succeeds)?;
    let (read, reader) = read(world, &key, &scope).await?;
    let base = world.session()?.value_base.clone();
    world.judge_call(|reply| {
        // Without an `output` what is stored is the whole result, and the value lies below the base.
        let shaped = reply.made.call.arguments.contains_key("output");
        let value = read.as_ref().and_then(|read| if shaped { Some(read) } else { read.pointer(&base) });
        store::holds(reply, value.or(read.as_ref()), &expected.0, reader)
    })
}

#[then(expr = "the state holds the result under {string}{in_scope}")]
async fn state_holds_result(world: &mut World, key: String, scope: InScope) -> Step {
    world.judge_call(outcome::succeeds)?;
    let (read, reader) = read(world, &key, &scope.or_first()).await?;
    world.judge_call(|reply| match reply.result()? {
        Some(result) => store::holds(reply, read.as_ref(), &result, reader),
        None => Err(CheckFailure::NotObserved("the envelope holds no result to compare with".to_owned())),
    })
}

#[then(expr = "the state holds nothing under {string}{in_scope}")]
async fn state_holds_nothing(world: &mut World, key: String, scope: InScope) -> Step {
    if let Some(scope) = scope.0 {
        return state_holds_nothing_in(world, key, scope).await;
    }
    let (read, _) = read(world, &key, &Scope("first".to_owned())).await?;
    let is_read_back = read.is_none() && is_read_back(world, None).await?;
    world.judge_call(|reply| {
        store::does_not_hold(reply, read.as_ref(), is_read_back, "a call that failed stored something")
    })
}

async fn state_holds_nothing_in(world: &mut World, key: String, scope: Scope) -> Step {
    world.judge_call(outcome::succeeds)?;
    let (found, _) = read(world, &key, &scope).await?;
    // It must be in its own scope, and what is stored in this one must be found.
    let is_read_back = found.is_none()
        && is_where_it_was_put(world, &key, &scope).await?
        && is_read_back(world, Some(&scope)).await?;
    let scope = scope.value(&world.session()?.table.scopes);
    world.judge_call(|reply| {
        let why = store::why_it_is_there(reply, &scope);
        store::does_not_hold(reply, found.as_ref(), is_read_back, why)
    })
}

/// Whether the result of the call is in the scope that the call named, where that is another one than `other`.
async fn is_where_it_was_put(world: &mut World, key: &str, other: &Scope) -> Result<bool, Abort> {
    let other = other.value(&world.session()?.table.scopes);
    let made = world.made()?;
    match made[made.len() - 1].call.stored.clone() {
        Some((_, Some(own))) if own != other => {
            let key = world.scene()?.id(key);
            Ok(read_key(world, &key, &own).await?.0.is_some())
        }
        _ => Ok(true),
    }
}

/// Whether a result that is stored now is read back, in this scope or in the default one.
async fn is_read_back(world: &mut World, scope: Option<&Scope>) -> Result<bool, Abort> {
    let scopes = world.session()?.table.scopes.clone();
    let store_scope = scope.map(|scope| scope.value(&scopes));
    let first = scopes.first().cloned().unwrap_or_default();
    let read_from = store_scope.clone().unwrap_or(first);
    match world.scene()?.is_read_back(store_scope.as_deref(), &read_from).await {
        Ok(is_read_back) => Ok(is_read_back),
        Err(answer) => Err(unreadable(world, &answer)),
    }
}

/// Not under a key that was never used, not under that of an earlier call, and not under the tool's name either.
#[then("the state holds nothing of the call")]
async fn state_holds_nothing_of_it(world: &mut World) -> Step {
    world.judge_call(outcome::succeeds)?;
    let session = world.session()?;
    let made = world.made()?;
    let last = &made[made.len() - 1];
    let (tool, value) = (last.call.tool.clone(), last.call.value.clone());
    let mut found = None;
    for scope in &session.table.scopes {
        let [unused, earlier] = ["key-0", "key-1"].map(|key| world.scene().map(|scene| scene.id(key)));
        for key in [&tool, &unused?, &earlier?, &"last".to_owned(), &"last_result".to_owned()] {
            let (read, _) = read_key(world, key, scope).await?;
            let ours = read.filter(|read| {
                let read =
                    volatile::without_below(read.clone(), &last.call.volatile, &session.result_pointer);
                crate::families::toolbus::answer::find(&read, &value).is_some()
            });
            found = found.or(ours);
        }
    }
    let is_read_back = found.is_none() && is_read_back(world, None).await?;
    world.judge_call(|reply| {
        let why = "a call without `store_as` stored its result";
        store::does_not_hold(reply, found.as_ref(), is_read_back, why)
    })
}

/// What the state holds, and the id of the request that read it.
async fn read(world: &mut World, key: &str, scope: &Scope) -> Result<(Option<Value>, i64), Abort> {
    let key = world.scene()?.id(key);
    let scope = scope.value(&world.session()?.table.scopes);
    read_key(world, &key, &scope).await
}

async fn read_key(world: &mut World, key: &str, scope: &str) -> Result<(Option<Value>, i64), Abort> {
    match world.scene()?.read_state(key, scope).await {
        Ok(read) => Ok(read),
        Err(answer) => Err(unreadable(world, &answer)),
    }
}

fn unreadable(world: &mut World, answer: &Answer) -> Abort {
    let shown = crate::transcript::shorten(&answer.shown());
    let message = format!("the state cannot be read by `toolbus.probes.state`: {shown}");
    world.could_not_run(Cause::Fixture, message)
}

/// The last call but one: the one before the sentinel.
pub(super) fn before_the_last<'a, 'b>(replies: &'b [Reply<'a>]) -> &'b Reply<'a> {
    &replies[replies.len().saturating_sub(2)]
}
