//! Calls that cannot work.

use cucumber::then;

use super::result::before_the_last;
use crate::engine::world::Step;
use crate::families::toolbus::judge::{call, secret};
use crate::families::toolbus::world::World;

#[then("the call is answered by an MCP error")]
fn fails(world: &mut World) -> Step {
    world.judge_call(call::fails)
}

#[then("the call does not succeed")]
fn does_not_succeed(world: &mut World) -> Step {
    world.judge_all(|replies| {
        call::succeeds(&replies[replies.len() - 1])?;
        call::does_not_succeed(before_the_last(replies))
    })
}

#[then("the error says that the params are invalid")]
fn invalid_params(world: &mut World) -> Step {
    let session = world.session()?;
    let argument = session.table.probes.invalid.as_ref().and_then(|own| own.argument.clone());
    world.judge_call(|reply| call::reports_invalid_params(reply, argument.as_deref()))
}

#[then("the error does not say that the params are invalid")]
fn run_time_failure(world: &mut World) -> Step {
    world.judge_call(call::reports_run_time_failure)
}

#[then("the error has a message")]
fn has_a_message(world: &mut World) -> Step {
    world.judge_call(call::has_a_message)
}

#[then("the echo call succeeds")]
fn still_serves(world: &mut World) -> Step {
    world.judge_all(|replies| call::still_serves(before_the_last(replies), &replies[replies.len() - 1]))
}

#[then("no secret is in the error")]
fn no_secret(world: &mut World) -> Step {
    let marker = world.scene()?.markers.at("password");
    world.judge_call(|reply| {
        if !reply.answer.is_failure() {
            return call::fails(reply);
        }
        secret::is_not_in_the_response(reply, &marker, "the error")
    })
}
