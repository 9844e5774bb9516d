//! What an execution service of `v1r4` makes of a report: its answer, and what wakeup and task event carry in headers
//! (Guide r4 §1, Context, NATS).

use serde_json::{Value, json};

use super::with;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::revision::{CONTROL_MEMBERS, header, number};
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::view::View;
use crate::families::utp::trace::RECURSION_DEPTH;
use crate::net::wire::STATUS;
use crate::transcript::{Frame, Kind};

/// The status of a refusal.
const REFUSED: &str = "409";
/// The codes of a refusal.
const CODES: [&str; 3] = ["protocol_violation", "invalid_source_actor", "recursion_depth_exceeded"];
/// What a wakeup carries of its report.
const OF_THE_TURN: [&str; 5] = ["project_id", "channel_id", "agent_id", "agent_turn_id", "turn_epoch"];
/// What a wakeup does not carry: it wakes an agent and is of no call.
const OF_THE_CALL: [&str; 7] = [
    "CG-Tool-Call-Id",
    "CG-Step-Id",
    RECURSION_DEPTH,
    "CG-Parent-Agent-Id",
    "CG-Parent-Turn-Id",
    "CG-Parent-Step-Id",
    "CG-Parent-Traceparent",
];

/// The first report of the call, and the answer to it.
fn answered<'a>(frames: &'a [Frame], view: View<'_>) -> Result<(&'a Frame, &'a Frame), CheckFailure> {
    let report = seen::report(frames, view.call, 0);
    let report = report.ok_or_else(|| CheckFailure::NotObserved("nothing was reported".to_owned()))?;
    let is_answer = |frame: &&Frame| frame.kind == Kind::ReportReply && frame.n > report.n;
    let answer = frames.iter().find(is_answer).ok_or_else(|| {
        let finding = Finding::new("the report was not answered", "answer every report (docs/bindings.md)");
        finding.expected("an answer").frame(report)
    })?;
    Ok((report, answer))
}

/// The status of an answer.
fn status(answer: &Frame) -> &str {
    answer.headers.get(STATUS).map(String::as_str).unwrap_or_default()
}

/// Whether the first report was refused, whatever for.
pub fn was_refused(frames: &[Frame], view: View<'_>) -> Result<bool, CheckFailure> {
    let (_, answer) = answered(frames, view)?;
    let has_error = answer.member("/error").is_some();
    Ok(has_error || !status(answer).starts_with('2'))
}

/// The first report was refused, with the status and a code of a refusal.
pub fn is_refused(frames: &[Frame], view: View<'_>) -> Judgement {
    let (report, answer) = answered(frames, view)?;
    let code = answer.text("/error/code").unwrap_or_default();
    if status(answer) == REFUSED && CODES.contains(&code) {
        return Ok(());
    }
    let (message, hint) = if was_refused(frames, view)? {
        (
            "the report is refused otherwise than with error 409",
            "refuse it with error 409 and the code of what is wrong",
        )
    } else {
        (
            "a report that is not the result of its call was taken",
            "before a report is taken compare its card, its author and its depth with the call: refuse what does not fit \
             with error 409",
        )
    };
    let finding = Finding::new(message, hint)
        .expected(format!("409 and `{}`", CODES.join("`, `")))
        .actual(Some(&json!({"status": status(answer), "body": answer.body})));
    Err(finding.frame(report).frame(answer).into())
}

/// The first report was taken.
pub fn is_taken(frames: &[Frame], view: View<'_>) -> Judgement {
    if !was_refused(frames, view)? {
        return Ok(());
    }
    let (report, answer) = answered(frames, view)?;
    Err(Finding::new(
        "a report that fits its call was refused",
        "take the reports of services (`sys.…`, `tool.…`) and of agents in the roster that wrote the card themselves",
    )
    .expected("an answer without an error")
    .actual(Some(&answer.body))
    .frame(report)
    .frame(answer)
    .into())
}

/// The Inbox shows nothing of the call.
pub fn left_nothing(frames: &[Frame], view: View<'_>) -> Judgement {
    let Some(record) = seen::records(frames, view.call).into_iter().next() else { return Ok(()) };
    let finding = Finding::new(
        "a report that must be refused is in the Inbox",
        "check a report before its Inbox record is written; a refused one leaves none",
    )
    .expected("no record of the call")
    .actual(Some(&record.body))
    .frame(record);
    Err(with(finding, seen::report(frames, view.call, 0)).into())
}

