//! Calls as the messages of a scenario show them, whoever made them: what `@always` scenarios judge.

use std::cell::OnceCell;
use std::rc::Rc;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::call::Call;
use super::judge::callback::AFTER_EXECUTION;
use super::judge::inline_arguments::INLINE;
use super::judge::seen;
use super::judge::seen::{Calls, Found};
use super::message;
use super::proof::Proof;
use super::revision::Revision;
use super::subject;
use super::tool::Tool;
use super::trace::Traceparent;
use crate::engine::invariant::ExchangeKind;
use crate::transcript::{Frame, Kind};

/// Every command to a Tool Service, an executor or a PMO that says whom it is from, with what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EveryCall {
    /// Whatever becomes of it: a callback that there is has its form also where the command is refused.
    Named,
    /// Those that are valid in all, with their card: nothing keeps their tool from being run.
    Valid,
}

/// A call, and the messages of the scenario in which it was made.
pub(super) struct ObservedCall<'a> {
    /// All messages of that scenario.
    pub frames: &'a [Frame],
    command: &'a Frame,
    known: Rc<Known>,
}

/// What is known of a call, of whichever kind it is observed.
struct Known {
    call: Call,
    others: Vec<String>,
    is_valid: bool,
    found: Found,
    has_own_card: OnceCell<bool>,
}

impl ObservedCall<'_> {
    /// The call as judgements know it.
    pub(super) fn calls(&self) -> Calls<'_> {
        let Known { call, others, found, .. } = &*self.known;
        Calls::new(call, others).found_once(found)
    }

    /// Whether its tool.result card is known to be its own: the callback points to it, or it names the call.
    pub(super) fn has_own_card(&self) -> bool {
        *self.known.has_own_card.get_or_init(|| {
            let report = seen::report(self.frames, &self.calls());
            let id = Some(self.known.call.tool_call_id.as_str());
            report.is_some_and(|report| seen::card_of(self.frames, report).is_some())
                || seen::result_cards(self.frames).any(|(_, card)| message::call_id(card) == id)
        })
    }
}

impl ExchangeKind for EveryCall {
    type Exchange<'a> = ObservedCall<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedCall<'a>> {
        Self::find_each(&[self], frames).pop().unwrap_or_default()
    }

    fn find_each<'a>(kinds: &[&Self], frames: &'a [Frame]) -> Vec<Vec<ObservedCall<'a>>> {
        let all: Vec<(&Frame, Rc<Known>)> = unambiguous(frames)
            .into_iter()
            .filter_map(|(command, others)| Some((command, Rc::new(known(frames, command, others)?))))
            .collect();
        let of = |kind: &&Self| {
            let counts = |own: &&(&Frame, Rc<Known>)| **kind == Self::Named || own.1.is_valid;
            let calls = all.iter().filter(counts);
            calls.map(|(command, known)| ObservedCall { frames, command, known: Rc::clone(known) }).collect()
        };
        kinds.iter().map(of).collect()
    }

    fn stimulus(exchange: &ObservedCall<'_>) -> u32 {
        exchange.command.n
    }
}

/// Commands whose answers can be attributed to them, each with the ids and turns of all others.
fn unambiguous(frames: &[Frame]) -> Vec<(&Frame, Vec<String>)> {
    let commands: Vec<&Frame> = frames
        .iter()
        .filter(|frame| frame.kind == Kind::Command && frame.direction == Direction::ToTarget)
        .collect();
    let mut different: Vec<&Frame> = Vec::new();
    for command in &commands {
        if !different.iter().any(|other| is_repeat(other, command)) {
            different.push(command);
        }
    }
    // Of an id that stands for several calls it is not known which of them a message is about.
    let is_one = |own: &&&Frame| different.iter().filter(|other| id_of(other) == id_of(own)).count() == 1;
    let is_answered = |command: &Frame| is_answered(frames, revision(command), id_of(command));
    let unanswered = different.iter().filter(|command| !is_answered(command)).count();
    different
        .iter()
        .filter(is_one)
        // A report that names no call can be the answer to any that has none.
        .filter(|own| is_answered(own) || unanswered == 1)
        .map(|own| (*own, names(&different, own)))
        .collect()
}

/// The id of the call that a command makes.
fn id_of(command: &Frame) -> Option<&str> {
    revision(command).sent(command, "tool_call_id")
}

/// The revision in which a command was sent.
fn revision(command: &Frame) -> Revision {
    command.token(1).map(Revision::of).unwrap_or_default()
}

/// Whether a command is the same as an earlier one. The like in another project is not.
fn is_repeat(other: &Frame, command: &Frame) -> bool {
    let has_headers = revision(command) == Revision::V1r4;
    other.token(2) == command.token(2)
        && other.body == command.body
        && (!has_headers || other.headers == command.headers)
}

/// Whether a report names the call.
fn is_answered(frames: &[Frame], revision: Revision, id: Option<&str>) -> bool {
    id.is_some()
        && frames.iter().any(|frame| {
            frame.kind == Kind::Report
                && (revision.reported(frame, "tool_call_id") == id || frame.text("/correlation_id") == id)
        })
}

/// Ids and turns of all commands but this one.
fn names(commands: &[&Frame], own: &Frame) -> Vec<String> {
    let others = commands.iter().filter(|other| !is_repeat(other, own));
    let names = others.flat_map(|other| {
        let sent = |member| revision(other).sent(other, member);
        ["tool_call_id", "agent_turn_id"].into_iter().filter_map(sent)
    });
    let turn = revision(own).sent(own, "agent_turn_id");
    names.filter(|name| Some(*name) != turn).map(str::to_owned).collect()
}

