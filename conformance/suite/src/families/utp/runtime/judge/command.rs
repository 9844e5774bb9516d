//! What a worker sends: subject and payload of a command, and the tool.call card that it points to (UTP §4.1).

use serde_json::Value;

use super::{command, header, meaningless};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::judge::seen::saved_cards;
use crate::families::utp::message;
use crate::families::utp::message::{card_type, mentions, whole};
use crate::families::utp::revision::Revision;
use crate::families::utp::runtime::model::SUBMIT;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::turn::{ToolCall, Turn, is_model_id};
use crate::families::utp::runtime::view::View;
use crate::families::utp::subject;
use crate::transcript::{Frame, Kind};

/// The values of `after_execution` (UTP §3.1).
const AFTER_EXECUTION: [&str; 2] = ["suspend", "terminate"];
/// The built-ins of a PMO (UTP §4.1).
const BUILTINS: [&str; 5] =
    ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent"];
/// What a command does not carry (UTP §4.1).
const INLINE: [&str; 3] = ["args", "arguments", "result"];

/// The command went to the row's `target_subject`, its placeholders filled in.
pub fn is_on_target_subject(frames: &[Frame], view: View<'_>) -> Judgement {
    let frame = command(frames, view)?;
    let expected = subject::expand(&view.call.row.target_subject, view.project, &view.turn.channel);
    if frame.channel == expected {
        return Ok(());
    }
    Err(misdirected(frame, &expected).into())
}

/// Nothing of the call went anywhere else. `calls` are those of the scenario: what another one of them sends to its own
/// tool is not this call's, whatever id it has: ids have a rule of their own (UTP-4.1-07, UTP-4.1-15).
pub fn is_nowhere_else(frames: &[Frame], view: View<'_>, calls: &[ToolCall]) -> Judgement {
    let subject_of =
        |call: &ToolCall| subject::expand(&call.row.target_subject, view.project, &view.turn.channel);
    let expected = subject_of(view.call);
    let revision = view.turn.revision;
    let id = revision.sent(command(frames, view)?, "tool_call_id");
    let is_its_command =
        |frame: &Frame, call| command(frames, View { call, ..view }).is_ok_and(|own| own.n == frame.n);
    let is_anothers = |frame: &Frame| {
        let mut others = calls.iter().filter(|call| subject_of(call) == frame.channel);
        others.any(|call| {
            id.is_none() || revision.sent(frame, "tool_call_id") != id || is_its_command(frame, call)
        })
    };
    let stray =
        seen::commands(frames, view.turn).find(|frame| frame.channel != expected && !is_anothers(frame));
    stray.map_or(Ok(()), |frame| Err(misdirected(frame, &expected).into()))
}

fn misdirected(frame: &Frame, expected: &str) -> Finding {
    Finding::new(
        "a command went to another subject than its tool is registered under",
        "publish on `target_subject` of the tool's row, with `{project_id}` and `{channel_id}` filled in; \
         do not build the subject from the tool's name",
    )
    .expected(expected)
    .actual(Some(&Value::from(frame.channel.clone())))
    .frame(frame)
}

/// The subject has the usual form, with the turn's project and channel.
pub fn has_usual_form(frames: &[Frame], view: View<'_>) -> Judgement {
    is_usual(command(frames, view)?, (view.project, &view.turn.channel))
}

/// The subject of a command has the usual form, with this project and channel.
pub fn is_usual(frame: &Frame, (project, channel): (&str, &str)) -> Judgement {
    let usual = subject::is_tool_command(&frame.channel)
        && frame.token(2) == Some(project)
        && frame.token(3) == Some(channel);
    if usual {
        return Ok(());
    }
    Err(Finding::new(
        "the subject of the command has not the usual form of a tool command",
        "publish on `cg.<ver>.<project_id>.<channel_id>.cmd.tool.<target>…`",
    )
    .expected(format!("cg.<ver>.{project}.{channel}.cmd.tool.<target>"))
    .actual(Some(&Value::from(frame.channel.clone())))
    .frame(frame)
    .into())
}

/// Token `index` of the subject is what it should be.
pub fn has_token(frames: &[Frame], view: View<'_>, index: usize, expected: &str) -> Judgement {
    token_is(command(frames, view)?, index, expected)
}