/// Every wakeup after the report carries the identity of a report in headers.
pub fn wakeup_carries_identity(frames: &[Frame], view: View<'_>) -> Judgement {
    let revision = view.turn.revision;
    let own = seen::report(frames, view.call, 0);
    let own = own.ok_or_else(|| CheckFailure::NotObserved("nothing was reported".to_owned()))?;
    let agrees = |wakeup: &Frame, report: &Frame, member: &str| {
        let (found, sent) = (revision.sent(wakeup, member), revision.reported(report, member));
        match member {
            "turn_epoch" => found.and_then(number).is_some_and(|found| sent.and_then(number) == Some(found)),
            _ => found.is_some() && found == sent,
        }
    };
    for wakeup in some_wakeups(frames, view)? {
        let is_before = |frame: &&Frame| frame.kind == Kind::Report && frame.n < wakeup.n;
        let mut reports = frames.iter().filter(is_before);
        if reports.any(|report| OF_THE_TURN.into_iter().all(|member| agrees(wakeup, report, member))) {
            is_where_it_says(wakeup, view)?;
            continue;
        }
        if is_of_a_start(frames, wakeup, view) {
            continue;
        }
        let differs = OF_THE_TURN.into_iter().find(|member| !agrees(wakeup, own, member)).unwrap_or_default();
        let name = revision.header(differs).unwrap_or_default();
        return Err(Finding::new(
            format!("the wakeup's `{name}` is not that of the report"),
            "name project, channel, agent, turn and epoch of the report in the headers of the wakeup",
        )
        .expected(revision.reported(own, differs).map(Value::from).unwrap_or_default())
        .actual(header(&wakeup.headers, name).map(Value::from).as_ref())
        .at(format!("header {name}"))
        .frame(own)
        .frame(wakeup)
        .into());
    }
    Ok(())
}

/// The subject of a wakeup has the project and the channel of its headers: a worker ignores a message whose headers
/// contradict its subject (Context §3.1).
fn is_where_it_says(wakeup: &Frame, view: View<'_>) -> Judgement {
    for (index, member) in [(2, "project_id"), (3, "channel_id")] {
        let named = view.turn.revision.sent(wakeup, member);
        if wakeup.token(index) != named {
            return Err(Finding::new(
                format!("the subject of the wakeup is not that of its `{member}`"),
                "publish the wakeup on `cg.<ver>.<project_id>.<channel_id>.cmd.agent.<worker_target>.wakeup` with the \
                 project and the channel of the report",
            )
            .expected(named.map(Value::from).unwrap_or_default())
            .actual(Some(&Value::from(wakeup.channel.clone())))
            .frame(wakeup)
            .into());
        }
    }
    Ok(())
}

/// Whether a wakeup is for a turn of its agent that was started, and of which nothing was reported yet: a runtime may
/// wake its own workers for it.
fn is_of_a_start(frames: &[Frame], wakeup: &Frame, view: View<'_>) -> bool {
    let revision = view.turn.revision;
    let Some(turn) = revision.sent(wakeup, "agent_turn_id") else { return false };
    let mut before = frames.iter().filter(|frame| frame.n < wakeup.n);
    let is_reported = before
        .any(|frame| frame.kind == Kind::Report && revision.reported(frame, "agent_turn_id") == Some(turn));
    // The worker may be woken before the start is answered.
    let is_started = frames
        .iter()
        .any(|frame| frame.kind == Kind::TurnReply && frame.text("/agent_turn_id") == Some(turn));
    let is_its = revision.sent(wakeup, "agent_id") == Some(&view.turn.agent_id);
    is_started && is_its && !is_reported
}

/// The wakeups after the report.
fn some_wakeups<'a>(frames: &'a [Frame], view: View<'a>) -> Result<Vec<&'a Frame>, CheckFailure> {
    let all: Vec<&Frame> = seen::wakeups(frames, view.turn, view.call).collect();
    if all.is_empty() {
        return Err(CheckFailure::NotObserved("no wakeup was seen".to_owned()));
    }
    Ok(all)
}

