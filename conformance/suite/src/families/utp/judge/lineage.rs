//! The lineage of turns that a PMO starts in `v1r4`: how deep they are nested, and who chooses their ids.

use std::collections::BTreeSet;

use serde_json::Value;

use super::effects::own_starts;
use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::call::Call;
use crate::families::utp::reason::Alternative;
use crate::families::utp::revision::{Revision, header};
use crate::families::utp::trace::{DEPTH_LIMIT, RECURSION_DEPTH};
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

/// The depth of a call; that of one that names none is 0.
fn depth(call: &Call) -> Option<u64> {
    match call.command.get("recursion_depth") {
        None => Some(0),
        Some(depth) => depth.as_u64().or_else(|| depth.as_str()?.parse().ok()),
    }
}

/// Why a call may start no turn, and what is to be done, where it is too deep for one.
pub fn beyond_limit(call: &Call) -> Option<(String, &'static str)> {
    let depth = depth(call).filter(|depth| {
        call.revision == Revision::V1r4 && call.tool.starts_turns() && depth.saturating_add(1) >= DEPTH_LIMIT
    })?;
    let reason = format!("its depth is {depth}, and no turn starts at depth {DEPTH_LIMIT} or above");
    let hint = "compare `CG-Recursion-Depth` plus one with the limit (20 unless configured) before a turn is started, or \
                pass it on with `turns.start`, which is refused then, and answer with `failed`";
    Some((reason, hint))
}

/// Every turn that the call starts is one level deeper than the call. One without a depth may be refused.
pub fn is_one_deeper(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    if !calls.subject.command.contains_key("recursion_depth")
        && let Some(report) = seen::report(frames, calls)
        && report.text("/payload/status") != Some("success")
    {
        return Err(Alternative::RefusesNoDepth.seen_in([report]));
    }
    let starts = starts(frames, calls)?;
    let Some(expected) = depth(calls.subject).map(|depth| depth.saturating_add(1).to_string()) else {
        return Err(CheckFailure::NotObserved("the depth of the command is no number".to_owned()));
    };
    let wrong =
        starts.iter().find(|(start, _)| header(&start.headers, RECURSION_DEPTH) != Some(expected.as_str()));
    match wrong {
        None => Ok(()),
        Some((start, _)) => Err(Finding::new(
            "a turn that the call starts is not one level deeper than the call",
            format!("send `{RECURSION_DEPTH}` of the command, which is 0 where it is absent, plus one with `turns.start`"),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::utp::call::Blueprint;
    use crate::families::utp::project_name::ProjectName;
    use crate::families::utp::tool::{Tool, ToolTable};

    #[test]
    fn a_call_that_is_too_deep_for_a_turn_names_the_limit() {
        let name = ProjectName {
            prefix: String::new(),
            unique: "u".to_owned(),
            stable: "s".to_owned(),
            suffix: String::new(),
        };
        let table = ToolTable::default();
        let check = |version: &str, tool: Tool, depth: Option<u64>, expect: Option<&str>| {
            let blueprint =
                Blueprint { tool, table: &table, version, project_id: "prj_1", name: &name, seed: "1" };
            let mut call = Call::new(blueprint);
            match depth {
                Some(depth) => call.set("recursion_depth", json!(depth)),
                None => call.remove("recursion_depth"),
            }
            let reason = beyond_limit(&call).map(|(reason, _)| reason);
            assert_eq!(reason.as_deref(), expect, "{version} {tool:?} {depth:?}");
        };
        let at = |depth: u64| format!("its depth is {depth}, and no turn starts at depth 20 or above");
        check("v1r4", Tool::DelegateAsync, Some(19), Some(&at(19)));
        check("v1r4", Tool::ForkJoin, Some(100), Some(&at(100)));
        check("v1r4", Tool::DelegateAsync, Some(18), None);
        check("v1r4", Tool::DelegateAsync, None, None);
        check("v1r4", Tool::ProvisionAgent, Some(19), None);
        check("v1r3", Tool::DelegateAsync, Some(19), None);
    }
}
