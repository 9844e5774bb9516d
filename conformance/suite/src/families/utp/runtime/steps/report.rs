//! What is asked of a report since `v1r4`: whether it is taken, and what wakeup and task event carry in headers.

use cucumber::{then, when};
use serde_json::json;

use super::act::{followed, report};
use super::inbox::wait_for_wakeup;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::utp::runtime::judge::report as judge;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::turn::ToolCall;
use crate::families::utp::runtime::view::View;
use crate::families::utp::runtime::world::World;
use crate::transcript::Frame;

vocabulary! {
    /// What becomes of a report.
    enum ReportAnswer "report_answer" {
        "refused" => Refused,
        "taken" => Taken,
    }
}

vocabulary! {
    /// What a wakeup has in its headers.
    enum WakeupHeaders "wakeup_headers" {
        "the identity of the report in headers" => Identity,
        "nothing of the call" => NoCall,
    }
}

vocabulary! {
    /// What the card of a second report says.
    enum SecondCard "second_card" {
        "another card" => Another,
        "a card that ends the turn" => Ending,
    }
}

#[when("the tool is called and answered")]
async fn called_and_answered(world: &mut World) -> Step {
    world.called().await?;
    report(world, 0).await
}

#[when(expr = "the tool reports, and once more with {second_card}")]
async fn once_more(world: &mut World, card: SecondCard) -> Step {
    report(world, 0).await?;
    followed(world, 0).await?;
    let reported = second_report(world)?;
    if matches!(card, SecondCard::Ending) {
        let call = world.call(0)?;
        call.card["content"]["result"]["__cg_control"] = json!({"after_execution": "terminate"});
    }
    report(world, 0).await?;
    *world.call(0)? = reported;
    if matches!(card, SecondCard::Another) { world.settled().await } else { Ok(()) }
}

#[when("the first call is reported by two cards at once and then the second")]
async fn at_once(world: &mut World) -> Step {
    let session = world.session()?;
    let reported = second_report(world)?;
    let second = world.call(0)?.clone();
    *world.call(0)? = reported;
    world.scene()?.report_at_once(&session, 0, &second).await;
    report(world, 1).await?;
    followed(world, 1).await
}

/// Prepares another report of the first call with a card of its own, and hands back what was reported first.
fn second_report(world: &mut World) -> Result<ToolCall, Abort> {
    let call = world.call(0)?;
    let reported = call.clone();
    let id = format!("{}_b", call.card["card_id"].as_str().unwrap_or_default());
    call.card["card_id"] = json!(id);
    call.card["content"]["result"] = json!({"high_water": "another one"});
    call.callback.insert("tool_result_card_id".to_owned(), json!(id));
    Ok(reported)
}

#[then(expr = "the report is {report_answer}")]
fn is_answered(world: &mut World, answer: ReportAnswer) -> Step {
    world.judge_call(
        0,
        match answer {
            ReportAnswer::Refused => judge::is_refused,
            ReportAnswer::Taken => judge::is_taken,
        },
    )
}

#[then("it is noted whether the report is refused")]
fn note_refusal(world: &mut World) -> Step {
    let mut refused = false;
    world.judge_call(0, |frames, view| {
        refused = judge::was_refused(frames, view)?;
        Ok(())
    })?;
    world.note(if refused { "the report is refused" } else { "the report is taken" });
    Ok(())
}

#[then("the Inbox holds nothing of the call until a correct report comes")]
async fn left_nothing(world: &mut World) -> Step {
    let session = world.session()?;
    world.scene()?.wait_settle_window(&session).await;
    read_inbox(world).await?;
    world.judge_call(0, judge::left_nothing)?;
    // An Inbox that never shows anything says nothing.
    let scene = world.scene()?;
    scene.correct(0);
    scene.report(&session, 0).await;
    let call = scene.calls[0].clone();
    let own = scene.turns[0].clone();
    scene.wait(&session, |frames| seen::wakeups(frames, &own, &call).next().is_some()).await;
    read_inbox(world).await?;
    world.judge_call(0, |frames, view| {
        if seen::records(frames, view.call).is_empty() {
            let message = "the Inbox shows no record of the correct report either".to_owned();
            return Err(CheckFailure::NotObserved(message));
        }
        Ok(())
    })
}

/// Reads the Inbox of the first turn's agent.
async fn read_inbox(world: &mut World) -> Step {
    let session = world.session()?;
    if world.scene()?.read_inbox(&session, 0).await.is_some() {
        return Ok(());
    }
    world.unless_ended().await?;
    Err(world.abort(CheckFailure::NotObserved("the Inbox cannot be read".to_owned())))
}

#[then(expr = "the wakeup carries {wakeup_headers}")]
async fn wakeup_carries(world: &mut World, what: WakeupHeaders) -> Step {
    let judgement: fn(&[Frame], View<'_>) -> Judgement = match what {
        WakeupHeaders::Identity => judge::wakeup_carries_identity,
        WakeupHeaders::NoCall => judge::wakeup_carries_no_call,
    };
    if world.judges_every() {
        return world.judge_observed_reports(move |own| judgement(own.frames, own.view()));
    }
    wait_for_wakeup(world).await?;
    world.judge_call(0, judgement)
}

#[then("the task event carries the identity of its turn in headers")]
async fn event_carries(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_observed_reports(|own| judge::event_carries_identity(own.frames, own.view()));
    }
    super::turn::ended_for_good(world).await?;
    world.judge_call(0, judge::event_carries_identity)
}

#[then("it is noted whether the task event has control members in its payload")]
fn note_control_members(world: &mut World) -> Step {
    let mut found = Vec::new();
    world.judge_call(0, |frames, view| {
        found = judge::control_members_of_events(frames, view)?;
        Ok(())
    })?;
    world.note(if found.is_empty() {
        "the payload of the task event has no control member".to_owned()
    } else {
        format!("control members in the payload of the task event: {}", found.join(", "))
    });
    Ok(())
}

#[then(expr = "{string} is not woken by it")]
async fn wakes_nobody_else(world: &mut World, other: String) -> Step {
    world.settled().await?;
    world.judge_call(0, |frames, view| judge::wakes_nobody_else(frames, view, &[&other]))
}

#[then("the model receives one result of the first call")]
fn receives_one(world: &mut World) -> Step {
    world.judge_call(0, judge::one_result_is_received)
}

#[then("the turn does not end before the second call is answered")]
async fn waits_for_second(world: &mut World) -> Step {
    world.settled().await?;
    world.judge_call(1, |frames, view| {
        let Some(end) = seen::end(frames, view.turn) else { return Ok(()) };
        let finding = Finding::new(
            "a second report of a call that was answered ended the turn",
            "apply the first report of a call, and none that comes after it, whichever card it points to",
        );
        Err(finding.expected("a turn that waits for its second call").frame(end).into())
    })
}