/// No wakeup after the report carries anything of a call, in headers or in its payload.
pub fn wakeup_carries_no_call(frames: &[Frame], view: View<'_>) -> Judgement {
    let hint = "publish a wakeup with the identity of its turn in headers alone: no call, step, depth or parents, and at \
                most `agent_id` in the payload";
    for wakeup in some_wakeups(frames, view)? {
        if let Some(name) = OF_THE_CALL.into_iter().find(|name| header(&wakeup.headers, name).is_some()) {
            return Err(Finding::new(format!("the wakeup has the header `{name}`"), hint)
                .expected("no such header")
                .actual(header(&wakeup.headers, name).map(Value::from).as_ref())
                .at(format!("header {name}"))
                .frame(wakeup)
                .into());
        }
        let is_there = |member: &&str| *member != "agent_id" && wakeup.body.get(*member).is_some();
        if let Some(member) = CONTROL_MEMBERS.into_iter().find(|member| is_there(member)) {
            return Err(Finding::new(
                format!("the payload of the wakeup has the control member `{member}`"),
                hint,
            )
            .expected("no control member but `agent_id`")
            .actual(wakeup.body.get(member))
            .at(format!("/{member}"))
            .frame(wakeup)
            .into());
        }
    }
    Ok(())
}

/// Every task event of the turn carries the turn's identity in headers.
pub fn event_carries_identity(frames: &[Frame], view: View<'_>) -> Judgement {
    let revision = view.turn.revision;
    let reported =
        seen::report(frames, view.call, 0).and_then(|report| revision.reported(report, "turn_epoch"));
    let least = reported.and_then(number).unwrap_or_default();
    let events: Vec<&Frame> = seen::tasks(frames, view.turn).collect();
    if events.is_empty() {
        return Err(CheckFailure::NotObserved("the runtime publishes no task event".to_owned()));
    }
    for event in events {
        let (project, channel) = (event.token(2).unwrap_or_default(), event.token(3).unwrap_or_default());
        // Of a turn of which only messages are known, the subject says where it runs.
        let own = Some(view.turn.channel.as_str()).filter(|own| !own.is_empty());
        if let Some(own) = own.filter(|own| *own != channel) {
            return Err(Finding::new(
                "the task event is published in another channel than that of its turn",
                "publish it on `cg.<ver>.<project_id>.<channel_id>.evt.agent.<agent_id>.task` with the channel in which \
                 the turn was started",
            )
            .expected(own)
            .actual(Some(&Value::from(event.channel.clone())))
            .frame(event)
            .into());
        }
        let expected = [
            ("project_id", project),
            ("channel_id", channel),
            ("agent_id", &view.turn.agent_id),
            ("agent_turn_id", &view.turn.id),
        ];
        let differs =
            expected.into_iter().find(|(member, value)| revision.sent(event, member) != Some(value));
        // An epoch may be counted up while a turn runs, and never down.
        let epoch = revision.sent(event, "turn_epoch").and_then(number);
        let (member, value) = match differs {
            Some((member, value)) => (member, value.to_owned()),
            None if epoch.is_none_or(|epoch| epoch < least) => ("turn_epoch", least.to_string()),
            None => continue,
        };
        let name = revision.header(member).unwrap_or_default();
        return Err(Finding::new(
            format!("the task event's `{name}` is not that of its turn"),
            "name project, channel, agent, turn and epoch of the turn in the headers of its task event",
        )
        .expected(value)
        .actual(header(&event.headers, name).map(Value::from).as_ref())
        .at(format!("header {name}"))
        .frame(event)
        .into());
    }
    Ok(())
}

/// The control members in the payloads of the turn's task events.
pub fn control_members_of_events(
    frames: &[Frame],
    view: View<'_>,
) -> Result<Vec<&'static str>, CheckFailure> {
    let events: Vec<&Frame> = seen::tasks(frames, view.turn).collect();
    if events.is_empty() {
        return Err(CheckFailure::NotObserved("the runtime publishes no task event".to_owned()));
    }
    let is_there = |member: &&str| events.iter().any(|event| event.body.get(*member).is_some());
    Ok(CONTROL_MEMBERS.into_iter().filter(is_there).collect())
}

