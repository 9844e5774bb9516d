//! Then: the callback.

use cucumber::then;

use super::refusal::any_callback;
use super::{IfAny, Status};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::judge::callback;
use crate::families::utp::judge::callback::AFTER_EXECUTION;
use crate::families::utp::judge::late::LateCheck;
use crate::families::utp::judge::seen::STATUSES;
use crate::families::utp::judge::{card, route, trace};
use crate::families::utp::world::World;

vocabulary! {
    /// What is asked of the callback's trace.
    enum TraceProperty "trace_property" {
        "continues the command's" => Continues,
        "has a span of its own" => OwnSpan,
        "is reported in a well-formed way" => WellFormed,
    }
}

#[then("a callback is reported for the call")]
async fn reported(world: &mut World) -> Step {
    world.reported().await
}

#[then("the call is answered")]
async fn answered(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(route::is_reported)
}

#[then("the call succeeds")]
async fn call_succeeds(world: &mut World) -> Step {
    world.wait_for_effect().await?;
    world.judge_call(callback::mentions_a_result)?;
    world.judge_call(card::shows_work)
}

#[then(expr = "the call ends as {status}")]
async fn ends_as(world: &mut World, status: Status) -> Step {
    world.answered_anyway().await?;
    world.judge_call(|frames, calls| callback::has_status(frames, calls, &status.0))?;
    world.judge_call(|frames, calls| card::has_status(frames, calls, &status.0))
}

#[then(regex = r#"^the callback (carries|lacks) "([^"]*)"$"#)]
async fn carries_or_lacks(world: &mut World, carries: String, member: String) -> Step {
    world.answered().await?;
    world.judge_each_call(move |frames, calls| match carries.as_str() {
        "carries" => callback::carries(frames, calls, &member),
        _ => callback::lacks(frames, calls, &member),
    })
}

#[then(expr = "the callback's {string} is the command's")]
async fn repeats(world: &mut World, member: String) -> Step {
    world.answered().await?;
    world.judge_each_call(move |frames, calls| callback::repeats(frames, calls, &member))
}

#[then(expr = "the callback{if_any} names suspend or terminate")]
async fn names_after_execution(world: &mut World, if_any: IfAny) -> Step {
    callback_unless_optional(world, if_any).await?;
    world.judge_each_call(move |frames, calls| {
        callback::is_one_of(frames, calls, "after_execution", &AFTER_EXECUTION)
    })
}

#[then(expr = "the callback{if_any} has one of the five statuses")]
async fn status_known(world: &mut World, if_any: IfAny) -> Step {
    callback_unless_optional(world, if_any).await?;
    world.judge_each_call(move |frames, calls| callback::is_one_of(frames, calls, "status", &STATUSES))
}

async fn callback_unless_optional(world: &mut World, if_any: IfAny) -> Step {
    match if_any {
        IfAny::MayBeMissing => any_callback(world).await,
        IfAny::MustBeThere => world.answered().await,
    }
}

#[then("no callback of the whole run has another status than the five")]
async fn every_status_known(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_later(LateCheck::KnowsStatuses)
}

#[then("the callback carries the card's step_id")]
async fn carries_step(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(callback::step_of_card)
}

#[then("the callback holds routing and pointer members only")]
async fn routes_only(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(callback::routes_only)
}

#[then(expr = "the callback's trace {trace_property}")]
async fn trace_has(world: &mut World, property: TraceProperty) -> Step {
    world.answered().await?;
    world.judge_each_call(match property {
        TraceProperty::Continues => trace::continues_trace,
        TraceProperty::OwnSpan => trace::has_own_span,
        TraceProperty::WellFormed => trace::is_well_formed,
    })
}

/// Notes what a rule leaves open.
pub(super) async fn note_tracestate(world: &mut World) -> Step {
    world.answered().await?;
    let has = world.frames().iter().any(|frame| {
        frame.kind == crate::transcript::Kind::Report && frame.headers.contains_key("tracestate")
    });
    world.note(if has { "the callback carries a tracestate" } else { "the callback carries no tracestate" });
    Ok(())
}