/// Members of the payload of a command in `v1r4` (Guide r4 §1).
const PAYLOAD: [&str; 3] = ["tool_call_card_id", "tool_name", "after_execution"];
/// What stands for a text that nobody is expected to repeat, where it is not known which one that is.
const UNKNOWN: &str = "\u{1}";

/// The call that a command makes; nothing where it does not say whom it is from.
fn known(frames: &[Frame], command: &Frame, others: Vec<String>) -> Option<Known> {
    let revision = revision(command);
    let text = |member: &str| revision.sent(command, member).filter(|text| !text.is_empty());
    let id = text("tool_call_id")?;
    let has_ids = ["agent_id", "agent_turn_id"].into_iter().all(|member| text(member).is_some())
        && text("after_execution").is_some_and(|value| AFTER_EXECUTION.contains(&value))
        && match revision {
            Revision::V1r3 => command.body.get("turn_epoch").is_some_and(is_epoch),
            Revision::V1r4 => has_sound_headers(command),
        };
    if !has_ids {
        return None;
    }
    let trace = command.headers.get("traceparent").and_then(|header| Traceparent::parse(header))?;
    let is_builtin = subject::is_pmo_command(&command.channel);
    let card = shown(frames, command);
    let is_valid = card.is_some_and(|card| is_valid(command, card, is_builtin));
    let call = Call {
        tool: tool(command, is_builtin),
        tool_name: command.text("/tool_name").unwrap_or_default().to_owned(),
        subject: command.channel.clone(),
        tool_call_id: id.to_owned(),
        token: UNKNOWN.to_owned(),
        proof: Proof::Word(UNKNOWN.to_owned()),
        trace,
        headers: command.headers.clone(),
        command: revision.decode(command),
        misplaced: serde_json::Map::new(),
        revision,
        card: card.cloned().unwrap_or_default(),
        result_pointer: String::new(),
        volatile: Vec::new(),
        obstructed: false,
    };
    Some(Known { call, others, is_valid, found: Found::default(), has_own_card: OnceCell::new() })
}

/// Whether a command that says whom it is from is valid in all else, and so is its card.
fn is_valid(command: &Frame, card: &Value, is_builtin: bool) -> bool {
    let revision = revision(command);
    let text = |member: &str| revision.sent(command, member).filter(|text| !text.is_empty());
    let metadata = |member: &str| card["metadata"][member].as_str().filter(|text| !text.is_empty());
    // How a trace is spelt otherwise is left open.
    let is_trace =
        |text: &str| text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    text("tool_name").is_some()
        && (!is_builtin || text("step_id").is_some())
        && (revision == Revision::V1r3 || is_valid_in_v1r4(command, card))
        // What is to be refused need not be read as far as the card.
        && INLINE.into_iter().all(|member| command.body.get(member).is_none())
        && message::card_type(card) == Some("tool.call")
        && message::call_id(card) == text("tool_call_id")
        && metadata("agent_turn_id") == text("agent_turn_id")
        && ["step_id", "parent_step_id"].into_iter().all(|member| metadata(member).is_some())
        && metadata("trace_id").is_some_and(is_trace)
        && card["content"]["tool_name"].as_str() == text("tool_name")
        && card["content"]["arguments"].is_object()
}

/// Whether the headers of a command say what those of a command say, so that its answer can repeat them.
fn has_sound_headers(command: &Frame) -> bool {
    let sent = |member: &str| Revision::V1r4.sent(command, member);
    sent("turn_epoch").is_some_and(is_decimal)
        && sent("recursion_depth").is_none_or(is_decimal)
        && [("project_id", 2), ("channel_id", 3)]
            .into_iter()
            .all(|(member, token)| sent(member).is_none_or(|text| Some(text) == command.token(token)))
}

/// Whether nothing in a command permits its receiver to refuse it.
fn is_valid_in_v1r4(command: &Frame, card: &Value) -> bool {
    let payload = command.body.as_object();
    payload.is_some_and(|payload| payload.keys().all(|member| PAYLOAD.contains(&member.as_str())))
        && Revision::V1r4.sent(command, "step_id") == card["metadata"]["step_id"].as_str()
}

/// A whole number of at least 0.
fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// No document gives the epoch a type.
fn is_epoch(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| !text.is_empty())
}

/// The tool.call card of a command as the card store showed it.
fn shown<'a>(frames: &'a [Frame], command: &Frame) -> Option<&'a Value> {
    let reply = seen::card_shown(frames, command)?;
    let id = command.body.get("tool_call_card_id");
    let cards = reply.body.get("cards").and_then(Value::as_array);
    match cards {
        Some(cards) => cards.iter().find(|card| card.get("card_id") == id),
        None => Some(&reply.body),
    }
}

fn tool(command: &Frame, is_builtin: bool) -> Tool {
    let name = command.channel.rsplit('.').next().unwrap_or_default();
    match name {
        "delegate_async" if is_builtin => Tool::DelegateAsync,
        "launch_principal" if is_builtin => Tool::LaunchPrincipal,
        "ask_expert" if is_builtin => Tool::AskExpert,
        "fork_join" if is_builtin => Tool::ForkJoin,
        _ if is_builtin => Tool::ProvisionAgent,
        _ => Tool::Echo,
    }
}
