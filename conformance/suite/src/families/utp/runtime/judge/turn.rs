//! How a turn goes on or ends after a result (UTP §3).

use serde_json::Value;

use super::with;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::judge::seen::saved_cards;
use crate::families::utp::message::{call_id, card_type, mentions};
use crate::families::utp::reason::Alternative;
use crate::families::utp::runtime::model::{LAST_WORDS, SUBMIT, TURN};
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::seen::Behaviour;
use crate::families::utp::runtime::turn::{ERROR_CODE, ERROR_MESSAGE, ToolCall, Turn};
use crate::families::utp::runtime::view::View;
use crate::transcript::{Frame, Kind};

/// The turn did what was expected of it.
pub fn does(frames: &[Frame], view: View<'_>, expected: Behaviour, seen: Behaviour) -> Judgement {
    if seen == expected {
        return Ok(());
    }
    let hint = match expected {
        Behaviour::Next => {
            "after the result of a `suspend` call give it to the model and go on with the turn"
        }
        Behaviour::End => "after the result of a `terminate` call end the turn and publish its task event",
        Behaviour::Stays => "leave the turn waiting",
    };
    let finding = Finding::new(format!("after the result {}", seen.text()), hint)
        .expected(expected.text())
        .actual(Some(&Value::from(seen.text())));
    Err(with(finding, seen::report(frames, view.call, 0)).into())
}

/// The turn did as after a plain call of this kind; `None` where plain calls of both kinds are followed by the same.
pub fn does_as(
    frames: &[Frame],
    view: View<'_>,
    (kind, expected): (&str, Behaviour),
    other: Behaviour,
    seen: Behaviour,
) -> Judgement {
    if expected == other {
        return Err(Alternative::LookAlike.seen_in(seen::goings_on(frames, view.turn)));
    }
    if seen == expected {
        return Ok(());
    }
    let finding = Finding::new(
        format!("the turn does not behave as after a plain `{kind}`: {}", seen.text()),
        "a valid `result.__cg_control.after_execution` wins over card and report; anything else leaves their value in force",
    )
    .expected(expected.text())
    .actual(Some(&Value::from(seen.text())));
    Err(with(finding, seen::report(frames, view.call, 0)).into())
}

/// What stands in another place than an override did not end the turn like a plain `terminate`; `suspend` and `terminate`
/// are what follows plain calls of these kinds.
pub fn is_no_override(
    frames: &[Frame],
    view: View<'_>,
    (suspend, terminate): (Behaviour, Behaviour),
    seen: Behaviour,
) -> Judgement {
    // Refusing such a card is fine too, and so a turn that ended for it as failed.
    let refused = || seen::task(frames, view.turn).is_some_and(seen::failed);
    if suspend != terminate && (seen != terminate || refused()) {
        return Ok(());
    }
    does_as(frames, view, ("suspend", suspend), terminate, seen)
}

/// The model was not asked again after the turn's end.
pub fn asks_no_more(frames: &[Frame], view: View<'_>) -> Judgement {
    let since = seen::report(frames, view.call, 0).map_or(0, |frame| frame.n);
    match seen::nexts(frames, view.turn).find(|frame| frame.n > since) {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the model was asked again although the result ends the turn",
            "end the turn with the result of a `terminate` call, without a further step of the model",
        )
        .expected("no further request to the model in this turn")
        .frame(frame)
        .into()),
    }
}

/// The turn's end points to a deliverable, or one was saved.
pub fn delivers(frames: &[Frame], view: View<'_>) -> Judgement {
    if points_to_a_card(frames, view.turn) || seen::deliverable(frames, view.turn).is_some() {
        return Ok(());
    }
    let finding = Finding::new(
        "the turn ended without a deliverable",
        "save a `task.deliverable` card for the turn, and point to it in the task event",
    )
    .expected("a card of type `task.deliverable`");
    Err(with(finding, seen::end(frames, view.turn)).into())
}

/// Whether a task event of the turn points to a card that was saved, of whatever type.
fn points_to_a_card(frames: &[Frame], turn: &Turn) -> bool {
    let saved = |frame: &Frame| {
        frame.text("/deliverable_card_id").is_some_and(|id| seen::saved(frames, id).is_some())
    };
    seen::tasks(frames, turn).any(saved)
}

