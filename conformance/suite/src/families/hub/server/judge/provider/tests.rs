use std::collections::BTreeMap;

use callmark_reports::record::Direction;
use serde_json::json;

use super::*;
use crate::net::wire::{STATUS, TOOL};
use crate::transcript::Kind;

fn frame(n: u32, kind: Kind, headers: &[(&str, &str)], body: &Value) -> Frame {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Frame {
        n,
        at_us: 0,
        direction: Direction::FromTarget,
        kind,
        channel: "POST /".to_owned(),
        headers: headers.collect::<BTreeMap<_, _>>(),
        body: body.clone(),
    }
}

/// What a judgement says of an exchange with these messages at the provider.
fn judged(
    (status, answer): (&str, &Value),
    seen: &[Value],
    judgement: impl Fn(&Reply<'_>, &[&Frame]) -> Judgement,
) -> &'static str {
    let request = frame(2, Kind::HubRequest, &[(TOOL, "email_read"), (CUSTOMER, "other")], &json!({}));
    let early = frame(1, Kind::Provider, &[], &json!({"account": "connected", "added": ["STARRED"]}));
    let answer = frame(9, Kind::HubResponse, &[(STATUS, status)], answer);
    let seen: Vec<Frame> =
        (3..).zip(seen).map(|(n, body)| frame(n, Kind::Provider, &[], body)).chain([early]).collect();
    let seen: Vec<&Frame> = seen.iter().collect();
    match judgement(&Reply { request: &request, answer: Some(&answer), closed: None }, &seen) {
        Ok(()) => "held",
        Err(CheckFailure::Broken(_)) => "broken",
        Err(CheckFailure::NotObserved(_)) => "not observed",
        Err(_) => "open",
    }
}

#[test]
fn what_a_request_reaches_is_the_account_of_its_customer() {
    let done = json!({"success": true, "result": {}});
    let check = |seen: &[Value], expect: &str| {
        assert_eq!(judged(("200", &done), seen, is_in_the_account), expect, "{seen:?}");
    };
    check(&[json!({"account": "other"}), json!({"account": "other"})], "held");
    check(&[json!({"account": "other"}), json!({"account": "connected"})], "broken");
    // Whose a request without a good token is, nobody knows.
    check(&[json!({"refused": 401})], "not observed");
    check(&[], "not observed");
}

#[test]
fn who_does_not_know_the_event_is_refused_nothing_by_the_provider() {
    let error = |code: &str| json!({"success": false, "error": {"code": code}});
    let denied = "INTEGRATION_PERMISSION_DENIED";
    let check = |status: &str, answer: &Value, seen: &[Value], expect: &str| {
        let found = judged((status, answer), seen, |reply, seen| refusal_is(reply, seen, denied));
        assert_eq!(found, expect, "{answer} {seen:?}");
    };
    let refused = [json!({"refused": 403})];
    check("403", &error(denied), &[], "held");
    check("403", &error(denied), &refused, "held");
    check("502", &error("EXTERNAL_API_ERROR"), &refused, "broken");
    check("404", &error("NOT_FOUND"), &[], "open");
    check("200", &json!({"success": true, "result": {}}), &[], "broken");
}

#[test]
fn only_unread_may_change() {
    let done = json!({"success": true, "result": {}});
    let check = |seen: Value, may_mark: bool, expect: &str| {
        let found = judged(("200", &done), std::slice::from_ref(&seen), |reply, seen| {
            changes_no_label(reply, seen, may_mark)
        });
        assert_eq!(found, expect, "{seen}");
    };
    check(json!({"added": [], "removed": ["UNREAD"]}), true, "held");
    check(json!({"added": [], "removed": ["UNREAD", "INBOX"]}), true, "broken");
    check(json!({"added": ["STARRED"], "removed": ["UNREAD"]}), true, "broken");
    check(json!({"added": ["UNREAD"], "removed": []}), false, "broken");
    check(json!({"effect": "read"}), false, "held");
}
