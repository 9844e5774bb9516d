//! What a PMO's built-in has others do: turns that it starts, agents that it enters into the roster.
//!
//! A command causes what mentions its token, which only who read its card knows. What mentions no call of the suite
//! at all, and comes after a command that must cause nothing, is taken as that command's doing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::callback::MEMBERS;
use super::effects::{effects, own_starts, sent};
use super::inline_arguments::inline_used;
use super::lineage;
use super::seen;
use super::seen::Calls;
use super::tasks;
use super::turn_start;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::call::{AGENT, Call, HELPER, OTHER_HELPER};
use crate::families::utp::message;
use crate::families::utp::platform::children::answer_to;
use crate::families::utp::reason::Alternative;
use crate::families::utp::revision::Revision;
use crate::families::utp::tool::Tool;
use crate::families::utp::trace;
use crate::transcript::{Frame, Kind};

/// Turns of a `fork_join` that the suite makes.
const FORKED: usize = 2;

/// The agent that is given something to do, or entered into the roster.
fn agent(frame: &Frame) -> Option<&str> {
    frame.text("/agent/agent_id").or_else(|| frame.text("/agent_id"))
}

/// Ids of turns and agents that the target made, and of what the suite made from them.
pub fn target_generated_ids(frames: &[Frame]) -> impl Iterator<Item = &str> {
    let made = effects(frames).flat_map(|frame| {
        let agent = agent(frame).filter(|agent| ![AGENT, HELPER, OTHER_HELPER].contains(agent));
        [agent, frame.text("/agent_turn_id")]
    });
    let delivered = frames
        .iter()
        .filter(|frame| frame.kind == Kind::Task)
        .map(|frame| frame.text("/deliverable_card_id"));
    made.chain(delivered).flatten()
}

/// The command under test, which is not valid, has caused nothing.
pub fn caused_nothing(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let beyond = lineage::beyond_limit(calls.subject);
    // Of a call that is too deep only turns are asked about, and the platform starts none.
    let counts = |frame: &&Frame| {
        let is_refused = trace::is_too_deep(calls.subject.revision, &frame.headers);
        beyond.is_none() || (frame.kind != Kind::RosterSave && !(frame.kind == Kind::TurnStart && is_refused))
    };
    let mut own = effects(frames).filter(counts);
    let own = own.find(|frame| message::mentions(&frame.body, &calls.subject.token));
    match own.or_else(|| stray(frames, calls, counts)) {
        None => Ok(()),
        Some(frame) => Err(match beyond {
            Some((reason, hint)) => {
                Finding::new(format!("the built-in had others do something although {reason}"), hint)
            }
            None => Finding::new(
                "the built-in had others do something although the command is not valid",
                "validate the command and read its card before a turn is started or an agent entered into the \
                 roster",
            ),
        }
        .expected("no turn, no agent, no command to an agent")
        .actual(Some(&frame.body))
        .frame(frame)
        .into()),
    }
}

/// What was done after the command and for no other call of the suite.
fn stray<'a>(
    frames: &'a [Frame],
    calls: &Calls<'_>,
    counts: impl Fn(&&'a Frame) -> bool,
) -> Option<&'a Frame> {
    let sent = sent(frames, calls.subject);
    let foreign = |frame: &&Frame| calls.others.iter().any(|name| message::mentions(&frame.body, name));
    // An agent that another call uses is that call's business in every message about it.
    let mut known: BTreeSet<&str> = effects(frames).filter(foreign).filter_map(agent).collect();
    known.extend(effects(&frames[..sent]).filter_map(agent));
    known.extend(calls.subject.agent_id());
    effects(&frames[sent..]).filter(counts).filter(|frame| !foreign(frame)).find(|frame| {
        frame.kind == Kind::TurnStart || agent(frame).is_none_or(|agent| !known.contains(agent))
    })
}