/// The turn ended, not as a failure, and with what the model submitted as its deliverable.
pub fn is_submitted(frames: &[Frame], turn: &Turn) -> Judgement {
    let hint = "handle `submit_result` inside the worker, without a row of `resource.tools`: save what it submits as the \
                turn's deliverable and end the turn";
    let Some(end) = seen::end(frames, turn) else {
        return Err(Finding::new("the turn did not end after `submit_result`", hint)
            .expected("the turn's end, with a deliverable")
            .into());
    };
    let pointed = points_to_a_card(frames, turn);
    let failed = seen::task(frames, turn).is_some_and(seen::failed);
    if failed || !(pointed || seen::deliverable(frames, turn).is_some()) {
        return Err(Finding::new("the turn did not end with what was submitted", hint)
            .expected("a success with a deliverable")
            .actual(Some(&end.body))
            .frame(end)
            .into());
    }
    let Some((submission, words)) = submission(frames, turn) else { return Ok(()) };
    // What a deliverable looks like is not said, so any card of the turn's end may hold it, or the event itself.
    let mut later = frames.iter().filter(|frame| frame.n > submission.n);
    let is_end = |frame: &Frame| matches!(frame.kind, Kind::CardSave | Kind::Task);
    if later.any(|frame| is_end(frame) && mentions(&frame.body, words)) {
        return Ok(());
    }
    Err(Finding::new("the turn's deliverable is not what was submitted", hint)
        .expected(words)
        .actual(seen::deliverable(frames, turn).and_then(|frame| frame.body.pointer("/card/content")))
        .at("/card/content")
        .frame(seen::deliverable(frames, turn).unwrap_or(end))
        .into())
}

/// The answer of the model that submits the result of a turn, and the words that it submits, if it has any.
fn submission<'a>(frames: &'a [Frame], turn: &'a Turn) -> Option<(&'a Frame, &'a str)> {
    let replies = frames
        .iter()
        .filter(|frame| frame.kind == Kind::ModelReply && frame.headers.get(TURN) == Some(&turn.mark));
    let submitting = |frame: &'a Frame| {
        let calls = frame.body.get("tool_calls")?.as_array()?;
        let call = calls.iter().find(|call| call.pointer("/function/name") == Some(&Value::from(SUBMIT)))?;
        Some((frame, call.pointer("/function/arguments")?.as_str()?))
    };
    let (frame, arguments) = replies.filter_map(submitting).next_back()?;
    let words = arguments.split('"').find(|part| part.starts_with(LAST_WORDS))?;
    Some((frame, words))
}

/// The turn ended once.
pub fn ends_once(frames: &[Frame], view: View<'_>) -> Judgement {
    let events = seen::tasks(frames, view.turn).count();
    let mut ids: Vec<_> =
        seen::deliverables(frames, view.turn).filter_map(|frame| frame.text("/card/card_id")).collect();
    ids.sort_unstable();
    ids.dedup();
    if events <= 1 && ids.len() <= 1 {
        return Ok(());
    }
    Err(Finding::new(
        "the turn ended twice",
        "apply a callback once, by (`agent_turn_id`, `tool_call_id`), also where its result overrides",
    )
    .expected(1)
    .actual(Some(&Value::from(events.max(ids.len()))))
    .into())
}

/// The model was asked again once: as often as after a plain call.
pub fn asks_once(frames: &[Frame], view: View<'_>, usual: usize) -> Judgement {
    let requests: Vec<&Frame> = seen::nexts(frames, view.turn)
        .filter(|frame| {
            frame.headers.get(crate::families::utp::runtime::model::ROUND).is_some_and(|round| round == "1")
        })
        .collect();
    match requests.as_slice() {
        [] => Err(CheckFailure::NotObserved("the model was not asked again".to_owned())),
        requests if requests.len() <= usual => Ok(()),
        [.., second] => Err(Finding::new(
            "a repeated callback made the turn go on twice",
            "apply a callback once, by (`agent_turn_id`, `tool_call_id`)",
        )
        .expected(usual)
        .actual(Some(&Value::from(requests.len())))
        .frame(second)
        .into()),
    }
}

