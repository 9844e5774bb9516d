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
    let own = |frame: &&Frame| frame.text("/agent_id") == Some(&view.turn.agent_id);
    let mut all = seen::wakeups(frames, view.turn, view.call);
    let first = all.next();
    if first.iter().any(own) || all.any(|frame| own(&frame)) {
        return Ok(());
    }
    let finding = Finding::new(
        "no wakeup names the agent that the callback is for",
        "put `agent_id` of the callback into the payload of the wakeup",
    )
    .expected(view.turn.agent_id.clone())
    .actual(first.and_then(|frame| frame.body.get("agent_id")));
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
