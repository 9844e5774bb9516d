//! The two envelopes, and members of whatever a Hub answers (Tool Execution Contract L43-85).

use serde_json::Value;

use super::shape::Shape;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::contract;
use crate::families::hub::reason::{Alternative, Undeclared};
use crate::families::hub::server::client::{CUSTOMER, MARKED, ODD};
use crate::families::hub::server::reply::Reply;

/// The call succeeds: 2xx, and `success` true.
pub fn is_executed(reply: &Reply<'_>) -> Judgement {
    if reply.is_2xx() && reply.is_executed() {
        return Ok(());
    }
    let customer = reply.request.headers.get(CUSTOMER).map(String::as_str);
    let hint = if customer == Some("refreshable") {
        "refresh a token that has expired, and go on with the new one; `INTEGRATION_EXPIRED` is for a refresh that fails"
    } else {
        "execute a request for a customer whose integrations are connected; the scenario says which member of the \
         request it varies or leaves out"
    };
    Err(reply
        .finding(format!("the request for `{}` is not executed: {}", reply.tool(), reply.summary()), hint)
        .expected("HTTP 200 with `success` true")
        .actual(Some(reply.body()))
        .into())
}

/// Something serves the path: neither a redirect nor a page that is not there.
pub fn is_served(reply: &Reply<'_>) -> Judgement {
    let is_elsewhere = match reply.status() {
        Some(300..400 | 405) => true,
        Some(404) => reply.code().is_none(),
        _ => false,
    };
    if !is_elsewhere {
        return reply.is_no_breakdown();
    }
    Err(reply
        .finding(
            format!("nothing serves this path as it is written: {}", reply.summary()),
            "serve `POST /api/internal/tools/execute/` with its final slash, without a redirect",
        )
        .actual(reply.status().map(Value::from).as_ref())
        .into())
}

/// The secret is taken.
pub fn takes_the_secret(reply: &Reply<'_>) -> Judgement {
    let is_about_the_customer = reply.code().is_some_and(|code| contract::status_of(code).is_some());
    if is_about_the_customer || !matches!(reply.status(), Some(401 | 403)) {
        return reply.is_no_breakdown();
    }
    Err(reply
        .finding(
            format!("the right secret is refused: {}", reply.summary()),
            "take `Authorization: ServiceSecret <secret>`; a Hub that the suite starts gets the secret in \
             `CALLMARK_HUB_SECRET`",
        )
        .actual(Some(reply.body()))
        .into())
}

/// A success comes with a status of the 200s and says that it is one.
pub fn is_success_over_http(reply: &Reply<'_>) -> Judgement {
    if !reply.is_2xx() && !reply.is_executed() {
        return Err(CheckFailure::NotObserved(format!(
            "`{}` did not succeed: {}",
            reply.tool(),
            reply.summary()
        )));
    }
    if reply.is_2xx() && reply.body().is_object() {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("a success is not HTTP 2xx with the success envelope: {}", reply.summary()),
            "answer a success with status 200 and the envelope as the body",
        )
        .actual(Some(reply.body()))
        .into())
}

/// The gate of rules on the success envelope.
pub fn has_result(reply: &Reply<'_>) -> Judgement {
    if reply.is_executed() {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!("`{}` did not succeed: {}", reply.tool(), reply.summary())))
}

/// The gate of rules on the error envelope.
pub fn has_error(reply: &Reply<'_>) -> Judgement {
    let says_so = reply.body().get("error").is_some_and(|error| !error.is_null());
    if says_or_shows(reply, says_so) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!("`{}` did not fail: {}", reply.tool(), reply.summary())))
}

fn says_or_shows(reply: &Reply<'_>, says_so: bool) -> bool {
    says_so
        || reply.body().get("success") == Some(&Value::Bool(false))
        || reply.status().is_some_and(|status| status >= 400)
}

/// A member of the answer has a form. `path` is dotted, from the top of the body.
pub fn member_is(reply: &Reply<'_>, path: &str, shape: Shape) -> Judgement {
    let pointer = format!("/{}", path.replace('.', "/"));
    let value = reply.body().pointer(&pointer);
    if shape.holds(value) {
        return Ok(());
    }
    let state = if value.is_none_or(Value::is_null) { "is missing" } else { "has another form" };
    let (message, hint) = if shape == Shape::Absent {
        (format!("`{path}` is there"), format!("leave `{path}` out of this answer"))
    } else {
        (format!("`{path}` {state}"), format!("give `{path}` as {}", shape.example()))
    };
    Err(reply.finding(message, hint).expected(shape.example()).actual(value).at(pointer).into())
}

/// Each item of an array of the result has a member of a form.
pub fn each_has(reply: &Reply<'_>, list: &str, name: &str, shape: Shape, empty: Empty) -> Judgement {
    let items = some_items(reply, list, empty)?;
    for (index, item) in items.iter().enumerate() {
        let value = item.get(name);
        if !shape.holds(value) {
            let state = if value.is_none_or(Value::is_null) { "is missing" } else { "has another form" };
            return Err(reply
                .finding(
                    format!("`{name}` of an item of `result.{list}` {state}"),
                    format!("give each item of `{list}` its `{name}` as {}", shape.example()),
                )
                .expected(shape.example())
                .actual(value.or(Some(item)))
                .at(format!("/result/{list}/{index}/{name}"))
                .into());
        }
    }
    Ok(())
}

/// The items of an array of the result.
///
/// # Errors
/// A finding where it is no array; nothing to judge where there is no result.
pub fn items<'a>(reply: &Reply<'a>, list: &str) -> Result<&'a Vec<Value>, CheckFailure> {
    let value = reply.result()?.get(list);
    value.and_then(Value::as_array).ok_or_else(|| {
        reply
            .finding(
                format!("`result.{list}` is no array"),
                format!("give `{list}` as an array, also an empty one"),
            )
            .expected("an array")
            .actual(value)
            .at(format!("/result/{list}"))
            .into()
    })
}

