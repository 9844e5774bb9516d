//! What must not be executed. A refusal counts only where a valid request on the same path is taken after it.

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::server::reply::Reply;

/// The Hub was alive: a valid request after it gets another answer, and not that of a breakdown.
fn is_alive(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    let Some(after) = after else { return Ok(()) };
    let differs = after.answer.is_some()
        && !after.is_broken_down()
        && (after.is_executed() || after.status() != reply.status() || after.code() != reply.code());
    if differs {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!(
        "a valid request after it is refused as well, so this shows nothing: {}",
        after.summary()
    )))
}

/// It does not succeed.
pub fn does_not_succeed(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    let claims = reply.body().get("success") == Some(&Value::Bool(true));
    let is_given = reply.body().get("integrations").is_some_and(|given| !given.is_null());
    if claims || (reply.is_2xx() && (reply.is_executed() || is_given)) {
        return Err(reply
            .finding("this request is carried out", remedy(&reply.request.body))
            .expected("no success")
            .actual(Some(reply.body()))
            .into());
    }
    is_alive(reply, after)
}

/// What to change where a request with this body is carried out. A body that is a text is no JSON.
fn remedy(body: &Value) -> &'static str {
    match body {
        Value::String(text) if begins_with_json(text) => {
            "read the body to its end: something stands behind its JSON value, which a decoder that stops after one value \
             (as `json.Decoder` of Go) does not see"
        }
        Value::String(_) => "refuse a body that is no JSON, before anything is done",
        _ => "check the request before anything is done",
    }
}

fn begins_with_json(text: &str) -> bool {
    serde_json::Deserializer::from_str(text).into_iter::<Value>().next().is_some_and(|first| first.is_ok())
}

/// It does not succeed, and the Hub does not break down over it.
pub fn is_survived(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    does_not_succeed(reply, after)?;
    if !reply.is_broken_down() || reply.body().get("success") == Some(&Value::Bool(false)) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the Hub breaks down over this request: {}", reply.summary()),
            "look at the inputs before they are used, and answer what cannot be done by `success: false` with an \
             `error`, or by a status of the 400s",
        )
        .expected("an error envelope, or HTTP 4xx")
        .actual(reply.status().map(Value::from).as_ref())
        .recommended("no code is defined for this refusal (ambiguity A6)")
        .into())
}

/// It is refused with a status of the 400s.
pub fn is_refused(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    does_not_succeed(reply, after)?;
    if reply.status().is_some_and(|status| (400..500).contains(&status)) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the request is not refused with a status of the 400s: {}", reply.summary()),
            "answer with a status of the 400s that the request is at fault",
        )
        .expected("HTTP 4xx")
        .actual(reply.status().map(Value::from).as_ref())
        .into())
}

/// It is not answered with a status of the 200s.
pub fn is_not_2xx(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    does_not_succeed(reply, after)?;
    if !reply.is_2xx() {
        return Ok(());
    }
    Err(reply
        .finding("another method is answered with a status of the 200s", "answer 405 to other methods")
        .expected("405")
        .actual(reply.status().map(Value::from).as_ref())
        .into())
}

/// It does not succeed; a status of the 400s is what the documents lead to expect.
pub fn is_refused_somehow(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    does_not_succeed(reply, after)?;
    is_refused(reply, after).map_err(softened)
}

/// It is refused for its secret.
pub fn is_refused_for_its_secret(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    is_refused(reply, after)?;
    if matches!(reply.status(), Some(401 | 403)) {
        return Ok(());
    }
    Err(reply
        .finding(
            "a missing or wrong secret is refused with another status than 401 or 403",
            "answer 401 or 403",
        )
        .expected("401 or 403")
        .actual(reply.status().map(Value::from).as_ref())
        .recommended("no status is named for a missing or wrong secret")
        .into())
}

fn softened(trouble: CheckFailure) -> CheckFailure {
    match trouble {
        CheckFailure::Broken(finding) => {
            finding.recommended("no code is defined for this refusal (ambiguity A6)").into()
        }
        other => other,
    }
}

/// The refusal cannot be taken for an expired integration.
pub fn is_no_expired_integration(reply: &Reply<'_>) -> Judgement {
    if reply.is_executed() || reply.is_2xx() {
        return Err(CheckFailure::NotObserved("the request is not refused".to_owned()));
    }
    if !reply.body().to_string().contains("INTEGRATION_EXPIRED") {
        return Ok(());
    }
    Err(reply
        .finding(
            "a wrong secret is answered by `INTEGRATION_EXPIRED`",
            "keep that code for a customer's token; an agent would send the customer to log in again",
        )
        .actual(Some(reply.body()))
        .at("/error/code")
        .into())
}

/// The body gives nothing away about integrations.
pub fn shows_no_integrations(reply: &Reply<'_>) -> Judgement {
    let shown = reply.body().get("integrations").is_some_and(|integrations| !integrations.is_null());
    if !shown {
        return Ok(());
    }
    Err(reply
        .finding(
            "the status is given without the right secret",
            "check the secret before anything is looked up",
        )
        .actual(Some(reply.body()))
        .at("/integrations")
        .into())
}