/// Token `index` of the subject of a command is what it should be.
pub fn token_is(frame: &Frame, index: usize, expected: &str) -> Judgement {
    if frame.token(index) == Some(expected) {
        return Ok(());
    }
    Err(Finding::new(
        "a placeholder of the registered subject was not filled in with the value of the call",
        "replace `{project_id}` and `{channel_id}` in `target_subject` by project and channel of the turn",
    )
    .expected(expected)
    .actual(frame.token(index).map(Value::from).as_ref())
    .frame(frame)
    .into())
}

/// The command carries a member, with its meaning for the call.
pub fn carries(frames: &[Frame], view: View<'_>, member: &str) -> Judgement {
    let frame = command(frames, view)?;
    let (turn, token) = (view.turn, Some(view.call.argument_token.as_str()));
    let known = Known { revision: turn.revision, token, prefix: &turn.prefix };
    let expected: Value = match member {
        "agent_id" => turn.agent_id.clone().into(),
        "agent_turn_id" => turn.id.clone().into(),
        "turn_epoch" => turn.epoch.clone(),
        "channel_id" => turn.channel.clone().into(),
        "recursion_depth" => turn.depth.into(),
        "tool_call_id" => {
            has_something(frame, member, turn.revision)?;
            return names_its_call(frames, view, frame);
        }
        _ => return has(frames, frame, member, known),
    };
    has(frames, frame, member, known)?;
    let value = turn.revision.sent_value(frame, member).as_ref().map(whole);
    let expected = turn.revision.repeated(member, Some(&expected)).unwrap_or_default();
    let has_gone_on = || view.call.round > 0 || seen::is_reported_before(frames, turn, frame.n);
    let is_counted_up = || {
        let value = value.as_ref().filter(|value| value.is_string() == expected.is_string());
        let numbers = value.and_then(number).zip(number(&expected));
        member == "turn_epoch" && has_gone_on() && numbers.is_some_and(|(own, least)| own >= least)
    };
    if value.as_ref() == Some(&expected) || expected.is_null() || is_counted_up() {
        return Ok(());
    }
    Err(meaningless(frame, member, turn.revision).expected(expected).into())
}

/// A whole number, in JSON or in a header. An epoch may be counted up when a turn goes on (UTP §4.1, "current").
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// What is known of a command whichever call it is of.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// In which it is written.
    pub revision: Revision,
    /// Word of the call that it is for; a card that holds it is shown where the command points to none.
    pub token: Option<&'a str>,
    /// What ids of the run begin with.
    pub prefix: &'a str,
}

/// A command carries a member, with what can be said of it whichever call it is of.
pub fn has(frames: &[Frame], frame: &Frame, member: &str, known: Known<'_>) -> Judgement {
    let Known { revision, token, prefix } = known;
    has_something(frame, member, revision)?;
    let text = revision.sent(frame, member);
    let card = || frame.text("/tool_call_card_id").and_then(|card| seen::saved(frames, card));
    let expected = match member {
        "tool_call_id" => {
            let is_known =
                text.is_some_and(|id| is_model_id(id, prefix)) || text == card().and_then(message::call_id);
            (!is_known || text.is_none()).then_some("the id of the call in its tool.call card")
        }
        "after_execution" => {
            let is_known = text.is_some_and(|own| AFTER_EXECUTION.contains(&own));
            (!is_known).then_some("suspend or terminate")
        }
        "tool_call_card_id" => {
            if text.is_some_and(|id| seen::saved(frames, id).is_some()) {
                return Ok(());
            }
            let finding = meaningless(frame, member, revision).expected("the id of a card that was saved");
            let own = saved_cards(frames)
                .filter(|(_, card)| token.is_some_and(|token| mentions(card, token)))
                .last();
            return Err(super::with(finding, own.map(|(frame, _)| frame)).into());
        }
        _ if revision == Revision::V1r4 => return header::agrees(frame, member, card()),
        _ => None,
    };
    expected.map_or(Ok(()), |expected| Err(meaningless(frame, member, revision).expected(expected).into()))
}

fn has_something(frame: &Frame, member: &str, revision: Revision) -> Judgement {
    let value = revision.sent_value(frame, member);
    let is_empty = value
        .as_ref()
        .is_none_or(|value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty()));
    if !is_empty {
        return Ok(());
    }
    let (hint, place) = match revision.header(member) {
        None => (format!("put `{member}` into the payload of every command"), format!("/{member}")),
        Some(name) => (header::hint(name), format!("header {name}")),
    };
    Err(Finding::new(format!("the command does not carry `{member}`"), hint)
        .actual(value.as_ref())
        .at(place)
        .frame(frame)
        .expected("a value")
        .into())
}

