//! Then: the callback.

use cucumber::{Parameter, then};

use super::Status;
use super::refusal::any_callback;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::judge::callback;
use crate::families::utp::judge::callback::AFTER_EXECUTION;
use crate::families::utp::judge::late::LateCheck;
use crate::families::utp::judge::seen::STATUSES;
use crate::families::utp::judge::{card, route, trace};
use crate::families::utp::world::World;

/// What is asked of the callback's trace.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "trace_property",
    regex = "continues the command's|has a span of its own|is reported in a well-formed way"
)]
enum TraceProperty {
    Continues,
    OwnSpan,
    WellFormed,
}

impl std::str::FromStr for TraceProperty {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "continues the command's" => Self::Continues,
            "has a span of its own" => Self::OwnSpan,
            "is reported in a well-formed way" => Self::WellFormed,
            other => return Err(format!("a trace cannot be asked whether it `{other}`")),
        })
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
    world.judge_call(callback::tells_of_a_result)?;
    world.judge_call(card::shows_work)
}

#[then(expr = "the call ends as {status}")]
async fn ends_as(world: &mut World, status: Status) -> Step {
    world.answered_anyway().await?;
    world.judge_call(|frames, calls| callback::has_status(frames, calls, &status.0))?;
    world.judge_call(|frames, calls| card::has_status(frames, calls, &status.0))
}

#[then(expr = "the callback carries {string}")]
async fn carries(world: &mut World, member: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| callback::carries(frames, calls, &member))
}

#[then(expr = "the callback's {string} is the command's")]
async fn repeats(world: &mut World, member: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| callback::repeats(frames, calls, &member))
}

#[then("the callback names suspend or terminate")]
async fn names_after_execution(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| callback::is_one_of(frames, calls, "after_execution", &AFTER_EXECUTION))
}

#[then("any callback names suspend or terminate")]
async fn any_names_after_execution(world: &mut World) -> Step {
    any_callback(world).await?;
    world.judge_call(|frames, calls| callback::is_one_of(frames, calls, "after_execution", &AFTER_EXECUTION))
}

#[then("the callback's status is one of the five")]
async fn status_known(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| callback::is_one_of(frames, calls, "status", &STATUSES))
}

#[then("any callback has one of the five statuses")]
async fn any_status_known(world: &mut World) -> Step {
    any_callback(world).await?;
    world.judge_call(|frames, calls| callback::is_one_of(frames, calls, "status", &STATUSES))
}

#[then("no callback of the whole run has another status than the five")]
async fn every_status_known(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_later(LateCheck::KnowsStatuses)
}

#[then("the callback carries the card's step_id")]
async fn carries_step(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(callback::step_of_card)
}

#[then(expr = "the callback lacks {string}")]
async fn lacks(world: &mut World, member: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| callback::lacks(frames, calls, &member))
}

#[then("the callback holds routing and pointer members only")]
async fn routes_only(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(callback::routes_only)
}

#[then(expr = "the callback's trace {trace_property}")]
async fn trace_has(world: &mut World, property: TraceProperty) -> Step {
    world.answered().await?;
    world.judge_call(match property {
        TraceProperty::Continues => trace::continues_trace,
        TraceProperty::OwnSpan => trace::has_own_span,
        TraceProperty::WellFormed => trace::is_well_formed,
    })
}

#[then("it is noted whether the callback has a tracestate")]
async fn note_tracestate(world: &mut World) -> Step {
    world.answered().await?;
    let has = world.frames().iter().any(|frame| {
        frame.kind == crate::transcript::Kind::Report && frame.headers.contains_key("tracestate")
    });
    world.note(if has { "the callback carries a tracestate" } else { "the callback carries no tracestate" });
    Ok(())
}
