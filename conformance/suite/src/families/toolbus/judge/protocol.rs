//! What MCP itself asks of every exchange since it has no sessions (revision 2026-07-28), beside the tool bus.

use serde_json::Value;

use super::Reply;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::toolbus::answer::{self, Answer, integer};
use crate::families::toolbus::modern::{
    CLIENT_CAPABILITIES, COMPLETE, HEADER_MISMATCH, INPUT_REQUIRED, LOG_LEVEL, MISSING_CAPABILITY,
    PROTOCOL_VERSION, UNSUPPORTED_VERSION, VERSION_HEADER,
};
use crate::families::toolbus::revision::{self, MODERN};
use crate::families::toolbus::wire_format::{BESIDE, HTTP_STATUS, NAMED_SESSION, STDOUT};
use crate::net::wire::STATUS;
use crate::transcript::{Frame, shorten};

/// Codes that MCP keeps for itself.
const RESERVED: std::ops::RangeInclusive<i64> = -32099..=-32020;
/// Those of them that it has defined.
const DEFINED: [i64; 3] = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
/// Codes of earlier revisions that nobody may use any more.
const RETIRED: [i64; 2] = [-32002, -32042];
/// Codes that JSON-RPC leaves to servers, and MCP advises against.
const OF_SERVERS: std::ops::RangeInclusive<i64> = -32019..=-32000;

/// The HTTP status of an answer; nothing over standard input and output.
fn status(frame: &Frame) -> Option<&str> {
    frame.headers.get(HTTP_STATUS).or_else(|| frame.headers.get(STATUS)).map(String::as_str)
}

/// Whether the answer came over HTTP.
pub fn is_over_http(reply: &Reply<'_>) -> bool {
    answer::frame(reply.frames, reply.made.id).and_then(status).is_some()
}

/// A member of the answer to a request, which must have come.
fn member<'a>(reply: &'a Reply<'_>, pointer: &str) -> Result<Option<&'a Value>, CheckFailure> {
    match answer::frame(reply.frames, reply.made.id) {
        Some(frame) if !matches!(*reply.answer, Answer::Closed(_)) => Ok(frame.member(pointer)),
        _ => Err(super::reply::unanswered(reply, &reply.answer)),
    }
}

/// What stands in place of a member, for a finding.
fn shown(value: Option<&Value>) -> Value {
    value.map_or_else(|| Value::from("absent"), shorten)
}

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
            let found = finding("a request that MCP does not allow is carried out".to_owned());
            return Err(found.expected(format!("the error {wanted}")).actual(Some(&reply.shown())).into());
        }
        other => return Err(super::reply::unanswered(reply, other)),
    }
    has_status(reply, http)
}

/// The request is refused, with whatever error. Over HTTP it need not be one of JSON-RPC.
pub fn is_an_error(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Error(_) => Ok(()),
        Answer::Other(status, _) if status.starts_with('4') => Ok(()),
        Answer::Success(_) | Answer::ToolError(_) => Err(reply
            .finding(
                "a request that MCP does not allow is carried out",
                "answer it with the JSON-RPC error -32602 where its `_meta` names no revision, and with -32020 where the \
                 header `MCP-Protocol-Version` is missing or names another one",
            )
            .expected("a JSON-RPC error")
            .actual(Some(&reply.shown()))
            .into()),
        other => Err(super::reply::unanswered(reply, other)),
    }
}

/// Over HTTP, the answer has this status.
pub fn has_status(reply: &Reply<'_>, http: u16) -> Judgement {
    let frame = answer::frame(reply.frames, reply.made.id);
    match frame.and_then(status) {
        Some(status) if status != http.to_string() => Err(reply
            .finding(
                format!("the HTTP status of `{}` is {status}", reply.tool()),
                format!("answer it with HTTP status {http}"),
            )
            .expected(http)
            .actual(Some(&Value::from(status)))
            .into()),
        None if frame.is_none() => Err(super::reply::unanswered(reply, &reply.answer)),
        _ => Ok(()),
    }
}