/// In no request to the model a call is answered twice.
pub fn receives_result_once(frames: &[Frame], view: View<'_>) -> Judgement {
    let twice = seen::requests_with_tools(frames, view.turn)
        .find(|frame| seen::results_of(frame, view.turn, view.call).len() > 1);
    match twice {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the result of one call is in the conversation twice",
            "apply a callback once, by (`agent_turn_id`, `tool_call_id`)",
        )
        .expected("one tool message for the call")
        .frame(frame)
        .into()),
    }
}

/// The model was sent the result of the call.
pub fn receives_result(frames: &[Frame], view: View<'_>) -> Judgement {
    receives_text(frames, view, &view.call.token)
}

/// The model was sent something as the outcome of the call.
pub fn receives_text(frames: &[Frame], view: View<'_>, text: &str) -> Judgement {
    let hint =
        "give the model a message of the role `tool` with the call's id and what the tool.result card holds";
    let last = seen::nexts(frames, view.turn).last();
    let Some(request) = last else {
        let finding = Finding::new("the callback had no effect: the model was not asked again", hint)
            .expected(format!("a tool message with `{text}`"));
        return Err(with(finding, seen::report(frames, view.call, 0)).into());
    };
    let messages = seen::results_of(request, view.turn, view.call);
    if messages.iter().any(|message| mentions(message, text)) {
        return Ok(());
    }
    let stray = seen::tool_messages(request, view.turn).into_iter().find(|message| mentions(message, text));
    let what = match stray {
        Some(_) => "the model received the outcome of the call under another id than the call's",
        None => "the model did not receive the outcome of the call",
    };
    Err(Finding::new(what, hint)
        .expected(format!("a tool message with `{text}`"))
        .actual(stray.or(messages.first().copied()))
        .at("/messages")
        .frame(request)
        .into())
}

/// Nowhere in the conversation stands this text.
pub fn never_receives(frames: &[Frame], view: View<'_>, text: &str) -> Judgement {
    match seen::requests_with_tools(frames, view.turn).find(|frame| mentions(&frame.body["messages"], text)) {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the model was sent the result that the callback carries inline",
            "read the result from the tool.result card; the callback only points to it",
        )
        .expected("the card's result, or a failure")
        .at("/messages")
        .frame(frame)
        .into()),
    }
}

/// The end of the turn, or what the model is sent, says that the call failed.
pub fn reports_failure(frames: &[Frame], view: View<'_>) -> Judgement {
    let since = seen::report(frames, view.call, 0).map_or(0, |frame| frame.n);
    if let Some(request) = seen::nexts(frames, view.turn).find(|frame| frame.n > since) {
        let messages = seen::results_of(request, view.turn, view.call);
        let failed =
            |message: &&Value| mentions(message, "quota_exceeded") || mentions(message, "no more today");
        if messages.iter().any(failed) {
            return Ok(());
        }
        return Err(card_decides(messages.first().copied()).at("/messages").frame(request).into());
    }
    let Some(end) = seen::task(frames, view.turn) else {
        return Err(CheckFailure::NotObserved("the runtime publishes no task event".to_owned()));
    };
    if seen::failed(end) {
        return Ok(());
    }
    Err(card_decides(end.member("/status")).at("/status").frame(end).into())
}

fn card_decides(actual: Option<&Value>) -> Finding {
    Finding::new(
        "a call whose tool.result card says that it failed is taken for a success",
        "read success and failure from `status` and `error` of the card; the callback only routes",
    )
    .expected("a failure")
    .actual(actual)
}

