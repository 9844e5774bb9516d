//! Repeated commands (UTP §3.2): one effect, one result.

use std::collections::BTreeSet;

use serde_json::Value;

use super::children;
use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::engine::volatile;
use crate::families::utp::message;
use crate::net::wire::REPLICA;
use crate::transcript::Frame;

/// What is known of a repeated command beside its messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repetition {
    /// Runs that the count probe counted.
    pub runs: Option<i64>,
    /// Whether several replicas received the command.
    pub is_across: bool,
    /// How many turns a call like it starts, where that was found out.
    pub usual_turns: Option<usize>,
}

/// What is to be changed where a call has several effects or outcomes.
const HINT: &str = "keep the outcome of every call under (`agent_turn_id`, `tool_call_id`), from the moment it starts, and \
                    answer a repeat from there";

/// Two deliveries of one command had the effect of one.
pub fn has_one_effect(frames: &[Frame], calls: &Calls<'_>, repetition: Repetition) -> Judgement {
    let Repetition { runs, is_across, usual_turns } = repetition;
    let is_across = is_across || is_answered_by_several(&seen::reports(frames, calls));
    if let Some(runs) = runs.filter(|runs| *runs > 1) {
        return Err(finding(is_across, "the repeated command ran the tool again", HINT)
            .expected(1)
            .actual(Some(&Value::from(runs)))
            .into());
    }
    if calls.subject.tool.is_builtin() && !calls.subject.obstructed {
        children::started_once(frames, calls, usual_turns)?;
    }
    let outcomes: Vec<(&Frame, Outcome<'_>)> = seen::reports(frames, calls)
        .into_iter()
        .map(|report| (report, Outcome::of(frames, report, &calls.subject.volatile)))
        .collect();
    let [(first, outcome), rest @ ..] = outcomes.as_slice() else {
        return Err(CheckFailure::NotObserved("the target reported no callback for the call".to_owned()));
    };
    match rest.iter().find(|(_, other)| other != outcome) {
        None if runs == Some(0) && is_across => Err(CheckFailure::NotObserved(
            "the count probe did not count the call: with several replicas it has to count over all of them"
                .to_owned(),
        )),
        None => Ok(()),
        Some((report, other)) => {
            Err(finding(is_across, "the callbacks of one call report different outcomes", HINT)
                .expected(outcome.as_json())
                .actual(Some(&other.as_json()))
                .frame(first)
                .frame(report)
                .into())
        }
    }
}

/// However often the call is reported, and however late, it ends in one status. A partial result is not the end.
pub fn has_one_status(frames: &[Frame], calls: &Calls<'_>, is_across: bool) -> Judgement {
    let reports = seen::some_reports(frames, calls)?;
    let is_across = is_across || is_answered_by_several(&reports);
    let ends_it = |report: &&Frame| report.text("/payload/status").is_some_and(|status| status != "partial");
    let mut ends = reports.into_iter().filter(ends_it);
    let Some(first) = ends.next() else { return Ok(()) };
    let is_other = |report: &&Frame| report.text("/payload/status") != first.text("/payload/status");
    match ends.find(is_other) {
        None => Ok(()),
        Some(other) => Err(finding(is_across, "the callbacks of one call report different outcomes", HINT)
            .expected(first.text("/payload/status"))
            .actual(other.member("/payload/status"))
            .at("/payload/status")
            .frame(first)
            .frame(other)
            .into()),
    }
}

/// Whether several replicas are seen to have answered a command, where the way to the suite shows that.
fn is_answered_by_several(reports: &[&Frame]) -> bool {
    let replicas = reports.iter().filter_map(|report| report.headers.get(REPLICA));
    replicas.collect::<BTreeSet<_>>().len() > 1
}

/// A finding about a repeated command, which says so where several replicas received it.
fn finding(is_across: bool, message: &str, hint: &str) -> Finding {
    if !is_across {
        return Finding::new(message, hint);
    }
    Finding::new(
        format!("{message} (several replicas received it)"),
        format!(
            "{hint}; keep this where all replicas find it, and claim a call there before its work begins: what one \
             replica remembers alone, another does again"
        ),
    )
}

#[derive(PartialEq)]
struct Outcome<'a> {
    status: Option<&'a Value>,
    /// Without what is volatile.
    result: Option<Value>,
}

