//! Where answers go: Inbox, wakeup, project and channel (UTP §4.2, Guide §2).

use callmark_reports::record::Direction;
use serde_json::Value;

use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::platform::platform_service::CORRELATION;
use crate::families::utp::revision::Revision;
use crate::transcript::{Frame, Kind};

/// The call was answered: a report came for it.
pub fn is_reported(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    match seen::report(frames, calls) {
        Some(_) => Ok(()),
        None => Err(unanswered(frames, calls).into()),
    }
}

/// What there is to say when a valid command gets no callback.
pub fn unanswered(frames: &[Frame], calls: &Calls<'_>) -> Finding {
    let finding = Finding::new(
        "the command was not answered: no callback was reported for it",
        "report a callback with a pointer to the tool.result card for every valid command, within the deadline \
         (if the target works on one command at a time, say `serial = true` under `[utp]`)",
    )
    .expected("a report for the call");
    let sent = seen::command(frames, calls.subject);
    let refused = frames.iter().filter(|frame| frame.kind == Kind::Refused).take(3);
    let finding = refused.fold(finding, |finding, frame| {
        let mut finding = finding.actual(Some(&frame.body)).frame(frame);
        "the platform refused a request of the target; see the messages".clone_into(&mut finding.hint);
        finding
    });
    match sent {
        Some(frame) => finding.frame(frame),
        None => finding,
    }
}

/// Every report holds a callback, an object under `payload`, that Inbox and platform take for that of its call.
pub fn is_callback(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    for report in seen::some_reports(frames, calls)? {
        let value = report.body.get("payload");
        if !value.is_some_and(Value::is_object) {
            return Err(Finding::new(
                "the report holds no callback",
                "put the callback into `payload` of the report",
            )
            .expected("an object")
            .actual(value)
            .at("/payload")
            .frame(report)
            .into());
        }
        if let Some(earlier) = taken_for(frames, report, calls.subject.revision) {
            return Err(Finding::new(
                "the callback has the `correlation_id` of another call's, so the Inbox takes it for a repeat of that one",
                "put the command's `tool_call_id` into `correlation_id` of the report",
            )
            .expected(calls.subject.tool_call_id.clone())
            .actual(report.body.get("correlation_id"))
            .at("/correlation_id")
            .frame(earlier)
            .frame(report)
            .into());
        }
        correlates(report, calls.subject.revision)?;
    }
    Ok(())
}

/// Since `v1r4` a platform refuses a report whose card is of another call than `correlation_id` (R4-10).
fn correlates(report: &Frame, revision: Revision) -> Judgement {
    let id = report.body.get("correlation_id");
    // Other Inbox messages are the target's own affair.
    let is_outcome = revision == Revision::V1r4 && seen::is_outcome(report);
    match revision.reported(report, "tool_call_id") {
        Some(call) if is_outcome && id.and_then(Value::as_str) != Some(call) => {
            Err(Finding::new(
                "the `correlation_id` of the report is not the id of its call, so a platform of v1r4 refuses it",
                "put the id that the header `CG-Tool-Call-Id` of the command holds into `correlation_id` of the report",
            )
            .expected(call)
            .actual(id)
            .at("/correlation_id")
            .frame(report)
            .into())
        }
        // A report without the header breaks a rule of its own.
        _ => Ok(()),
    }
}

/// The earlier report of another call under whose id this one was reported: an Inbox knows a report by its type and its
/// correlation id.
fn taken_for<'a>(frames: &'a [Frame], report: &Frame, revision: Revision) -> Option<&'a Frame> {
    let anchor = |frame: &Frame| {
        let id = frame.text("/correlation_id").or_else(|| revision.reported(frame, "tool_call_id"));
        Some((frame.text("/message_type").unwrap_or_default().to_owned(), id?.to_owned()))
    };
    let own = anchor(report)?;
    let call = revision.reported(report, "tool_call_id")?;
    frames
        .iter()
        .take_while(|frame| frame.n < report.n)
        .filter(|frame| frame.kind == Kind::Report && anchor(frame).as_ref() == Some(&own))
        .find(|frame| revision.reported(frame, "tool_call_id").is_some_and(|other| other != call))
}