/// The reason of the failure reaches the model or the turn's end.
pub fn gives_reason(frames: &[Frame], view: View<'_>) -> Judgement {
    // The result of a partial success has the call's word as well.
    let words = |value: &Value| view.status() != "partial" && mentions(value, &view.call.token);
    let holds_reason =
        |value: &Value| mentions(value, ERROR_CODE) || mentions(value, ERROR_MESSAGE) || words(value);
    let since = seen::report(frames, view.call, 0).map_or(0, |frame| frame.n);
    let next = seen::nexts(frames, view.turn).find(|frame| frame.n > since);
    let in_next =
        next.is_some_and(|frame| seen::tool_messages(frame, view.turn).into_iter().any(holds_reason));
    let end = seen::task(frames, view.turn);
    let in_end = end.is_some_and(|frame| holds_reason(&frame.body));
    let in_deliverable = seen::deliverable(frames, view.turn).is_some_and(|frame| holds_reason(&frame.body));
    if in_next || in_end || in_deliverable {
        return Ok(());
    }
    let Some(frame) = next.or(end) else {
        return Err(CheckFailure::NotObserved("the turn neither went on nor ended".to_owned()));
    };
    Err(Finding::new(
        "the reason of the failure got lost",
        "pass `error.code` and `error.message` of the tool.result card on to the model, or into the task event",
    )
    .expected("quota_exceeded, or the error's message")
    .frame(frame)
    .into())
}

/// Two turns of the same kind had conversations of the same form.
pub fn alike(frames: &[Frame], first: (View<'_>, &ToolCall), second: (View<'_>, &ToolCall)) -> Judgement {
    let form = |(view, call): (View<'_>, &ToolCall)| -> Option<Vec<String>> {
        let request = seen::nexts(frames, view.turn).next()?;
        let messages = request.body.get("messages")?.as_array()?;
        let begin = messages.iter().rposition(|message| mentions(message, &view.turn.mark))?;
        let of = |message: &Value| {
            let role = message["role"].as_str().unwrap_or_default().to_owned();
            let id = message.get("tool_call_id").and_then(Value::as_str);
            let own = id.is_some() && (id == Some(call.model_id.as_str()) || id == Some(call.id()));
            if own { format!("{role} of the call") } else { role }
        };
        Some(messages[begin..].iter().map(of).collect())
    };
    let (Some(first), Some(other)) = (form(first), form(second)) else {
        return Err(CheckFailure::NotObserved("the model was not asked again in both turns".to_owned()));
    };
    if first == other {
        return Ok(());
    }
    Err(Finding::new(
        "without `step_id` the turn does not go on where it goes on with it",
        "find the place of a result by turn and call; `step_id` in the callback is for replay only",
    )
    .expected(Value::from(other))
    .actual(Some(&Value::from(first)))
    .into())
}

/// The store still holds the override in the card.
pub fn card_keeps_control(
    frames: &[Frame],
    view: View<'_>,
    stored: Option<&Value>,
    expected: &str,
) -> Judgement {
    let id = view.call.card.get("card_id");
    let changed = saved_cards(frames).filter(|(_, card)| card.get("card_id") == id).last();
    let card = changed.map(|(_, card)| card).or(stored);
    let value = card.and_then(|card| card.pointer("/content/result/__cg_control/after_execution"));
    if value.and_then(Value::as_str) == Some(expected) {
        return Ok(());
    }
    let finding = Finding::new(
        "the tool.result card no longer shows the override that was applied",
        "leave the card as the tool saved it",
    )
    .expected(expected)
    .actual(value)
    .at("/content/result/__cg_control/after_execution");
    Err(with(finding, changed.map(|(frame, _)| frame)).into())
}