/// A value that the command carried inline was used nowhere.
pub fn was_not_given(frames: &[Frame], inline: &str) -> Judgement {
    match effects(frames).find(|frame| message::mentions(&frame.body, inline)) {
        None => Ok(()),
        Some(frame) => Err(inline_used().actual(Some(&frame.body)).frame(frame).into()),
    }
}

/// Nothing that was begun after the command shows the arguments of an earlier call.
pub fn nothing_new_shows(frames: &[Frame], calls: &Calls<'_>, token: &str) -> Judgement {
    let (sent, revision) = (sent(frames, calls.subject), calls.subject.revision);
    let begun = effects(&frames[sent..])
        .filter(|frame| message::mentions(&frame.body, token))
        .filter(|frame| !is_late(&frames[..sent], frame, calls, token))
        .find(|frame| is_new(&frames[..sent], frame, revision));
    match begun {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the built-in works with arguments that are not in the card of its call",
            "read the arguments of every call anew from the card that its command points to",
        )
        .expected("only what the card of this call holds")
        .actual(Some(&frame.body))
        .frame(frame)
        .into()),
    }
}

/// Whether an effect belongs to the work of an earlier call, with this token, which it had not done yet: a built-in may be
/// answered before it enters an agent or starts its turns.
fn is_late(before: &[Frame], frame: &Frame, calls: &Calls<'_>, token: &str) -> bool {
    if frame.kind == Kind::RosterSave {
        let is_same = |other: &Frame| other.kind == Kind::RosterSave && message::mentions(&other.body, token);
        return !effects(before).any(is_same);
    }
    let most = if calls.subject.tool == Tool::ForkJoin { FORKED } else { 1 };
    is_late_turn(before, frame, calls.subject.revision, (calls.others, most))
}

/// Whether a turn is one of the first, at most so many, that another call starts. `others` are ids and turns of the other
/// calls.
fn is_late_turn(
    before: &[Frame],
    frame: &Frame,
    revision: Revision,
    (others, most): (&[String], usize),
) -> bool {
    let parent = |frame| revision.sent(frame, "parent_agent_turn_id");
    let are_less = |own: &str| effects(before).filter(|other| parent(other) == Some(own)).count() < most;
    frame.kind == Kind::TurnStart
        && parent(frame).is_some_and(|own| others.iter().any(|other| other == own) && are_less(own))
}

/// Whether a turn was not started before, or an agent not known.
fn is_new(before: &[Frame], frame: &Frame, revision: Revision) -> bool {
    let id = |frame: &Frame| match frame.kind {
        Kind::TurnStart => turn_start::key(frame, revision).map(|key| format!("{key:?}")),
        _ => agent(frame).map(str::to_owned),
    };
    let own = id(frame);
    own.is_none() || !effects(before).any(|other| other.kind == frame.kind && id(other) == own)
}

/// A command that was sent more than once has started each of its turns once, and made each of its agents once. `usual` is
/// how many turns a call like it starts, where that was found out.
pub fn started_once(frames: &[Frame], calls: &Calls<'_>, usual: Option<usize>) -> Judgement {
    let call = calls.subject;
    let done: Vec<&Frame> = seen::work(frames, call)
        .filter(|frame| matches!(frame.kind, Kind::TurnStart | Kind::RosterSave))
        .collect();
    let again = |expected: usize, actual: usize| {
        let finding = Finding::new(
            "the repeated command was carried out again",
            "keep what a call has started under (`agent_turn_id`, `tool_call_id`), from the moment it is read, and \
             start a turn under an id (since v1r4 a `correlation_id`) that follows from the call",
        )
        .expected(expected)
        .actual(Some(&Value::from(actual)));
        done.iter().fold(finding, |finding, frame| finding.frame(frame))
    };
    if done.is_empty() && call.tool.starts_turns() {
        return Err(CheckFailure::NotObserved("the call started no turn".to_owned()));
    }
    let expected = tasks::count(call).max(usual.unwrap_or_default());
    let things = if call.tool.starts_turns() {
        turn_start::count(done.iter().copied(), call.revision)
    } else {
        done.iter().filter_map(|frame| agent(frame)).collect::<BTreeSet<&str>>().len()
    };
    if things > expected {
        return Err(again(expected, things).into());
    }
    match new_agent(frames, call) {
        None => Ok(()),
        Some(frame) => Err(again(expected, expected + 1).frame(frame).into()),
    }
}