/// Every Inbox message is a `tool_result`.
pub fn is_tool_result(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let is_other = |report: &&Frame| report.text("/message_type") != Some("tool_result");
    let Some(report) = seen::some_reports(frames, calls)?.into_iter().find(is_other) else { return Ok(()) };
    Err(Finding::new(
        "the Inbox record is not a `tool_result` message",
        "report callbacks with `message_type` `tool_result`",
    )
    .expected("tool_result")
    .actual(report.body.get("message_type"))
    .at("/message_type")
    .frame(report)
    .into())
}

/// Every report is addressed to the calling agent.
pub fn is_addressed_to_caller(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let revision = calls.subject.revision;
    let caller = calls.subject.command.get("agent_id");
    let is_other = |report: &&Frame| revision.reported_value(report, "agent_id").as_ref() != caller;
    let Some(report) = seen::some_reports(frames, calls)?.into_iter().find(is_other) else { return Ok(()) };
    let value = revision.reported_value(report, "agent_id");
    let hint = match revision.header("agent_id") {
        Some(name) => format!("send the header `{name}` of the command with the report"),
        None => "put the command's `agent_id` into the callback".to_owned(),
    };
    let hint = format!("{hint}; your own id belongs into `source_agent_id`");
    Err(Finding::new(
        "the Inbox record is not addressed to the agent that called",
        revision.hint(report, hint),
    )
    .expected(caller.cloned().unwrap_or(Value::Null))
    .actual(value.as_ref())
    .at(revision.place("agent_id"))
    .frame(report)
    .into())
}

/// The caller is woken on its worker target.
pub fn wakes_on(frames: &[Frame], calls: &Calls<'_>, worker_target: &str) -> Judgement {
    let woken = wakeups(frames, calls).any(|frame| frame.token(6) == Some(worker_target));
    if woken {
        return Ok(());
    }
    Err(Finding::new(
        format!("the calling agent was not woken on `{worker_target}`"),
        "report the callback to L0 with the command's `agent_id`; L0 then wakes the agent where the roster says",
    )
    .expected(format!("cmd.agent.{worker_target}.wakeup"))
    .into())
}

/// No wakeup of the caller goes anywhere but to this worker target.
pub fn wakes_nowhere_but(frames: &[Frame], calls: &Calls<'_>, worker_target: &str) -> Judgement {
    stray(frames, calls, |target| target != worker_target)
}

/// After the agent has moved, no wakeup of it goes to where it was.
pub fn moved_to(frames: &[Frame], calls: &Calls<'_>, worker_target: &str) -> Judgement {
    wakes_nowhere_but(after_command(frames, calls), calls, worker_target)
}

/// What came before the command was about an earlier call.
fn after_command<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> &'a [Frame] {
    let sent = seen::command(frames, calls.subject).map(|command| command.n);
    let sent = frames.iter().position(|frame| Some(frame.n) == sent);
    &frames[sent.unwrap_or_default()..]
}

/// No wakeup of the caller goes to this worker target.
pub fn never_wakes_on(frames: &[Frame], calls: &Calls<'_>, worker_target: &str) -> Judgement {
    stray(frames, calls, |target| target == worker_target)
}

fn stray(frames: &[Frame], calls: &Calls<'_>, wrong: impl Fn(&str) -> bool) -> Judgement {
    match wakeups(frames, calls).find(|frame| frame.token(6).is_some_and(&wrong)) {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "a wakeup of the calling agent went to the wrong worker target",
            "leave wakeups to L0, which reads the roster when the report comes; do not publish or cache them",
        )
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into()),
    }
}

/// Wakeups of the calling agent: those that L0 sent for this call, and any that the target sent itself.
fn wakeups<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> impl Iterator<Item = &'a Frame> {
    let agent = calls.subject.agent_id().map(str::to_owned);
    let others = calls.others.to_vec();
    frames
        .iter()
        .filter(|frame| frame.kind == Kind::Wakeup)
        .filter(move |frame| woken(frame).is_none_or(|own| Some(own) == agent.as_deref()))
        .filter(move |frame| frame.headers.get(CORRELATION).is_none_or(|id| !others.contains(id)))
}

