//! What a call leaves in the state.

use cucumber::{given, then};
use serde_json::Value;

use super::{InScope, Scope};
use crate::engine::judge::{Cause, CheckFailure};
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::volatile;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::toolbus::answer::{self, Answer};
use crate::families::toolbus::judge::call as outcome;
use crate::families::toolbus::judge::store::{self, Read};
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::replicas;
use crate::families::toolbus::world::World;

vocabulary! {
    /// Which replicas are asked.
    enum AtReplicas "at_replicas" {
        " at every replica" => Every,
        "" => Any,
    }
}

#[then(expr = "the state holds {json} under {string}{in_scope}{at_replicas}")]
async fn state_holds(world: &mut World, expected: Json, key: String, scope: InScope, at: AtReplicas) -> Step {
    let scope = scope.or_first();
    world.judge_call(outcome::succeeds)?;
    let mut reads = reads(world, &key, &scope, at).await?;
    let base = world.session()?.value_base.clone();
    world.judge_call(|reply| {
        // Without an `output` what is stored is the whole result, and the value lies below the base.
        if !reply.made.call.arguments.contains_key("output") {
            for read in &mut reads {
                let below = read.value.as_ref().and_then(|own| own.pointer(&base)).cloned();
                read.value = below.or(read.value.take());
            }
        }
        store::holds(reply, &reads, &expected.0)
    })
}

#[then(expr = "the state holds the result under {string}{in_scope}")]
async fn state_holds_result(world: &mut World, key: String, scope: InScope) -> Step {
    world.judge_call(outcome::succeeds)?;
    let reads = reads(world, &key, &scope.or_first(), AtReplicas::Any).await?;
    world.judge_call(|reply| match reply.result()? {
        Some(result) => store::holds(reply, &reads, &result),
        None => Err(CheckFailure::NotObserved("the envelope holds no result to compare with".to_owned())),
    })
}

/// A form of `output` that the contract does not define may be refused.
#[then(expr = "the state holds the result, where there is one, under {string}")]
async fn state_holds_any_result(world: &mut World, key: String) -> Step {
    world.judge_call(|reply| {
        if !reply.answer.is_failure() {
            return Ok(());
        }
        Err(Alternative::RefusesOutput.seen_in(answer::frame(reply.frames, reply.made.id)))
    })?;
    state_holds_result(world, key, InScope(None)).await
}

/// Has every replica read the state once, which may keep what it read.
#[given(expr = "every replica has read {string}{in_scope}")]
async fn have_read(world: &mut World, key: String, scope: InScope) -> Step {
    reads(world, &key, &scope.or_first(), AtReplicas::Every).await.map(|_| ())
}

/// What the state holds, asked of the replica whose turn it is and of the one that got the call, or of every replica.
async fn reads(world: &mut World, key: &str, scope: &Scope, at: AtReplicas) -> Result<Vec<Read>, Abort> {
    let mut reads = Vec::new();
    if at == AtReplicas::Any {
        let (value, reader) = read(world, key, scope).await?;
        reads.push(Read { value, reader });
    }
    let scene = world.scene()?;
    let home = scene.last_asked();
    let asked = scene
        .client
        .transcript
        .with(|frames| reads.first().and_then(|own| replicas::asked(frames, own.reader)));
    let further: Vec<usize> = match at {
        AtReplicas::Any => home.filter(|_| asked != home).into_iter().collect(),
        AtReplicas::Every => (0..scene.replicas_count()).collect(),
    };
    let (key, scope) = (scene.id(key), scope.value(&scene.session.table.scopes));
    for replica in further {
        match world.scene()?.read_state_at(replica, &key, &scope).await {
            Ok((value, reader)) => reads.push(Read { value, reader }),
            Err(answer) => return Err(unreadable(world, &answer)),
        }
    }
    Ok(reads)
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