/// A result says whether the request is complete.
pub fn has_its_result_type(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return no_result(reply) };
    match result.get("resultType").and_then(Value::as_str) {
        Some(COMPLETE | INPUT_REQUIRED) => Ok(()),
        _ => Err(reply
            .finding(
                format!("the result of `{}` does not say whether it is complete", reply.tool()),
                "put `\"resultType\": \"complete\"` into every result, errors of tools included",
            )
            .expected("`complete` or `input_required`")
            .actual(Some(&shown(result.get("resultType"))))
            .at("/result/resultType")
            .into()),
    }
}

fn no_result(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Error(_) => Err(reply
            .finding(
                format!("`{}` is refused", reply.tool()),
                "serve this request: every server of this revision has its method",
            )
            .expected("a result")
            .actual(Some(&reply.shown()))
            .into()),
        other => Err(super::reply::unanswered(reply, other)),
    }
}

/// `server/discover` says which revisions the server has, and what it can do.
pub fn discovers(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return no_result(reply) };
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    if !versions.is_some_and(|all| all.iter().any(|version| version == MODERN)) {
        return Err(reply
            .finding(
                "`server/discover` does not name the revision in which it was asked",
                "list every revision that the server has in `supportedVersions`",
            )
            .expected(format!("a list with `{MODERN}`"))
            .actual(Some(&shown(result.get("supportedVersions"))))
            .at("/result/supportedVersions")
            .into());
    }
    if result.get("capabilities").is_some_and(|own| own.get("tools").is_some_and(Value::is_object)) {
        return Ok(());
    }
    Err(reply
        .finding(
            "`server/discover` does not say that the server has tools",
            "answer with `\"capabilities\": {\"tools\": {}}`",
        )
        .expected("an object with `tools`")
        .actual(Some(&shown(result.get("capabilities"))))
        .at("/result/capabilities")
        .into())
}

/// A result says how long it may be kept.
pub fn says_how_long_it_holds(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return no_result(reply) };
    if result.get("ttlMs").and_then(integer).is_some_and(|ttl| ttl >= 0) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the result of `{}` does not say how long it may be kept", reply.tool()),
            "put `ttlMs` into it: milliseconds, 0 where it may not be kept",
        )
        .expected("a whole number of at least 0")
        .actual(Some(&shown(result.get("ttlMs"))))
        .at("/result/ttlMs")
        .into())
}

/// A result says who may share it.
pub fn says_who_may_share_it(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return no_result(reply) };
    if matches!(result.get("cacheScope").and_then(Value::as_str), Some("public" | "private")) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the result of `{}` does not say who may share it", reply.tool()),
            "put `\"cacheScope\": \"private\"` into it, or `public` where it is the same for everybody",
        )
        .expected("`public` or `private`")
        .actual(Some(&shown(result.get("cacheScope"))))
        .at("/result/cacheScope")
        .into())
}