/// The id is the model's, or that of the tool.call card.
fn names_its_call(frames: &[Frame], view: View<'_>, frame: &Frame) -> Judgement {
    let revision = view.turn.revision;
    let id = revision.sent(frame, "tool_call_id");
    let card = frame.text("/tool_call_card_id").and_then(|card| seen::saved(frames, card));
    let of_card = card.and_then(message::call_id);
    if id == Some(view.call.model_id.as_str()) || (id.is_some() && id == of_card) {
        return Ok(());
    }
    Err(meaningless(frame, "tool_call_id", revision).expected(view.call.model_id.clone()).into())
}

/// A command that points to a card.
struct Pointing<'a> {
    frame: &'a Frame,
    /// The number of its turn, and its id.
    call: (usize, Option<&'a str>),
    card: &'a str,
}

/// No two calls of these turns share a tool.call card: a card is of one call (UTP §4.1).
pub fn point_to_own_cards(frames: &[Frame], turns: &[Turn]) -> Judgement {
    let of_turn = |turn: &Turn| {
        let (revision, number) = (turn.revision, turn.number);
        seen::commands(frames, turn).filter_map(move |frame| {
            let card = frame.text("/tool_call_card_id")?;
            Some(Pointing { frame, call: (number, revision.sent(frame, "tool_call_id")), card })
        })
    };
    let pointing: Vec<Pointing<'_>> = turns.iter().flat_map(of_turn).collect();
    if pointing.len() < 2 {
        return Err(CheckFailure::NotObserved("fewer than two commands point to a card".to_owned()));
    }
    let shared = pointing.iter().enumerate().find(|(index, own)| {
        let earlier = &pointing[..*index];
        earlier
            .iter()
            .any(|other| other.frame.n != own.frame.n && other.call != own.call && other.card == own.card)
    });
    let Some((_, Pointing { frame, card, .. })) = shared else { return Ok(()) };
    Err(Finding::new(
        "two calls point to the same tool.call card",
        "save a tool.call card for every call of the model, also where tool and arguments are the same, or the id that \
         the model gives",
    )
    .expected("a card of its own for each call")
    .actual(Some(&Value::from(*card)))
    .at("/tool_call_card_id")
    .frame(frame)
    .into())
}

/// The member has the value under which the tool is registered.
pub fn follows_registration(frames: &[Frame], view: View<'_>) -> Judgement {
    let frame = command(frames, view)?;
    let value = frame.body.get("after_execution");
    if value.and_then(Value::as_str) == Some(&view.call.row.after_execution) {
        return Ok(());
    }
    Err(Finding::new(
        "the command's `after_execution` is not the one under which the tool is registered",
        "take `after_execution` from the tool's row in `resource.tools`",
    )
    .expected(view.call.row.after_execution.clone())
    .actual(value)
    .at("/after_execution")
    .frame(frame)
    .into())
}

/// The payload holds no parameters.
pub fn inlines_nothing(frame: &Frame) -> Judgement {
    let Some(member) = INLINE.into_iter().find(|member| frame.body.get(*member).is_some()) else {
        return Ok(());
    };
    Err(Finding::new(
        format!("the command carries `{member}` inline"),
        "leave parameters in the tool.call card; the command points to it",
    )
    .expected("no such member")
    .actual(frame.body.get(member))
    .at(format!("/{member}"))
    .frame(frame)
    .into())
}

/// The card was there, under the call's id, when the command came.
pub fn card_is_readable(frames: &[Frame], frame: &Frame, revision: Revision) -> Judgement {
    let Some(id) = frame.text("/tool_call_card_id") else {
        return Err(CheckFailure::NotObserved("the command points to no card".to_owned()));
    };
    let earlier = frames.iter().take_while(|own| own.n < frame.n);
    let before: Vec<Frame> = earlier.filter(|own| own.kind == Kind::CardSave).cloned().collect();
    let hint = "save the tool.call card, wait for the store's answer, then publish the command";
    let Some(card) = seen::saved(&before, id) else {
        return Err(Finding::new("the tool.call card was not there when the command came", hint)
            .expected("a saved card")
            .actual(Some(&Value::from(id)))
            .at("/tool_call_card_id")
            .frame(frame)
            .into());
    };
    let (own, id) = (message::call_id(card), revision.sent(frame, "tool_call_id"));
    if own == id && card_type(card) == Some("tool.call") {
        return Ok(());
    }
    let finding = Finding::new(
        "the card behind the command is not the tool.call card of the call",
        "save the card with `type` `tool.call` and with the `tool_call_id` that the command names",
    )
    .expected(serde_json::json!({"type": "tool.call", "tool_call_id": id}))
    .actual(Some(&serde_json::json!({"type": card_type(card), "tool_call_id": own})))
    .at("/card");
    let saving = saved_cards(frames).filter(|(_, own)| own.get("card_id") == card.get("card_id")).last();
    Err(super::with(finding, saving.map(|(frame, _)| frame)).frame(frame).into())
}

