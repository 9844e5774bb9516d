//! Whether a call succeeds or fails, and in which form (Tool bus v1 L14-16, L35).

use serde_json::Value;

use super::Reply;
pub use super::reply::succeeds;
use super::reply::unanswered;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::answer::{Answer, integer};
use crate::families::toolbus::call::Probe;
use crate::families::toolbus::reason::{Alternative, Undeclared};

/// JSON-RPC: invalid params.
const INVALID_PARAMS: i64 = -32602;

/// A server that refuses a large result has bounded it, and there is nothing more to look at.
pub fn gives_what_is_large(reply: &Reply<'_>) -> Judgement {
    if reply.made.call.probe == Some(Probe::Large) && reply.answer.is_refusal() {
        return Err(Alternative::RefusesLarge.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    Ok(())
}

/// The call is answered by an MCP error. `isError` counts, with a warning (resolution A8).
pub fn fails(reply: &Reply<'_>) -> Judgement {
    let tool = reply.tool();
    match &*reply.answer {
        Answer::Error(error) if error.get("code").and_then(integer).is_some() => Ok(()),
        Answer::Error(error) => Err(reply
            .finding(
                format!("the error of `{tool}` has no number as its code"),
                "answer with one of the codes of JSON-RPC, such as -32602 or -32603",
            )
            .expected("a whole number")
            .actual(error.get("code").or(Some(&Value::from("absent"))))
            .at("/error/code")
            .recommended("the form of an MCP error is not settled (ambiguity A8)")
            .into()),
        Answer::ToolError(_) => Err(reply
            .finding(
                format!("the failure of `{tool}` is told by `isError` and not by a JSON-RPC error"),
                "answer with a JSON-RPC error such as -32602 or -32603, as the contract's examples do",
            )
            .expected("a JSON-RPC error")
            .actual(Some(&reply.shown()))
            .recommended("the form of an MCP error is not settled (ambiguity A8)")
            .into()),
        Answer::Success(_) => Err(reply
            .finding(
                format!("a call of `{tool}` that cannot work is answered by a result"),
                "answer a failure with an MCP error, never with an envelope",
            )
            .expected("an MCP error")
            .actual(Some(&reply.shown()))
            .into()),
        answer => Err(unanswered(reply, answer)),
    }
}

/// The call does not succeed: an error, or no answer at all.
pub fn does_not_succeed(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Success(_) => Err(reply
            .finding(
                "a `tools/call` without `name` runs a tool",
                "take the tool from `params.name` only, and answer a request without it with -32602",
            )
            .expected("an MCP error")
            .actual(Some(&reply.shown()))
            .into()),
        answer @ Answer::Closed(_) => Err(unanswered(reply, answer)),
        _ => Ok(()),
    }
}

/// Invalid arguments are reported as invalid params (resolution A8: in the `isError` form the text names the
/// argument).
pub fn reports_invalid_params(reply: &Reply<'_>, argument: Option<&str>) -> Judgement {
    let hint = "answer invalid arguments with the JSON-RPC error -32602 and say which argument is wrong";
    match &*reply.answer {
        Answer::Error(error) => {
            let code = error.get("code");
            if code.and_then(integer) == Some(INVALID_PARAMS) {
                return Ok(());
            }
            Err(reply
                .finding("invalid arguments are not reported as invalid params", hint)
                .expected(INVALID_PARAMS)
                .actual(code.or(Some(&Value::from("no code"))))
                .at("/error/code")
                .into())
        }
        Answer::ToolError(_) => {
            let text = reply.answer.text().unwrap_or_default();
            if argument.is_none_or(|argument| text.contains(argument)) {
                return Ok(());
            }
            Err(reply
                .finding("the error does not say which argument is invalid", hint)
                .expected(format!("a text that names `{}`", argument.unwrap_or_default()))
                .actual(Some(&Value::from(text)))
                .at("/result/content/0/text")
                .into())
        }
        _ => fails(reply),
    }
}

/// A failure inside the tool is not reported as invalid params.
pub fn reports_run_time_failure(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Error(error) if error.get("code").and_then(integer) == Some(INVALID_PARAMS) => Err(reply
            .finding(
                "a failure at run time is reported as invalid params",
                "use -32603 or a code of your own where the arguments were valid",
            )
            .expected("another code than -32602")
            .actual(error.get("code"))
            .at("/error/code")
            .into()),
        Answer::Error(_) | Answer::ToolError(_) => Ok(()),
        _ => fails(reply),
    }
}

/// An error says something.
pub fn has_a_message(reply: &Reply<'_>) -> Judgement {
    let (pointer, message) = match &*reply.answer {
        Answer::Error(error) => ("/error/message", error.get("message").cloned()),
        Answer::ToolError(_) => ("/result/content/0/text", reply.answer.text().map(Value::from)),
        _ => return fails(reply),
    };
    if message.as_ref().and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty()) {
        return Ok(());
    }
    Err(reply
        .finding("the error has no message", "say in one sentence what went wrong")
        .expected("a non-empty string")
        .actual(message.as_ref().or(Some(&Value::from("absent"))))
        .at(pointer)
        .into())
}

/// The server serves the call that follows a failure.
pub fn still_serves(failed: &Reply<'_>, next: &Reply<'_>) -> Judgement {
    if !failed.answer.is_failure() && !matches!(*failed.answer, Answer::Closed(_) | Answer::Missing) {
        return fails(failed);
    }
    let value = &next.made.call.value;
    if matches!(*next.answer, Answer::Success(_)) && answer::find_echo(&next.envelope()?, value).is_some() {
        return Ok(());
    }
    Err(next
        .finding(
            "after a tool has failed the server does not serve the next call",
            "catch what a tool throws, answer it with an error, and go on; the next call has a result of its own",
        )
        .expected(serde_json::json!({"result": value}))
        .actual(Some(&next.shown()))
        .into())
}

/// Each call runs the tool that it names.
pub fn run_different_tools(replies: &[Reply<'_>]) -> Judgement {
    if replies.iter().all(|reply| reply.tool() == replies[0].tool()) {
        return Err(Undeclared::OtherProbe.into());
    }
    let mut tools = Vec::new();
    for reply in replies {
        tools.push((reply, reply.envelope()?.get("tool").cloned().unwrap_or_default()));
    }
    let [(_, first), (reply, second)] = tools.as_slice() else {
        return Err(CheckFailure::NotObserved("fewer than two calls were made".to_owned()));
    };
    let ran_the_echo = reply.made.call.probe != Some(Probe::Echo) && {
        let echoed = &replies[0].made.call.value;
        reply.envelope()?.pointer(reply.result_pointer).is_some_and(|value| value == echoed)
    };
    if first == second || ran_the_echo {
        return Err(reply
            .finding(
                "calls of two tools are answered by the same tool",
                "run the tool that `params.name` selects",
            )
            .expected(reply.tool().to_owned())
            .actual(Some(second))
            .at("/tool")
            .into());
    }
    Ok(())
}
