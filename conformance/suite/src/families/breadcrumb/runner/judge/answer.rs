//! Whether a call is answered as the standard says (Universal Tool Invocation L63-74).

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::crumb::RESPONSE;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::transcript::{Frame, Kind};

/// A call without an answer.
pub fn missing(frames: &[Frame], call: &Call) -> CheckFailure {
    let mut finding = Finding::new(
        format!("the call of `{}` is not answered", call.tool()),
        "store a `tool.response.v1` whose `context.request_id` is the `requestId` of the request, for a success and for \
         a failure alike",
    )
    .expected(call.id())
    .about_silence();
    // What came in its place says more than nothing.
    if let Some(frame) = frames.iter().rev().find(|frame| frame.kind == Kind::Crumb) {
        finding = finding.actual(Some(&frame.body)).frame(frame);
    }
    finding.into()
}

/// The answer is of the schema of answers.
pub fn schema(answer: &Answer<'_>) -> Judgement {
    let actual = answer.frame.member("/schema_name");
    if actual.and_then(Value::as_str) == Some(RESPONSE) {
        return Ok(());
    }
    Err(Finding::new(
        "the answer is a breadcrumb of another schema",
        "store answers with `schema_name` `tool.response.v1`",
    )
    .expected(RESPONSE)
    .actual(actual)
    .at("/schema_name")
    .frame(answer.frame)
    .into())
}

/// The members stand in `context`.
pub fn in_context(answer: &Answer<'_>) -> Judgement {
    let body = &answer.frame.body;
    let context = body.get("context").filter(|context| context.is_object());
    for names in [&["request_id", "requestId"][..], &["tool"], &["status"], &["output"], &["error"]] {
        let is_inside = names.iter().any(|name| context.is_some_and(|context| context.get(name).is_some()));
        let outside =
            names.iter().find_map(|name| Some((name, body.get(name).filter(|own| !own.is_null())?)));
        // Further members are free, as long as these stand where they are looked for.
        if !is_inside && let Some((name, outside)) = outside {
            return Err(Finding::new(
                format!("`{name}` of the answer stands beside its `context`"),
                "put `request_id`, `tool`, `status` and `output` or `error` into the `context` of the breadcrumb",
            )
            .actual(Some(outside))
            .at(format!("/{name}"))
            .frame(answer.frame)
            .into());
        }
    }
    match context {
        Some(_) => Ok(()),
        None => Err(Finding::new(
            "the answer has no `context`",
            "put the members of the answer into an object `context`",
        )
        .actual(body.get("context"))
        .at("/context")
        .frame(answer.frame)
        .into()),
    }
}

/// The id is called `request_id`.
pub fn spelling(call: &Call, answer: &Answer<'_>) -> Judgement {
    if answer.member("request_id").is_some() {
        return Ok(());
    }
    Err(Finding::new(
        "the answer has no `request_id`",
        "a request says `requestId`, its answer `request_id`: write it so in every answer, of a failure too",
    )
    .expected(call.id())
    .actual(answer.frame.body.get("context"))
    .at("/context/request_id")
    .frame(answer.frame)
    .into())
}

/// The id is the request's, character by character.
pub fn id(call: &Call, answer: &Answer<'_>) -> Judgement {
    let named = ["request_id", "requestId", "correlation_id"].iter().find_map(|name| answer.member(name));
    if named.and_then(Value::as_str) == Some(call.id()) {
        return Ok(());
    }
    Err(Finding::new(
        "the answer does not repeat the id of its request",
        "take `requestId` as a text that means nothing, and repeat it in `context.request_id` as it is",
    )
    .expected(call.id())
    .actual(named)
    .at("/context/request_id")
    .frame(answer.frame)
    .into())
}

/// The tool is called as the request called it.
pub fn tool(call: &Call, answer: &Answer<'_>) -> Judgement {
    let named = answer.member("tool");
    if named.and_then(Value::as_str) == Some(call.tool()) {
        return Ok(());
    }
    Err(Finding::new(
        "the answer does not repeat the name of the tool",
        "put the name that the request had into `context.tool`, also where there is no such tool",
    )
    .expected(call.tool())
    .actual(named)
    .at("/context/tool")
    .frame(answer.frame)
    .into())
}

/// The status is one of two words.
pub fn status(answer: &Answer<'_>) -> Judgement {
    if ["success", "error"].contains(&answer.status()) {
        return Ok(());
    }
    Err(Finding::new(
        "the status is neither `success` nor `error`",
        "write one of the two words, in small letters",
    )
    .expected("success or error")
    .actual(answer.member("status"))
    .at("/context/status")
    .frame(answer.frame)
    .into())
}

/// A success has an object as its output.
pub fn output(answer: &Answer<'_>) -> Judgement {
    if answer.output().is_some_and(Value::is_object) {
        return Ok(());
    }
    Err(Finding::new(
        "the output of a success is no object",
        "put what the tool found under the names of its output schema, also where it is a single value",
    )
    .actual(answer.output())
    .at("/context/output")
    .frame(answer.frame)
    .into())
}

/// A failure has a reason.
pub fn error(answer: &Answer<'_>) -> Judgement {
    let error = answer.member("error");
    if error.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty()) {
        return Ok(());
    }
    Err(Finding::new(
        "the error of a failure is no text",
        "say in `context.error` what went wrong, as a string that is not empty",
    )
    .actual(error)
    .at("/context/error")
    .frame(answer.frame)
    .into())
}

/// A success has no error.
pub fn no_error(answer: &Answer<'_>) -> Judgement {
    let is_empty = |error: &&Value| match error {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    let Some(error) = answer.error().filter(|error| !is_empty(error)) else { return Ok(()) };
    Err(Finding::new("a success has an `error`", "leave `error` out of the answer of a success, or null")
        .actual(Some(error))
        .at("/context/error")
        .frame(answer.frame)
        .into())
}