/// The card's content is a `ToolCallContent`.
pub fn card_is_typed(frames: &[Frame], frame: &Frame) -> Judgement {
    let Some(card) = frame.text("/tool_call_card_id").and_then(|id| seen::saved(frames, id)) else {
        return Err(CheckFailure::NotObserved("the command points to no saved card".to_owned()));
    };
    let content = &card["content"];
    let tagged = content.get("__type__").is_none_or(|tag| tag == "ToolCallContent");
    if tagged && content["tool_name"].is_string() && content["arguments"].is_object() {
        return Ok(());
    }
    let saving = saved_cards(frames).filter(|(_, own)| own.get("card_id") == card.get("card_id")).last();
    Err(super::with(
        Finding::new(
            "the content of the tool.call card is not a `ToolCallContent`",
            "store `tool_name` as a string and `arguments` as an object, not the model's text",
        )
        .expected(serde_json::json!({"tool_name": "…", "arguments": {}}))
        .actual(Some(content))
        .at("/card/content"),
        saving.map(|(frame, _)| frame),
    )
    .into())
}

/// The tool that a command calls, by its card or by its own word.
fn called<'a>(frames: &'a [Frame], frame: &'a Frame) -> Option<&'a str> {
    let card = frame.text("/tool_call_card_id").and_then(|id| seen::saved(frames, id));
    let of_card = card.and_then(|card| card.pointer("/content/tool_name")?.as_str());
    of_card.or_else(|| frame.text("/tool_name"))
}

/// Whether a command calls a built-in of the PMO, by what it says or by where it goes.
pub fn is_of_the_pmo(frames: &[Frame], frame: &Frame) -> bool {
    subject::is_pmo_command(&frame.channel)
        || called(frames, frame).is_some_and(|tool| BUILTINS.contains(&tool))
}

/// A command that calls a built-in of the PMO goes out on the PMO's subject for it.
pub fn is_on_subject_of_builtin(
    frames: &[Frame],
    frame: &Frame,
    (project, channel): (&str, &str),
) -> Judgement {
    let Some(builtin) = called(frames, frame).filter(|tool| BUILTINS.contains(tool)) else {
        return Err(CheckFailure::NotObserved("the command calls no built-in".to_owned()));
    };
    let rest = subject::expand(&subject::builtin("", builtin), project, channel);
    let own = frame.token(1).map(|version| rest.replacen("cg.", &format!("cg.{version}"), 1));
    if own.as_ref() == Some(&frame.channel) {
        return Ok(());
    }
    Err(misdirected(frame, &rest.replacen("cg.", "cg.<ver>", 1)).into())
}

/// A command does not call `submit_result`.
pub fn is_no_submission(frames: &[Frame], frame: &Frame) -> Judgement {
    if called(frames, frame) != Some(SUBMIT) && frame.channel.rsplit('.').next() != Some(SUBMIT) {
        return Ok(());
    }
    Err(submitted(frame).into())
}

fn submitted(frame: &Frame) -> Finding {
    Finding::new(
        "`submit_result` went out as a command",
        "handle `submit_result` inside the worker: it ends the turn and needs no tool",
    )
    .expected("no command")
    .actual(Some(&Value::from(frame.channel.clone())))
    .frame(frame)
}

