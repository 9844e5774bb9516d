//! What a call gives back.

use cucumber::then;
use serde_json::Value;

use crate::engine::parameters::Json;
use crate::engine::world::Step;
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

#[then("the result lacks only the key that was omitted")]
fn lacks_the_omitted(world: &mut World) -> Step {
    world.judge_call(shape::lacks_the_omitted)
}

#[then("the result is what stands under the key that was followed")]
fn below_the_followed(world: &mut World) -> Step {
    world.judge_call(shape::is_below_the_followed)
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
    world.judge_call(|reply| {
        let probe = reply.made.call.probe.filter(|probe| *probe == Probe::BreakGlass);
        let call = probe.unwrap_or(Probe::Secret).table(&session.table);
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

/// The last call but one: the one before the sentinel.
pub(super) fn before_the_last<'a, 'b>(replies: &'b [Reply<'a>]) -> &'b Reply<'a> {
    &replies[replies.len().saturating_sub(2)]
}
