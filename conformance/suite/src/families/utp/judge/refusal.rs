//! What must not run: invalid commands, and parameters from a place that is none (Guide §1).

use callmark_reports::record::Direction;
use serde_json::Value;

use super::children;
use super::defect;
use super::inline_arguments::inline_used;
use super::lineage;
use super::seen;
use super::seen::Calls;
use super::seen::STATUSES;
use super::upstream;
use crate::engine::judge::{Finding, Judgement};
use crate::families::utp::message;
use crate::transcript::{Frame, Kind};

/// Statuses that say that the tool ran.
const RAN: [&str; 2] = ["success", "partial"];

/// The tool did not run: no result that says so, and no run counted.
///
/// Whether a failed callback comes is open: the documents do not define the path of a validation failure.
pub fn did_not_run(frames: &[Frame], calls: &Calls<'_>, runs: Option<i64>) -> Judgement {
    let hint = "validate the command and read its card before anything else; \
                answer with a failed tool.result, or not at all, but do not run the tool";
    if let Some((frame, pointer, status)) = sign_of_success(frames, calls) {
        let finding = match (lineage::beyond_limit(calls.subject), defect::of_command(calls.subject)) {
            (Some((reason, hint)), _) => Finding::new(format!("the call succeeds although {reason}"), hint),
            (None, Some((reason, hint))) => Finding::new(format!("the tool ran although {reason}"), hint),
            (None, None) => Finding::new("the tool ran although the command is not valid", hint),
        };
        return Err(finding
            .expected("no result, or a failed one")
            .actual(Some(status))
            .at(pointer)
            .frame(frame)
            .into());
    }
    if calls.subject.tool.is_builtin() {
        children::caused_nothing(frames, calls)?;
    }
    if calls.subject.tool.asks_upstream() {
        upstream::was_not_asked(frames, calls)?;
    }
    if let Some(runs) = runs.filter(|runs| *runs > 0) {
        let (reason, hint) = defect::of_command(calls.subject)
            .unwrap_or_else(|| ("the command is not valid".to_owned(), hint.to_owned()));
        return Err(Finding::new(format!("the tool ran although {reason}: its counter went up"), hint)
            .expected(0)
            .actual(Some(&Value::from(runs)))
            .into());
    }
    Ok(())
}

/// A report or a card that is nobody else's and says that the tool ran.
fn sign_of_success<'a>(
    frames: &'a [Frame],
    calls: &Calls<'_>,
) -> Option<(&'a Frame, &'static str, &'a Value)> {
    frames.iter().filter(|frame| frame.direction == Direction::FromTarget).find_map(|frame| {
        let (pointer, card) = match frame.kind {
            Kind::Report if frame.member("/message_type").is_none_or(|kind| kind == "tool_result") => {
                ("/payload/status", seen::card_of(frames, frame).map(|(_, card)| card))
            }
            Kind::CardSave if seen::is_result(frame) && !is_placeholder(frame) => {
                ("/card/content/status", frame.body.get("card"))
            }
            _ => return None,
        };
        let status = frame.body.pointer(pointer).filter(|status| says_it_ran(status, card))?;
        (!calls.is_foreign(frames, frame)).then_some((frame, pointer, status))
    })
}

/// Whether a card says that the call is under way, and nothing of what came of it. A service may save it before it looks at
/// the command, and saves it again in the end.
fn is_placeholder(saved: &Frame) -> bool {
    saved.text("/card/content/status") == Some("partial")
        && saved.member("/card/content/result").is_none_or(Value::is_null)
}

/// Whether a status means that the tool ran. An unknown one means a failure only where the card has an error.
fn says_it_ran(status: &Value, card: Option<&Value>) -> bool {
    match status.as_str() {
        Some(text) if RAN.contains(&text) => true,
        Some(text) if STATUSES.contains(&text) => false,
        Some(_) => card.and_then(|card| card.pointer("/content/error")).is_none_or(Value::is_null),
        None => false,
    }
}

/// A value that the command carried inline is in no result.
pub fn ignores_inline(frames: &[Frame], calls: &Calls<'_>, inline: &str) -> Judgement {
    let proof = &calls.subject.proof;
    // Other calls may give what these arguments would.
    let own = calls.subject.shows_its_work_alone().then(|| seen::result_card(frames, calls));
    let cards: Vec<(&Frame, &Value)> =
        own.map_or_else(|| seen::result_cards(frames).collect(), |own| own.into_iter().collect());
    let using = cards.into_iter().find(|(_, card)| {
        let ran = card.pointer("/content/status").and_then(Value::as_str) != Some("failed");
        ran && card.pointer("/content/result").is_some_and(|result| proof.is_of_inline(result, inline))
    });
    let Some((frame, card)) = using else {
        children::was_not_given(frames, inline)?;
        upstream::was_not_given(frames, inline)?;
        return was_not_reported(frames, calls, inline);
    };
    Err(inline_used().actual(card.pointer("/content/result")).at("/card/content/result").frame(frame).into())
}

fn was_not_reported(frames: &[Frame], calls: &Calls<'_>, inline: &str) -> Judgement {
    let report = seen::reports(frames, calls).into_iter().find(|report| {
        report.text("/payload/status") != Some("failed")
            && report.body.get("payload").is_some_and(|payload| message::mentions(payload, inline))
    });
    match report {
        None => Ok(()),
        Some(report) => {
            Err(inline_used().actual(report.body.get("payload")).at("/payload").frame(report).into())
        }
    }
}

/// Nothing was written to `state.*`.
pub fn leaves_state_alone(frames: &[Frame]) -> Judgement {
    match frames.iter().find(|frame| frame.kind == Kind::StateWrite) {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the target wrote to `state.*`",
            "leave agent state to L0; a tool reports its result and writes nothing else",
        )
        .expected("no write to `state.*`")
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_that_says_that_a_call_is_under_way_is_no_sign_that_it_ran() {
        let check = |content: Value, expect: bool| {
            let body = json!({"card": {"type": "tool.result", "content": content}});
            let (direction, kind) = (Direction::FromTarget, Kind::CardSave);
            let (channel, headers) = (String::new(), BTreeMap::new());
            let saved = Frame { n: 1, at_us: 0, direction, kind, channel, headers, body };
            assert_eq!(is_placeholder(&saved), expect, "{content}");
        };
        check(json!({"status": "partial", "result": null, "error": null}), true);
        check(json!({"status": "partial"}), true);
        check(json!({"status": "partial", "result": {"echo": {}}}), false);
        check(json!({"status": "success", "result": null}), false);
    }
}
