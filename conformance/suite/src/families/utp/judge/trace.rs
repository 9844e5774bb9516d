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

fn header(report: &Frame) -> Option<&str> {
    report.headers.get("traceparent").map(String::as_str)
}

/// Each report's trace is that of the command, or of a repetition that was sent before the report: whoever takes
/// messages at once, or as several replicas, may come to the repetition first.
pub fn continues_trace(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    for report in seen::some_reports(frames, calls)? {
        let sent_before = seen::commands(frames, calls.subject).filter(|command| command.n < report.n);
        let mut known = sent_before.filter_map(trace).chain([calls.subject.trace.trace_id.as_str()]);
        if !trace(report).is_some_and(|own| known.any(|sent| sent == own)) {
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
    let header = header(report);
    Finding::new("the callback does not belong to the command's trace", HINT)
        .expected(calls.subject.trace.trace_id.clone())
        .actual(header.map(Value::from).as_ref())
        .at("header traceparent")
        .frame(report)
        .into()
}

/// The span of every report is another one than the command's.
pub fn has_own_span(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let reports = seen::some_reports(frames, calls)?;
    if reports.iter().all(|report| header(report).is_none()) {
        return Err(CheckFailure::NotObserved("the report carries no `traceparent`".to_owned()));
    }
    // What is wrong in any reading comes before what is only recommended.
    let spans = || reports.iter().filter_map(|report| Some((*report, header(report)?)));
    let finding = |message: &str, (report, header): (&Frame, &str)| {
        Finding::new(message, HINT)
            .expected("a new span id that is not all zeros")
            .actual(Some(&Value::from(header)))
            .at("header traceparent")
            .frame(report)
    };
    if let Some(empty) = spans().find(|(_, header)| span(header).bytes().all(|byte| byte == b'0')) {
        return Err(finding("the span of the callback is empty", empty).into());
    }
    match spans().find(|(_, header)| span(header) == calls.subject.trace.span_id) {
        None => Ok(()),
        Some(passed_on) => {
            Err(finding("the callback passes the command's span on instead of a child of it", passed_on)
                .recommended("who makes the child span is not said (ambiguity A-15)")
                .into())
        }
    }
}

fn span(header: &str) -> &str {
    header.split('-').nth(2).unwrap_or_default()
}

/// Every report carries a well-formed `traceparent`.
pub fn is_well_formed(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let is_malformed = |report: &&Frame| header(report).is_none_or(|text| Traceparent::parse(text).is_none());
    match seen::some_reports(frames, calls)?.into_iter().find(is_malformed) {
        None => Ok(()),
        Some(report) => Err(Finding::new("the callback carries no well-formed `traceparent`", HINT)
            .expected("00-<32 hex digits>-<16 hex digits>-<2 hex digits>, lower case")
            .actual(header(report).map(Value::from).as_ref())
            .at("header traceparent")
            .frame(report)
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::utp::call::Call;
    use crate::families::utp::judge::example;
    use crate::families::utp::revision::Revision;
    use crate::families::utp::tool::Tool;

    const REPEATED: &str = "00-7d8a3c51e0f24b6996a1c2d3e4f50718-9b8c7d6e5f4a3b2c-01";

    /// What is judged of a call that was repeated in another trace.
    fn judged(call: &Call, frames: [Frame; 3]) -> Result<(), &'static str> {
        example::judged(frames, call, continues_trace)
    }

    fn traced(mut frame: Frame, header: &str) -> Frame {
        frame.headers.insert("traceparent".to_owned(), header.to_owned());
        frame
    }

    #[test]
    fn a_report_continues_any_repetition_that_was_sent_before_it() {
        let call = example::call(Revision::V1r3, Tool::Echo, 1);
        let command = || example::command(&call);
        let repetition = || traced(example::command(&call), REPEATED);
        let of_repetition = || traced(example::report(&call), REPEATED);
        assert_eq!(judged(&call, [command(), repetition(), of_repetition()]), Ok(()));
        assert_eq!(judged(&call, [command(), repetition(), example::report(&call)]), Ok(()));
        assert_eq!(judged(&call, [command(), of_repetition(), repetition()]), Err("broken"));
        let made_up = traced(example::report(&call), &REPEATED.replace('7', "8"));
        assert_eq!(judged(&call, [command(), repetition(), made_up]), Err("broken"));
    }
}
