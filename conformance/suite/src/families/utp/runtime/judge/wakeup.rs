//! The wakeup that follows a report (UTP §4.2; Guide §2).

use serde_json::Value;

use super::with;
use crate::engine::judge::{Finding, Judgement};
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::view::View;
use crate::transcript::Frame;

/// A wakeup of the agent followed the report.
pub fn comes(frames: &[Frame], view: View<'_>) -> Judgement {
    if seen::wakeups(frames, view.turn, view.call).next().is_some() {
        return Ok(());
    }
    let finding = Finding::new(
        "no wakeup followed the report",
        "publish `cmd.agent.<worker_target>.wakeup` for the agent once its Inbox record is written",
    )
    .expected(format!("a wakeup of `{}`", view.turn.agent_id));
    Err(with(finding, seen::report(frames, view.call, 0)).into())
}

/// A wakeup names the agent of the callback.
pub fn names_agent(frames: &[Frame], view: View<'_>) -> Judgement {
    let revision = view.turn.revision;
    // A payload need not name it where a header does, and then names no other.
    let own = |frame: &&Frame| {
        seen::woken(frame, revision) == Some(&view.turn.agent_id)
            && frame.member("/agent_id").is_none_or(|named| *named == view.turn.agent_id)
    };
    let mut all = seen::wakeups(frames, view.turn, view.call);
    let first = all.next();
    if first.iter().any(own) || all.any(|frame| own(&frame)) {
        return Ok(());
    }
    let agent = &view.turn.agent_id;
    let in_payload = first.and_then(|frame| frame.member("/agent_id")).filter(|named| *named != agent);
    let in_header = || first.and_then(|frame| seen::woken(frame, revision)).map(Value::from);
    let finding = Finding::new(
        "no wakeup names the agent that the callback is for, and no other",
        match revision.header("agent_id") {
            Some(name) => format!(
                "put the agent of the callback into the header `{name}` of the wakeup, and into its payload or nothing"
            ),
            None => "put `agent_id` of the callback into the payload of the wakeup".to_owned(),
        },
    )
    .expected(agent.clone())
    .actual(in_payload.cloned().or_else(in_header).as_ref());
    Err(with(finding, first).into())
}

/// A wakeup went to this worker target.
pub fn goes_to(frames: &[Frame], view: View<'_>, target: &str) -> Judgement {
    let wakeups: Vec<&Frame> = seen::wakeups(frames, view.turn, view.call).collect();
    if wakeups.iter().any(|frame| frame.token(6) == Some(target)) {
        return Ok(());
    }
    let first = wakeups.first().copied();
    let finding = Finding::new(
        format!("the agent was not woken on `{target}`"),
        "read the agent's `worker_target` in the roster when the report comes, and wake it there",
    )
    .expected(format!("cmd.agent.{target}.wakeup"))
    .actual(first.map(|frame| Value::from(frame.channel.clone())).as_ref());
    Err(with(finding, first.or_else(|| seen::report(frames, view.call, 0))).into())
}

/// No wakeup went to a worker target that the roster does not name.
pub fn goes_nowhere_but(frames: &[Frame], view: View<'_>, target: &str) -> Judgement {
    let stray = seen::wakeups(frames, view.turn, view.call).find(|frame| frame.token(6) != Some(target));
    match stray {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "a wakeup of the agent went where the roster does not send it",
            "read the agent's `worker_target` in the roster when the report comes; nothing is fixed or cached",
        )
        .expected(format!("cmd.agent.{target}.wakeup"))
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::utp::revision::Revision;
    use crate::families::utp::runtime::turn::{Row, ToolCall, Turn};
    use crate::transcript::Kind;

    #[test]
    fn the_agent_is_named_where_the_revision_has_it() {
        let check = |revision: Revision, header: Option<&str>, body: Value, expect: bool| {
            let turn = Turn::observed(revision, "mark", "ag", "turn");
            let call = ToolCall::observed("c", Row::external("", "", "", "suspend"));
            let headers = header.map(|agent| ("cg-agent-id".to_owned(), agent.to_owned()));
            let id = BTreeMap::from([("cg-tool-call-id".to_owned(), "c".to_owned())]);
            let frame = |n, kind, headers: BTreeMap<String, String>, body: &Value| Frame {
                n,
                at_us: 0,
                direction: Direction::FromTarget,
                kind,
                channel: "cg.v1.prj.public.cmd.agent.pool.wakeup".to_owned(),
                headers,
                body: body.clone(),
            };
            let wakeup = frame(2, Kind::Wakeup, headers.into_iter().collect(), &body);
            let frames = [frame(1, Kind::Report, id, &json!({"payload": {"tool_call_id": "c"}})), wakeup];
            let view = View { project: "prj", version: "v1", turn: &turn, call: &call };
            assert_eq!(names_agent(&frames, view).is_ok(), expect, "{revision:?} {header:?} {body}");
        };
        check(Revision::V1r3, None, json!({"agent_id": "ag"}), true);
        check(Revision::V1r3, None, json!({"agent_id": "another"}), false);
        check(Revision::V1r3, None, json!({}), false);
        check(Revision::V1r4, Some("ag"), json!({}), true);
        check(Revision::V1r4, Some("another"), json!({"agent_id": "ag"}), false);
        check(Revision::V1r4, Some("ag"), json!({"agent_id": "another"}), false);
        check(Revision::V1r4, None, json!({}), false);
    }
}
