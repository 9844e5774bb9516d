//! Commands and reports as the messages of a scenario show them: what `@always` scenarios judge.

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use super::seen;
use super::seen::Behaviour;
use super::turn::{Row, TOKEN, ToolCall, Turn};
use super::view::View;
use crate::engine::invariant::ExchangeKind;
use crate::engine::judge::CheckFailure;
use crate::families::utp::judge::callback::AFTER_EXECUTION;
use crate::families::utp::judge::seen::STATUSES;
use crate::families::utp::message;
use crate::families::utp::revision::{CONTROL_MEMBERS, Revision, header, number};
use crate::families::utp::subject;
use crate::families::utp::trace::{RECURSION_DEPTH, Traceparent};
use crate::net::wire::STATUS;
use crate::transcript::{Frame, Kind};

/// What stands for a text that nobody is expected to repeat, where it is not known which one that is.
const UNKNOWN: &str = "\u{1}";
/// What a callback should not have (UTP §4.2).
const INLINE: [&str; 3] = ["args", "arguments", "result"];
/// The control of a result (UTP §3.1).
const CONTROL: &str = "__cg_control";

/// Every command that the worker sent to one kind of receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EveryCommand {
    /// A tool.
    Tool,
    /// The PMO, for one of its built-ins.
    Pmo,
    /// Whoever.
    Anyone,
}

/// A command, and the messages of the scenario in which it was sent.
pub(super) struct ObservedCommand<'a> {
    pub frames: &'a [Frame],
    pub command: &'a Frame,
}

impl<'a> ObservedCommand<'a> {
    /// Project and channel of the turn that makes the call; nothing where turns of the scenario have several.
    pub(super) fn place(&self) -> Option<(&'a str, &'a str)> {
        let started = self
            .frames
            .iter()
            .filter(|frame| frame.kind == Kind::TurnStart && frame.direction == Direction::ToTarget);
        let mut places: Vec<_> = started.map(place).collect();
        places.dedup();
        match places.as_slice() {
            [place] => *place,
            _ => None,
        }
    }
}

/// Project and channel of a turn that is asked for.
fn place(start: &Frame) -> Option<(&str, &str)> {
    match start.channel.split_once("/projects/") {
        Some((_, rest)) => {
            let mut parts = rest.split('/');
            Some((parts.next()?, parts.nth(1)?))
        }
        None => Some((start.token(2)?, start.token(3)?)),
    }
}

impl ExchangeKind for EveryCommand {
    type Exchange<'a> = ObservedCommand<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedCommand<'a>> {
        frames
            .iter()
            .filter(|frame| frame.kind == Kind::Command && frame.direction == Direction::FromTarget)
            .filter(|frame| match self {
                Self::Tool => subject::is_tool_command(&frame.channel),
                Self::Pmo => subject::is_pmo_command(&frame.channel),
                Self::Anyone => true,
            })
            .map(|command| ObservedCommand { frames, command })
            .collect()
    }

    /// The turn that was started last before the command.
    fn stimulus(exchange: &ObservedCommand<'_>) -> u32 {
        let started = exchange.frames.iter().filter(|frame| frame.kind == Kind::TurnStart);
        let mut before = started.filter(|frame| frame.n < exchange.command.n);
        before.next_back().map_or(exchange.command.n, |frame| frame.n)
    }
}

/// Every valid callback that was reported to an execution service, where no other one is about the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EveryReport(pub Revision);

/// A report, and the messages of the scenario in which it was made.
pub(super) struct ObservedReport<'a> {
    pub frames: &'a [Frame],
    pub report: &'a Frame,
    turn: Turn,
    call: ToolCall,
    is_alone: bool,
    goes_on: Option<Behaviour>,
}

/// What the card of a result says about what is to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultControl {
    /// Nothing: there is no control, and nothing that looks like one.
    Plain,
    /// That the turn is to go on, or to end.
    Overrides(&'static str),
}

