//! Requests that are refused: codes of errors, statuses, and what the refusal of a revision says.

use serde_json::Value;

use super::{member, shown, status};
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer::{self, Answer, integer};
use crate::families::toolbus::judge::Reply;
use crate::families::toolbus::judge::reply::{refusal_of_headers, unanswered};
use crate::families::toolbus::modern::{
    HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, revision_of,
};
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::revision::MODERN;

/// Codes that MCP keeps for itself.
const RESERVED: std::ops::RangeInclusive<i64> = -32099..=-32020;
/// Those of them that it has defined.
const DEFINED: [i64; 3] = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
/// Codes of earlier revisions that nobody may use any more.
const RETIRED: [i64; 2] = [-32002, -32042];
/// Codes that JSON-RPC leaves to servers, and MCP advises against.
const OF_SERVERS: std::ops::RangeInclusive<i64> = -32019..=-32000;

/// The request is refused with one of these codes, and over HTTP with this status.
pub fn is_refused(reply: &Reply<'_>, codes: &[i64], http: u16) -> Judgement {
    let wanted = codes.iter().map(i64::to_string).collect::<Vec<_>>().join(" or ");
    let hint =
        format!("answer this request with the JSON-RPC error {wanted}, and over HTTP with status {http}");
    let finding = |message: String| reply.finding(message, hint.clone());
    match &*reply.answer {
        Answer::Error(error) => {
            let code = error.get("code");
            if !code.and_then(integer).is_some_and(|code| codes.contains(&code)) {
                let found =
                    finding("the error of a request that MCP does not allow has another code".to_owned());
                return Err(found.expected(wanted).actual(Some(&shown(code))).at("/error/code").into());
            }
        }
        Answer::Success(_) | Answer::ToolError(_) => {
            let found = finding(carried_out(reply));
            return Err(found.expected(format!("the error {wanted}")).actual(Some(&reply.shown())).into());
        }
        other => return Err(unanswered(reply, other)),
    }
    has_status(reply, http)
}

fn carried_out(reply: &Reply<'_>) -> String {
    format!("a request{} that MCP does not allow is carried out", reply.sent_with())
}

/// The request, whose header does not name the revision of its body, is refused; or it is answered as one of the legacy era,
/// whose clients send that header, or none.
pub fn is_an_error_or_legacy(reply: &Reply<'_>) -> Judgement {
    is_not_legacy(reply)?;
    is_an_error(reply)
}

/// The same, where the error has to be one of these.
pub fn is_refused_or_legacy(reply: &Reply<'_>, codes: &[i64], http: u16) -> Judgement {
    is_not_legacy(reply)?;
    is_refused(reply, codes, http)
}

/// A request in an earlier revision is refused where `server/discover` does not name it. A server that has eras with
/// sessions, too, may take it for a request of one of these.
pub fn is_refused_unless_served(discovered: &Reply<'_>, reply: &Reply<'_>) -> Judgement {
    let versions = member(discovered, "/result/supportedVersions")?.and_then(Value::as_array);
    let Some(versions) = versions else {
        return Err(CheckFailure::NotObserved("`server/discover` names no revisions".to_owned()));
    };
    let requested = answer::request(reply.frames, reply.made.id).and_then(revision_of);
    if versions.iter().any(|version| version.as_str() == requested) {
        return Err(Alternative::HasRevision.seen_in(answer::frame(discovered.frames, discovered.made.id)));
    }
    match &*reply.answer {
        Answer::Success(_) | Answer::ToolError(_) => is_refused_or_legacy(reply, &[UNSUPPORTED_VERSION], 400),
        _ => is_an_error(reply),
    }
}

