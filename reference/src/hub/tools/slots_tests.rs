//! Laws of suggestions, and the days on which clocks change.

use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};
use proptest::prelude::*;

use super::free_busy::{Busy, Calendar, Days};
use super::slots::{Slot, SlotQuery, suggest};

static WORKING_DAYS: LazyLock<Vec<String>> =
    LazyLock::new(|| ["monday", "tuesday", "wednesday", "thursday", "friday"].map(str::to_owned).to_vec());

fn date(text: &str) -> Date {
    text.parse().expect("a date")
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).expect("a zone")
}

/// Suggestions on one day with nobody else in the way, as the clocks show their starts and ends.
fn on_day(zone_name: &str, day: &str, hours: (u16, u16), minutes: u16) -> Vec<(String, String)> {
    let zone = zone(zone_name);
    let query = SlotQuery { minutes, hours, avoid_mondays: false, working_days: &WORKING_DAYS, zone: &zone };
    let days = Days { start: date(day), end: date(day) };
    let mut slots = suggest(&query, days.iter(), &[], &[]);
    slots.sort_by_key(|slot| slot.start);
    let shown = |timestamp: Timestamp| timestamp.to_zoned(zone.clone()).strftime("%H:%M%:z").to_string();
    slots.iter().map(|slot| (shown(slot.start), shown(slot.end))).collect()
}

#[test]
fn clocks_that_change_are_no_time_to_meet() {
    fn check(zone: &str, day: &str, hours: (u16, u16), minutes: u16, expect: &[(&str, &str)]) {
        let found = on_day(zone, day, hours, minutes);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(start, end)| (start.as_str(), end.as_str())).collect();
        assert_eq!(found, expect, "{zone} {day}");
    }
    // 02:00 to 03:00 does not exist; what would end in it, or span it, is left out.
    check(
        "Europe/Madrid",
        "2031-03-30",
        (60, 240),
        30,
        &[("01:00+01:00", "01:30+01:00"), ("03:00+02:00", "03:30+02:00"), ("03:30+02:00", "04:00+02:00")],
    );
    check("Europe/Madrid", "2031-03-30", (120, 180), 30, &[]);
    check("America/New_York", "2031-03-09", (120, 180), 15, &[]);
    // 02:00 to 03:00 comes twice; the first of them is suggested.
    check("Europe/Madrid", "2031-10-26", (120, 180), 30, &[("02:00+02:00", "02:30+02:00")]);
    check(
        "America/New_York",
        "2031-11-02",
        (60, 180),
        45,
        &[("01:00-04:00", "01:45-04:00"), ("02:00-05:00", "02:45-05:00")],
    );
    // The rest of such a day is a day like any other.
    check("Europe/Madrid", "2031-03-30", (600, 660), 60, &[("10:00+02:00", "11:00+02:00")]);
    check("Europe/Madrid", "2031-10-26", (600, 660), 60, &[("10:00+01:00", "11:00+01:00")]);
    // To the end of the day, which is the first moment of the next.
    check("Europe/Madrid", "2031-03-05", (1410, 1440), 30, &[("23:30+01:00", "00:00+01:00")]);
    check("Europe/Madrid", "2031-03-05", (600, 660), 61, &[]);
}

#[test]
fn suggestions_are_spread_over_days_while_there_are_enough() {
    fn check(first: &str, last: &str, expect: &[&str]) {
        let zone = zone("Europe/Madrid");
        let hours = (540, 720);
        let query =
            SlotQuery { minutes: 60, hours, avoid_mondays: true, working_days: &WORKING_DAYS, zone: &zone };
        let days = Days { start: date(first), end: date(last) };
        let slots = suggest(&query, days.iter(), &[], &[]);
        let found: Vec<String> = slots
            .iter()
            .map(|slot| slot.start.to_zoned(zone.clone()).strftime("%d %H:%M").to_string())
            .collect();
        assert_eq!(found, expect);
    }
    // From a Monday to a Sunday.
    check("2031-03-03", "2031-03-09", &["04 09:00", "05 09:00", "06 09:00", "07 09:00", "08 09:00"]);
    check("2031-03-04", "2031-03-04", &["04 09:00", "04 10:00", "04 11:00"]);
    // Two days share five times; the order is that of the scores.
    check("2031-03-04", "2031-03-05", &["04 09:00", "04 10:00", "05 09:00", "04 11:00", "05 10:00"]);
    check("2031-03-03", "2031-03-03", &[]);
}