/// What it means that a list is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// The Hub is a stub, and a stub may have nothing.
    Possible,
    /// There is something that belongs into it.
    Surprising,
}

impl Empty {
    /// What it means at a Hub that is a stub, or none.
    pub fn at(stub: bool) -> Self {
        if stub { Self::Possible } else { Self::Surprising }
    }
}

/// The items of an array of the result, of which there must be some.
///
/// # Errors
/// Nothing to judge.
pub fn some_items<'a>(reply: &Reply<'a>, list: &str, empty: Empty) -> Result<&'a Vec<Value>, CheckFailure> {
    let items = items(reply, list)?;
    let message = || format!("`result.{list}` is empty, so there is nothing to look at");
    match empty {
        _ if !items.is_empty() => Ok(items),
        Empty::Possible => Err(Undeclared::HubStub.of(format!("result.{list}"))),
        Empty::Surprising => Err(CheckFailure::NotObserved(message())),
    }
}

/// `tool` repeats the tool that was asked for.
pub fn repeats_the_tool(reply: &Reply<'_>) -> Judgement {
    let named = reply.body().get("tool");
    if named.and_then(Value::as_str) == Some(reply.tool()) {
        return Ok(());
    }
    Err(reply
        .finding(
            "`tool` does not repeat the tool of the request",
            "copy `tool` of the request into every answer",
        )
        .expected(reply.tool())
        .actual(named)
        .at("/tool")
        .into())
}

/// The answer is JSON, and says so.
pub fn is_json(reply: &Reply<'_>) -> Judgement {
    if !reply.body().is_object() {
        return Err(reply
            .finding("the body is no JSON object", "answer with one JSON document, whatever the status")
            .expected("a JSON object")
            .actual(Some(reply.body()))
            .into());
    }
    let header = |name: &str| reply.answer.and_then(|answer| answer.headers.get(name));
    if header(MARKED).is_some() {
        return Err(reply
            .finding(
                "the body begins with a byte order mark",
                "write JSON as UTF-8 without a byte order mark",
            )
            .into());
    }
    if header(ODD).is_some() {
        return Err(reply
            .finding(
                "the body holds `NaN` or `Infinity`, which is no JSON",
                "write `null`, or leave the member out, where a number has no value",
            )
            .into());
    }
    let kind = header("content-type");
    if kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("json")) {
        return Ok(());
    }
    Err(reply
        .finding("`Content-Type` of a JSON answer does not say JSON", "send `Content-Type: application/json`")
        .expected("application/json")
        .actual(kind.map(|kind| Value::from(kind.clone())).as_ref())
        .recommended("the contract asks for JSON and names no header")
        .into())
}

/// A code of the table, with the status that belongs to it.
pub fn is_error(reply: &Reply<'_>, code: &str) -> Judgement {
    let status = contract::status_of(code).unwrap_or_default();
    if reply.code() == Some(code) && reply.status() == Some(status) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("this is not {status} `{code}`: {}", reply.summary()),
            format!("answer with status {status} and `error.code` `{code}`"),
        )
        .expected(format!("HTTP {status} with `error.code` `{code}`"))
        .actual(Some(reply.body()))
        .at("/error/code")
        .into())
}

/// No answer is this error. `alike` are the tools that get it whatever is asked of them.
pub fn is_not_error(reply: &Reply<'_>, code: &str, alike: &[&str]) -> Judgement {
    if reply.code() != Some(code) {
        return reply.is_no_breakdown();
    }
    let hint = if alike.contains(&reply.tool()) {
        format!("offer all tools of the contract; these are missing: `{}`", alike.join("`, `"))
    } else {
        format!("`{code}` has another meaning in the contract's table of codes")
    };
    Err(reply
        .finding(format!("`{}` is answered by `{code}`", reply.tool()), hint)
        .actual(reply.body().pointer("/error"))
        .at("/error/code")
        .into())
}

/// Code and status agree where the code is one of the table.
pub fn code_fits_status(reply: &Reply<'_>) -> Judgement {
    let Some(code) = reply.code() else {
        // That the six errors have one is another rule's business; others need none.
        return Err(Alternative::NoErrorCode.seen_in(reply.answer));
    };
    let known = contract::status_of(code);
    match known {
        Some(status) if reply.status() == Some(status) => Ok(()),
        Some(status) => Err(reply
            .finding(
                format!("`{code}` comes with status {}", reply.status().unwrap_or_default()),
                format!("answer `{code}` with status {status}"),
            )
            .expected(status)
            .actual(reply.status().map(Value::from).as_ref())
            .into()),
        None if reply.is_2xx() => Err(reply
            .finding(
                "an error comes with a status of the 200s",
                "answer errors with a status of the 400s or 500s",
            )
            .actual(reply.status().map(Value::from).as_ref())
            .recommended("codes outside the table have no status (ambiguity A27)")
            .into()),
        None => Ok(()),
    }
}

/// `error.details.integration` names the integration behind the tool.
pub fn names_integration(reply: &Reply<'_>, slug: &str) -> Judgement {
    let pointer = "/error/details/integration";
    let named = reply.body().pointer(pointer);
    if named.and_then(Value::as_str) == Some(slug) {
        return Ok(());
    }
    Err(reply
        .finding(
            "`error.details.integration` does not name the integration that is missing",
            "name the integration behind the tool; other slugs than the contract's stand in `[hub.integrations]`",
        )
        .expected(slug)
        .actual(named)
        .at(pointer)
        .into())
}