/// Nobody but the agent of the report was woken after it.
pub fn wakes_nobody_else(frames: &[Frame], view: View<'_>, others: &[&str]) -> Judgement {
    let since = seen::report(frames, view.call, 0).map_or(u32::MAX, |frame| frame.n);
    let is_stray = |frame: &&Frame| {
        let woken = seen::woken(frame, view.turn.revision);
        frame.kind == Kind::Wakeup && frame.n > since && woken.is_some_and(|own| others.contains(&own))
    };
    let Some(wakeup) = frames.iter().find(is_stray) else { return Ok(()) };
    let finding = Finding::new(
        "an agent was woken that the payload of a report names, and not its headers",
        "take the identity of a report from its headers, and never from its payload",
    )
    .expected(format!("no wakeup but of `{}`", view.turn.agent_id))
    .actual(seen::woken(wakeup, view.turn.revision).map(Value::from).as_ref())
    .frame(wakeup);
    Err(with(finding, seen::report(frames, view.call, 0)).into())
}

/// The model was given one result of the call: that of one of its reports, once.
pub fn one_result_is_received(frames: &[Frame], view: View<'_>) -> Judgement {
    let Some(request) = seen::nexts(frames, view.turn).last() else {
        return Err(CheckFailure::NotObserved("the model was not asked again".to_owned()));
    };
    let results = seen::results_of(request, view.turn, view.call);
    if results.len() == 1 {
        return Ok(());
    }
    let finding = Finding::new(
        "of several reports for one call not exactly one was applied",
        "apply the first report of a call, and none that comes after it, whichever card it points to",
    )
    .expected("one message of the role `tool` for the call")
    .actual(Some(&json!(results)))
    .at("/messages")
    .frame(request);
    Err(with(finding, seen::report(frames, view.call, 1)).into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;

    use super::*;
    use crate::families::utp::revision::Revision;
    use crate::families::utp::runtime::turn::{Row, ToolCall, Turn};

    fn frame(n: u32, kind: Kind, headers: &[(&str, &str)], body: Value) -> Frame {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let is_ours = kind == Kind::Report;
        Frame {
            n,
            at_us: 0,
            direction: if is_ours { Direction::ToTarget } else { Direction::FromTarget },
            kind,
            channel: "cg.v1r4.prj.public.evt.agent.ag.task".to_owned(),
            headers: headers.collect(),
            body,
        }
    }

    /// What a report of the call has in its headers.
    const SENT: [(&str, &str); 6] = [
        ("CG-Project-Id", "prj"),
        ("CG-Channel-Id", "public"),
        ("CG-Agent-Id", "ag"),
        ("CG-Turn-Id", "turn"),
        ("CG-Turn-Epoch", "6"),
        ("CG-Tool-Call-Id", "call"),
    ];

    /// What a wakeup or a task event has, as it arrives.
    const CARRIED: [(&str, &str); 5] = [
        ("cg-project-id", "prj"),
        ("cg-channel-id", "public"),
        ("cg-agent-id", "ag"),
        ("cg-turn-id", "turn"),
        ("cg-turn-epoch", "6"),
    ];

    fn report() -> Frame {
        frame(1, Kind::Report, &SENT, json!({"correlation_id": "call", "payload": {}}))
    }

    fn judged(frames: &[Frame], judgement: fn(&[Frame], View<'_>) -> Judgement) -> Judgement {
        let turn = Turn::observed(Revision::V1r4, "mark", "ag", "turn");
        let call = ToolCall::observed("call", Row::external("v1r4", "tides", "tides.run", "suspend"));
        judgement(frames, View { project: "prj", version: "v1r4", turn: &turn, call: &call })
    }

    #[test]
    fn a_refusal_has_its_status_and_a_code() {
        let check = |status: &str, body: Value, expect: bool| {
            let answer = frame(2, Kind::ReportReply, &[(STATUS, status)], body.clone());
            assert_eq!(judged(&[report(), answer], is_refused).is_ok(), expect, "{status} {body}");
        };
        let error = |code: &str| json!({"error": {"code": code, "message": "m"}, "correlation_id": "call"});
        for code in CODES {
            check("409", error(code), true);
        }
        check("400", error("protocol_violation"), false);
        check("409", error("bad_request"), false);
        check("409", Value::Null, false);
        check("200", json!({"inbox_id": "i"}), false);
        assert!(judged(&[report()], is_refused).is_err());
    }

    #[test]
    fn wakeup_and_task_event_are_published_in_the_channel_of_the_turn() {
        let check =
            |judgement: fn(&[Frame], View<'_>) -> Judgement, kind: Kind, (own, there): (&str, &str)| {
                let mut turn = Turn::observed(Revision::V1r4, "mark", "ag", "turn");
                own.clone_into(&mut turn.channel);
                let call = ToolCall::observed("call", Row::external("v1r4", "tides", "tides.run", "suspend"));
                let mut message = frame(2, kind, &CARRIED, json!({}));
                message.channel = format!("cg.v1r4.prj.{there}.cmd.agent.pool.wakeup");
                let view = View { project: "prj", version: "v1r4", turn: &turn, call: &call };
                judgement(&[report(), message], view).is_ok()
            };
        assert!(check(wakeup_carries_identity, Kind::Wakeup, ("", "public")));
        assert!(!check(wakeup_carries_identity, Kind::Wakeup, ("", "ch_7")));
        assert!(check(event_carries_identity, Kind::Task, ("public", "public")));
        assert!(!check(event_carries_identity, Kind::Task, ("ch_7", "public")));
    }

    #[test]
    fn a_wakeup_names_its_turn_and_no_call() {
        let check = |headers: &[(&str, &str)], body: Value, expect: (bool, bool)| {
            let frames = [report(), frame(2, Kind::Wakeup, headers, body)];
            let found =
                [wakeup_carries_identity, wakeup_carries_no_call].map(|own| judged(&frames, own).is_ok());
            assert_eq!(found, [expect.0, expect.1], "{headers:?}");
        };
        // The payload may name the agent, or nobody.
        check(&CARRIED, json!({"agent_id": "ag"}), (true, true));
        check(&CARRIED, json!({}), (true, true));
        check(&CARRIED, json!({"turn_epoch": 6}), (true, false));
        for index in 0..CARRIED.len() {
            let mut lacking = CARRIED.to_vec();
            lacking.remove(index);
            check(&lacking, json!({"agent_id": "ag"}), (false, true));
        }
        let with = |more: (&'static str, &'static str)| CARRIED.into_iter().chain([more]).collect::<Vec<_>>();
        check(&with(("cg-tool-call-id", "call")), json!({}), (true, false));
        check(&with(("cg-recursion-depth", "1")), json!({}), (true, false));
        check(&with(("cg-timestamp", "1")), json!({}), (true, true));
    }

    #[test]
    fn a_wakeup_for_the_start_of_another_turn_is_of_no_report() {
        let mut headers = CARRIED;
        headers[3] = ("cg-turn-id", "turn_2");
        let wakeup = frame(3, Kind::Wakeup, &headers, json!({}));
        let start = frame(2, Kind::TurnReply, &[], json!({"agent_turn_id": "turn_2"}));
        let orders = [[report(), start.clone(), wakeup.clone()], [report(), wakeup.clone(), start]];
        // The worker may be woken before the start is answered.
        assert!(orders.iter().all(|frames| judged(frames, wakeup_carries_identity).is_ok()));
        assert!(judged(&[report(), wakeup], wakeup_carries_identity).is_err());
    }

    #[test]
    fn a_task_event_has_the_identity_of_its_turn() {
        let check = |replaced: Option<(usize, &'static str)>, expect: bool| {
            let mut headers: BTreeMap<usize, (&str, &str)> = CARRIED.into_iter().enumerate().collect();
            if let Some((index, value)) = replaced {
                headers.insert(index, (CARRIED[index].0, value));
            }
            let headers: Vec<_> = headers.into_values().collect();
            let event = frame(2, Kind::Task, &headers, json!({"agent_turn_id": "turn", "status": "success"}));
            assert_eq!(judged(&[report(), event], event_carries_identity).is_ok(), expect, "{headers:?}");
        };
        check(None, true);
        // Epochs are counted up.
        check(Some((4, "7")), true);
        for wrong in [(0, "other"), (1, "other"), (2, "other"), (4, "5"), (4, "six")] {
            check(Some(wrong), false);
        }
    }
}
