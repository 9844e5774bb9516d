//! The tool.result card (UTP §4.2, §5; Guide §1): what it holds, and where its lineage comes from.

use serde_json::Value;

use super::callback::{AFTER_EXECUTION, quoted};
use super::children;
use super::seen;
use super::seen::Calls;
use super::seen::STATUSES;
use super::tasks;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::message;
use crate::families::utp::message::{Likeness, ROUNDED, likeness};
use crate::families::utp::proof::Proof;
use crate::families::utp::reason::Alternative;
use crate::families::utp::token;
use crate::transcript::{Frame, member_at};

/// The result card of the call.
pub(super) fn result_card<'a>(
    frames: &'a [Frame],
    calls: &Calls<'_>,
) -> Result<(&'a Frame, &'a Value), CheckFailure> {
    seen::result_card(frames, calls).ok_or_else(|| {
        CheckFailure::NotObserved("the target saved no tool.result card for the call".to_owned())
    })
}

/// There is a result card for the call.
pub fn is_written(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    match seen::result_card(frames, calls) {
        Some(_) => Ok(()),
        None => Err(Finding::new(
            "no tool.result card was saved for the call",
            "save a tool.result card with the outcome of every command that is answered",
        )
        .expected("a card of type `tool.result`")
        .into()),
    }
}

/// The card that each callback points to was saved before its report.
pub fn precedes_report(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    seen::some_reports(frames, calls)?.into_iter().try_for_each(|report| precedes(frames, calls, report))
}

fn precedes(frames: &[Frame], calls: &Calls<'_>, report: &Frame) -> Judgement {
    let before = frames.iter().position(|frame| frame.n == report.n).unwrap_or(frames.len());
    let hint = "save the tool.result card, wait for the card store's answer, then report";
    let last = seen::card_of(frames, report);
    let Some((frame, card)) = seen::card_of(&frames[..before], report) else {
        let finding =
            Finding::new("when the report came, the card that it points to was not in the card store", hint)
                .expected("the card in the store at the time of the report")
                .actual(member_at(&report.body, "/payload/tool_result_card_id"))
                .at("/payload/tool_result_card_id")
                .frame(report);
        // What was saved in its place, or after it.
        let saved = last.or_else(|| seen::result_card(frames, calls));
        return Err(saved.into_iter().fold(finding, |finding, (frame, _)| finding.frame(frame)).into());
    };
    match last {
        Some((later, outcome)) if seen::holds_outcome(outcome) && !seen::holds_outcome(card) => {
            Err(Finding::new("when the report came, the card that it points to held no outcome yet", hint)
                .expected(outcome.get("content").cloned().unwrap_or_default())
                .actual(card.get("content").or(Some(&Value::Null)))
                .at("/card/content")
                .frame(frame)
                .frame(report)
                .frame(later)
                .into())
        }
        _ => Ok(()),
    }
}

/// The pointer of every callback addresses a tool.result card of this call.
pub fn is_addressed(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let reports = seen::some_reports(frames, calls)?;
    let is_typed = |card: &Value| message::card_type(card) == Some("tool.result");
    let is_of_call = |card: &Value| message::call_id(card) == Some(&calls.subject.tool_call_id);
    // Where the right card is there, the pointer is wrong; where there is none, the card that it points to is.
    let right = seen::saved_cards(frames).filter(|(_, card)| is_typed(card) && is_of_call(card)).last();
    for report in reports {
        let pointer = "/payload/tool_result_card_id";
        let wrong = |message: &str, expected: &str, actual: Option<&Value>| {
            Finding::new(
                message,
                "point `tool_result_card_id` to the tool.result card that was saved for this call",
            )
            .expected(expected)
            .actual(actual)
            .at(pointer)
            .frame(report)
        };
        let Some((frame, card)) = seen::card_of(frames, report) else {
            let message = "`tool_result_card_id` addresses no card that the target saved";
            let mut finding = wrong(message, "the id of a saved card", member_at(&report.body, pointer));
            if seen::is_pointed_to_elsewhere(frames, report) {
                "`tool_result_card_id` addresses a card of another project".clone_into(&mut finding.message);
                "keep calls, their answers and their cards by project as well, and not by their ids alone"
                    .clone_into(&mut finding.hint);
            }
            let saved = right.or_else(|| seen::result_card(frames, calls));
            return Err(saved.into_iter().fold(finding, |finding, (frame, _)| finding.frame(frame)).into());
        };
        let in_card = |message: &str, member: &str, expected: &str, actual: Option<&Value>| {
            Finding::new(message, format!("save the card of the result with `{member}` `{expected}`"))
                .expected(expected)
                .actual(actual)
                .at(format!("/card/{member}"))
                .frame(frame)
                .frame(report)
        };
        if !is_typed(card) {
            let kind = message::card_type(card).map(Value::from);
            let message = "`tool_result_card_id` addresses a card that is no tool.result";
            return Err(match right {
                Some((right, _)) => {
                    wrong(message, "type `tool.result`", kind.as_ref()).frame(frame).frame(right)
                }
                None => {
                    in_card("the card of the result has another type", "type", "tool.result", kind.as_ref())
                }
            }
            .into());
        }
        if !is_of_call(card) {
            let id = message::call_id(card).map(Value::from);
            let own = &calls.subject.tool_call_id;
            let message = "`tool_result_card_id` addresses a card of another call";
            let finding = if let Some((right, _)) = right {
                wrong(message, own, id.as_ref()).frame(frame).frame(right)
            } else {
                let message = "the card of the result names another call, or none";
                in_card(message, "tool_call_id", own, id.as_ref())
            };
            return Err(finding.into());
        }
    }
    Ok(())
}