impl<'a> Outcome<'a> {
    fn of(frames: &'a [Frame], report: &'a Frame, pointers: &[String]) -> Self {
        // The card as it was when this report pointed to it, so that overwriting it does not hide a second run.
        let end = frames.iter().position(|frame| frame.n == report.n).unwrap_or(frames.len());
        // One that said nothing yet breaks the rule that the card comes first, and not this one.
        let then = seen::card_of(&frames[..end], report).filter(|(_, card)| seen::holds_outcome(card));
        let card = then.or_else(|| seen::card_of(frames, report));
        Self {
            status: report.body.pointer("/payload/status"),
            result: card
                .and_then(|(_, card)| card.pointer("/content/result"))
                .map(|result| volatile::without(result.clone(), pointers)),
        }
    }

    fn as_json(&self) -> Value {
        serde_json::json!({"status": self.status, "result": self.result})
    }
}

/// All callbacks of the call point to one card, and the call has one result card.
pub fn has_one_card(frames: &[Frame], calls: &Calls<'_>, is_across: bool) -> Judgement {
    let reports = seen::reports(frames, calls);
    let is_across = is_across || is_answered_by_several(&reports);
    if reports.is_empty() {
        return Err(CheckFailure::NotObserved("the target reported no callback for the call".to_owned()));
    }
    let pointers: BTreeSet<&str> =
        reports.iter().filter_map(|report| report.text("/payload/tool_result_card_id")).collect();
    let cards: BTreeSet<&str> = seen::result_cards(frames)
        .filter(|(_, card)| message::call_id(card) == Some(&calls.subject.tool_call_id))
        .filter_map(|(_, card)| card.get("card_id").and_then(Value::as_str))
        .collect();
    let most = pointers.len().max(cards.len());
    if most <= 1 {
        return Ok(());
    }
    let mut finding = finding(
        is_across,
        "the repeated command got a tool.result card of its own",
        "answer a repeat with the card that the call already has",
    )
    .expected(1)
    .actual(Some(&Value::from(most)))
    .at("/payload/tool_result_card_id");
    for report in reports {
        finding = finding.frame(report);
    }
    for (frame, _) in seen::result_cards(frames)
        .filter(|(_, card)| message::call_id(card) == Some(&calls.subject.tool_call_id))
    {
        finding = finding.frame(frame);
    }
    Err(finding.into())
}

/// The same id in another turn is a call of its own: run with its own arguments, reported to its own turn.
pub fn is_another_call(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let revision = calls.subject.revision;
    let turn = calls.subject.command.get("agent_turn_id");
    let report = turn.and_then(|turn| seen::report_in_turn(frames, revision, turn));
    let hint = "tell calls apart by (`agent_turn_id`, `tool_call_id`), not by `tool_call_id` alone";
    let Some(report) = report else {
        return Err(Finding::new(
            "a call of another turn with a known `tool_call_id` was not answered",
            hint,
        )
        .expected(turn.cloned().unwrap_or(Value::Null))
        .at(revision.place("agent_turn_id"))
        .into());
    };
    let result = seen::card_of(frames, report).and_then(|(_, card)| card.pointer("/content/result"));
    if result.is_some_and(|result| calls.subject.proof.is_in_result(result)) {
        return Ok(());
    }
    Err(Finding::new("a call of another turn was answered with the outcome of the first", hint)
        .expected(calls.subject.card["content"]["arguments"].clone())
        .actual(result)
        .at("/card/content/result")
        .frame(report)
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::utp::judge::example::{call, command, judged, report};
    use crate::families::utp::revision::Revision;
    use crate::families::utp::tool::Tool;

    #[test]
    fn a_call_ends_in_one_status_however_often_it_is_reported() {
        for revision in [Revision::V1r3, Revision::V1r4] {
            let own = call(revision, Tool::Echo, 1);
            let check = |statuses: &[&str]| {
                let reports = statuses.iter().map(|status| {
                    let mut report = report(&own);
                    report.body["payload"]["status"] = Value::from(*status);
                    report
                });
                judged(std::iter::once(command(&own)).chain(reports), &own, |frames, calls| {
                    has_one_status(frames, calls, false)
                })
            };
            assert_eq!(check(&["success"]), Ok(()));
            assert_eq!(check(&["failed", "failed"]), Ok(()));
            assert_eq!(check(&["partial", "success", "success"]), Ok(()));
            assert_eq!(check(&["success", "failed"]), Err("broken"));
            assert_eq!(check(&["partial", "success", "timeout"]), Err("broken"));
            assert_eq!(check(&[]), Err("not judged"));
        }
    }
}
