//! What the card of a built-in has others do, and whether they are given it.

use serde_json::Value;

use super::effects::{effects, sent};
use super::seen;
use super::seen::Calls;
use super::turn_start;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::call::{Call, HELPER, OTHER_HELPER};
use crate::families::utp::message;
use crate::families::utp::reason::Alternative;
use crate::transcript::{Frame, Kind};

/// What is to be changed where a child is not sent what the card says.
const HINT: &str = "take the arguments from the card that `tool_call_card_id` addresses: the instruction of a task is what is \
                    sent to its child";

/// What a call is to give to several children.
fn tasks(call: &Call) -> impl Iterator<Item = &Value> {
    call.card["content"]["arguments"]["tasks"].as_array().into_iter().flatten()
}

/// How many turns the card of a call asks for.
pub(super) fn count(call: &Call) -> usize {
    tasks(call).count().max(1)
}

/// How many turns the call was seen to start.
pub fn started(frames: &[Frame], call: &Call) -> usize {
    let starts = seen::work(frames, call).filter(|frame| frame.kind == Kind::TurnStart);
    turn_start::count(starts, call.revision)
}

/// Whether the call was seen to start more turns than its card asks for.
pub fn starts_more(frames: &[Frame], call: &Call) -> bool {
    started(frames, call) > count(call)
}

/// The card's arguments show in what the built-in does: of several tasks each in a turn.
pub fn shows_work(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let call = calls.subject;
    let shown = |text: &str| seen::work(frames, call).any(|frame| message::mentions(&frame.body, text));
    if !shown(&call.token) {
        if let Some((start, other)) = known_turn(frames, call) {
            return Err(Finding::new(
                "the built-in asks for a turn by what another turn is known by, so the platform starts nothing",
                "make the id of a turn (since v1r4 its `correlation_id`) of the call and the number of the child",
            )
            .expected("an id that no other turn has")
            .actual(Some(&start.body))
            .frame(other)
            .frame(start)
            .into());
        }
        return Err(Finding::new(
            "the arguments of the tool.call card show in nothing that the built-in does",
            HINT,
        )
        .expected(call.card["content"]["arguments"].clone())
        .actual(effects(&frames[sent(frames, call)..]).last().map(|frame| &frame.body))
        .into());
    }
    if let Some((start, named)) = misdirected(frames, call) {
        return Err(Finding::new(
            "a turn is for another agent than the one that the tool.call card names for its task",
            "give each task to the agent that its own `target_ref` names, in every call anew",
        )
        .expected(named)
        .actual(start.body.get("agent_id"))
        .at("/agent_id")
        .frame(start)
        .into());
    }
    let mut tasks = tasks(call).filter_map(instruction);
    match tasks.find(|instruction| instruction.contains(&call.token) && !shown(instruction)) {
        None => Ok(()),
        Some(instruction) => Err(Finding::new("a task of the tool.call card was given to nobody", HINT)
            .expected(instruction)
            .into()),
    }
}

/// A turn that is for the one agent of the roster where its task names the other, and the agent that is named. Whom a
/// built-in makes instead is its own business.
fn misdirected<'a>(frames: &'a [Frame], call: &'a Call) -> Option<(&'a Frame, &'a str)> {
    let arguments = &call.card["content"]["arguments"];
    let all: Vec<&Value> = tasks(call).chain(arguments.get("target_ref").map(|_| arguments)).collect();
    let is_in_roster = |agent: &str| [HELPER, OTHER_HELPER].contains(&agent);
    seen::work(frames, call).filter(|frame| frame.kind == Kind::TurnStart).find_map(|start| {
        let is_given =
            |task: &&&Value| instruction(task).is_some_and(|text| message::mentions(&start.body, text));
        let mut given = all.iter().filter(is_given);
        // Of tasks that are alike either may be meant.
        let task = given.next().filter(|_| given.next().is_none())?;
        let (named, agent) = (task.get("target_ref")?.as_str()?, start.text("/agent_id")?);
        (agent != named && is_in_roster(agent) && is_in_roster(named)).then_some((start, named))
    })
}

/// A request of the call for a turn that is there already, and the request that started this.
fn known_turn<'a>(frames: &'a [Frame], call: &Call) -> Option<(&'a Frame, &'a Frame)> {
    let own = |frame: &&Frame| frame.kind == Kind::TurnStart && message::mentions(&frame.body, &call.token);
    let known = |start: &'a Frame| Some((start, turn_start::known_as(frames, start, call.revision)?));
    frames.iter().filter(own).find_map(known)
}

fn instruction(task: &Value) -> Option<&str> {
    task.get("instruction")?.as_str()
}

/// Each task of a call that succeeds was given to a child, those that are alike to one each. Which tasks a built-in takes
/// the documents leave open.
pub fn gives_each_task(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let call = calls.subject;
    let report = seen::report(frames, calls).ok_or_else(|| {
        CheckFailure::NotObserved("the target reported no callback for the call".to_owned())
    })?;
    if report.text("/payload/status") != Some("success") {
        return Err(Alternative::RefusesTask.seen_in([report]));
    }
    shows_work(frames, calls)?;
    for instruction in tasks(call).filter_map(instruction) {
        let wanted = tasks(call).filter(|task| instruction_is(task, instruction)).count();
        let own = seen::work(frames, call).filter(|frame| message::mentions(&frame.body, instruction));
        let given = turn_start::count(own, call.revision);
        if given < wanted {
            return Err(Finding::new("of tasks that are alike not each was given to a child", HINT)
                .expected(wanted)
                .actual(Some(&Value::from(given)))
                .frame(report)
                .into());
        }
    }
    Ok(())
}

fn instruction_is(task: &Value, text: &str) -> bool {
    instruction(task) == Some(text)
}
