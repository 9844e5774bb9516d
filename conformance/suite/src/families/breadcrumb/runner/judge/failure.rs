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
    if text.contains("[object Object]") || is_written_value(text.trim()) {
        return Err(finding("the error is an object that was written as a text").into());
    }
    if NOTHINGS.contains(&text.trim()) {
        return Err(finding("the error is what a language calls a value that is not there").into());
    }
    if is_markup(text.trim()) {
        return Err(finding("the error is a page, or another document").into());
    }
    if text.lines().any(is_trace) {
        return Err(finding("the error is a stack trace").into());
    }
    if !text.chars().any(char::is_alphabetic) {
        return Err(finding("the error has no word in it").into());
    }
    Ok(())
}

/// What languages write for a value that is not there.
const NOTHINGS: [&str; 6] = ["None", "null", "undefined", "nil", "NaN", "<nil>"];

/// Whether a text is a dictionary or bytes, as Python writes them.
fn is_written_value(text: &str) -> bool {
    let is_between = |begin: &str, end: &str| text.starts_with(begin) && text.ends_with(end);
    is_between("{'", "}") || is_between("b'", "'") && text.len() > 3
}

/// Whether a text is a page of HTML or a document of XML.
fn is_markup(text: &str) -> bool {
    let begin: String = text.chars().take(14).collect::<String>().to_ascii_lowercase();
    ["<!doctype html", "<html", "<?xml"].iter().any(|known| begin.starts_with(known))
        || text.starts_with('<') && text.ends_with('>') && text.contains("</")
}

/// Whether a line is one of a stack trace.
fn is_trace(line: &str) -> bool {
    let begins = ["    at ", "\tat ", "Traceback (most recent call last)", "  File \"", "stack backtrace:"];
    begins.iter().any(|begin| line.starts_with(begin))
        || line.contains("panicked at ")
        || (line.starts_with("goroutine ") && line.contains(" ["))
        || line.split(')').any(is_call_of_javascript)
        || [":in `", ":in '"].iter().any(|sign| names_line_before(line, sign))
}

/// Whether a text ends as ` at run (/app/tools.js:3:1` does.
fn is_call_of_javascript(text: &str) -> bool {
    let Some((before, place)) = text.rsplit_once('(') else { return false };
    let mut parts = place.rsplit(':');
    let has_position = parts.by_ref().take(2).filter(|part| is_number(part)).count() == 2;
    let file = parts.next().unwrap_or_default();
    let called = format!(" {before}");
    has_position && file.contains(['.', '/']) && called.contains(" at ")
}

/// Whether the number of a line of a file stands before a sign, as in Ruby.
fn names_line_before(line: &str, sign: &str) -> bool {
    let Some((before, _)) = line.split_once(sign) else { return false };
    before.rsplit_once(':').is_some_and(|(file, number)| is_number(number) && file.contains('.'))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_to_a_person_is_known() {
        let check = |text: &str, expect: bool| {
            let is_known = NOTHINGS.contains(&text) || is_written_value(text) || is_markup(text);
            assert_eq!(is_known, expect, "{text}");
        };
        check("undefined", true);
        check("{'code': 17, 'message': 'bad'}", true);
        check("b'it failed'", true);
        check("<!DOCTYPE html><html><body>Internal</body></html>", true);
        check("<error><code>17</code></error>", true);
        check("the value of `a` is undefined", false);
        check("{expression} has no value", false);
        check("<expression> is missing in the input", false);
        check("b is no number", false);
    }

    #[test]
    fn lines_of_traces_are_known() {
        let check = |line: &str, expect: bool| assert_eq!(is_trace(line), expect, "{line}");
        check("    at evaluate (calculator.js:12:7)", true);
        check("Traceback (most recent call last):", true);
        check("  File \"tools.py\", line 3, in run", true);
        check("   at evaluate (/app/calculator.js:12:7)", true);
        check("Error: bad at evaluate (/app/calculator.js:12:7) at Object.<anonymous> (/app/x.js:1:2)", true);
        check("goroutine 1 [running]:", true);
        check("calculator.rb:12:in `evaluate': divided by 0 (ZeroDivisionError)", true);
        check("the expression breaks off at position (1:2:3)", false);
        check("what is at (http://127.0.0.1:8080) does not answer", false);
        check("a number is missing in `31 +`:in 'expression'", false);
        check("the expression ends at the sign `+`", false);
        check("at the end of the expression a number is missing", false);
    }
}