/// The content has the members of a ToolResultContent with values that there are.
pub fn is_typed(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let content = card.get("content");
    let wrong = |message: String, expected: String, pointer: &str, actual: Option<&Value>| {
        Finding::new(
            message,
            "store `status`, `after_execution`, `result` and `error` as the content of a tool.result card",
        )
        .expected(expected)
        .actual(actual)
        .at(format!("/card{pointer}"))
        .frame(frame)
    };
    if !content.is_some_and(Value::is_object) {
        let message = "the content of the tool.result card is not structured".to_owned();
        return Err(wrong(message, "an object".to_owned(), "/content", content).into());
    }
    for (member, values) in [("status", &STATUSES[..]), ("after_execution", &AFTER_EXECUTION[..])] {
        let pointer = format!("/content/{member}");
        let value = member_at(card, &pointer);
        if !value.and_then(Value::as_str).is_some_and(|text| values.contains(&text)) {
            let message = format!("the tool.result card's `{member}` is none of the values that there are");
            return Err(wrong(message, format!("one of {}", quoted(values)), &pointer, value).into());
        }
    }
    if member_at(card, "/content/result").is_none() && member_at(card, "/content/error").is_none() {
        let message = "the tool.result card has neither `result` nor `error`".to_owned();
        return Err(wrong(message, "`result` or `error`".to_owned(), "/content", content).into());
    }
    if let Some(sent) = contradicted(calls, card) {
        return Err(wrong(
            "the tool.result card's `after_execution` is neither the command's nor that of an override"
                .to_owned(),
            sent.to_owned(),
            "/content/after_execution",
            member_at(card, "/content/after_execution"),
        )
        .recommended("a card may hold the command's value or the effective one (ambiguity A-22)")
        .into());
    }
    Ok(())
}

/// The command's `after_execution`, where the card has the other value and the result does not override.
fn contradicted<'a>(calls: &Calls<'a>, card: &Value) -> Option<&'a str> {
    let sent = calls.subject.command.get("after_execution")?.as_str()?;
    let is_known = AFTER_EXECUTION.contains(&sent);
    let kept = member_at(card, "/content/after_execution").and_then(Value::as_str);
    (is_known && kept != Some(sent) && message::override_of(card).is_none()).then_some(sent)
}

/// The card's own status is this one.
pub fn has_status(frames: &[Frame], calls: &Calls<'_>, status: &str) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let value = member_at(card, "/content/status");
    if value.and_then(Value::as_str) == Some(status) {
        return Ok(());
    }
    Err(Finding::new(
        format!("the tool.result card's status is not `{status}`"),
        format!("store status `{status}` in the card, as in the callback"),
    )
    .expected(status)
    .actual(value)
    .at("/card/content/status")
    .frame(frame)
    .into())
}