/// An agent that a call which was answered already makes when its command is repeated.
fn new_agent<'a>(frames: &'a [Frame], call: &Call) -> Option<&'a Frame> {
    let commands = |frame: &Frame| {
        frame.kind == Kind::Command
            && call.revision.sent(frame, "tool_call_id") == Some(call.tool_call_id.as_str())
    };
    let repeat = frames.iter().rposition(commands)?;
    seen::outcome(&frames[..repeat], call)?;
    let is_entry =
        |frame: &&Frame| frame.kind == Kind::RosterSave && message::mentions(&frame.body, &call.token);
    // Answered before it entered anybody, it may do that after the repeat.
    effects(&frames[..repeat]).find(is_entry)?;
    effects(&frames[repeat..]).filter(is_entry).find(|frame| is_new(&frames[..repeat], frame, call.revision))
}

/// The call was answered after the last of its children had ended.
pub fn answered_last(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let report =
        seen::outcome(frames, calls.subject).or_else(|| seen::report(frames, calls)).ok_or_else(|| {
            CheckFailure::NotObserved("the target reported no callback for the call".to_owned())
        })?;
    let turns: BTreeSet<&str> = own_turns(frames, calls.subject).collect();
    if turns.is_empty() {
        return Err(CheckFailure::NotObserved("the call started no turn".to_owned()));
    }
    let ended: BTreeSet<&str> = frames
        .iter()
        .take_while(|frame| frame.n != report.n)
        .filter(|frame| frame.kind == Kind::Task)
        .filter_map(|frame| frame.text("/agent_turn_id"))
        .collect();
    match turns.iter().find(|turn| !ended.contains(*turn)) {
        None => Ok(()),
        Some(turn) => Err(Finding::new(
            "the call was answered while a child of it was still at work",
            "wait for the task event of every turn that the call has started, then report",
        )
        .expected(turns.len())
        .actual(Some(&Value::from(turns.iter().filter(|turn| ended.contains(*turn)).count())))
        .at(format!("end of turn {turn}"))
        .frame(report)
        .into()),
    }
}

/// The turns that a call has started. One that its request does not name has its id from the answer.
fn own_turns<'a>(frames: &'a [Frame], call: &Call) -> impl Iterator<Item = &'a str> {
    own_starts(frames, call).filter_map(|(_, turn)| turn)
}

/// What the built-in has to say is in the card, and nowhere in the callback.
pub fn outcome_is_in_card(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let call = calls.subject;
    let (frame, card) = seen::result_card(frames, calls).ok_or_else(|| {
        CheckFailure::NotObserved("the target saved no tool.result card for the call".to_owned())
    })?;
    let hint = "store what the built-in has to say in `content.result` of the card, and let the callback point to it";
    let result = card.pointer("/content/result");
    if result.is_none_or(is_empty) {
        let more = seen::reports(frames, calls).into_iter().find(|report| has_more(report));
        return Err(match more {
            Some(report) => Finding::new("what the built-in has to say is not in the tool.result card", hint)
                .expected("a result that is not empty")
                .actual(result)
                .at("/card/content/result")
                .frame(frame)
                .frame(report)
                .into(),
            // Whether it has to, the documents leave open.
            None => Alternative::SaysNothing.seen_in([frame]),
        });
    }
    let answers = answers(frames, calls);
    if let Some((answer, card_id)) = answers.first()
        && call.tool == Tool::AskExpert
        && !result
            .is_some_and(|result| message::mentions(result, answer) || message::mentions(result, card_id))
    {
        return Err(Finding::new("what the expert said is not in the tool.result card", hint)
            .expected(answer.clone())
            .actual(result)
            .at("/card/content/result")
            .frame(frame)
            .into());
    }
    if let Some((start, answer)) = foreign_answer(frames, call, result) {
        return Err(Finding::new("what a child of another call said is in the tool.result card", hint)
            .expected("what the children of this call said")
            .actual(Some(&Value::from(answer)))
            .at("/card/content/result")
            .frame(start)
            .frame(frame)
            .into());
    }
    let repeats = |payload: &Value| {
        message::mentions(payload, &call.token)
            || answers.iter().any(|(answer, _)| message::mentions(payload, answer))
    };
    let repeating = seen::reports(frames, calls)
        .into_iter()
        .find(|report| report.body.get("payload").is_some_and(repeats));
    match repeating {
        None => Ok(()),
        Some(report) => Err(Finding::new("the callback repeats what is in the tool.result card", hint)
            .expected("no result data")
            .actual(report.body.get("payload"))
            .at("/payload")
            .frame(report)
            .into()),
    }
}

