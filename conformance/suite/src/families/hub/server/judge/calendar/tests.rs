use std::collections::BTreeMap;

use callmark_reports::record::Direction;
use serde_json::json;

use super::*;
use crate::transcript::{Frame, Kind};

#[test]
fn times_are_read_with_the_offset_they_are_written_with() {
    let check = |text: &str, time: &str, is_utc: bool| {
        let written = Written::of(text).expect("a date-time");
        assert_eq!((written.at.time().to_string().as_str(), written.is_utc), (time, is_utc), "{text}");
    };
    check("2031-03-05T11:00:00+01:00", "11:00:00", false);
    check("2031-03-05T11:00:00-0530", "11:00:00", false);
    check("2031-03-05T11:00:00Z", "11:00:00", true);
    assert!(Written::of("2031-03-05T11:00:00").is_none());
}

fn reply([request, answer]: &[Frame; 2]) -> Reply<'_> {
    Reply { request, answer: Some(answer), closed: None }
}

/// An answer with these busy periods, and its request.
fn exchange(busy: &[[&str; 2]]) -> [Frame; 2] {
    let frame = |direction: Direction, kind: Kind, body: Value| Frame {
        n: 1,
        at_us: 0,
        direction,
        kind,
        channel: String::new(),
        headers: BTreeMap::new(),
        body,
    };
    let item = |[start, end]: &[&str; 2]| json!({"start": start, "end": end, "calendar": "primary"});
    let items: Value = busy.iter().map(item).collect();
    let result = json!({"success": true, "result": {"busy_periods": items}});
    let inputs = json!({"inputs": {}});
    [
        frame(Direction::ToTarget, Kind::HubRequest, inputs),
        frame(Direction::FromTarget, Kind::HubResponse, result),
    ]
}

#[test]
fn an_event_that_is_listed_late_is_no_other_calendar() {
    let times = ["2031-04-02T15:00:00+01:00", "2031-04-02T15:30:00+01:00"];
    let judged = |with: &[[&str; 2]], without: &[[&str; 2]]| {
        let (with, without) = (exchange(with), exchange(without));
        match default_to_primary(&reply(&with), &reply(&without), times) {
            Ok(()) => "fine",
            Err(CheckFailure::Broken(_)) => "broken",
            Err(_) => "not seen",
        }
    };
    let other = ["2031-04-02T09:00:00+01:00", "2031-04-02T10:00:00+01:00"];
    assert_eq!(judged(&[times], &[times]), "fine");
    assert_eq!(judged(&[], &[times]), "not seen");
    assert_eq!(judged(&[times], &[]), "broken");
    assert_eq!(judged(&[times], &[times, other]), "broken");
}

#[test]
fn an_event_that_was_moved_is_listed_late_or_with_both_times() {
    let old = ["2032-02-11T15:00:00+01:00", "2032-02-11T15:30:00+01:00"];
    let new = ["2032-02-11T14:45:00+01:00", "2032-02-11T16:00:00+01:00"];
    let check = |busy: &[[&str; 2]], expect: &str| {
        let (mut update, listed) = (exchange(&[]), exchange(busy));
        update[0].body = json!({"inputs": {"updates": {"start": new[0], "end": new[1]}}});
        let found = match has_both_new_times(&reply(&update), &reply(&listed), old) {
            Ok(()) => "fine",
            Err(CheckFailure::Broken(_)) => "broken",
            Err(_) => "late",
        };
        assert_eq!(found, expect, "{busy:?}");
    };
    check(&[["2032-02-11T13:45:00Z", "2032-02-11T15:00:00Z"]], "fine");
    check(&[["2032-02-11T14:30:00+01:00", "2032-02-11T16:30:00+01:00"]], "fine");
    check(&[["2032-02-11T14:45:00+01:00", "2032-02-11T15:15:00+01:00"]], "broken");
    check(&[["2032-02-11T15:00:00+01:00", "2032-02-11T16:00:00+01:00"]], "broken");
    check(&[old], "late");
    check(&[old, ["2032-02-11T15:45:00+01:00", "2032-02-11T16:00:00+01:00"]], "late");
    check(&[], "late");
}

#[test]
fn times_in_utc_may_be_meant_for_any_zone() {
    let period = |start: &str, end: &str| Period {
        index: 0,
        start: Written::of(start).expect("a start"),
        end: Written::of(end).expect("an end"),
    };
    let morning = |start: &Zoned, _: &Zoned| (9..13).contains(&start.hour());
    let check = |starts: &[(&str, &str)], expect: Option<usize>| {
        let periods: Vec<Period> = starts.iter().map(|(start, end)| period(start, end)).collect();
        assert_eq!(misfit(&periods, morning), expect, "{starts:?}");
    };
    check(&[("2031-03-05T08:00:00Z", "2031-03-05T08:30:00Z")], None);
    check(
        &[("2031-03-05T02:00:00Z", "2031-03-05T02:30:00Z"), ("2031-03-05T20:00:00Z", "2031-03-05T20:30:00Z")],
        Some(0),
    );
    check(&[("2031-03-05T08:00:00+01:00", "2031-03-05T08:30:00+01:00")], Some(0));
}

#[test]
fn a_busy_time_may_be_listed_in_parts_that_meet() {
    let check = |busy: &[[&str; 2]], expect: bool| {
        let exchange = exchange(busy);
        let judged =
            lists(&reply(&exchange), "2031-04-02T15:00:00Z", "2031-04-02T15:30:00Z", "2031-04-02T14:30:00Z");
        assert_eq!(judged.is_ok(), expect, "{busy:?}");
    };
    let [before, first, second, late] = [
        ["2031-04-02T14:00:00Z", "2031-04-02T15:00:00Z"],
        ["2031-04-02T15:00:00Z", "2031-04-02T15:15:00Z"],
        ["2031-04-02T15:15:00Z", "2031-04-02T15:30:00Z"],
        ["2031-04-02T15:20:00Z", "2031-04-02T15:30:00Z"],
    ];
    check(&[first, second], true);
    check(&[second, first], true);
    check(&[before, first, second], true);
    check(&[first], false);
    check(&[second], false);
    check(&[first, late], false);
    // Two times with free time between them, as one.
    check(&[["2031-04-02T14:00:00Z", "2031-04-02T15:30:00Z"]], false);
}
