//! What a call gives back, and what it leaves in the state.

use cucumber::then;
use serde_json::Value;

use super::super::call::SECRET_PLACES;
use super::super::judge::{Reply, call as outcome, secret, shape, store};
use super::super::world::World;
use super::Scope;
use crate::judge::{Cause, Trouble};
use crate::parameters::Json;
use crate::world::{FamilyWorld as _, Halt, Step};

#[then("the call succeeds")]
fn succeeds(world: &mut World) -> Step {
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

#[then("the result is not the whole value")]
fn not_the_whole(world: &mut World) -> Step {
    world.judge_call(shape::is_not_the_whole)
}

#[then("no secret is in the response")]
fn no_secret_in_response(world: &mut World) -> Step {
    let markers = world.scene()?.markers.clone();
    world.judge_call(|reply| {
        outcome::succeeds(reply)?;
        let mut places = SECRET_PLACES.to_vec();
        places.push("marker");
        places
            .into_iter()
            .try_for_each(|place| secret::is_not_in_the_response(reply, &markers.at(place), "the response"))
    })
}

#[then(expr = "the state holds {json} under {string}")]
async fn state_holds(world: &mut World, expected: Json, key: String) -> Step {
    state_holds_in(world, expected, key, Scope("first".to_owned())).await
}

#[then(expr = "the state holds {json} under {string} in the {scope} scope")]
async fn state_holds_in(world: &mut World, expected: Json, key: String, scope: Scope) -> Step {
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

#[then(expr = "the state holds the result under {string}")]
async fn state_holds_result(world: &mut World, key: String) -> Step {
    world.judge_call(outcome::succeeds)?;
    let (read, reader) = read(world, &key, &Scope("first".to_owned())).await?;
    world.judge_call(|reply| match reply.result()? {
        Some(result) => store::holds(reply, read.as_ref(), &result, reader),
        None => Err(Trouble::NotObserved("the envelope holds no result to compare with".to_owned())),
    })
}

#[then(expr = "the state holds nothing under {string}")]
async fn state_holds_nothing(world: &mut World, key: String) -> Step {
    let (read, _) = read(world, &key, &Scope("first".to_owned())).await?;
    world
        .judge_call(|reply| store::does_not_hold(reply, read.as_ref(), "a call that failed stored something"))
}

#[then(expr = "the state holds nothing under {string} in the {scope} scope")]
async fn state_holds_nothing_in(world: &mut World, key: String, scope: Scope) -> Step {
    world.judge_call(outcome::succeeds)?;
    let (read, _) = read(world, &key, &scope).await?;
    world.judge_call(|reply| {
        store::does_not_hold(reply, read.as_ref(), "what was stored in one scope is read from another")
    })
}

/// Not under a key that was never used, and not under the tool's name either.
#[then("the state holds nothing of the call")]
async fn state_holds_nothing_of_it(world: &mut World) -> Step {
    world.judge_call(outcome::succeeds)?;
    let session = world.session()?;
    let made = world.made()?;
    let last = &made[made.len() - 1];
    let (tool, value) = (last.call.tool.clone(), last.call.value.clone());
    for scope in &session.table.scopes {
        for key in [&tool, &world.scene()?.id("key-0"), &"last".to_owned(), &"last_result".to_owned()] {
            let (read, _) = read_key(world, key, scope).await?;
            let ours = read.filter(|read| super::super::answer::find(read, &value).is_some());
            world.judge_call(|reply| {
                store::does_not_hold(reply, ours.as_ref(), "a call without `store_as` stored its result")
            })?;
        }
    }
    Ok(())
}

/// What the state holds, and the id of the request that read it.
async fn read(world: &mut World, key: &str, scope: &Scope) -> Result<(Option<Value>, i64), Halt> {
    let key = world.scene()?.id(key);
    let scope = scope.value(&world.session()?.table.scopes);
    read_key(world, &key, &scope).await
}

async fn read_key(world: &mut World, key: &str, scope: &str) -> Result<(Option<Value>, i64), Halt> {
    match world.scene()?.read_state(key, scope).await {
        Ok(read) => Ok(read),
        Err(answer) => {
            let shown = crate::transcript::shorten(&answer.shown());
            let message = format!("the state cannot be read by `toolbus.probes.state`: {shown}");
            Err(world.halt(Trouble::CouldNotRun { cause: Cause::Fixture, message }))
        }
    }
}

/// The last call but one: the one before the sentinel.
pub(super) fn before_the_last<'a, 'b>(replies: &'b [Reply<'a>]) -> &'b Reply<'a> {
    &replies[replies.len().saturating_sub(2)]
}
