//! Results: whether they are complete, how long they hold, and what they say of the server.

use serde_json::Value;

use super::{member, shown};
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer::{self, Answer, integer};
use crate::families::toolbus::judge::Reply;
use crate::families::toolbus::judge::reply::unanswered;
use crate::families::toolbus::modern::{COMPLETE, INPUT_REQUIRED};
use crate::families::toolbus::revision::{self, MODERN};

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
                format!("`{}`{} is refused", reply.tool(), reply.sent_with()),
                "serve this request: every server of this revision has its method",
            )
            .expected("a result")
            .actual(Some(&reply.shown()))
            .into()),
        other => Err(unanswered(reply, other)),
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
                    .actual(Some(version))
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

/// The same request has the same tools in its answer, in whatever order, and whatever was called between. Where a list
/// has pages, a page may have any length: tools that are on both first pages have to be the same.
pub fn lists_the_same(first: &Reply<'_>, last: &Reply<'_>) -> Judgement {
    let (before, after) = (member(first, "/result/tools")?, member(last, "/result/tools")?);
    let Some(before) = before.filter(|tools| tools.is_array()) else { return no_result(first) };
    let has_pages = member(first, "/result/nextCursor")?.or(member(last, "/result/nextCursor")?).is_some();
    let (mut earlier, mut later) = (by_name(before), after.map(by_name));
    if let Some(after) = after.filter(|after| has_pages && after.is_array()) {
        (earlier, later) = (common(before, after), Some(common(after, before)));
        if earlier.as_array().is_none_or(Vec::is_empty) {
            return Err(CheckFailure::NotObserved("no tool is on both first pages of the list".to_owned()));
        }
    }
    if later.as_ref().is_some_and(|later| answer::same(&earlier, later)) {
        return Ok(());
    }
    // The first tools that differ; where one of the lists is none, the whole of both.
    let mut differ = None;
    if let (Some(earlier), Some(later)) = (earlier.as_array(), later.as_ref().and_then(Value::as_array)) {
        let at = (0..earlier.len().max(later.len())).find(|at| earlier.get(*at) != later.get(*at));
        let tool = |list: &[Value]| {
            at.and_then(|at| list.get(at)).map_or_else(|| Value::from("absent"), Value::clone)
        };
        differ = Some((tool(earlier), tool(later)));
    }
    let (expected, actual) = differ.unwrap_or_else(|| (before.clone(), shown(after)));
    Err(last
        .finding(
            "the list of tools is another one after a call",
            "answer `tools/list` from what the server is, and not from what it was asked before",
        )
        .expected(expected)
        .actual(Some(&actual))
        .at("/result/tools")
        .into())
}

/// The tools of a page whose names are on the other page too, in the order of their names.
fn common(page: &Value, other: &Value) -> Value {
    let names: Vec<&Value> = other.as_array().into_iter().flatten().map(|tool| &tool["name"]).collect();
    let mut tools = by_name(page);
    if let Some(tools) = tools.as_array_mut() {
        tools.retain(|tool| names.contains(&&tool["name"]));
    }
    tools
}

/// Tools in the order of their names, without what a server may note beside them, such as when they were listed.
fn by_name(tools: &Value) -> Value {
    let mut tools = tools.clone();
    if let Some(tools) = tools.as_array_mut() {
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            tool.remove("_meta");
        }
        tools.sort_by(|left, right| left["name"].as_str().cmp(&right["name"].as_str()));
    }
    tools
}
