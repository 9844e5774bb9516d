use std::collections::BTreeMap;

use callmark_reports::record::Direction;
use serde_json::json;

use super::*;
use crate::net::wire::STATUS;
use crate::transcript::{Frame, Kind};

/// A request for replies since a moment, and an answer with replies of these dates.
fn exchange(since: &str, dates: &[&str]) -> [Frame; 2] {
    let frame = |direction: Direction, kind: Kind, body: Value| Frame {
        n: 1,
        at_us: 0,
        direction,
        kind,
        channel: String::new(),
        headers: BTreeMap::new(),
        body,
    };
    let replies: Value = dates.iter().map(|date| json!({"date": date})).collect();
    [
        frame(Direction::ToTarget, Kind::HubRequest, json!({"inputs": {"since": since}})),
        frame(
            Direction::FromTarget,
            Kind::HubResponse,
            json!({"success": true, "result": {"replies": replies}}),
        ),
    ]
}

fn reply([request, answer]: &[Frame; 2]) -> Reply<'_> {
    Reply { request, answer: Some(answer), closed: None }
}

const LONG_AGO: &str = "2001-01-01T00:00:00Z";
const FIRST: &str = "2026-02-21T10:15:00Z";
const LAST: &str = "2026-02-23T17:40:00+01:00";

#[test]
fn a_moment_between_replies_is_far_from_each() {
    let check = |dates: &[&str], expect: Option<&str>| {
        let found = after_the_earlier(&reply(&exchange(LONG_AGO, dates))).map(|at| at.to_string());
        assert_eq!(found.as_deref(), expect, "{dates:?}");
    };
    check(&[LAST, FIRST], Some("2026-02-21T11:15:00Z"));
    check(&[FIRST, "2026-02-21T10:45:00.5Z"], Some("2026-02-21T10:30:00Z"));
    check(&[FIRST, "2026-02-21T10:15:05Z", LAST], Some("2026-02-21T11:15:05Z"));
    check(&[FIRST, "2026-02-21T10:20:00Z"], Some("2026-02-21T11:20:00Z"));
    check(&[FIRST], Some("2026-02-21T11:15:00Z"));
    check(&["yesterday"], None);
    check(&[], None);
}

#[test]
fn newer_replies_are_listed_whatever_the_offset_of_since() {
    let check = |since: &str, dates: &[&str], expect: bool| {
        let (all, newer) = (exchange(LONG_AGO, &[FIRST, LAST]), exchange(since, dates));
        let judgement = are_those_that_are_newer(&reply(&all), &reply(&newer));
        assert_eq!(judgement.is_ok(), expect, "{since} {dates:?}: {judgement:?}");
    };
    for since in ["2026-02-21T11:15:00Z", "2026-02-21T01:45:00-09:30", "2026-02-22T00:00:00+12:45"] {
        check(since, &[LAST], true);
        check(since, &["2026-02-24T09:00:00Z", LAST], true);
        check(since, &[], false);
        check(since, &[FIRST, LAST], false);
    }
    check("2026-02-24T00:00:00Z", &[], true);
    check(FIRST, &[LAST], true);
    check(FIRST, &[FIRST, LAST], true);
}

#[test]
fn a_date_in_whole_seconds_is_anywhere_in_its_second() {
    let check = |date: &str, expect: bool| {
        let judgement = are_newer(&reply(&exchange("2026-02-21T10:15:00.500Z", &[date])));
        assert_eq!(judgement.is_ok(), expect, "{date}: {judgement:?}");
    };
    check("2026-02-21T10:15:00Z", true);
    check("2026-02-21T10:15:00.499Z", false);
    check("2026-02-21T10:14:59Z", false);
}

#[test]
fn a_moment_in_another_form_than_that_of_the_contract_may_be_refused() {
    let check = |since: &str, expect: bool| {
        let (all, mut newer) = (exchange(LONG_AGO, &[FIRST]), exchange(since, &[]));
        newer[1].body = json!({"success": false});
        newer[1].headers.insert(STATUS.to_owned(), "400".to_owned());
        let judgement = are_those_that_are_newer(&reply(&all), &reply(&newer));
        let is_permitted = matches!(judgement, Err(CheckFailure::Permitted(_)));
        assert_eq!(is_permitted, expect, "{since}: {judgement:?}");
    };
    check("2026-02-21T01:45:00-09:30", true);
    check("2026-02-21T11:15:00Z", false);
}
