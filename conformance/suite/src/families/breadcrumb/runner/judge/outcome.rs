//! What a call came to: its own tool's work, or an error (Universal Tool Invocation L30-34, L109-116).

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::manifest::STANDARD_TOOLS;
use crate::families::breadcrumb::reason::Alternative;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::value::holds;
use crate::transcript::{Frame, Kind};

/// The call succeeded.
pub fn success(call: &Call, answer: &Answer<'_>) -> Judgement {
    if answer.succeeded() {
        return Ok(());
    }
    Err(Finding::new(
        format!("the call of `{}` does not succeed", call.tool()),
        "execute every request that names a tool of the catalog and meets what its input must be",
    )
    .expected("success")
    .actual(Some(&answer.frame.body))
    .at("/context/status")
    .frame(answer.frame)
    .into())
}

/// The call ended in an error.
pub fn failure(call: &Call, answer: &Answer<'_>) -> Judgement {
    if !answer.succeeded() {
        return Ok(());
    }
    Err(Finding::new(
        format!("the call of `{}`, which cannot be executed, is answered with a success", call.tool()),
        "answer with `status` `error`: a name must be one of the catalog letter for letter, and an input must have what \
         the tool requires",
    )
    .expected("error")
    .actual(Some(&answer.frame.body))
    .at("/context/status")
    .frame(answer.frame)
    .into())
}

/// A tool that failed says so by its status.
pub fn admits_failure(call: &Call, answer: &Answer<'_>) -> Judgement {
    if !answer.succeeded() {
        return Ok(());
    }
    let finding = Finding::new(
        format!("the failure of `{}` is reported as a success", call.tool()),
        "answer with `status` `error` and the reason in `error`; a failure described in `output` is taken for a result",
    )
    .expected("error")
    .actual(Some(&answer.frame.body))
    .at("/context/status")
    .frame(answer.frame);
    Err(if is_denied(call, answer) {
        finding.recommended("the flag `success` of an output may say it as well (ambiguity A31)")
    } else {
        finding
    }
    .into())
}

/// Whether a breadcrumb tool says by its own flag that it failed (resolution A31).
pub fn is_denied(call: &Call, answer: &Answer<'_>) -> bool {
    call.tool().starts_with("breadcrumb-")
        && answer.succeeded()
        && answer.at("/success") == Some(&Value::Bool(false))
}

/// What failed, so that what is said of failures can be judged.
pub fn has_failed(call: &Call, answer: &Answer<'_>) -> Judgement {
    if is_denied(call, answer) {
        return Err(Alternative::FailureInOutput.seen_in([answer.frame]));
    }
    if answer.succeeded() {
        return Err(CheckFailure::NotObserved("the call succeeded".to_owned()));
    }
    Ok(())
}

