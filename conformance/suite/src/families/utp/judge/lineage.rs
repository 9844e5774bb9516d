//! The lineage of turns that a PMO starts in `v1r4`: how deep they are nested, and who chooses their ids.

use std::collections::BTreeSet;

use serde_json::Value;

use super::children::own_starts;
use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::revision::{Revision, header};
use crate::families::utp::trace::RECURSION_DEPTH;
use crate::transcript::Frame;

/// The requests for turns of the call, at least one.
fn starts<'a>(
    frames: &'a [Frame],
    calls: &Calls<'_>,
) -> Result<Vec<(&'a Frame, Option<&'a str>)>, CheckFailure> {
    let starts: Vec<_> = own_starts(frames, calls.subject).collect();
    if starts.is_empty() {
        return Err(CheckFailure::NotObserved("the call started no turn".to_owned()));
    }
    Ok(starts)
}

/// Every turn that the call starts is one level deeper than the call.
pub fn is_one_deeper(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let starts = starts(frames, calls)?;
    let sent = calls.subject.command.get("recursion_depth");
    let own = sent.and_then(|depth| depth.as_u64().or_else(|| depth.as_str()?.parse().ok()));
    let Some(expected) = own.map(|depth| (depth + 1).to_string()) else {
        return Err(CheckFailure::NotObserved("the command names no depth".to_owned()));
    };
    let wrong =
        starts.iter().find(|(start, _)| header(&start.headers, RECURSION_DEPTH) != Some(expected.as_str()));
    match wrong {
        None => Ok(()),
        Some((start, _)) => Err(Finding::new(
            "a turn that the call starts is not one level deeper than the call",
            format!("send `{RECURSION_DEPTH}` of the command plus one with `turns.start`"),
        )
        .expected(expected)
        .actual(header(&start.headers, RECURSION_DEPTH).map(Value::from).as_ref())
        .at(format!("header {RECURSION_DEPTH}"))
        .frame(start)
        .into()),
    }
}

/// The call leaves the ids of its turns to the platform, and the turns that its result names are those.
pub fn leaves_ids_to_the_platform(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let starts = starts(frames, calls)?;
    let turn = Revision::V1r4.header("agent_turn_id").unwrap_or_default();
    for (start, _) in &starts {
        let chosen = start.member("/agent_turn_id").cloned();
        let (at, chosen) = match chosen {
            Some(value) => ("/agent_turn_id".to_owned(), value),
            None => match header(&start.headers, turn) {
                Some(value) => (format!("header {turn}"), Value::from(value)),
                None => continue,
            },
        };
        return Err(Finding::new(
            "the request for a turn chooses the id of the turn",
            "leave it out, and take the turn's id from the answer; `correlation_id` says which start is meant",
        )
        .expected("no id")
        .actual(Some(&chosen))
        .at(at)
        .frame(start)
        .into());
    }
    let given: BTreeSet<&str> = starts.iter().filter_map(|(_, turn)| *turn).collect();
    let Some((frame, card)) = seen::result_card(frames, calls) else { return Ok(()) };
    let Some(result) = card.pointer("/content/result") else { return Ok(()) };
    match named_turns(result).find(|turn| !given.contains(turn)) {
        None => Ok(()),
        Some(turn) => Err(Finding::new(
            "the result names a turn that the platform did not start",
            "report the turn's id that stands in the answer to `turns.start`",
        )
        .expected(given.into_iter().collect::<Vec<_>>().join(" or "))
        .actual(Some(&Value::from(turn)))
        .at("/card/content/result")
        .frame(frame)
        .into()),
    }
}

/// Every text under the name `agent_turn_id`.
fn named_turns(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter().flat_map(named_turns)),
        Value::Object(members) => Box::new(members.iter().flat_map(|(name, member)| match member.as_str() {
            Some(text) if name == "agent_turn_id" => {
                Box::new(std::iter::once(text)) as Box<dyn Iterator<Item = &str>>
            }
            _ => named_turns(member),
        })),
        _ => Box::new(std::iter::empty()),
    }
}