/// The agent that a wakeup is for: since `v1r4` a header names it.
fn woken(wakeup: &Frame) -> Option<&str> {
    wakeup.text("/agent_id").or_else(|| Revision::V1r4.sent(wakeup, "agent_id"))
}

/// Reports and wakeups stay in the channel of the command.
pub fn stays_in_channel(frames: &[Frame], calls: &Calls<'_>, channel: &str) -> Judgement {
    let wrong = |frame: &Frame, own: Option<&str>| {
        Finding::new(
            "the answer left the channel of the command",
            "take project and channel from the subject of the command, for the report and for everything else",
        )
        .expected(channel)
        .actual(own.map(Value::from).as_ref())
        .frame(frame)
    };
    for report in seen::some_reports(frames, calls)? {
        let own = channel_of(report);
        if own.as_deref() != Some(channel) {
            return Err(wrong(report, own.as_deref()).into());
        }
    }
    let divergences = wakeups(after_command(frames, calls), calls)
        .find(|frame| frame.direction == Direction::FromTarget && frame.token(3) != Some(channel));
    match divergences {
        None => Ok(()),
        Some(frame) => Err(wrong(frame, frame.token(3)).into()),
    }
}

/// As [`stays_in_channel`], of whatever channel the command came on.
pub fn stays_in_its_channel(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    match calls.subject.subject.split('.').nth(3) {
        Some(channel) => stays_in_channel(frames, calls, channel),
        None => Err(CheckFailure::NotObserved("the subject of the command names no channel".to_owned())),
    }
}

/// The channel of a report, over either binding.
fn channel_of(report: &Frame) -> Option<String> {
    if let Some(path) = report.channel.strip_prefix("POST ") {
        return path.split('/').nth(4).map(str::to_owned);
    }
    report.token(3).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::utp::judge::example;
    use crate::families::utp::tool::Tool;

    /// What is judged of a call that was answered twice, the second time with this change.
    fn check(
        judgement: impl Fn(&[Frame], &Calls<'_>) -> Judgement,
        revision: Revision,
        change: impl Fn(&mut Frame),
    ) -> Result<(), &'static str> {
        let call = example::call(revision, Tool::Echo, 1);
        let [first, mut second] = [example::report(&call), example::report(&call)];
        change(&mut second);
        example::judged([example::command(&call), first, second], &call, judgement)
    }

    #[test]
    fn a_repeated_answer_goes_where_the_first_goes() {
        let stays = |frames: &[Frame], calls: &Calls<'_>| stays_in_channel(frames, calls, "public");
        for revision in Revision::ALL {
            assert_eq!(check(stays, revision, |_| ()), Ok(()));
            let leaves = |report: &mut Frame| report.channel = report.channel.replace("public", "repeats");
            assert_eq!(check(stays, revision, leaves), Err("broken"));
            assert_eq!(check(is_addressed_to_caller, revision, |_| ()), Ok(()));
            let to_another = |report: &mut Frame| {
                report.body["payload"]["agent_id"] = json!("ag_helper");
                report.headers.insert("CG-Agent-Id".to_owned(), "ag_helper".to_owned());
            };
            assert_eq!(check(is_addressed_to_caller, revision, to_another), Err("broken"));
        }
    }

    #[test]
    fn a_report_of_v1r4_correlates_with_its_call() {
        let correlation = |id: Value| move |report: &mut Frame| report.body["correlation_id"] = id.clone();
        for revision in Revision::ALL {
            assert_eq!(check(is_callback, revision, |_| ()), Ok(()));
            let expected = if revision == Revision::V1r4 { Err("broken") } else { Ok(()) };
            for other in [json!("turn/call"), json!("card"), Value::Null] {
                assert_eq!(check(is_callback, revision, correlation(other)), expected);
            }
        }
    }

    #[test]
    fn other_messages_of_a_call_correlate_as_they_like() {
        let progress = |report: &mut Frame| {
            report.body["message_type"] = json!("tool_progress");
            report.body["correlation_id"] = json!("progress");
        };
        assert_eq!(check(is_callback, Revision::V1r4, progress), Ok(()));
    }
}