/// What succeeded, so that what is said of successes can be judged.
pub fn has_succeeded(answer: &Answer<'_>) -> Judgement {
    if answer.succeeded() {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the call failed".to_owned()))
}

/// The tool that was named did the work.
pub fn work_of_the_tool(call: &Call, answer: &Answer<'_>) -> Judgement {
    success(call, answer)?;
    let output = answer.output().unwrap_or(&Value::Null);
    let named = answer.member("tool").and_then(Value::as_str);
    let is_other = named.is_some_and(|named| named != call.tool() && STANDARD_TOOLS.contains(&named));
    let is_own = match &call.sign {
        Some(sign) => holds(output, sign),
        None => looks_like(call.tool(), output),
    };
    if is_own && !is_other {
        return Ok(());
    }
    let mut finding = Finding::new(
        format!("the answer to a call of `{}` shows the work of something else", call.tool()),
        "look up `tool` in the catalog and execute the tool of exactly that name",
    );
    if let Some(sign) = &call.sign {
        finding = finding.expected(sign.clone());
    }
    Err(finding.actual(Some(&answer.frame.body)).at("/context/output").frame(answer.frame).into())
}

/// Whether an output may be that of a tool, whatever its members are called.
fn looks_like(tool: &str, output: &Value) -> bool {
    let has = |is: fn(&Value) -> bool| any(output, is);
    match tool {
        "random" | "timer" => has(Value::is_number),
        "breadcrumb-create" => has(Value::is_string),
        "breadcrumb-update" => has(|value| value.is_number() || value.is_boolean()),
        "breadcrumb-search" => has(|value| value.is_number() || value.is_array()),
        _ => output.is_object(),
    }
}

fn any(value: &Value, is: fn(&Value) -> bool) -> bool {
    is(value)
        || match value {
            Value::Array(items) => items.iter().any(|item| any(item, is)),
            Value::Object(members) => members.values().any(|member| any(member, is)),
            _ => false,
        }
}

/// The text of the call came through to the tool, and back, as it was.
pub fn text_unaltered(call: &Call, text: &str, answer: &Answer<'_>) -> Judgement {
    if !answer.succeeded() {
        return Err(Finding::new(
            format!("the call of `{}`, whose input is a text of an unusual kind, fails", call.tool()),
            "take any text: it means nothing to the runner",
        )
        .expected(text)
        .actual(answer.error().or(Some(&answer.frame.body)))
        .at("/context/status")
        .frame(answer.frame)
        .into());
    }
    let strings = answer.output().map(strings).unwrap_or_default();
    if strings.contains(&text) {
        return Ok(());
    }
    Err(Finding::new(
        "the tool did not receive the text as it was sent",
        "hand `input` on as it is: no trimming, no escaping, no filling in, no other normal form, no guessing at types",
    )
    .expected(text)
    .actual(Some(answer.output().unwrap_or(&answer.frame.body)))
    .at("/context/output")
    .frame(answer.frame)
    .into())
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The breadcrumb that was stored under a title.
pub fn stored_as<'a>(frames: &'a [Frame], title: &str) -> Option<&'a Frame> {
    frames.iter().find(|frame| frame.kind == Kind::Crumb && frame.text("/title") == Some(title))
}

/// The breadcrumb that a call had made holds what the call said, nested values and numbers included.
pub fn context_unaltered(frames: &[Frame], title: &str, context: &Value) -> Judgement {
    let Some(frame) = stored_as(frames, title) else {
        return Err(CheckFailure::NotObserved(
            "no breadcrumb was stored under the title that the call gives".to_owned(),
        ));
    };
    let stored = frame.body.get("context").unwrap_or(&Value::Null);
    for (name, value) in context.as_object().into_iter().flatten() {
        if !stored.get(name).is_some_and(|stored| is_same(stored, value)) {
            return Err(Finding::new(
                format!("the tool did not receive `{name}` as it was sent"),
                "hand `input` on as it is, nested values and numbers included",
            )
            .expected(value.clone())
            .actual(stored.get(name))
            .at(format!("/context/{name}"))
            .frame(frame)
            .into());
        }
    }
    Ok(())
}

/// Equal, where `1` and `1.0` are one number.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::crumb::RESPONSE;

    #[test]
    fn a_call_that_fails_is_not_called_an_altered_text() {
        let said = |context: Value| {
            let frame = Frame {
                n: 1,
                at_us: 0,
                direction: Direction::FromTarget,
                kind: Kind::Crumb,
                channel: String::new(),
                headers: BTreeMap::new(),
                body: json!({"schema_name": RESPONSE, "context": context}),
            };
            let call = Call::new("echo", json!({"message": "  a  "}), "echo-1".to_owned());
            match text_unaltered(&call, "  a  ", &Answer { frame: &frame }) {
                Ok(()) => String::new(),
                Err(CheckFailure::Broken(finding)) => finding.message,
                Err(other) => panic!("{other:?}"),
            }
        };
        assert_eq!(said(json!({"status": "success", "output": {"echo": "  a  "}})), "");
        let altered = "the tool did not receive the text as it was sent";
        assert_eq!(said(json!({"status": "success", "output": {"echo": "a"}})), altered);
        let failed = said(json!({"status": "error", "error": "the message is blank"}));
        assert!(failed.ends_with("fails"), "{failed}");
    }
}