impl ObservedReport<'_> {
    /// The report as judgements know it.
    pub(super) fn view(&self) -> View<'_> {
        View { project: "", version: "", turn: &self.turn, call: &self.call }
    }

    /// A text of the callback.
    pub(super) fn text(&self, member: &str) -> &str {
        self.report.body["payload"][member].as_str().unwrap_or_default()
    }

    /// The card as the store showed it to the target.
    pub(super) fn card(&self) -> Option<&Value> {
        Some(&self.call.card).filter(|card| card.get("type").is_some())
    }

    /// What the turn did after it, where this is the only call that it waited for, and its agent was woken on the
    /// runtime's own target: nobody else goes on with the turn.
    pub(super) fn behaviour(&self, worker_target: &str) -> Result<Behaviour, CheckFailure> {
        let is_served = self.wakeups().any(|wakeup| wakeup.token(6) == Some(worker_target));
        let seen = self.goes_on.filter(|_| self.is_alone && is_served);
        seen.ok_or_else(|| {
            CheckFailure::NotObserved("it is not known what the turn did after the result".to_owned())
        })
    }

    /// Wakeups of its agent.
    pub(super) fn wakeups(&self) -> impl Iterator<Item = &Frame> {
        seen::wakeups(self.frames, &self.turn, &self.call)
    }

    /// Whether it was reported more than once.
    pub(super) fn is_repeated(&self) -> bool {
        let is_it = |frame: &&Frame| is_same(frame, self.report);
        self.frames.iter().filter(is_it).count() > 1
    }

    /// Whether both signs of the turn's end were seen.
    pub(super) fn has_ended_for_good(&self) -> bool {
        seen::task(self.frames, &self.turn).is_some() && seen::deliverable(self.frames, &self.turn).is_some()
    }

    /// Whether a wakeup after it can be for no other agent and of no other trace.
    pub(super) fn has_the_only_trace(&self) -> bool {
        let trace =
            |frame: &Frame| frame.headers.get("traceparent").and_then(|text| Traceparent::parse(text));
        let own = trace(self.report).map(|trace| trace.trace_id);
        let is_sent = |frame: &&Frame| {
            matches!(frame.kind, Kind::Report | Kind::TurnStart) && frame.direction == Direction::ToTarget
        };
        let mut sent = self.frames.iter().filter(is_sent);
        own.is_some() && sent.all(|other| trace(other).map(|trace| trace.trace_id) == own)
    }

    /// Whether a wakeup names an agent that no turn and no report of the scenario is of.
    pub(super) fn wakes_a_stranger(&self) -> bool {
        let named = |agent: &str| {
            let mut sent = self.frames.iter().filter(|frame| frame.direction == Direction::ToTarget);
            sent.any(|frame| {
                let reported = self.turn.revision.reported(frame, "agent_id");
                [frame.text("/agent_id"), reported].contains(&Some(agent))
            })
        };
        let mut wakeups =
            self.frames.iter().filter(|frame| frame.kind == Kind::Wakeup && frame.n > self.report.n);
        wakeups.any(|wakeup| seen::woken(wakeup, self.turn.revision).is_some_and(|agent| !named(agent)))
    }

    /// What the card says about what is to follow; nothing where card and callback do not agree on anything else, or the
    /// card was not shown.
    pub(super) fn control(&self) -> Option<ResultControl> {
        let (card, callback) = (self.card()?, &self.report.body["payload"]);
        let content = &card["content"];
        let agrees = |member: &str| content[member] == callback[member];
        let is_typed = message::card_type(card) == Some("tool.result")
            && content.get("__type__").is_none_or(|tag| tag == "ToolResultContent")
            && message::call_id(card) == Some(self.call.id())
            && content["result"].is_object()
            && content["result"].get("after_execution").is_none();
        let has_more = INLINE.into_iter().any(|member| callback.get(member).is_some())
            || message::mentions(callback, CONTROL)
            || card["metadata"].get(CONTROL).is_some()
            || content.get(CONTROL).is_some();
        if !is_typed || has_more || !agrees("status") || !agrees("after_execution") {
            return None;
        }
        let Some(control) = content["result"].get(CONTROL) else { return Some(ResultControl::Plain) };
        let value = control["after_execution"].as_str();
        AFTER_EXECUTION.into_iter().find(|known| value == Some(known)).map(ResultControl::Overrides)
    }
}

impl ExchangeKind for EveryReport {
    type Exchange<'a> = ObservedReport<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedReport<'a>> {
        let reports: Vec<&Frame> = frames
            .iter()
            .filter(|frame| frame.kind == Kind::Report && frame.direction == Direction::ToTarget)
            .collect();
        let mut different: Vec<&Frame> = Vec::new();
        for report in &reports {
            if !different.iter().any(|other| is_same(other, report)) {
                different.push(report);
            }
        }
        let is_one = |own: &&&'a Frame| {
            let id = self.0.reported(own, "tool_call_id");
            let about = |other: &&&Frame| {
                self.0.reported(other, "tool_call_id") == id || other.text("/correlation_id") == id
            };
            different.iter().filter(about).count() == 1
        };
        different.iter().filter(is_one).filter_map(|own| observed(self.0, frames, own)).collect()
    }

    fn stimulus(exchange: &ObservedReport<'_>) -> u32 {
        exchange.report.n
    }
}

