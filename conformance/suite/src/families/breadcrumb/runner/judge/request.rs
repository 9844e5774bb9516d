//! What becomes of requests: odd ones, several at a time, and how often each is answered.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::routing::Audience;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::session::RunnerSession;
use crate::families::breadcrumb::runner::value::holds;
use crate::transcript::{Frame, Kind};

/// A call that must not be executed is not.
pub fn not_executed(frames: &[Frame], call: &Call) -> Judgement {
    let Some(answer) = Answer::any(frames, call).into_iter().find(Answer::succeeded) else { return Ok(()) };
    Err(Finding::new(
        "the request is executed",
        "execute what is a sound request of an `agent.response.v1`, and answer or leave alone what is not",
    )
    .actual(Some(&answer.frame.body))
    .frame(answer.frame)
    .into())
}

/// Nothing was executed but the harmless calls, each once.
pub fn nothing_executed(frames: &[Frame], harmless: &[Call]) -> Judgement {
    let mut left: Vec<&Call> = harmless.iter().collect();
    for answer in Answer::received(frames).into_iter().filter(Answer::succeeded) {
        match left.iter().position(|call| answer.is_to(call.id())) {
            Some(place) => {
                left.remove(place);
            }
            None => {
                return Err(Finding::new(
                    "something is executed for a message without tool requests",
                    "execute the entries of `context.tool_requests` of that very message, and nothing where there are none",
                )
                .actual(Some(&answer.frame.body))
                .frame(answer.frame)
                .into());
            }
        }
    }
    Ok(())
}

/// A call without an id is not answered under the id of another one.
pub fn under_no_other_id(frames: &[Frame], call: &Call, others: &[Call]) -> Judgement {
    for other in others {
        let answers = Answer::all(frames, other);
        // Ids of other scenarios serve a broken runner as well: what is not the other call's own work is a stranger's.
        let is_stranger = |answer: &Answer<'_>| {
            let is_mentioned =
                call.sign.as_ref().zip(answer.output()).is_some_and(|(sign, out)| holds(out, sign));
            is_mentioned || (answers.len() > 1 && !RunnerSession::is_own_work(other, answer))
        };
        let strange = answers
            .iter()
            .enumerate()
            .find(|(number, answer)| is_stranger(answer) || (call.sign.is_none() && *number > 0));
        if let Some((_, answer)) = strange {
            return Err(Finding::new(
                "a request without `requestId` is answered under the id of another request",
                "take `context.request_id` from the request that is answered, and keep none from one request to the next",
            )
            .actual(Some(&answer.frame.body))
            .at("/context/request_id")
            .frame(answer.frame)
            .into());
        }
    }
    Ok(())
}

/// The runner goes on serving.
pub fn keeps_serving(frames: &[Frame], harmless: Option<&Call>) -> Judgement {
    let Some(call) = harmless.filter(|call| !RunnerSession::is_served(frames, call)) else { return Ok(()) };
    Err(Finding::new(
        "the runner does not serve the call that follows",
        "catch what goes wrong with one call, also with one that cannot be read, and go on with the next",
    )
    .expected(call.id())
    .into())
}

/// That the runner was seen alive on the same path.
pub fn is_alive(frames: &[Frame], harmless: &[Call]) -> Judgement {
    if !harmless.is_empty() && harmless.iter().all(|call| RunnerSession::is_served(frames, call)) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the harmless calls before and after it were not served".to_owned()))
}

/// One request, one answer.
pub fn once(frames: &[Frame], call: &Call, audience: &Audience<'_>) -> Judgement {
    let answers = Answer::all(frames, call);
    let mut copies: BTreeMap<&str, Vec<&Frame>> = BTreeMap::new();
    if call.return_to_llm == Some(false) {
        for frame in audience.shown(frames, call) {
            copies.entry(frame.text("/schema_name").unwrap_or_default()).or_default().push(frame);
        }
        if answers.is_empty() && !audience.shows(frames, call) {
            return Err(super::answer::missing(frames, call));
        }
    } else if Answer::of(frames, call).is_none() {
        return Err(super::answer::missing(frames, call));
    }
    let mut all = vec![answers.iter().map(|answer| answer.frame).collect::<Vec<_>>()];
    all.extend(copies.into_values());
    all.into_iter().try_for_each(|frames| is_one(call, &frames))
}

/// A call was not answered more than once. Whether it was answered at all is not looked at.
pub fn not_twice(frames: &[Frame], call: &Call) -> Judgement {
    let answers = Answer::all(frames, call);
    is_one(call, &answers.iter().map(|answer| answer.frame).collect::<Vec<_>>())
}

fn is_one(call: &Call, several: &[&Frame]) -> Judgement {
    if several.len() < 2 {
        return Ok(());
    }
    let finding = Finding::new(
        format!("the call of `{}` is answered {} times", call.tool(), several.len()),
        "an invocation may be announced more than once, and as changed: remember which breadcrumbs were taken, and execute each \
         request once",
    );
    Err(several
        .iter()
        .fold(finding, |finding, frame| finding.frame(frame))
        .expected(1)
        .actual(Some(&Value::from(several.len())))
        .into())
}

