//! Where results go.

use cucumber::then;

use crate::engine::judge::Judgement;
use crate::engine::world::Step;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::judge::routing;
use crate::families::breadcrumb::runner::judge::routing::Audience;
use crate::families::breadcrumb::runner::world::World;
use crate::transcript::Frame;

#[then("its result comes back to the agent")]
fn reaches_agent(world: &mut World) -> Step {
    world.judge_calls(routing::reaches_agent)
}

#[then("the user is shown the later result only")]
fn stays_with_agent(world: &mut World) -> Step {
    route(world, |frames, call, audience| match call.return_to_llm {
        Some(true) => Ok(()),
        _ => routing::is_serving(frames, call, audience),
    })?;
    route(world, |frames, call, audience| match call.return_to_llm {
        Some(true) => routing::stays_with_agent(frames, call, audience),
        _ => Ok(()),
    })
}

#[then("the user is shown the result")]
fn reaches_user(world: &mut World) -> Step {
    route(world, routing::reaches_user)
}

#[then("its failure is reported")]
fn is_admitted(world: &mut World) -> Step {
    route(world, routing::is_admitted)
}

#[then("no language model is asked about it, and no agent turn starts")]
fn takes_no_turn(world: &mut World) -> Step {
    route(world, routing::is_serving)?;
    route(world, routing::takes_no_turn)
}

#[then("each result goes its own way")]
fn own_way(world: &mut World) -> Step {
    route(world, |frames, call, audience| {
        if call.return_to_llm == Some(true) {
            routing::reaches_agent(frames, call)?;
            routing::stays_with_agent(frames, call, audience)
        } else {
            routing::reaches_user(frames, call, audience)?;
            routing::takes_no_turn(frames, call, audience)
        }
    })
}

/// Judges where the result of each call goes.
fn route(world: &mut World, judgement: impl Fn(&[Frame], &Call, &Audience<'_>) -> Judgement) -> Step {
    let session = world.session()?;
    let unique = world.scene()?.unique.clone();
    world.judge_calls(|frames, call| judgement(frames, call, &session.audience(&unique, call)))
}