/// What a report is about; nothing where its callback is not valid.
fn observed<'a>(revision: Revision, frames: &'a [Frame], report: &'a Frame) -> Option<ObservedReport<'a>> {
    let callback = &revision.callback(report)?;
    if revision == Revision::V1r4 && !fits(frames, report) {
        return None;
    }
    let text = |member: &str| {
        let text = callback.get(member).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    let (id, agent, turn_id) = (text("tool_call_id")?, text("agent_id")?, text("agent_turn_id")?);
    let is_valid = callback.get("turn_epoch").is_some_and(|epoch| !epoch.is_null())
        && STATUSES.contains(&text("status")?)
        && AFTER_EXECUTION.contains(&text("after_execution")?);
    let card_id = text("tool_result_card_id").filter(|_| is_valid)?;
    let started = |frame: &&Frame| {
        frame.kind == Kind::TurnStart
            && frame.direction == Direction::ToTarget
            && match revision {
                // Who runs the turn may give it another id, and says so in the answer.
                Revision::V1r3 => {
                    frame.text("/agent_turn_id") == Some(turn_id)
                        || (frame.text("/agent_id") == Some(agent) && is_started_by(frames, frame, turn_id))
                }
                Revision::V1r4 => is_started_by(frames, frame, turn_id),
            }
    };
    let instruction = frames.iter().find(started).and_then(|start| start.text("/instruction"));
    let mark = instruction.and_then(|text| text.rsplit(' ').next()).unwrap_or(UNKNOWN);
    let turn = Turn::observed(revision, mark, agent, turn_id);
    let card = shown(frames, card_id).cloned().unwrap_or_else(|| json!({"card_id": card_id}));
    let mut call = ToolCall::observed(id, Row::external("", "", "", text("after_execution")?));
    token(&card).unwrap_or(UNKNOWN).clone_into(&mut call.token);
    UNKNOWN.clone_into(&mut call.argument_token);
    (call.card, call.callback, call.headers) = (card, callback.clone(), report.headers.clone());
    let is_alone = {
        let before = seen::commands(frames, &turn).filter(|frame| frame.n < report.n);
        !before.map(|frame| revision.sent(frame, "tool_call_id")).any(|other| other != Some(id))
    };
    let next = seen::nexts(frames, &turn).map(|frame| frame.n).find(|n| *n > report.n);
    let end = seen::end(frames, &turn).map(|frame| frame.n).filter(|n| *n > report.n);
    let goes_on = match (next, end) {
        (Some(next), Some(end)) if end < next => Some(Behaviour::End),
        (Some(_), _) => Some(Behaviour::Next),
        // What a turn asks its model is known by its instruction.
        (None, Some(_)) if instruction.is_some() => Some(Behaviour::End),
        (None, _) => None,
    };
    Some(ObservedReport { frames, report, turn, call, is_alone, goes_on })
}

/// Whether two reports are the same: what is in their headers counts, but for the trace.
fn is_same(one: &Frame, other: &Frame) -> bool {
    let identity = |frame: &Frame| {
        let headers = frame.headers.iter().filter(|(name, _)| name.starts_with("CG-"));
        headers.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    one.kind == other.kind && one.body == other.body && identity(one) == identity(other)
}

/// Whether a report of `v1r4` has all that it needs to be taken, and was not refused.
fn fits(frames: &[Frame], report: &Frame) -> bool {
    let payload = report.body.get("payload");
    let has_control =
        CONTROL_MEMBERS.into_iter().any(|name| payload.is_some_and(|own| own.get(name).is_some()));
    let is_number = |name| header(&report.headers, name).and_then(number).is_some();
    let is_its_answer = |frame: &&Frame| {
        frame.kind == Kind::ReportReply
            && frame.n > report.n
            && frame.text("/correlation_id") == header(&report.headers, "CG-Tool-Call-Id")
    };
    let is_refused = |frame: &Frame| frame.headers.get(STATUS).is_some_and(|status| !status.starts_with('2'));
    !has_control
        && is_number("CG-Turn-Epoch")
        && is_number(RECURSION_DEPTH)
        && !frames.iter().find(is_its_answer).is_some_and(is_refused)
}

/// Whether a turn was asked for in this message: since `v1r4` the answer alone says its id.
fn is_started_by(frames: &[Frame], start: &Frame, turn_id: &str) -> bool {
    let same = |frame: &Frame, pointer: &str| frame.text(pointer) == start.text(pointer);
    let answers = |frame: &&Frame| {
        frame.kind == Kind::TurnReply
            && frame.n > start.n
            && same(frame, "/correlation_id")
            && (same(frame, "/agent_id") || frame.text("/agent_id").is_none())
    };
    frames.iter().find(answers).is_some_and(|reply| reply.text("/agent_turn_id") == Some(turn_id))
}

/// A card as the store showed it to the target.
fn shown<'a>(frames: &'a [Frame], card_id: &str) -> Option<&'a Value> {
    let replies = frames.iter().filter(|frame| frame.kind == Kind::CardsReply);
    let mut cards =
        replies.flat_map(|reply| reply.body.get("cards").and_then(Value::as_array).into_iter().flatten());
    cards.find(|card| card["card_id"] == card_id)
}

