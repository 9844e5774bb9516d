//! What a transcript shows of a turn: commands, requests to the model, its end, its Inbox.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::{ROUND, TURN};
use super::turn::{ARGUMENT_TOKEN, ToolCall, Turn, is_model_id};
use crate::families::utp::judge::seen::saved_cards;
use crate::families::utp::message::{card_type, mentions};
use crate::families::utp::revision::{Revision, header};
use crate::families::utp::subject;
use crate::transcript::{Frame, Kind};

/// The header that names the call of a report since `v1r4`.
const CALL: &str = "CG-Tool-Call-Id";
/// Words of a status that mean a success and nothing else.
pub const SUCCESS: [&str; 4] = ["success", "succeeded", "successful", "ok"];

/// What became of a turn after a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Behaviour {
    /// The model was asked again.
    Next,
    /// The turn ended without that.
    End,
    /// Neither.
    Stays,
}

impl Behaviour {
    /// In a finding.
    pub fn text(self) -> &'static str {
        match self {
            Self::Next => "the model is asked again",
            Self::End => "the turn ends",
            Self::Stays => "the turn neither goes on nor ends",
        }
    }
}

/// The commands of a turn, in order.
pub fn commands<'a>(frames: &'a [Frame], turn: &Turn) -> impl Iterator<Item = &'a Frame> + use<'a> {
    let (revision, id, agent) = (turn.revision, turn.id.clone(), turn.agent_id.clone());
    frames.iter().filter(|frame| frame.kind == Kind::Command).filter(move |frame| {
        revision.sent(frame, "agent_turn_id").is_none_or(|own| own == id)
            && revision.sent(frame, "agent_id").is_none_or(|own| own == agent)
    })
}

/// Whether a result of the turn was reported before a message: what comes then, the turn may do as it goes on.
pub fn is_reported_before(frames: &[Frame], turn: &Turn, n: u32) -> bool {
    let is_own = |frame: &Frame| turn.revision.reported(frame, "agent_turn_id") == Some(turn.id.as_str());
    frames.iter().any(|frame| frame.kind == Kind::Report && frame.n < n && is_own(frame))
}

/// The command that a call of the model came out as.
///
/// By its id, else by the arguments in its card, by where it was sent, or by its tool: a command with one fault is still
/// that call's. What came before the turn was started is none of it.
pub fn command<'a>(frames: &'a [Frame], project: &str, turn: &Turn, call: &ToolCall) -> Option<&'a Frame> {
    let begun = |frame: &Frame| frame.kind == Kind::TurnStart && mentions(&frame.body, &turn.mark);
    let since = frames.iter().position(begun)?;
    let all = || frames[since..].iter().filter(|frame| frame.kind == Kind::Command);
    let expected = subject::expand(&call.row.target_subject, project, &turn.channel);
    let of_turn = |frame: &Frame| {
        turn.revision.sent(frame, "agent_turn_id").is_none_or(|own| own.is_empty() || own == turn.id)
    };
    let id = |frame: &Frame| turn.revision.sent(frame, "tool_call_id") == Some(call.model_id.as_str());
    let sent = |frame: &Frame| frame.channel == expected;
    let named = |frame: &Frame| frame.text("/tool_name") == Some(call.row.tool_name.as_str());
    let card = |frame: &Frame| saved(frames, frame.text("/tool_call_card_id")?);
    let carded = |frame: &Frame| card(frame).is_some_and(|card| mentions(card, &call.argument_token));
    // Another call may be of the same tool.
    let carded_otherwise = |frame: &Frame| {
        let holds = |word: &str| card(frame).is_some_and(|card| mentions(card, word));
        holds(ARGUMENT_TOKEN) && !holds(&call.argument_token)
    };
    // Ids that the suite's model made up distinguish calls; a worker may have ids of its own.
    let foreign = |frame: &Frame| {
        let own = turn.revision.sent(frame, "tool_call_id");
        carded_otherwise(frame)
            || own.is_some_and(|own| own != call.model_id && is_model_id(own, &turn.prefix))
    };
    all()
        .find(|frame| of_turn(frame) && id(frame) && sent(frame))
        .or_else(|| all().find(|frame| of_turn(frame) && carded(frame)))
        .or_else(|| all().find(|frame| of_turn(frame) && sent(frame) && !foreign(frame)))
        .or_else(|| all().find(|frame| id(frame) && !carded_otherwise(frame)))
        .or_else(|| all().find(|frame| of_turn(frame) && named(frame) && !foreign(frame)))
}

/// The last saved version of a card.
pub fn saved<'a>(frames: &'a [Frame], card_id: &str) -> Option<&'a Value> {
    let own = |card: &&Value| card.get("card_id").and_then(Value::as_str) == Some(card_id);
    saved_cards(frames).map(|(_, card)| card).filter(own).last()
}