#[test]
fn days_begin_and_end_by_the_clocks() {
    fn check(zone_name: &str, day: &str, hours: i64) {
        let days = Days { start: date(day), end: date(day) };
        let (start, end) = days.bounds(&zone(zone_name)).expect("a day");
        assert_eq!(end.duration_since(start), SignedDuration::from_hours(hours), "{zone_name} {day}");
    }
    check("Europe/Madrid", "2031-03-30", 23);
    check("Europe/Madrid", "2031-10-26", 25);
    check("America/New_York", "2031-03-09", 23);
    check("America/New_York", "2031-11-02", 25);
    check("Europe/Madrid", "2031-03-05", 24);
    // Here the day begins at 01:00, since the clocks skip midnight.
    check("Africa/Cairo", "2031-04-25", 23);
}

/// What a wish promises, checked by the clocks that the customer sees.
fn check_slot(slot: &Slot, query: &SlotQuery<'_>, days: Days, own: &[Busy]) {
    let start: Zoned = slot.start.to_zoned(query.zone.clone());
    let end: Zoned = slot.end.to_zoned(query.zone.clone());
    assert_eq!(slot.end.duration_since(slot.start), SignedDuration::from_mins(i64::from(query.minutes)));
    assert!(days.start <= start.date() && start.date() <= days.end, "{start} is in the range");
    assert_eq!(start.date(), slot.date);
    let minute_of = |zoned: &Zoned| {
        u16::try_from(i32::from(zoned.hour()) * 60 + i32::from(zoned.minute())).expect("a time of day")
    };
    assert!(minute_of(&start) >= query.hours.0, "{start} is not too early");
    let end_minute = if end.date() > start.date() { 1440 } else { minute_of(&end) };
    assert!(end_minute <= query.hours.1, "{end} is not too late");
    assert!(!query.avoid_mondays || start.weekday() != Weekday::Monday);
    assert!((0.0..=1.0).contains(&slot.score));
    assert!(own.iter().all(|busy| busy.end <= slot.start || slot.end <= busy.start));
}

proptest! {
    #[test]
    fn suggestions_keep_every_promise(
        zone_name in prop::sample::select(vec!["Europe/Madrid", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo", "UTC"]),
        first in 0_i32..366,
        length in 0_i32..20,
        minutes in 1_u16..600,
        from in 0_u16..1440,
        lasting in 1_u16..1440,
        avoid_mondays: bool,
        busy in prop::collection::vec((0_i64..30_000, 1_i64..600), 0..20),
        others in prop::collection::vec(prop::collection::vec((0_i64..30_000, 1_i64..600), 0..10), 0..4),
    ) {
        let zone = zone(zone_name);
        let start = date("2031-01-01").checked_add(first.days()).expect("a date");
        let days = Days { start, end: start.checked_add(length.days()).expect("a date") };
        let query = SlotQuery {
            minutes,
            hours: (from, (from + lasting).min(1440)),
            avoid_mondays,
            working_days: &WORKING_DAYS,
            zone: &zone,
        };
        let (begin, _end) = days.bounds(&zone).expect("days");
        let moment = |offset: i64| begin.checked_add(SignedDuration::from_mins(offset)).expect("a moment");
        let periods = |times: &[(i64, i64)]| {
            let mut periods: Vec<Busy> = times
                .iter()
                .map(|&(at, lasts)| Busy { start: moment(at), end: moment(at + lasts) })
                .collect();
            periods.sort_unstable();
            periods
        };
        let own = periods(&busy);
        let attendees: Vec<(String, Calendar)> = others
            .iter()
            .enumerate()
            .map(|(index, times)| (format!("p{index}@x"), Calendar::Known(periods(times))))
            .collect();
        let slots = suggest(&query, days.iter(), &own, &attendees);
        prop_assert!(slots.len() <= 5);
        prop_assert!(slots.is_sorted_by(|left, right| left.score >= right.score));
        for (index, slot) in slots.iter().enumerate() {
            check_slot(slot, &query, days, &own);
            prop_assert!(slots[..index].iter().all(|other| other.end <= slot.start || slot.end <= other.start));
            for (attendee, calendar) in &attendees {
                let Calendar::Known(periods) = calendar else { continue };
                let free = periods.iter().all(|busy| busy.end <= slot.start || slot.end <= busy.start);
                let in_conflict = slot.conflicts.iter().any(|conflict| &conflict.attendee == attendee);
                prop_assert_eq!(free, !in_conflict);
            }
        }
    }
}