/// A completed card has no error.
pub fn has_no_error(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    match member_at(card, "/content/error") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(members)) if members.is_empty() => Ok(()),
        Some(Value::String(text)) if text.is_empty() => Ok(()),
        error => Err(Finding::new(
            "the tool.result card of a completed call has an error",
            "leave `error` null when the call succeeds",
        )
        .expected(Value::Null)
        .actual(error)
        .at("/card/content/error")
        .frame(frame)
        .into()),
    }
}

/// A member of the card's metadata equals the tool.call card's, character for character.
pub fn inherits(frames: &[Frame], calls: &Calls<'_>, member: &str) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let parent = calls.subject.card_metadata(member).cloned().unwrap_or(Value::Null);
    let pointer = format!("/metadata/{member}");
    let value = member_at(card, &pointer);
    if value == Some(&parent) {
        return Ok(());
    }
    Err(Finding::new(
        format!("`metadata.{member}` of the tool.result card is not that of the tool.call card"),
        format!("copy `metadata.{member}` verbatim from the tool.call card, also for failed results"),
    )
    .expected(parent)
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame)
    .into())
}

/// A member that the tool.call card lacks has not been filled from the command.
pub fn is_not_backfilled(frames: &[Frame], calls: &Calls<'_>, member: &str) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let pointer = format!("/metadata/{member}");
    let value = member_at(card, &pointer);
    if value.is_none_or(|value| Some(value) != calls.subject.command.get(member)) {
        return Ok(());
    }
    Err(Finding::new(
        format!("`metadata.{member}` was filled from the command's payload"),
        format!(
            "take `{member}` from the tool.call card's metadata only; leave it out when the card has none"
        ),
    )
    .expected("absent")
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame)
    .into())
}

/// The result shows the work: the place that the manifest names holds the token of the card's arguments.
pub fn shows_work(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    if calls.subject.tool.is_builtin() {
        return tasks::shows_work(frames, calls);
    }
    let (frame, card) = result_card(frames, calls)?;
    let pointer = format!("/content/result{}", calls.subject.result_pointer);
    let value = member_at(card, &pointer);
    let shows = |result: &Value| calls.subject.proof.is_at(result, &calls.subject.result_pointer);
    if member_at(card, "/content/result").is_some_and(shows) {
        return Ok(());
    }
    if let Some(other) = member_at(card, "/content/result").and_then(|result| shown_call(calls, result)) {
        return Err(Finding::new(
            format!("the result is that of another call, `{other}`"),
            "tell calls apart by (`agent_turn_id`, `tool_call_id`), both letter for letter, and keep nothing of a call where \
             another one finds it",
        )
        .expected(calls.subject.card["content"]["arguments"].clone())
        .actual(value)
        .at(format!("/card{pointer}"))
        .frame(frame)
        .into());
    }
    if card
        .pointer("/content/status")
        .and_then(Value::as_str)
        .is_some_and(|status| ["failed", "timeout", "canceled"].contains(&status))
    {
        return Err(Finding::new(
            "the call is answered as failed, and the result does not reflect the arguments of the tool.call card",
            "the error of the card says what was refused; the command and its card are valid",
        )
        .expected(calls.subject.card["content"]["arguments"].clone())
        .actual(member_at(card, "/content/error"))
        .at("/card/content/error")
        .frame(frame)
        .into());
    }
    Err(Finding::new(
        "the result does not reflect the arguments of the tool.call card",
        "run the tool with `content.arguments` of the card that `tool_call_card_id` addresses, and store what it returns \
         (if the result is elsewhere, correct `result_pointer` in the manifest)",
    )
    .expected(calls.subject.card["content"]["arguments"].clone())
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame)
    .into())
}

/// The id of the other call whose token a result shows.
fn shown_call<'a>(calls: &Calls<'a>, result: &Value) -> Option<&'a str> {
    let is_a_word = !calls.subject.shows_its_work_alone();
    // An id comes before its token ([`Call::names`]).
    let mut pairs = calls.others.windows(2).filter(|_| is_a_word);
    let is_shown =
        |word: &String| token::tokens(word).any(|token| token == *word) && message::mentions(result, word);
    pairs.find(|pair| is_shown(&pair[1])).map(|pair| pair[0].as_str())
}