/// `submit_result` was not sent to anyone, under whatever name: nothing went out but the commands of these calls, and
/// these perhaps more than once.
pub fn submits_nothing(frames: &[Frame], project: &str, turn: &Turn, calls: &[ToolCall]) -> Judgement {
    let own: Vec<&Frame> =
        calls.iter().filter_map(|call| seen::command(frames, project, turn, call)).collect();
    let id = |frame: &Frame| turn.revision.sent(frame, "tool_call_id").map(str::to_owned);
    let is_own = |frame: &Frame| {
        own.iter().any(|own| {
            let is_repeated = own.channel == frame.channel
                && id(own).is_some()
                && id(own) == id(frame)
                && own.text("/tool_call_card_id") == frame.text("/tool_call_card_id");
            own.n == frame.n || is_repeated
        })
    };
    match frames.iter().find(|frame| frame.kind == Kind::Command && !is_own(frame)) {
        None => Ok(()),
        Some(frame) => {
            is_no_submission(frames, frame)?;
            Err(Finding::new(
                "a command went out for which the model made no call",
                "send one command for each call of the model, again only under the same id and with the same card, and \
                 none for `submit_result`, under whatever name",
            )
            .expected("no command")
            .actual(Some(&Value::from(frame.channel.clone())))
            .frame(frame)
            .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::utp::runtime::turn::Row;

    fn frame(n: u32, kind: Kind, channel: &str, body: Value) -> Frame {
        let (direction, headers) = (Direction::FromTarget, BTreeMap::new());
        Frame { n, at_us: 0, direction, kind, channel: channel.to_owned(), headers, body }
    }

    /// A turn and its call, and the subject of the call's tool.
    fn called() -> (Turn, ToolCall, &'static str) {
        let turn = Turn { epoch: json!(1), ..Turn::observed(Revision::V1r3, "mark", "ag", "turn") };
        let row = Row::external("v1r3", "tides", "tides.run", "suspend");
        let channel = "cg.v1r3.prj.public.cmd.tool.tides.run";
        (Turn { channel: "public".to_owned(), ..turn }, ToolCall::observed("call", row), channel)
    }

    fn sent(n: u32, channel: &str, id: &str, epoch: u32) -> Frame {
        let body = json!({
            "agent_id": "ag", "agent_turn_id": "turn", "turn_epoch": epoch, "tool_call_id": id,
            "tool_call_card_id": format!("card_{id}"), "tool_name": "tides",
        });
        frame(n, Kind::Command, channel, body)
    }

    #[test]
    fn a_command_that_is_sent_again_submits_nothing() {
        let (turn, call, channel) = called();
        let begun = frame(1, Kind::TurnStart, "", json!({"text": "mark"}));
        let check = |second: Frame| {
            let frames = [begun.clone(), sent(2, channel, "call", 1), second];
            submits_nothing(&frames, "prj", &turn, std::slice::from_ref(&call)).is_ok()
        };
        assert!(check(sent(3, channel, "call", 1)));
        assert!(!check(sent(3, channel, "another", 1)));
        assert!(!check(sent(3, "cg.v1r3.prj.public.cmd.tool.tides.end", "call", 1)));
    }

    #[test]
    fn an_epoch_may_be_counted_up_when_the_turn_goes_on() {
        let (turn, call, channel) = called();
        let begun = frame(1, Kind::TurnStart, "", json!({"text": "mark"}));
        let check = |turn: &Turn, round: usize, epoch: Value| {
            let call = ToolCall { round, ..call.clone() };
            let mut command = sent(2, channel, "call", 1);
            command.body["turn_epoch"] = epoch;
            let view = View { project: "prj", version: "v1r3", turn, call: &call };
            carries(&[begun.clone(), command], view, "turn_epoch").is_ok()
        };
        assert_eq!([1, 2, 0].map(|epoch| check(&turn, 0, json!(epoch))), [true, false, false]);
        assert_eq!([1, 2, 0].map(|epoch| check(&turn, 1, json!(epoch))), [true, true, false]);
        // Counted up is a number only, and in the form in which the runtime gave it.
        assert!(!check(&turn, 1, json!("2")));
        let named = Turn { epoch: json!("first"), ..turn.clone() };
        assert!(check(&named, 1, json!("first")) && !check(&named, 1, json!("second")));
        // So may it be between two calls of one answer, where a worker makes the second when the first is answered.
        let view = View { project: "prj", version: "v1r3", turn: &turn, call: &call };
        let report = |turn: &str| frame(1, Kind::Report, "", json!({"payload": {"agent_turn_id": turn}}));
        let after = |turn: &str| [begun.clone(), report(turn), sent(2, channel, "call", 2)];
        assert!(carries(&after("turn"), view, "turn_epoch").is_ok());
        assert!(carries(&after("other"), view, "turn_epoch").is_err());
    }
}