/// Each call is answered with what it alone asked for.
pub fn its_own(frames: &[Frame], call: &Call) -> Judgement {
    let Some(answer) = Answer::all(frames, call).into_iter().next() else {
        return Err(super::answer::missing(frames, call));
    };
    if RunnerSession::is_own_work(call, &answer) {
        return Ok(());
    }
    let mut finding = Finding::new(
        format!("the call `{}` is answered with something else than what it asked for", call.id()),
        "execute every entry of `tool_requests`, and give each answer the id and the output of its own request",
    );
    if let Some(sign) = &call.sign {
        finding = finding.expected(sign.clone());
    }
    Err(finding.actual(Some(&answer.frame.body)).at("/context").frame(answer.frame).into())
}

/// Calls that wait do so at the same time: one after the other would take the sum of their times, and their answers
/// would come as far apart as one of them takes.
///
/// Where the answers come together all the same, the machine may be busy, or the answers were kept back: then what the
/// harmless calls took just now is allowed for.
pub fn side_by_side(frames: &[Frame], calls: &[Call], harmless: &[Call], slack: Duration) -> Judgement {
    let request = request_of(frames, calls.first())?;
    let mut answered = Vec::new();
    for call in calls {
        let Some(answer) = Answer::of(frames, call) else { return Err(super::answer::missing(frames, call)) };
        if !answer.succeeded() {
            return Err(CheckFailure::NotObserved(format!("the call of `{}` did not succeed", call.tool())));
        }
        answered.push(answer.frame);
    }
    answered.sort_by_key(|frame| frame.at_us);
    let [.., before, last] = answered.as_slice() else {
        return Err(CheckFailure::NotObserved("fewer than two calls were made".to_owned()));
    };
    let times: Vec<f64> = calls.iter().filter_map(seconds).collect();
    let share = |seconds: f64| Duration::try_from_secs_f64(seconds * 0.95).unwrap_or_default();
    let shortest = share(times.iter().copied().fold(f64::INFINITY, f64::min));
    let busy = if between(before, last) < shortest { lag(frames, harmless) * 4 } else { Duration::ZERO };
    if between(request, last) < share(times.iter().sum()) + slack + busy {
        return Ok(());
    }
    Err(Finding::new(
        format!("{} timers of one message took as long as one after the other", calls.len()),
        "start all entries of `tool_requests` at once, and store each answer when it is there",
    )
    .frame(request)
    .frame(last)
    .into())
}

/// The message that a call was last made in.
fn request_of<'a>(frames: &'a [Frame], call: Option<&Call>) -> Result<&'a Frame, CheckFailure> {
    let made = |frame: &&Frame| {
        frame.kind == Kind::Put && call.is_some_and(|call| frame.body.to_string().contains(call.id()))
    };
    let request = frames.iter().rev().find(made);
    request.ok_or_else(|| CheckFailure::NotObserved("the calls were not made".to_owned()))
}

/// How long a call is to wait.
fn seconds(call: &Call) -> Option<f64> {
    call.input.as_ref()?.as_object()?.values().find_map(Value::as_f64)
}

fn between(one: &Frame, other: &Frame) -> Duration {
    Duration::from_micros(other.at_us.saturating_sub(one.at_us))
}

/// The longest that a harmless call took.
fn lag(frames: &[Frame], harmless: &[Call]) -> Duration {
    let took = |call: &Call| {
        let answer = Answer::of(frames, call)?;
        Some(between(request_of(frames, Some(call)).ok()?, answer.frame))
    };
    harmless.iter().filter_map(took).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::crumb::RESPONSE;

    const TIMERS: [&str; 2] = ["timer-1", "timer-2"];

    fn frame(n: u32, at_ms: u64, kind: Kind, body: Value) -> Frame {
        let direction = if kind == Kind::Put { Direction::ToTarget } else { Direction::FromTarget };
        Frame {
            n,
            at_us: at_ms * 1000,
            direction,
            kind,
            channel: String::new(),
            headers: BTreeMap::new(),
            body,
        }
    }

    fn answer(n: u32, at_ms: u64, id: &str) -> Frame {
        let context = json!({"request_id": id, "status": "success", "output": {"echo": id}});
        frame(n, at_ms, Kind::Crumb, json!({"schema_name": RESPONSE, "context": context}))
    }

    /// Two timers of a second, answered at these times, and a harmless call that took so long.
    fn check(answered: [u64; 2], lag: u64, is_fine: bool) {
        let calls = TIMERS.map(|id| Call::new("timer", json!({"seconds": 1}), id.to_owned()));
        let harmless = Call::new("echo", json!({}), "echo-1".to_owned());
        let frames = [
            frame(1, 0, Kind::Put, json!({"requestIds": TIMERS})),
            answer(2, answered[0], TIMERS[0]),
            answer(3, answered[1], TIMERS[1]),
            frame(4, 9_000, Kind::Put, json!({"requestIds": ["echo-1"]})),
            answer(5, 9_000 + lag, "echo-1"),
        ];
        let judged = side_by_side(&frames, &calls, &[harmless], Duration::ZERO);
        assert_eq!(judged.is_ok(), is_fine, "{answered:?}, {lag} ms");
    }

    #[test]
    fn timers_in_turn_are_distinguished_from_a_busy_machine() {
        check([1_000, 1_010], 2, true);
        check([1_000, 2_000], 2, false);
        // Held back until all are done.
        check([2_000, 2_001], 2, false);
        check([2_400, 2_500], 400, true);
        check([2_000, 3_000], 400, false);
    }
}