/// The result holds an argument of the card as it stands there, beside the token.
pub fn holds_argument(frames: &[Frame], calls: &Calls<'_>, name: &str) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let expected = &calls.subject.card["content"]["arguments"][name];
    let pointer = format!("/content/result{}/{name}", calls.subject.result_pointer);
    let value = member_at(card, &pointer);
    let likeness = value.map_or(Likeness::Different, |value| likeness(expected, value));
    if likeness == Likeness::Same {
        return Ok(());
    }
    let finding = Finding::new(
        format!("the tool did not get the argument `{name}` as it stands in the tool.call card"),
        "give the tool `content.arguments` of the card as they are: nothing left out, converted or rounded, and store \
         what it returns likewise",
    )
    .expected(expected.clone())
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame);
    Err(if likeness == Likeness::Rounded { finding.recommended(ROUNDED) } else { finding }.into())
}

/// Most that stands after a text which was cut, to say so.
const CUT_MARK: usize = 100;

/// A service may refuse a long argument, and may cut what it returns where that is said there.
pub fn takes_long_argument(frames: &[Frame], calls: &Calls<'_>, name: &str) -> Judgement {
    let (frame, card) = result_card(frames, calls)?;
    let status = card.pointer("/content/status").and_then(Value::as_str);
    let is_refused = status.is_some_and(|status| ["failed", "timeout", "canceled"].contains(&status));
    let result = card.pointer("/content/result").unwrap_or(&Value::Null);
    let returned = result.pointer(&format!("{}/{name}", calls.subject.result_pointer));
    let sent = calls.subject.card["content"]["arguments"][name].as_str().unwrap_or_default();
    let is_marked = returned.and_then(Value::as_str).is_some_and(|returned| {
        let common = sent.chars().zip(returned.chars()).take_while(|(own, other)| own == other).count();
        let after = returned.chars().count() - common;
        (1..=CUT_MARK).contains(&after) && returned.len() < sent.len()
    });
    if is_refused || is_marked || result.to_string().to_lowercase().contains("truncated") {
        return Err(Alternative::RefusesLong.seen_in([frame]));
    }
    Ok(())
}

/// The outcome is in the card and nowhere in the callback.
pub fn holds_outcome(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    if calls.subject.tool.is_builtin() {
        return children::outcome_is_in_card(frames, calls);
    }
    let (frame, card) = result_card(frames, calls)?;
    let proof = &calls.subject.proof;
    let result = member_at(card, "/content/result");
    if !result.is_some_and(|result| proof.is_in_result(result)) {
        return Err(Finding::new(
            "what the tool has to say is not in the tool.result card",
            "store the tool's result in `content.result` of the card",
        )
        .expected("a result that holds what the tool has to say")
        .actual(result)
        .at("/card/content/result")
        .frame(frame)
        .into());
    }
    let repeating = seen::reports(frames, calls)
        .into_iter()
        .find(|report| report.body.get("payload").is_some_and(|payload| proof.is_repeated_in(payload)));
    match repeating {
        None => Ok(()),
        Some(report) => Err(Finding::new(
            "the callback repeats what is in the tool.result card",
            "let the callback point to the card and say nothing of the result",
        )
        .expected("no result data")
        .actual(report.body.get("payload"))
        .at("/payload")
        .frame(report)
        .into()),
    }
}

/// The result, where there is one, holds nothing of the arguments of another call.
pub fn shows_nothing_of(frames: &[Frame], calls: &Calls<'_>, token: &str) -> Judgement {
    if calls.subject.tool.is_builtin() {
        children::nothing_new_shows(frames, calls, token)?;
    }
    let Some((frame, card)) = seen::result_card(frames, calls) else {
        return Err(Alternative::UnansweredBare.seen_in(seen::life_after(frames, calls)));
    };
    let result = member_at(card, "/content/result");
    let proof = &calls.subject.proof;
    let shows = |result: &Value| match proof {
        Proof::Word(_) => message::mentions(result, token),
        // The call took over what shows the work of the earlier one.
        Proof::Result(_) => proof.is_in_result(result),
    };
    if !result.is_some_and(shows) {
        return Ok(());
    }
    Err(Finding::new(
        "the result shows arguments that are not in the card of this call",
        "read the arguments of every call anew from the card that its command points to",
    )
    .expected("only what the card of this call holds")
    .actual(result)
    .at("/card/content/result")
    .frame(frame)
    .into())
}
