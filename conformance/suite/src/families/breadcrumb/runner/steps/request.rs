//! What becomes of requests.

use cucumber::then;

use crate::engine::world::Step;
use crate::families::breadcrumb::runner::judge::{outcome, request};
use crate::families::breadcrumb::runner::world::World;

#[then("it is not executed")]
fn not_executed(world: &mut World) -> Step {
    world.judge_scene(|frames, scene| {
        scene.calls.iter().try_for_each(|call| request::not_executed(frames, call))
    })
}

#[then("nothing is executed for it")]
fn nothing_executed(world: &mut World) -> Step {
    world.judge_scene(|frames, scene| request::nothing_executed(frames, &scene.sentinels))
}

#[then("it is not answered under the id of another call")]
fn under_no_other_id(world: &mut World) -> Step {
    world.judge_scene(|frames, scene| {
        scene.calls.iter().try_for_each(|call| request::under_no_other_id(frames, call, &scene.sentinels))
    })
}

#[then("the runner goes on serving")]
fn keeps_serving(world: &mut World) -> Step {
    world.judge_scene(|frames, scene| {
        request::is_alive(frames, &scene.sentinels[..1])?;
        request::keeps_serving(frames, scene.sentinels.last())
    })
}

#[then("the runner serves the harmless calls")]
fn is_alive(world: &mut World) -> Step {
    world.judge_scene(|frames, scene| request::is_alive(frames, &scene.sentinels))
}

#[then("each is answered once")]
fn once(world: &mut World) -> Step {
    let session = world.session()?;
    let unique = world.scene()?.unique.clone();
    world.judge_calls(|frames, call| request::once(frames, call, &session.audience(&unique, call)))
}

#[then("none is answered twice")]
fn not_twice(world: &mut World) -> Step {
    world.judge_observed(|own| request::not_twice(own.frames, &own.call))
}

#[then("each is answered under its own id with what it asked for")]
fn its_own(world: &mut World) -> Step {
    world.judge_calls(request::its_own)
}

#[then("they take no longer than one of them")]
fn side_by_side(world: &mut World) -> Step {
    world.judge_scene(|frames, scene| {
        request::side_by_side(frames, &scene.calls, &scene.sentinels, scene.slack())
    })
}

#[then("the first fails, and the others succeed")]
fn unaffected(world: &mut World) -> Step {
    let first = world.scene()?.calls.first().map(|call| call.id().to_owned());
    world.judge_answers(|call, answer| {
        if first.as_deref() == Some(call.id()) {
            outcome::has_failed(call, answer)
        } else {
            outcome::success(call, answer)
        }
    })
}
