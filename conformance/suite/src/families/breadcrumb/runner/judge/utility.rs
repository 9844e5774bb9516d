//! Whether the utility tools do what their names say (Universal Tool Invocation L84-88).

use std::time::Duration;

use serde_json::Value;

use super::tool::{is_number, output, wrong};
use crate::engine::judge::{Finding, Judgement};
use crate::families::breadcrumb::reason::Alternative;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::transcript::{Frame, Kind};

/// Part of the time by which `waited` may be off, of a second at the most.
const ABOUT: f64 = 0.5;
/// Part of the time that a timer must really wait, since clocks differ.
const MOST: f64 = 0.95;

/// `calculator` gives the value as a number.
pub fn calculates(call: &Call, answer: &Answer<'_>, value: f64) -> Judgement {
    output(call, answer)?;
    if is_number(answer.at("/result"), value) {
        return Ok(());
    }
    Err(wrong(answer, "/result", value, "the expression has another value, or its value is no number"))
}

/// `random` gives at least one number.
pub fn draws(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let numbers = answer.at("/numbers").and_then(Value::as_array);
    if numbers.is_some_and(|numbers| !numbers.is_empty() && numbers.iter().all(Value::is_number)) {
        return Ok(());
    }
    Err(wrong(answer, "/numbers", "an array with a number", "there is no array with a number in it"))
}

/// `echo` gives the message back.
pub fn echoes(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let Some(message) = call.sign.as_ref() else { return Ok(()) };
    if answer.at("/echo") == Some(message) {
        return Ok(());
    }
    Err(wrong(answer, "/echo", message.clone(), "what comes back is not the message"))
}

/// `timer` says that it waited as long as it was asked to.
///
/// One that measures reports what it really waited, which on a busy machine is more.
pub fn reports_time(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let seconds_asked = seconds(call);
    let reported = answer.at("/waited").and_then(Value::as_f64);
    let longest = since_sent(frames, call, answer.frame).unwrap_or_default().as_secs_f64();
    let about = ABOUT * seconds_asked.min(1.0);
    let most = (seconds_asked + about).max(longest);
    if reported.is_some_and(|reported| reported >= seconds_asked - about && reported <= most) {
        return Ok(());
    }
    Err(wrong(answer, "/waited", seconds_asked, "the timer does not say how many seconds it waited"))
}

/// As [`waits`], of a fraction of a second, which a tool may refuse.
pub fn waits_for_a_fraction(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    if !answer.succeeded() {
        return Err(Alternative::WholeSeconds.seen_in([answer.frame]));
    }
    waits(frames, call, answer)
}

/// `timer` does not answer before its time is over. One that takes whole seconds alone says that it waited those.
pub fn waits(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let Some(took) = since_sent(frames, call, answer.frame) else { return Ok(()) };
    let asked = seconds(call);
    let has_waited = |seconds: f64| took >= Duration::from_secs_f64(seconds * MOST);
    if has_waited(asked) {
        return Ok(());
    }
    let whole = asked.floor();
    let reported = answer.at("/waited").and_then(Value::as_f64);
    let admits = reported.is_some_and(|reported| reported >= whole && reported < asked * MOST);
    if whole >= 1.0 && admits && has_waited(whole) {
        return Err(Alternative::WholeSeconds.seen_in([answer.frame]));
    }
    Err(Finding::new(
        "the timer answers before its time is over",
        "answer when as many seconds have passed as were asked for",
    )
    .expected(format!("{asked} s"))
    .actual(Some(&Value::from("less")))
    .frame(answer.frame)
    .into())
}

/// The time from the call to a frame.
pub fn since_sent(frames: &[Frame], call: &Call, frame: &Frame) -> Option<Duration> {
    let is_it = |put: &&Frame| put.kind == Kind::Put && put.body.to_string().contains(call.id());
    let put = frames.iter().find(is_it)?;
    Some(Duration::from_micros(frame.at_us.saturating_sub(put.at_us)))
}

/// How many seconds a timer is asked to wait.
fn seconds(call: &Call) -> f64 {
    call.input.as_ref().and_then(first_number).unwrap_or(1.0)
}

/// The first number that stands in an input.
fn first_number(value: &Value) -> Option<f64> {
    match value {
        Value::Array(items) => items.iter().find_map(first_number),
        Value::Object(members) => members.values().find_map(first_number),
        plain => plain.as_f64(),
    }
}