fn is_not_legacy(reply: &Reply<'_>) -> Judgement {
    let is_carried_out = matches!(&*reply.answer, Answer::Success(_) | Answer::ToolError(_));
    if is_carried_out && member(reply, "/result/resultType")?.is_none() {
        return Err(Alternative::LegacyDefault.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    Ok(())
}

/// The request is refused, with whatever error. Over HTTP it need not be one of JSON-RPC.
pub fn is_an_error(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Error(_) => Ok(()),
        Answer::Other(status, _) if status.starts_with('4') => Ok(()),
        Answer::Success(_) | Answer::ToolError(_) => Err(reply
            .finding(
                carried_out(reply),
                "answer it with the JSON-RPC error -32602 where its `_meta` names no revision, and with -32020 where the \
                 header `MCP-Protocol-Version` is missing or names another one",
            )
            .expected("a JSON-RPC error")
            .actual(Some(&reply.shown()))
            .into()),
        other => Err(unanswered(reply, other)),
    }
}

/// Over HTTP, the answer has this status.
pub fn has_status(reply: &Reply<'_>, http: u16) -> Judgement {
    let frame = answer::frame(reply.frames, reply.made.id);
    match frame.and_then(status) {
        Some(status) if status != http.to_string() => Err(reply
            .finding(
                format!("the HTTP status of `{}`{} is {status}", reply.tool(), reply.sent_with()),
                format!("answer it with HTTP status {http}"),
            )
            .expected(http)
            .actual(Some(&Value::from(status)))
            .into()),
        None if frame.is_none() => Err(unanswered(reply, &reply.answer)),
        _ => Ok(()),
    }
}

/// A request whose headers are right is not refused for them.
pub fn is_not_refused_for_its_headers(reply: &Reply<'_>) -> Judgement {
    if let Some(finding) = refusal_of_headers(reply) {
        return Err(finding.into());
    }
    match &*reply.answer {
        Answer::Success(_) | Answer::Error(_) | Answer::ToolError(_) => Ok(()),
        other => Err(unanswered(reply, other)),
    }
}

/// The refusal of a revision says which ones there are, and which was asked for.
pub fn names_the_versions(reply: &Reply<'_>) -> Judgement {
    let data = member(reply, "/error/data")?;
    let requested = answer::request(reply.frames, reply.made.id).and_then(revision_of);
    let Some(data) = data else {
        let Answer::Error(_) = *reply.answer else {
            return is_refused(reply, &[UNSUPPORTED_VERSION], 400);
        };
        return Err(refusal(reply, None, "/error/data", "`supported` and `requested`"));
    };
    let supported = data.get("supported").and_then(Value::as_array);
    if !supported.is_some_and(|all| all.iter().any(|version| version == MODERN)) {
        let expected = format!("a list with `{MODERN}`");
        return Err(refusal(reply, data.get("supported"), "/error/data/supported", &expected));
    }
    if data.get("requested").and_then(Value::as_str) == requested {
        return Ok(());
    }
    Err(refusal(reply, data.get("requested"), "/error/data/requested", requested.unwrap_or_default()))
}

fn refusal(reply: &Reply<'_>, actual: Option<&Value>, pointer: &str, expected: &str) -> CheckFailure {
    reply
        .finding(
            "the refusal of a revision does not say which ones the server has",
            "give the error -32022 `data` with `supported`, the list of revisions, and `requested`, the one that was \
             asked for",
        )
        .expected(expected)
        .actual(Some(&shown(actual)))
        .at(pointer)
        .into()
}

/// The code of an error is none that MCP keeps for something else.
pub fn has_no_reserved_code(reply: &Reply<'_>) -> Judgement {
    let code = code(reply)?;
    let is_taken = RETIRED.contains(&code) || (RESERVED.contains(&code) && !DEFINED.contains(&code));
    if !is_taken {
        return Ok(());
    }
    Err(reply
        .finding(
            "the error has a code that MCP keeps for itself",
            "use -32602 or -32603, or a positive code of your own",
        )
        .expected("a code outside -32020 to -32099, and neither -32002 nor -32042")
        .actual(Some(&Value::from(code)))
        .at("/error/code")
        .into())
}

/// The code of an error is none of those that JSON-RPC leaves to servers.
pub fn has_no_code_of_servers(reply: &Reply<'_>) -> Judgement {
    let code = code(reply)?;
    if !OF_SERVERS.contains(&code) || RETIRED.contains(&code) {
        return Ok(());
    }
    Err(reply
        .finding(
            "the error has a code that MCP advises against",
            "use -32602 or -32603, or a positive code of your own",
        )
        .expected("a code outside -32000 to -32019")
        .actual(Some(&Value::from(code)))
        .at("/error/code")
        .into())
}

fn code(reply: &Reply<'_>) -> Result<i64, CheckFailure> {
    match member(reply, "/error/code")?.and_then(integer) {
        Some(code) => Ok(code),
        None => Err(CheckFailure::NotObserved("the call did not end with a JSON-RPC error".to_owned())),
    }
}