/// The answer of a child of another call that a result holds, and the request for its turn.
fn foreign_answer<'a>(
    frames: &'a [Frame],
    call: &Call,
    result: Option<&Value>,
) -> Option<(&'a Frame, String)> {
    let result = result?;
    let is_foreign =
        |frame: &&Frame| frame.kind == Kind::TurnStart && !message::mentions(&frame.body, &call.token);
    let answer = |start: &'a Frame| Some((start, answer_to(start.text("/instruction")?)));
    frames.iter().filter(is_foreign).filter_map(answer).find(|(_, answer)| message::mentions(result, answer))
}

/// Whether a callback says anything beyond what every callback says.
fn has_more(report: &Frame) -> bool {
    let members = report.body.pointer("/payload").and_then(Value::as_object);
    members.into_iter().flatten().any(|(name, value)| !MEMBERS.contains(&name.as_str()) && !is_empty(value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// What the call's children had said when it was answered: the text, and the card that holds it.
fn answers(frames: &[Frame], calls: &Calls<'_>) -> Vec<(String, String)> {
    let Some(report) = seen::report(frames, calls) else { return Vec::new() };
    // What ended between its card and its report came too late for the card.
    let pointer = report.body.pointer("/payload/tool_result_card_id");
    let saved = seen::saved_cards(frames)
        .filter(|(frame, card)| frame.n < report.n && pointer.is_some() && card.get("card_id") == pointer);
    let answered = saved.last().map_or(report, |(frame, _)| frame);
    let before: Vec<&Frame> = frames.iter().take_while(|frame| frame.n != answered.n).collect();
    let delivered = |turn: &str| {
        let event = before
            .iter()
            .find(|frame| frame.kind == Kind::Task && frame.text("/agent_turn_id") == Some(turn))?;
        event.text("/deliverable_card_id").map(str::to_owned)
    };
    let answer = |(start, turn): (&Frame, Option<&str>)| {
        let instruction = start.text("/instruction").filter(|_| start.n < answered.n)?;
        Some((answer_to(instruction), delivered(turn?)?))
    };
    own_starts(frames, calls.subject).filter_map(answer).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_turns_of_another_call_may_come_late() {
        let start = |parent: &str| Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::TurnStart,
            channel: String::new(),
            headers: BTreeMap::new(),
            body: json!({"agent_turn_id": "turn_9", "parent_agent_turn_id": parent}),
        };
        let check = |before: &[Frame], parent: &str, most: usize, expect: bool| {
            let others = ["call_1".to_owned(), "turn_1".to_owned()];
            let late = is_late_turn(before, &start(parent), Revision::V1r3, (&others, most));
            assert_eq!(late, expect, "{parent}");
        };
        check(&[], "turn_1", 1, true);
        // The call under test is none of the others.
        check(&[], "turn_2", 1, false);
        check(&[start("turn_2")], "turn_1", 1, true);
        // It has had its turn: what is started for it now takes the arguments of an earlier call again.
        check(&[start("turn_1")], "turn_1", 1, false);
        check(&[start("turn_1")], "turn_1", FORKED, true);
    }
}
