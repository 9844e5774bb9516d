//! Then: Inbox and wakeup.

use cucumber::{Parameter, then, when};

use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::reason::Alternative;
use crate::families::utp::runtime::judge::inbox;
use crate::families::utp::runtime::judge::inbox::TraceProperty;
use crate::families::utp::runtime::judge::{turn, wakeup};
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::view::View;
use crate::families::utp::runtime::world::World;
use crate::transcript::Frame;

/// Times that an Inbox is read until it shows the record.
const READINGS: usize = 4;

/// What is asked of a trace.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "runtime_trace",
    regex = "continues the report's|has a span of its own|is reported in a well-formed way"
)]
struct Trace(TraceProperty);

impl std::str::FromStr for Trace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "continues the report's" => TraceProperty::Continues,
            "has a span of its own" => TraceProperty::OwnSpan,
            "is reported in a well-formed way" => TraceProperty::WellFormed,
            other => return Err(format!("a trace cannot be asked whether it {other}")),
        }))
    }
}

vocabulary! {
    /// What a record of an Inbox must be.
    enum RecordKind "record_kind" {
        "a tool_result message" => ToolResult,
        "addressed to the agent of the callback" => Addressed,
    }
}

#[then("the agent is woken")]
async fn woken(world: &mut World) -> Step {
    wait_for_wakeup(world).await?;
    world.judge_call(0, wakeup::comes)
}

#[when("the tool reports, and the Inbox is read as soon as the agent is woken")]
async fn report_and_look(world: &mut World) -> Step {
    let session = world.session()?;
    world.call(0)?;
    world.scene()?.report_and_look(&session, 0).await;
    world.unless_ended().await
}

#[then("the Inbox holds the record")]
fn record_is_there(world: &mut World) -> Step {
    world.judge_call(0, wakeup::comes)?;
    world.judge_call(0, inbox::has_record)
}

#[then(expr = "the Inbox record's {string} is the callback's")]
async fn keeps(world: &mut World, member: String) -> Step {
    if world.judges_every() {
        return world.judge_observed_reports(move |own| inbox::keeps(own.frames, own.view(), &member));
    }
    read(world).await?;
    world.judge_call(0, |frames, view| inbox::keeps(frames, view, &member))
}

#[then(expr = "the Inbox record is {record_kind}")]
async fn record_is(world: &mut World, kind: RecordKind) -> Step {
    let judgement: fn(&[Frame], View<'_>) -> Judgement = match kind {
        RecordKind::ToolResult => inbox::is_tool_result,
        RecordKind::Addressed => inbox::is_addressed,
    };
    if world.judges_every() {
        return world.judge_observed_reports(move |own| judgement(own.frames, own.view()));
    }
    read(world).await?;
    world.judge_call(0, judgement)
}

#[then("the Inbox shows nothing of another agent")]
fn shows_no_other_agent(world: &mut World) -> Step {
    world.judge_call(0, inbox::shows_no_other_agent)
}

#[then("the wakeup names the agent of the callback")]
async fn names_agent(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_observed_reports(|own| {
            // One that has not come by then may still come.
            if own.wakeups().next().is_none() && !own.wakes_a_stranger() {
                return Err(CheckFailure::NotObserved("no wakeup was seen".to_owned()));
            }
            wakeup::names_agent(own.frames, own.view())
        });
    }
    woken(world).await?;
    world.judge_call(0, wakeup::names_agent)
}

#[then(expr = "the agent is woken on {string}")]
async fn woken_on(world: &mut World, target: String) -> Step {
    wait_for_wakeup(world).await?;
    world.judge_call(0, |frames, view| wakeup::goes_to(frames, view, &target))
}

#[then(expr = "it is woken nowhere but on {string}")]
async fn woken_nowhere_but(world: &mut World, target: String) -> Step {
    let session = world.session()?;
    world.scene()?.wait_settle_window(&session).await;
    world.judge_call(0, |frames, view| wakeup::goes_nowhere_but(frames, view, &target))
}

#[then(expr = "the woken worker's trace {runtime_trace}")]
async fn trace(world: &mut World, property: Trace) -> Step {
    if world.judges_every() {
        return world.judge_observed_reports(move |own| {
            let mut wakeups = own.wakeups();
            if !own.has_the_only_trace() || !wakeups.any(|wakeup| wakeup.headers.contains_key("traceparent"))
            {
                return Err(CheckFailure::NotObserved("no wakeup shows the trace".to_owned()));
            }
            inbox::trace_has(own.frames, own.view(), property.0)
        });
    }
    wait_for_wakeup(world).await?;
    if world.session()?.has_inbox() {
        read(world).await?;
    }
    world.judge_call(0, |frames, view| inbox::trace_has(frames, view, property.0))
}

#[then("it is noted whether the wakeup has a tracestate")]
async fn note_tracestate(world: &mut World) -> Step {
    wait_for_wakeup(world).await?;
    let scene = world.scene()?;
    let (call, own) = (scene.calls[0].clone(), scene.turns[0].clone());
    let has = scene.project.transcript.with(|frames| {
        seen::wakeups(frames, &own, &call).any(|frame| frame.headers.contains_key("tracestate"))
    });
    world.note(if has { "the wakeup carries a tracestate" } else { "the wakeup carries no tracestate" });
    Ok(())
}

#[then(expr = "the card still overrides with {string}")]
fn card_keeps_control(world: &mut World, expected: String) -> Step {
    if world.judges_every() {
        return world.judge_observed_reports(move |own| {
            turn::card_keeps_control(own.frames, own.view(), own.card(), &expected)
        });
    }
    let scene = world.scene()?;
    let id = scene.calls[0].card["card_id"].as_str().unwrap_or_default().to_owned();
    let stored = scene.project.transcript.record_external("card", || scene.project.card(&id));
    world.judge_call(0, |frames, view| turn::card_keeps_control(frames, view, stored.as_ref(), &expected))
}

/// Waits for a wakeup after the report of the call. What does not come is for the judgement to report.
pub(super) async fn wait_for_wakeup(world: &mut World) -> Step {
    let session = world.session()?;
    world.call(0)?;
    let scene = world.scene()?;
    let (call, own) = (scene.calls[0].clone(), scene.turns[0].clone());
    if scene.wait(&session, |frames| seen::wakeups(frames, &own, &call).next().is_some()).await {
        return Ok(());
    }
    world.unless_ended().await
}

/// Reads the Inbox until it shows the record of the call.
async fn read(world: &mut World) -> Step {
    let session = world.session()?;
    wait_for_wakeup(world).await?;
    let scene = world.scene()?;
    let call = scene.calls[0].clone();
    for _ in 0..READINGS {
        scene.read_inbox(&session, 0).await;
        if scene.project.transcript.with(|frames| !seen::records(frames, &call).is_empty()) {
            return Ok(());
        }
        scene.wait_settle_window(&session).await;
    }
    let is_served = scene.is_served;
    world.unless_ended().await?;
    if is_served && !session.baseline.keeps_consumed {
        let frames = world.scene()?.project.transcript.frames();
        let own = world.scene()?.turns[0].clone();
        return Err(world.abort(Alternative::ConsumedHidden.seen_in(seen::goings_on(&frames, &own))));
    }
    let finding = crate::engine::judge::Finding::new(
        "the Inbox shows no record of the callback",
        "write every accepted callback into the Inbox of its agent, and show it there (docs/bindings.md)",
    )
    .expected("a record with the callback");
    Err(world.abort(finding.into()))
}
