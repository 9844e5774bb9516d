//! Whether a tool reports a failure as the standard says (Universal Tool Invocation L111-116).

use serde_json::Value;

use super::outcome::{has_failed, is_denied};
use crate::engine::judge::{Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;

/// `status`, `error` and `tool` are there.
pub fn is_standard(call: &Call, answer: &Answer<'_>) -> Judgement {
    let member = |name: &str| answer.frame.member(&format!("/context/{name}"));
    let finding = |name: &str, expected: &str| {
        Finding::new(
            format!("the failure of `{}` has not the form of the standard", call.tool()),
            "answer a failure with `status` `error`, a message in `error` and the name of the tool in `tool`",
        )
        .expected(expected)
        .actual(member(name).or(Some(&answer.frame.body)))
        .at(format!("/context/{name}"))
        .frame(answer.frame)
    };
    if member("status").and_then(Value::as_str) != Some("error") {
        let finding = finding("status", "error");
        return Err(if is_denied(call, answer) {
            finding.recommended("the flag `success` of an output may say it as well (ambiguity A31)")
        } else {
            finding
        }
        .into());
    }
    if member("error").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
        return Err(finding("error", "a message").into());
    }
    if member("tool").and_then(Value::as_str) != Some(call.tool()) {
        return Err(finding("tool", call.tool()).into());
    }
    Ok(())
}

/// The error is a text for a person.
pub fn is_readable(call: &Call, answer: &Answer<'_>) -> Judgement {
    let Some(error) = answer.error() else {
        has_failed(call, answer)?;
        let message = format!("the call of `{}` brings no error that could be read", call.tool());
        return Err(crate::engine::judge::CheckFailure::NotObserved(message));
    };
    let finding = |what: &str| {
        let hint = "say in a sentence what went wrong; a log is the place for the rest";
        Finding::new(what.to_owned(), hint).actual(Some(error)).at("/context/error").frame(answer.frame)
    };
    let Some(text) = error.as_str() else { return Err(finding("the error is no text").into()) };
    let is_dump =
        serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object() || value.is_array());
    if is_dump {
        return Err(finding("the error is a dump of JSON").into());
    }
    if text.contains("[object Object]") {
        return Err(finding("the error is an object that was written as a text").into());
    }
    if text.lines().any(is_trace) {
        return Err(finding("the error is a stack trace").into());
    }
    if !text.chars().any(char::is_alphabetic) {
        return Err(finding("the error has no word in it").into());
    }
    Ok(())
}

/// Whether a line is one of a stack trace.
fn is_trace(line: &str) -> bool {
    let begins = ["    at ", "\tat ", "Traceback (most recent call last)", "  File \"", "stack backtrace:"];
    begins.iter().any(|begin| line.starts_with(begin)) || line.contains("panicked at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_traces_are_known() {
        let check = |line: &str, expect: bool| assert_eq!(is_trace(line), expect, "{line}");
        check("    at evaluate (calculator.js:12:7)", true);
        check("Traceback (most recent call last):", true);
        check("  File \"tools.py\", line 3, in run", true);
        check("the expression ends at the sign `+`", false);
        check("at the end of the expression a number is missing", false);
    }
}
