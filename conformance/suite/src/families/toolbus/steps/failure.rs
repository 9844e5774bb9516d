//! Calls that cannot work.

use cucumber::{then, when};

use super::result::before_the_last;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::toolbus::judge::call;
use crate::families::toolbus::reason::Undeclared;
use crate::families::toolbus::world::World;

vocabulary! {
    /// What an error says.
    enum ErrorPredicate "error_predicate" {
        "says that the params are invalid" => InvalidParams,
        "does not say that the params are invalid" => RunTimeFailure,
        "has a message" => Message,
    }
}

#[then("the call is answered by an MCP error")]
fn fails(world: &mut World) -> Step {
    world.judge_each_call(call::fails)
}

#[then("it has a result or an error, and not both")]
fn has_one_outcome(world: &mut World) -> Step {
    world.judge_each_call(call::has_one_outcome)
}

#[when("the client makes a call without an argument that its tool requires")]
async fn make_without_argument(world: &mut World) -> Step {
    let Some((call, argument)) = world.scene()?.call_without_required_argument() else {
        return Err(world.abort(Undeclared::RequiredArgument.into()));
    };
    world.scene()?.call = Some(call);
    world.missing_argument = argument;
    world.make().await.map(|_| ())
}

#[then("the error says that the argument is missing")]
fn argument_is_missing(world: &mut World) -> Step {
    let argument = world.missing_argument.clone();
    world.judge_call(|reply| call::misses_an_argument(reply, &argument))
}

#[then("the call does not succeed")]
fn does_not_succeed(world: &mut World) -> Step {
    world.judge_all(|replies| {
        call::succeeds(&replies[replies.len() - 1])?;
        call::does_not_succeed(before_the_last(replies))
    })
}

#[then(expr = "the error {error_predicate}")]
fn error(world: &mut World, predicate: ErrorPredicate) -> Step {
    let session = world.session()?;
    let argument = session.table.probes.invalid.as_ref().and_then(|own| own.argument.clone());
    world.judge_each_call(move |reply| match predicate {
        ErrorPredicate::InvalidParams => call::reports_invalid_params(reply, argument.as_deref()),
        ErrorPredicate::RunTimeFailure => call::reports_run_time_failure(reply),
        ErrorPredicate::Message => call::has_a_message(reply),
    })
}

#[then("the echo call succeeds")]
fn still_serves(world: &mut World) -> Step {
    world.judge_all(|replies| call::still_serves(before_the_last(replies), &replies[replies.len() - 1]))
}