/// The word in a result that nothing else has.
fn token(card: &Value) -> Option<&str> {
    let texts = [card.pointer("/content/result/high_water"), card.pointer("/content/error/message")];
    let mut words = texts.into_iter().flatten().filter_map(Value::as_str).flat_map(str::split_whitespace);
    words.find(|word| word.starts_with(TOKEN))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn frame(n: u32, kind: Kind, body: Value) -> Frame {
        Frame {
            n,
            at_us: 0,
            direction: if kind == Kind::Command { Direction::FromTarget } else { Direction::ToTarget },
            kind,
            channel: "runtime.v1.prj.public.turns.start".to_owned(),
            headers: BTreeMap::new(),
            body,
        }
    }

    fn callback(id: &str, status: &str) -> Value {
        json!({
            "tool_call_id": id, "agent_turn_id": "turn", "turn_epoch": 1, "agent_id": "ag",
            "tool_result_card_id": format!("card_{id}"), "status": status, "after_execution": "suspend",
        })
    }

    #[test]
    fn valid_callbacks_of_one_report_a_call_are_found() {
        let report = |n: u32, callback: Value| frame(n, Kind::Report, json!({"payload": callback}));
        let mut incomplete = callback("incomplete", "success");
        incomplete["tool_result_card_id"] = json!(" ");
        let frames = [
            report(1, callback("once", "success")),
            report(2, callback("repeated", "success")),
            report(3, callback("repeated", "success")),
            report(4, callback("otherwise", "success")),
            report(5, callback("otherwise", "partial")),
            report(6, callback("foreign", "done")),
            report(7, incomplete),
        ];
        let every = EveryReport(Revision::V1r3);
        let found: Vec<u32> = every.find(&frames).iter().map(EveryReport::stimulus).collect();
        assert_eq!(found, [1, 2]);
    }

    #[test]
    fn a_turn_may_have_another_id_than_was_asked_for() {
        let check = |agent: &str, expect: &str| {
            let frames = [
                frame(
                    1,
                    Kind::TurnStart,
                    json!({"agent_id": "ag", "agent_turn_id": "asked", "instruction": "go mark-1"}),
                ),
                frame(2, Kind::TurnReply, json!({"agent_id": agent, "agent_turn_id": "turn"})),
                frame(3, Kind::Report, json!({"payload": callback("c", "success")})),
            ];
            assert_eq!(EveryReport(Revision::V1r3).find(&frames)[0].turn.mark, expect, "{agent}");
        };
        check("ag", "mark-1");
        check("another", UNKNOWN);
    }

    #[test]
    fn what_a_card_says_counts_where_it_agrees_with_its_callback() {
        let check = |content: Value, expect: Option<ResultControl>| {
            let card = json!({
                "card_id": "card_c", "type": "tool.result", "tool_call_id": "c", "content": content.clone(),
            });
            let frames = [
                frame(1, Kind::Report, json!({"payload": callback("c", "success")})),
                frame(2, Kind::CardsReply, json!({"cards": [card]})),
            ];
            assert_eq!(EveryReport(Revision::V1r3).find(&frames)[0].control(), expect, "{content}");
        };
        let content =
            |result: Value| json!({"status": "success", "after_execution": "suspend", "result": result});
        check(content(json!({})), Some(ResultControl::Plain));
        let control = |value: Value| json!({"__cg_control": {"after_execution": value}});
        check(content(control(json!("terminate"))), Some(ResultControl::Overrides("terminate")));
        check(content(control(json!("pause"))), None);
        check(content(json!({"after_execution": "terminate"})), None);
        check(content(json!("text")), None);
        check(json!({"status": "failed", "after_execution": "suspend", "result": {}}), None);
    }

    #[test]
    fn the_place_of_a_command_is_that_of_its_turn() {
        let check = |channels: &[&str], expect: Option<(&str, &str)>| {
            let mut frames: Vec<Frame> = Vec::new();
            for channel in channels {
                let start = frame(1, Kind::TurnStart, Value::Null);
                frames.push(Frame { channel: (*channel).to_owned(), ..start });
            }
            frames.push(frame(2, Kind::Command, Value::Null));
            let found = EveryCommand::Anyone.find(&frames);
            assert_eq!(found[0].place(), expect, "{channels:?}");
        };
        check(&["runtime.v1.prj.ch_7.turns.start"], Some(("prj", "ch_7")));
        check(&["POST /projects/prj/channels/ch_7/turns"], Some(("prj", "ch_7")));
        check(&["runtime.v1.prj.ch_7.turns.start", "runtime.v1.prj.ch_8.turns.start"], None);
    }
}