/// The refusal of a revision says which ones there are, and which was asked for.
pub fn names_the_versions(reply: &Reply<'_>) -> Judgement {
    let data = member(reply, "/error/data")?;
    let asked = answer::request(reply.frames, reply.made.id).and_then(revision_of);
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
    if data.get("requested").and_then(Value::as_str) == asked {
        return Ok(());
    }
    Err(refusal(reply, data.get("requested"), "/error/data/requested", asked.unwrap_or_default()))
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

/// The revision that a request names.
fn revision_of(request: &Frame) -> Option<&str> {
    let meta = request.member("/params/_meta")?;
    meta.get(PROTOCOL_VERSION)?.as_str()
}

/// All revisions that the answer names are revisions of MCP, or later than those that are known.
pub fn names_only_versions_of_mcp(reply: &Reply<'_>) -> Judgement {
    let named = ["/result/supportedVersions", "/error/data/supported"];
    let mut has_any = false;
    for pointer in named {
        let Some(versions) = member(reply, pointer)?.and_then(Value::as_array) else { continue };
        has_any = true;
        for version in versions {
            let is_one = version.as_str().is_some_and(|version| {
                revision::is_known(version) || (revision::is_date(version) && version > MODERN)
            });
            if !is_one {
                return Err(reply
                    .finding(
                        "the server names a revision that MCP does not have",
                        format!("name only revisions of MCP, such as `{MODERN}`"),
                    )
                    .expected(format!("one of {}", revision::known().join(", ")))
                    .actual(Some(&shorten(version)))
                    .at(pointer)
                    .into());
            }
        }
    }
    if has_any {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the answer names no revisions".to_owned()))
}

/// The answer names no session.
pub fn names_no_session(reply: &Reply<'_>) -> Judgement {
    let Some(frame) = answer::frame(reply.frames, reply.made.id) else {
        return Err(super::reply::unanswered(reply, &reply.answer));
    };
    if status(frame).is_none() {
        return Err(CheckFailure::NotObserved("the answer came without HTTP".to_owned()));
    }
    let request = answer::request(reply.frames, reply.made.id);
    let is_modern = |request: &Frame| {
        revision_of(request) == Some(MODERN)
            && request.headers.get(VERSION_HEADER).is_some_and(|version| version == MODERN)
    };
    match frame.headers.get(NAMED_SESSION).filter(|_| request.is_some_and(is_modern)) {
        None => Ok(()),
        Some(session) => Err(reply
            .finding(
                "the answer names a session",
                "send no `Mcp-Session-Id` in answer to a request of this revision, which has no sessions",
            )
            .expected("no header `Mcp-Session-Id`")
            .actual(Some(&Value::from(session.clone())))
            .into()),
    }
}

/// What the server sent beside the answer, of its own accord.
fn asides<'a>(reply: &'a Reply<'_>) -> impl Iterator<Item = &'a Frame> {
    let id = reply.made.id.to_string();
    reply.frames.iter().filter(move |frame| frame.headers.get(BESIDE) == Some(&id))
}

/// The server asks its client nothing.
pub fn asks_nothing(reply: &Reply<'_>) -> Judgement {
    let asked = asides(reply).find(|frame| frame.member("/id").is_some() && frame.text("/method").is_some());
    match asked {
        None => Ok(()),
        Some(frame) => Err(about(reply, frame)
            .finding_with(
                "the server sends a request to its client",
                "answer the call with `input_required` and `inputRequests` where the client must do something, and only \
                 with what its `clientCapabilities` declare",
            )
            .into()),
    }
}

/// Log messages come only where the request asks for them.
pub fn logs_nothing_unasked(reply: &Reply<'_>) -> Judgement {
    let request = answer::request(reply.frames, reply.made.id);
    let level = request.and_then(|frame| frame.member("/params/_meta")).and_then(|meta| meta.get(LOG_LEVEL));
    let logged = asides(reply).find(|frame| frame.text("/method") == Some("notifications/message"));
    match logged.filter(|_| level.is_none()) {
        None => Ok(()),
        Some(frame) => Err(about(reply, frame)
            .finding_with(
                "the server sends a log message that the request did not ask for",
                "send `notifications/message` only where `_meta` of the request has \
                 `io.modelcontextprotocol/logLevel`",
            )
            .into()),
    }
}

/// A call with a message that came beside its answer.
struct About<'a, 'r> {
    reply: &'a Reply<'r>,
    frame: &'a Frame,
}

fn about<'a, 'r>(reply: &'a Reply<'r>, frame: &'a Frame) -> About<'a, 'r> {
    About { reply, frame }
}

impl About<'_, '_> {
    fn finding_with(&self, message: &str, hint: &str) -> Finding {
        let finding = self.reply.finding(message, hint).frame(self.frame);
        finding.expected("nothing beside the answer").actual(Some(&shorten(&self.frame.body)))
    }
}

/// Whether a client declared the capability that it needs to serve one of the requests of an answer.
fn is_declared(reply: &Reply<'_>, asked: &Value) -> bool {
    let capability = match asked.get("method").and_then(Value::as_str) {
        Some("sampling/createMessage") => "sampling",
        Some("elicitation/create") => "elicitation",
        Some("roots/list") => "roots",
        _ => return false,
    };
    let request = answer::request(reply.frames, reply.made.id);
    let meta = request.and_then(|frame| frame.member("/params/_meta"));
    meta.and_then(|meta| meta.get(CLIENT_CAPABILITIES)?.get(capability)).is_some()
}

/// An answer that asks for more asks only for what the client declared. That of a run declares nothing; others may.
pub fn asks_only_for_what_is_declared(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return Ok(()) };
    if result.get("resultType").is_none_or(|kind| kind != INPUT_REQUIRED) {
        return Ok(());
    }
    let finding = |message: &str, hint: &str| {
        reply.finding(message, hint).actual(Some(&reply.shown())).at("/result/inputRequests")
    };
    let asked = result.get("inputRequests").and_then(Value::as_object);
    if let Some(asked) = asked.filter(|asked| !asked.is_empty()) {
        if asked.values().all(|asked| is_declared(reply, asked)) {
            return Ok(());
        }
        return Err(finding(
            "the call is answered by requests that the client did not declare to serve",
            "ask only for what `clientCapabilities` declare, and answer -32021 where the call needs more",
        )
        .expected("no `inputRequests` but for what the client declared")
        .into());
    }
    if result.get("requestState").is_some_and(Value::is_string) {
        return Ok(());
    }
    Err(finding(
        "an answer that asks for more names neither requests nor a state",
        "give an answer with `input_required` `inputRequests`, `requestState`, or both",
    )
    .expected("`inputRequests` or `requestState`")
    .into())
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

/// A result says which server made it.
pub fn names_its_server(reply: &Reply<'_>) -> Judgement {
    let Some(result) = member(reply, "/result")? else { return no_result(reply) };
    let server = result.get("_meta").and_then(|meta| meta.get(SERVER_INFO));
    let has = |member: &str| {
        server.and_then(|own| own.get(member)).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    if has("name") && has("version") {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the result of `{}` does not say which server made it", reply.tool()),
            format!("put `{SERVER_INFO}` with `name` and `version` into the `_meta` of the result"),
        )
        .expected("an object with `name` and `version`")
        .actual(Some(&shown(server)))
        .at("/result/_meta")
        .into())
}

/// Member of `_meta` with the server's name and version.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The same request has the same tools in its answer, whatever was called between.
pub fn lists_the_same(first: &Reply<'_>, last: &Reply<'_>) -> Judgement {
    let (before, after) = (member(first, "/result/tools")?, member(last, "/result/tools")?);
    let Some(before) = before.filter(|tools| tools.is_array()) else { return no_result(first) };
    if after.is_some_and(|after| answer::same(before, after)) {
        return Ok(());
    }
    Err(last
        .finding(
            "the list of tools is another one after a call",
            "answer `tools/list` from what the server is, and not from what it was asked before",
        )
        .expected(shorten(before))
        .actual(Some(&shown(after)))
        .at("/result/tools")
        .into())
}

/// Standard output carries messages only.
pub fn writes_only_messages(reply: &Reply<'_>) -> Judgement {
    member(reply, "")?;
    let is_noise = |frame: &&Frame| {
        frame.channel == STDOUT || (frame.headers.contains_key(BESIDE) && frame.member("/jsonrpc").is_none())
    };
    match reply.frames.iter().find(is_noise) {
        None => Ok(()),
        Some(frame) => Err(reply
            .finding(
                "the server writes to its standard output what is no MCP message",
                "write logs to standard error: standard output carries JSON-RPC messages and nothing else",
            )
            .frame(frame)
            .expected("JSON-RPC messages")
            .actual(Some(&shorten(&frame.body)))
            .into()),
    }
}
