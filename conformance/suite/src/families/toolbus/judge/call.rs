//! Whether a call succeeds or fails, and in which form (Tool bus v1 L14-16, L35).

use serde_json::Value;

use super::Reply;
pub use super::reply::succeeds;
use super::reply::unanswered;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::answer::{Answer, integer};
use crate::families::toolbus::call::{NO_TOOL, Probe};
use crate::families::toolbus::reason::{Alternative, Undeclared};
use crate::families::toolbus::wire_format::INVALID_PARAMS;

/// A server that refuses a large result has bounded it, and there is nothing more to look at.
pub fn gives_what_is_large(reply: &Reply<'_>) -> Judgement {
    if reply.made.call.probe == Some(Probe::Large) && reply.answer.is_refusal() {
        return Err(Alternative::RefusesLarge.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    Ok(())
}

/// Longest id that every store is expected to keep: that of a UUID.
const LONGEST_ID: usize = 36;

/// Ids that a path cannot hold as they are may be refused, or leave no artifacts.
pub fn keeps_its_ids(reply: &Reply<'_>, leaves_artifacts: bool) -> Judgement {
    let is_plain = |id: &str| {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        id.len() <= LONGEST_ID && id.chars().all(fits)
    };
    let ids = ["trace_id", "span_id", "parent_span_id"].map(|name| reply.id(name));
    let has_unusual = ids.iter().flatten().any(|id| !is_plain(id));
    let is_missing = *reply.answer == Answer::Missing;
    if has_unusual && !is_missing && (reply.answer.is_refusal() || !leaves_artifacts) {
        return Err(Alternative::RefusesIds.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    Ok(())
}

/// The first revision of MCP in which a tool that fails answers with `isError`, invalid arguments included.
const TOOL_ERRORS: &str = "2025-11-25";

/// The call is answered by an MCP error. `isError` counts, with a warning where the revision does not ask for it, and for
/// a tool that there is not (resolution A8).
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
        Answer::ToolError(_) if reply.answer.claims_success(reply.result_pointer) => Err(reply
            .finding(
                format!("the failure of `{tool}` has `isError`, and its text is the envelope of a success"),
                "say in the text of an `isError` result what went wrong, without results and without `success: true`",
            )
            .expected("a text that says what went wrong")
            .actual(Some(&reply.shown()))
            .at("/result/content/0/text")
            .into()),
        Answer::ToolError(_) if reply.tool() != NO_TOOL && reply.revision >= TOOL_ERRORS => Ok(()),
        Answer::ToolError(_) => Err(reply
            .finding(
                format!("the failure of `{tool}` is reported by `isError` and not by a JSON-RPC error"),
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

/// The answer has a result or an error, and not both (JSON-RPC 2.0, section 5).
pub fn has_one_outcome(reply: &Reply<'_>) -> Judgement {
    let body = answer::frame(reply.frames, reply.made.id).and_then(|frame| frame.body.as_object());
    let Some(body) = body else {
        return Err(CheckFailure::NotObserved(
            "the answer is no object, so it is none of JSON-RPC".to_owned(),
        ));
    };
    let (Some(result), Some(error)) = (body.get("result"), body.get("error")) else { return Ok(()) };
    let finding = reply
        .finding(
            format!("the answer to the call of `{}` has both `result` and `error`", reply.tool()),
            "leave `result` out where there is an `error`, and `error` where there is none",
        )
        .expected("one of `result` and `error`")
        .actual(Some(&reply.shown()));
    if result.is_null() || error.is_null() {
        return Err(finding
            .recommended("clients take a member that is null for one that is not there")
            .into());
    }
    Err(finding.into())
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
            // It may be named by its title.
            let letters = |text: &str| -> String {
                text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
            };
            if argument.is_none_or(|argument| letters(text).contains(&letters(argument))) {
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

/// As [`reports_invalid_params`], of a call that lacks an argument which the list of tools says is required. A tool that
/// works without it is none of this.
pub fn misses_an_argument(reply: &Reply<'_>, argument: &str) -> Judgement {
    if let Answer::Success(_) = &*reply.answer {
        return Err(Alternative::NeedsNoArgument.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    reports_invalid_params(reply, Some(argument))
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
    if matches!(*next.answer, Answer::Success(_)) && answer::find_echo(&next.lasting()?, value).is_some() {
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use crate::families::toolbus::scene::{Call, Made};

    /// What a failed call that is answered like this comes to in a revision: `None` for nothing to find, else whether it
    /// is only a recommendation.
    fn judged(tool: &str, revision: &str, answer: Answer) -> Option<bool> {
        let call = Call::of(tool);
        let made = Made { call, id: 1 };
        let (result_pointer, trace_pointer, value_base) = ("/result", "/trace", "");
        let (frames, answer) = (&[], Cow::Owned(answer));
        let reply =
            Reply { made: &made, frames, answer, result_pointer, trace_pointer, value_base, revision };
        match fails(&reply) {
            Ok(()) => None,
            Err(CheckFailure::Broken(finding)) => Some(finding.lenience().is_some()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_error_of_a_tool_is_taken_as_its_revision_has_it() {
        let tool_error = |text: &str| {
            let content = json!([{"type": "text", "text": text}]);
            Answer::ToolError(json!({"isError": true, "content": content}))
        };
        let plain = || tool_error("depot_lookup: `item` is required");
        assert_eq!(judged("depot_lookup", "2025-06-18", plain()), Some(true));
        assert_eq!(judged("depot_lookup", "2025-11-25", plain()), None);
        assert_eq!(judged("depot_lookup", "2026-07-28", plain()), None);
        // Of a tool that there is not, MCP asks for a JSON-RPC error in all revisions.
        assert_eq!(judged(NO_TOOL, "2025-11-25", plain()), Some(true));
        let envelope = r#"{"tool": "depot_lookup", "success": true, "result": {}, "trace": {}}"#;
        assert_eq!(judged("depot_lookup", "2025-11-25", tool_error(envelope)), Some(false));
        let error = || Answer::Error(json!({"code": -32602, "message": "`item` is required"}));
        assert_eq!(judged("depot_lookup", "2025-06-18", error()), None);
        assert_eq!(judged(NO_TOOL, "2025-11-25", error()), None);
    }
}