/// The tool.call card that the command of a call points to.
pub fn call_card<'a>(frames: &'a [Frame], call: &ToolCall) -> Option<&'a Value> {
    saved(frames, call.command.as_ref()?.get("tool_call_card_id")?.as_str()?)
}

/// The report of a call: the nth that the suite made, from 0.
pub fn report<'a>(frames: &'a [Frame], call: &ToolCall, nth: usize) -> Option<&'a Frame> {
    let card = call.card.get("card_id").and_then(Value::as_str);
    frames
        .iter()
        .filter(|frame| frame.kind == Kind::Report)
        .filter(|frame| {
            frame.text("/correlation_id") == Some(call.id())
                || frame.text("/payload/tool_call_id") == Some(call.id())
                || header(&frame.headers, CALL) == Some(call.id())
                || frame.text("/payload/tool_result_card_id") == card
        })
        .nth(nth)
}

/// Requests to the model in a turn that have at least one round of calls behind them: the turn went on.
pub fn nexts<'a>(frames: &'a [Frame], turn: &'a Turn) -> impl Iterator<Item = &'a Frame> {
    requests_with_tools(frames, turn)
        .filter(|frame| frame.headers.get(ROUND).is_some_and(|round| round != "0"))
}

/// What shows that a turn went on or ended after a call.
pub fn goings_on<'a>(frames: &'a [Frame], turn: &'a Turn) -> impl Iterator<Item = &'a Frame> {
    nexts(frames, turn).chain(end(frames, turn))
}

/// All requests to the model in a turn.
pub fn requests<'a>(frames: &'a [Frame], turn: &'a Turn) -> impl Iterator<Item = &'a Frame> {
    frames
        .iter()
        .filter(|frame| frame.kind == Kind::Model)
        .filter(|frame| frame.headers.get(TURN) == Some(&turn.mark))
}

/// Requests to the model in a turn that offer tools.
pub fn requests_with_tools<'a>(frames: &'a [Frame], turn: &'a Turn) -> impl Iterator<Item = &'a Frame> {
    requests(frames, turn).filter(|frame| {
        frame.body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
    })
}

/// Messages of the role `tool` in a request to the model since the turn's instruction.
pub fn tool_messages<'a>(request: &'a Frame, turn: &Turn) -> Vec<&'a Value> {
    let Some(messages) = request.body.get("messages").and_then(Value::as_array) else { return Vec::new() };
    let begin =
        messages.iter().rposition(|message| message["role"] == "user" && mentions(message, &turn.mark));
    messages.iter().skip(begin.unwrap_or_default()).filter(|message| message["role"] == "tool").collect()
}

/// The messages of the role `tool` that answer a call.
pub fn results_of<'a>(request: &'a Frame, turn: &Turn, call: &ToolCall) -> Vec<&'a Value> {
    let answers = |message: &&Value| {
        let id = message.get("tool_call_id").and_then(Value::as_str);
        id == Some(call.model_id.as_str()) || id == Some(call.id())
    };
    tool_messages(request, turn).into_iter().filter(answers).collect()
}

/// What shows that a turn is over: its task event, or its deliverable.
pub fn end<'a>(frames: &'a [Frame], turn: &Turn) -> Option<&'a Frame> {
    task(frames, turn).or_else(|| deliverable(frames, turn))
}

/// The task event of a turn.
pub fn task<'a>(frames: &'a [Frame], turn: &Turn) -> Option<&'a Frame> {
    tasks(frames, turn).next()
}

/// All task events of a turn.
pub fn tasks<'a>(frames: &'a [Frame], turn: &Turn) -> impl Iterator<Item = &'a Frame> {
    let (revision, id, agent) = (turn.revision, turn.id.clone(), turn.agent_id.clone());
    frames.iter().filter(|frame| frame.kind == Kind::Task).filter(move |frame| {
        // One that lacks the header is still the turn's that its payload names.
        match revision.sent(frame, "agent_turn_id").or_else(|| frame.text("/agent_turn_id")) {
            Some(own) => own == id,
            None => frame.token(6) == Some(&agent),
        }
    })
}

/// The card with the deliverable of a turn, as it was saved.
pub fn deliverable<'a>(frames: &'a [Frame], turn: &Turn) -> Option<&'a Frame> {
    deliverables(frames, turn).next()
}

/// All saved deliverables of a turn: those that name it, and those that its task event points to. One that names no turn
/// may be anybody's.
pub fn deliverables<'a>(frames: &'a [Frame], turn: &Turn) -> impl Iterator<Item = &'a Frame> {
    let id = turn.id.clone();
    let pointed: Vec<&str> =
        tasks(frames, turn).filter_map(|task| task.text("/deliverable_card_id")).collect();
    saved_cards(frames)
        .filter(|(_, card)| card_type(card) == Some("task.deliverable"))
        .filter(move |(_, card)| {
            let named = card.pointer("/metadata/agent_turn_id").or_else(|| card.get("agent_turn_id"));
            match named.and_then(Value::as_str) {
                Some(named) => named == id,
                None => card.get("card_id").and_then(Value::as_str).is_some_and(|own| pointed.contains(&own)),
            }
        })
        .map(|(frame, _)| frame)
}