/// The code of the timeout that the runtime itself found.
pub fn timeout_code(frames: &[Frame], view: View<'_>) -> Judgement {
    const COMMON: [&str; 4] = ["auth_failed", "bad_request", "upstream_unavailable", "internal_error"];
    let id = view.call.id();
    let saved = saved_cards(frames)
        .filter(|(_, card)| card_type(card) == Some("tool.result") && call_id(card) == Some(id))
        .last();
    let results = seen::nexts(frames, view.turn)
        .last()
        .map(|frame| (frame, seen::results_of(frame, view.turn, view.call)));
    let own = saved.and_then(|(frame, card)| Some((frame, card.pointer("/content/error/code")?.as_str()?)));
    let hint = "fail a call that is not answered in time with a tool.result card whose `error.code` is `tool_timeout`";
    if let Some((frame, code)) = own {
        if code.trim().is_empty() || COMMON.contains(&code) {
            return Err(Finding::new("a call that ran into its deadline has another situation's code", hint)
                .expected("tool_timeout")
                .actual(Some(&Value::from(code)))
                .at("/card/content/error/code")
                .frame(frame)
                .into());
        }
        return Ok(());
    }
    let Some((frame, messages)) = results else {
        let finding =
            Finding::new("a call that is not answered leaves its turn waiting beyond the deadline", hint);
        return Err(with(finding, frames.iter().find(|frame| frame.kind == Kind::Command)).into());
    };
    let wrong = |message: &&&Value| COMMON.iter().any(|code| mentions(message, code));
    match messages.iter().find(wrong) {
        Some(message) => {
            Err(Finding::new("a call that ran into its deadline has another situation's code", hint)
                .expected("tool_timeout")
                .actual(Some(message))
                .frame(frame)
                .into())
        }
        None if messages.is_empty() || saved.is_some() => {
            Err(Finding::new("a call that ran into its deadline has no code", hint)
                .expected("tool_timeout")
                .frame(frame)
                .into())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::utp::revision::Revision;
    use crate::families::utp::runtime::turn::Row;

    const MARK: &str = "mark-u-1";

    fn turn() -> Turn {
        Turn::observed(Revision::V1r3, MARK, "ag_pilot", "turn_1")
    }

    fn frame(n: u32, kind: Kind, body: Value) -> Frame {
        let direction = match kind {
            Kind::ModelReply => Direction::ToTarget,
            _ => Direction::FromTarget,
        };
        let headers =
            BTreeMap::from([(TURN.to_owned(), MARK.to_owned()), ("round".to_owned(), "1".to_owned())]);
        Frame { n, at_us: 0, direction, kind, channel: "cg.v1r3.prj.public.x".to_owned(), headers, body }
    }

    #[test]
    fn an_override_elsewhere_is_none_and_look_alikes_are_permitted() {
        use Behaviour::{End, Next};
        let (turn, row) = (turn(), Row::external("v1r3", "tides", "tides.run", "suspend"));
        let call = ToolCall::observed("call_1", row);
        let view = View { project: "prj", version: "v1r3", turn: &turn, call: &call };
        let asked = frame(2, Kind::Model, json!({"tools": [{}], "messages": []}));
        let ended = |status: &str| frame(2, Kind::Task, json!({"agent_turn_id": "turn_1", "status": status}));
        for (plain, seen, last, expect) in [
            ((Next, End), Next, asked.clone(), "holds"),
            ((Next, End), End, ended("success"), "broken"),
            ((Next, End), End, ended("failed"), "holds"),
            // A runtime on which nothing shows the difference took a way that is permitted, and the run has a verdict.
            ((Next, Next), Next, asked, "permitted"),
            ((End, End), End, ended("success"), "permitted"),
            ((End, End), End, ended("failed"), "permitted"),
        ] {
            let came = match is_no_override(&[last], view, plain, seen) {
                Ok(()) => "holds",
                Err(CheckFailure::Broken(_)) => "broken",
                Err(CheckFailure::Permitted(_)) => "permitted",
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(came, expect, "{plain:?} {seen:?}");
        }
    }

    #[test]
    fn the_deliverable_holds_what_was_submitted() {
        let turn = turn();
        let submitted = |arguments: Value| {
            let function = json!({"name": SUBMIT, "arguments": arguments.to_string()});
            frame(1, Kind::ModelReply, json!({"tool_calls": [{"id": "c", "function": function}]}))
        };
        let card = |content: Value| {
            let metadata = json!({"agent_turn_id": "turn_1"});
            let card =
                json!({"card_id": "d", "type": "task.deliverable", "content": content, "metadata": metadata});
            frame(2, Kind::CardSave, json!({"card": card}))
        };
        let words = format!("{LAST_WORDS} 1.");
        for (arguments, content, holds) in [
            (json!({"text": words}), json!({"text": words}), true),
            (json!({"text": words}), json!({"report": {"inner": [words]}}), true),
            (json!({"text": words}), json!({"text": ""}), false),
            (json!({"text": words}), json!({"text": format!("{LAST_WORDS} 2.")}), false),
            // Such arguments say nothing that a deliverable could repeat.
            (json!({"status": "done"}), json!({"ok": true}), true),
        ] {
            let frames = [submitted(arguments), card(content)];
            assert_eq!(is_submitted(&frames, &turn).is_ok(), holds, "{frames:?}");
        }
    }
}
