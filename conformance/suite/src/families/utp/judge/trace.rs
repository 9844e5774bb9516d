//! Trace context of the callback (Guide §1), as far as it can be seen from outside.
//!
//! Whether the tool or the report operation makes the child span is open, so a span that is passed
//! through unchanged is a warning, not a failure.

use serde_json::Value;

use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::trace::Traceparent;
use crate::transcript::Frame;

const HINT: &str = "make a child span of the command's `traceparent` and send it as the header `traceparent` of the report \
                    (the skeleton in the Guide passes empty headers; that loses the trace)";

fn header<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Result<(&'a Frame, Option<&'a str>), CheckFailure> {
    let report = seen::report(frames, calls).ok_or_else(|| {
        CheckFailure::NotObserved("the target reported no callback for the call".to_owned())
    })?;
    Ok((report, report.headers.get("traceparent").map(String::as_str)))
}

/// The report's trace is the command's; that of a second report is that of the command or of its repetition.
pub fn continues_trace(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    header(frames, calls)?;
    let mut known = vec![calls.subject.trace.trace_id.as_str()];
    for (number, report) in seen::reports(frames, calls).into_iter().enumerate() {
        if number == 1 {
            known.extend(seen::commands(frames, calls.subject).filter_map(trace));
        }
        if !trace(report).is_some_and(|own| known.contains(&own)) {
            return Err(foreign_trace(report, calls));
        }
    }
    Ok(())
}

/// The trace of a message, as far as its header has one.
fn trace(frame: &Frame) -> Option<&str> {
    frame.headers.get("traceparent")?.split('-').nth(1)
}

fn foreign_trace(report: &Frame, calls: &Calls<'_>) -> CheckFailure {
    let header = report.headers.get("traceparent").map(String::as_str);
    Finding::new("the callback does not belong to the command's trace", HINT)
        .expected(calls.subject.trace.trace_id.clone())
        .actual(header.map(Value::from).as_ref())
        .at("header traceparent")
        .frame(report)
        .into()
}

/// The report's span is another one than the command's.
pub fn has_own_span(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (report, header) = header(frames, calls)?;
    let Some(header) = header else {
        return Err(CheckFailure::NotObserved("the report carries no `traceparent`".to_owned()));
    };
    let span = header.split('-').nth(2).unwrap_or_default();
    let finding = |message: &str| {
        Finding::new(message, HINT)
            .expected("a new span id that is not all zeros")
            .actual(Some(&Value::from(header)))
            .at("header traceparent")
            .frame(report)
    };
    if span.bytes().all(|byte| byte == b'0') {
        return Err(finding("the span of the callback is empty").into());
    }
    if span == calls.subject.trace.span_id {
        return Err(finding("the callback passes the command's span on instead of a child of it")
            .recommended("who makes the child span is not said (ambiguity A-15)")
            .into());
    }
    Ok(())
}

/// The report carries a well-formed `traceparent`.
pub fn is_well_formed(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (report, header) = header(frames, calls)?;
    if header.is_some_and(|text| Traceparent::parse(text).is_some()) {
        return Ok(());
    }
    Err(Finding::new("the callback carries no well-formed `traceparent`", HINT)
        .expected("00-<32 hex digits>-<16 hex digits>-<2 hex digits>, lower case")
        .actual(header.map(Value::from).as_ref())
        .at("header traceparent")
        .frame(report)
        .into())
}