/// Whether the end of a turn says that it failed. One that calls itself a success did not fail, whatever `error` holds.
pub fn failed(end: &Frame) -> bool {
    let status = end.text("/status").unwrap_or_default().to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| status.contains(word));
    says(&["fail", "error", "cancel", "timeout", "timed", "abort"])
        || (!SUCCESS.contains(&status.as_str()) && end.member("/error").is_some_and(is_error))
}

/// Whether the value of a member `error` says that there is one.
pub fn is_error(error: &Value) -> bool {
    match error {
        Value::Null => false,
        Value::Bool(failed) => *failed,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Number(_) => true,
    }
}

/// The records of the agent's Inbox that belong to a call, of the last time that it was read.
pub fn records<'a>(frames: &'a [Frame], call: &'a ToolCall) -> Vec<&'a Frame> {
    let listed = frames.iter().rposition(|frame| frame.kind == Kind::InboxList).unwrap_or_default();
    frames[listed..]
        .iter()
        .filter(|frame| frame.kind == Kind::InboxRecord)
        .filter(|frame| {
            let card = call.card.get("card_id").and_then(Value::as_str);
            frame.text("/correlation_id") == Some(call.id())
                || frame.text("/payload/tool_call_id") == Some(call.id())
                || frame.text("/context/tool_call_id") == Some(call.id())
                || (card.is_some() && frame.text("/payload/tool_result_card_id") == card)
        })
        .collect()
}

/// Wakeups of an agent that the target published after the first report of a call.
pub fn wakeups<'a>(frames: &'a [Frame], turn: &'a Turn, call: &ToolCall) -> impl Iterator<Item = &'a Frame> {
    let since = report(frames, call, 0).map_or(u32::MAX, |frame| frame.n);
    frames
        .iter()
        .filter(|frame| frame.kind == Kind::Wakeup)
        .filter(move |frame| frame.n > since)
        .filter(|frame| woken(frame, turn.revision).is_none_or(|own| own == turn.agent_id))
}

/// Whom a wakeup is for. One that lacks the header may still say so in its payload.
pub fn woken(wakeup: &Frame, revision: Revision) -> Option<&str> {
    revision.sent(wakeup, "agent_id").or_else(|| wakeup.text("/agent_id"))
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::utp::project_name::ProjectName;

    fn turn() -> Turn {
        let name = ProjectName {
            prefix: String::new(),
            unique: "u".to_owned(),
            stable: "s".to_owned(),
            suffix: String::new(),
        };
        Turn::new(Revision::V1r3, &name, 1, "mark-u-1".to_owned())
    }

    fn frame(kind: Kind, body: Value) -> Frame {
        Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind,
            channel: "cg.v1r3.prj.public.evt.agent.ag_pilot.task".to_owned(),
            headers: std::collections::BTreeMap::new(),
            body,
        }
    }

    #[test]
    fn a_success_with_an_error_has_not_failed() {
        let error = json!({"code": "quota_exceeded"});
        for (status, error, expect) in [
            (json!("success"), error.clone(), false),
            (json!("Success"), error.clone(), false),
            (json!("failed"), Value::Null, true),
            // It may mean that the turn is over.
            (json!("completed"), error.clone(), true),
            (Value::Null, error, true),
            (json!("completed"), json!({}), false),
            (json!("success"), Value::Null, false),
        ] {
            let end = frame(Kind::Task, json!({"status": status, "error": error}));
            assert_eq!(failed(&end), expect, "{}", end.body);
        }
    }

    #[test]
    fn a_deliverable_belongs_to_the_turn_that_it_names_or_that_points_to_it() {
        let turn = turn();
        let card = |metadata: Value| {
            let card = json!({"card_id": "card_d", "type": "task.deliverable", "metadata": metadata});
            frame(Kind::CardSave, json!({"card": card}))
        };
        let event =
            |id: &str| frame(Kind::Task, json!({"agent_turn_id": turn.id, "deliverable_card_id": id}));
        for (frames, expect) in [
            (vec![card(json!({"agent_turn_id": turn.id}))], 1),
            (vec![card(json!({"agent_turn_id": "another"}))], 0),
            (vec![card(json!({}))], 0),
            (vec![card(json!({})), event("card_d")], 1),
            (vec![event("card_other"), card(json!({}))], 0),
        ] {
            assert_eq!(deliverables(&frames, &turn).count(), expect, "{frames:?}");
        }
    }
}
