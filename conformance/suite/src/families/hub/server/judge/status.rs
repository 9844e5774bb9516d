//! The status of integrations (Tool Execution Contract L326-355).

use serde_json::Value;

use super::shape::Shape;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::server::reply::Reply;

/// The status is given.
pub fn is_given(reply: &Reply<'_>) -> Judgement {
    if reply.status() == Some(200) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the status of a customer's integrations is not given: {}", reply.summary()),
            "answer `GET /api/internal/integrations/status/{customer_id}/` with 200",
        )
        .expected(200)
        .actual(reply.status().map(Value::from).as_ref())
        .into())
}

/// `customer_id` is the one in the path.
pub fn is_of(reply: &Reply<'_>, customer: &str) -> Judgement {
    observed(reply)?;
    let named = reply.body().get("customer_id");
    if named.and_then(Value::as_str).is_some_and(|named| named.eq_ignore_ascii_case(customer)) {
        return Ok(());
    }
    Err(reply
        .finding(
            "`customer_id` is not the customer in the path",
            "answer for the customer that was asked about",
        )
        .expected(customer)
        .actual(named)
        .at("/customer_id")
        .into())
}

/// `integrations` leads from a slug to an object with `connected`.
pub fn has_integration(reply: &Reply<'_>, slug: &str) -> Judgement {
    let pointer = format!("/integrations/{}/connected", escaped(slug));
    if !reply.body().get("integrations").is_some_and(Value::is_object) {
        observed(reply)?;
        return Err(reply
            .finding(
                "`integrations` is no object",
                "map each integration's slug to an object with `connected`",
            )
            .actual(reply.body().get("integrations"))
            .at("/integrations")
            .into());
    }
    let connected = reply.body().pointer(&pointer);
    if connected.is_some_and(Value::is_boolean) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("`integrations.{slug}` has no boolean `connected`"),
            "list both integrations; other slugs than the contract's stand in `[hub.integrations]`",
        )
        .expected("true or false")
        .actual(connected.or_else(|| reply.body().get("integrations")))
        .at(pointer)
        .into())
}

/// A slug as one token of a JSON Pointer.
fn escaped(slug: &str) -> String {
    slug.replace('~', "~0").replace('/', "~1")
}

fn observed(reply: &Reply<'_>) -> Judgement {
    if reply.is_2xx() && reply.body().is_object() {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!("there is no status to look at: {}", reply.summary())))
}

/// The entries of the two integrations that are connected, or not. Others are the Hub's own affair.
fn entries<'a>(
    reply: &Reply<'a>,
    slugs: [&str; 2],
    connected: bool,
) -> Result<Vec<(&'a String, &'a Value)>, CheckFailure> {
    observed(reply)?;
    let all = reply.body().get("integrations").and_then(Value::as_object);
    let own = |(slug, entry): &(&String, &Value)| {
        slugs.contains(&slug.as_str()) && entry.get("connected") == Some(&Value::Bool(connected))
    };
    let own: Vec<_> = all.into_iter().flatten().filter(own).collect();
    if own.is_empty() {
        let state = if connected { "connected" } else { "not connected" };
        return Err(CheckFailure::NotObserved(format!("no integration of this customer is {state}")));
    }
    Ok(own)
}

/// Each entry of one state has a member.
pub fn each_has(reply: &Reply<'_>, slugs: [&str; 2], connected: bool, name: &str, shape: Shape) -> Judgement {
    for (slug, entry) in entries(reply, slugs, connected)? {
        let value = entry.get(name);
        if !shape.holds(value) {
            return Err(reply
                .finding(
                    format!("`{name}` of `{slug}` is missing or has another form"),
                    format!("give `{name}` as {}", shape.example()),
                )
                .expected(shape.example())
                .actual(value.or(Some(entry)))
                .at(format!("/integrations/{}/{name}", escaped(slug)))
                .into());
        }
    }
    Ok(())
}

/// Status and execution agree about one integration.
pub fn agrees_with(status: &Reply<'_>, execution: &Reply<'_>, slug: &str) -> Judgement {
    observed(status)?;
    let pointer = format!("/integrations/{}/connected", escaped(slug));
    let Some(connected) = status.body().pointer(&pointer).and_then(Value::as_bool) else {
        return Err(CheckFailure::NotObserved(format!("the status says nothing about `{slug}`")));
    };
    if connected {
        // That it is not `INTEGRATION_NOT_CONNECTED` says nothing where the Hub fails altogether.
        execution.is_no_breakdown()?;
    }
    let missing = execution.code() == Some("INTEGRATION_NOT_CONNECTED");
    // The limit comes first for a customer who has hit it, and says nothing about integrations.
    if connected != missing || execution.is_limited() {
        return Ok(());
    }
    let message = format!(
        "the status says that `{slug}` is {}, and `{}` is answered otherwise: {}",
        if connected { "connected" } else { "not connected" },
        execution.tool(),
        execution.summary()
    );
    let hint = "take both answers from the same place: not connected goes with `INTEGRATION_NOT_CONNECTED`";
    let finding = status
        .finding(message, hint)
        .actual(status.body().pointer(&pointer))
        .at(pointer)
        .frame(execution.answer.unwrap_or(execution.request));
    // A token that has expired for good can be seen as no connection.
    let is_expired = !connected && execution.code() == Some("INTEGRATION_EXPIRED");
    Err(if is_expired {
        finding.recommended("what an expired connection counts as is not said (ambiguity A25)").into()
    } else {
        finding.into()
    })
}

/// No integration is shown as connected. Whether a customer that nobody knows has a status is left open.
/// `after` is the status of another customer, without which there is nothing to see here.
pub fn shows_nothing_connected(reply: &Reply<'_>, after: Option<&Reply<'_>>) -> Judgement {
    if reply.answer.is_none() {
        return Err(CheckFailure::NotObserved(
            "the status of a customer that nobody knows is not answered".to_owned(),
        ));
    }
    let integrations = reply.body().get("integrations").and_then(Value::as_object);
    let connected = integrations.into_iter().flatten().find(|(_, entry)| entry["connected"] == true);
    let Some((slug, entry)) = connected else { return after.map_or(Ok(()), observed) };
    Err(reply
        .finding(
            format!("the status shows `{slug}` as connected for a customer that nobody knows"),
            "look the customer of the path up, and answer with 404 or with `connected: false` where there is none",
        )
        .expected("404, or `connected: false`")
        .actual(Some(entry))
        .at(format!("/integrations/{}/connected", escaped(slug)))
        .into())
}

/// The setup link is the same in both.
pub fn has_the_same_link(status: &Reply<'_>, execution: &Reply<'_>, slug: &str) -> Judgement {
    let pointer = format!("/integrations/{}/setup_url", escaped(slug));
    let (in_status, in_error) =
        (status.body().pointer(&pointer), execution.body().pointer("/error/details/setup_url"));
    let (Some(in_status), Some(in_error)) = (in_status, in_error) else {
        return Err(CheckFailure::NotObserved("one of the two gives no `setup_url`".to_owned()));
    };
    if in_status == in_error {
        return Ok(());
    }
    Err(status
        .finding(
            "the setup link of the status is another than that of the error",
            "give one link in both places",
        )
        .expected(in_error.clone())
        .actual(Some(in_status))
        .at(pointer)
        .frame(execution.answer.unwrap_or(execution.request))
        .into())
}
