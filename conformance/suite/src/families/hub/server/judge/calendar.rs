//! Results of the calendar tools (Tool Execution Contract L91-213).

mod update;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, Zoned};
use serde_json::Value;

pub use self::update::has_both_new_times;
use super::envelope;
use super::envelope::Empty;
use super::shape::{Shape, moment};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::server::reply::Reply;

/// Free and busy times of the whole range may reach into the days beside it.
const DAY: i64 = 24 * 60 * 60;
/// The zones of the world reach so far from UTC, in hours.
const WEST: i8 = -12;
const EAST: i8 = 14;

/// A time as it is written: the moment, and the offset it is written with.
#[derive(Clone, Debug)]
struct Written {
    at: Zoned,
    is_utc: bool,
}

impl Written {
    fn of(text: &str) -> Option<Self> {
        let instant = moment(text)?;
        // What stands after the time of day; a date has hyphens of its own.
        let (_, time) = text.split_once(['T', 't'])?;
        let offset = match time.find(['+', '-']) {
            Some(at) => {
                let (hours, minutes) = time[at + 1..].split_at_checked(2)?;
                let minutes = minutes.trim_start_matches(':').get(..2).unwrap_or("0");
                let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
                Offset::from_seconds(if time[at..].starts_with('-') { -seconds } else { seconds }).ok()?
            }
            None => Offset::UTC,
        };
        Some(Self { at: instant.to_zoned(TimeZone::fixed(offset)), is_utc: offset == Offset::UTC })
    }
}

/// Start and end of an item.
struct Period {
    index: usize,
    start: Written,
    end: Written,
}

fn periods(reply: &Reply<'_>, list: &str, empty: Empty) -> Result<Vec<Period>, CheckFailure> {
    let items = envelope::some_items(reply, list, empty)?;
    items.iter().enumerate().map(|(index, item)| period(reply, list, index, item)).collect()
}

fn period(reply: &Reply<'_>, list: &str, index: usize, item: &Value) -> Result<Period, CheckFailure> {
    let read = |name: &str| {
        let text = item.get(name).and_then(Value::as_str);
        text.and_then(Written::of).ok_or_else(|| {
            CheckFailure::from(
                reply
                    .finding(
                        format!("`{name}` of an item of `result.{list}` is no date-time with zone"),
                        "write times as ISO 8601 with offset or `Z`, for example `2031-03-05T11:00:00+01:00`",
                    )
                    .expected("an ISO 8601 date-time with offset or `Z`")
                    .actual(item.get(name).or(Some(item)))
                    .at(format!("/result/{list}/{index}/{name}")),
            )
        })
    };
    Ok(Period { index, start: read("start")?, end: read("end")? })
}

/// An input of the request.
fn input<'a>(reply: &Reply<'a>, pointer: &str) -> Option<&'a Value> {
    reply.request.body.get("inputs")?.pointer(pointer)
}

fn day(reply: &Reply<'_>, pointer: &str) -> Option<Date> {
    input(reply, pointer)?.as_str()?.parse().ok()
}

fn at_item(finding: Finding, list: &str, index: usize, reply: &Reply<'_>) -> CheckFailure {
    let pointer = format!("/result/{list}/{index}");
    let item = reply.body().pointer(&pointer).cloned();
    finding.actual(item.as_ref()).at(pointer).into()
}

/// Busy times are date-times with zone, and each starts before it ends.
pub fn are_periods(reply: &Reply<'_>, empty: Empty) -> Judgement {
    for period in periods(reply, "busy_periods", empty)? {
        if period.start.at >= period.end.at {
            let finding = reply.finding("a busy period ends before it starts", "give `start` before `end`");
            return Err(at_item(finding, "busy_periods", period.index, reply));
        }
    }
    Ok(())
}

/// Busy times overlap the range that was asked for.
pub fn overlap_the_range(reply: &Reply<'_>, empty: Empty) -> Judgement {
    let zone = zone(reply)?;
    let (Some(first), Some(last)) = (day(reply, "/start_date"), day(reply, "/end_date")) else {
        return Ok(());
    };
    let midnight = |date: Date| date.to_zoned(zone.clone()).map(|at| at.timestamp().as_second());
    let (Ok(from), Ok(to)) = (midnight(first), midnight(last)) else { return Ok(()) };
    for period in periods(reply, "busy_periods", empty)? {
        let (start, end) = (second(&period.start), second(&period.end));
        if end <= from || start >= to + DAY {
            let finding = reply
                .finding(
                    "a busy period lies outside the range that was asked for",
                    "leave out what is outside",
                )
                .expected(format!("between {first} and {last}"));
            return Err(at_item(finding, "busy_periods", period.index, reply));
        }
    }
    Ok(())
}

fn second(written: &Written) -> i64 {
    written.at.timestamp().as_second()
}

fn zone(reply: &Reply<'_>) -> Result<TimeZone, CheckFailure> {
    let name = input(reply, "/timezone").and_then(Value::as_str).unwrap_or("UTC");
    TimeZone::get(name).map_err(|error| CheckFailure::NotObserved(error.to_string()))
}

/// Busy times are written in the time zone that was asked for.
pub fn are_in_the_zone(reply: &Reply<'_>, empty: Empty) -> Judgement {
    let zone = zone(reply)?;
    for period in periods(reply, "busy_periods", empty)? {
        for written in [&period.start, &period.end] {
            let expected = zone.to_offset(written.at.timestamp());
            if written.at.offset() != expected {
                let finding = reply
                    .finding(
                        "a busy time is written in another zone than the one that was asked for",
                        "write times with the offset that `timezone` has at that moment",
                    )
                    .expected(expected.to_string());
                return Err(at_item(finding, "busy_periods", period.index, reply));
            }
        }
    }
    Ok(())
}

/// Two answers list the same busy times, all of the primary calendar. An event that was just made, `times`, and that
/// only the later answer lists is listed late, and shows nothing.
pub fn default_to_primary(with: &Reply<'_>, without: &Reply<'_>, times: [&str; 2]) -> Judgement {
    let (left, right) = (envelope::items(without, "busy_periods")?, envelope::items(with, "busy_periods")?);
    if let Some(index) =
        left.iter().position(|item| item.get("calendar").is_some_and(|name| name != "primary"))
    {
        let finding = without
            .finding(
                "without `calendars` a busy period is of another calendar than `primary`",
                "take `[\"primary\"]` where `calendars` is absent",
            )
            .expected("primary");
        return Err(at_item(finding, "busy_periods", index, without));
    }
    let moments = |items: &[Value]| -> Vec<Option<(Timestamp, Timestamp)>> {
        let read = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).and_then(moment);
        let mut all: Vec<_> = items.iter().map(|item| read(item, "start").zip(read(item, "end"))).collect();
        all.sort();
        all
    };
    if moments(left) == moments(right) {
        return Ok(());
    }
    has_the_event(with, times)?;
    Err(without
        .finding(
            "without `calendars` other busy times are listed than with `[\"primary\"]`",
            "take `[\"primary\"]` where `calendars` is absent",
        )
        .expected(Value::from(right.clone()))
        .actual(without.body().pointer("/result/busy_periods"))
        .at("/result/busy_periods")
        .into())
}

/// A busy period from before `from` to after `to`, or the first of several that meet and together are one.
fn covering<'a>(
    reply: &Reply<'a>,
    from: Timestamp,
    to: Timestamp,
) -> Result<Option<&'a Value>, CheckFailure> {
    let periods = envelope::items(reply, "busy_periods")?.iter().filter_map(|item| {
        let read = |name: &str| item.get(name).and_then(Value::as_str).and_then(moment);
        Some((read("start")?, read("end")?, item))
    });
    let mut periods: Vec<(Timestamp, Timestamp, &Value)> = periods.collect();
    if let Some((_, _, item)) = periods.iter().find(|(start, end, _)| *start <= from && *end >= to) {
        return Ok(Some(item));
    }
    periods.sort_by_key(|(start, ..)| *start);
    // The latest that can be the first, so that what only meets it does not count as part of it.
    let first = periods.iter().rposition(|(start, end, _)| *start <= from && *end > from);
    let Some(first) = first else { return Ok(None) };
    let reached = periods[first..].iter().fold(periods[first].1, |reached, (start, end, _)| {
        if *start <= reached { reached.max(*end) } else { reached }
    });
    Ok((reached >= to).then_some(periods[first].2))
}

/// The event that was made before is among the busy times, so that these have to do with what was asked.
pub fn has_the_event(reply: &Reply<'_>, [from, to]: [&str; 2]) -> Judgement {
    let (Some(start), Some(end)) = (moment(from), moment(to)) else { return Ok(()) };
    match covering(reply, start, end)? {
        Some(_) => Ok(()),
        None => Err(CheckFailure::NotObserved(format!(
            "`calendar_create_event` has made an event from {from} to {to}, and no busy period covers it"
        ))),
    }
}

/// The event that was made before is listed. An empty list has the form that the contract asks for, so it is a
/// recommendation; what is listed in its place has that form as well.
pub fn lists_the_event(reply: &Reply<'_>, times: [&str; 2]) -> Judgement {
    let message = match has_the_event(reply, times) {
        Err(CheckFailure::NotObserved(message)) => message,
        judgement => return judgement,
    };
    if !envelope::items(reply, "busy_periods")?.is_empty() {
        for name in ["start", "end", "calendar"] {
            envelope::each_has(reply, "busy_periods", name, Shape::Text, Empty::Surprising)?;
        }
    }
    Err(reply
        .finding(message, "list all busy times of the range, those of events that were just made as well")
        .expected(times.join(" to "))
        .actual(reply.body().pointer("/result/busy_periods"))
        .at("/result/busy_periods")
        .recommended("an empty list has the form that the contract asks for")
        .into())
}

/// An event of the first customer is not among the busy times of the other.
pub fn is_of_the_first(first: &Reply<'_>, other: &Reply<'_>, times: [&str; 2]) -> Judgement {
    has_the_event(first, times)?;
    let [Some(start), Some(end)] = times.map(moment) else { return Ok(()) };
    match covering(other, start, end)? {
        None => Ok(()),
        Some(item) => Err(other
            .finding(
                "an event of one customer is among the busy times of another",
                "use the credentials of `customer_id` for every call",
            )
            .actual(Some(item))
            .at("/result/busy_periods")
            .frame(first.request)
            .into()),
    }
}

/// What the provider said is busy is listed.
pub fn lists(reply: &Reply<'_>, from: &str, to: &str, apart: &str) -> Judgement {
    let (Some(start), Some(end)) = (moment(from), moment(to)) else { return Ok(()) };
    if let Some(item) = covering(reply, start, end)? {
        return keeps_apart(reply, item, apart);
    }
    Err(reply
        .finding("a time that the calendar says is busy is not listed", "list all busy times of the range")
        .expected(format!("{from} to {to}"))
        .actual(reply.body().pointer("/result/busy_periods"))
        .at("/result/busy_periods")
        .into())
}

/// A period does not reach back to an earlier one that ended at `apart`, with free time between.
fn keeps_apart(reply: &Reply<'_>, period: &Value, apart: &str) -> Judgement {
    let start = period.get("start").and_then(Value::as_str).and_then(moment);
    if moment(apart).is_none_or(|apart| start.is_none_or(|start| start > apart)) {
        return Ok(());
    }
    Err(reply
        .finding(
            "two busy times with free time between them are listed as one",
            "unite busy times only where they meet",
        )
        .expected(format!("free time after {apart}"))
        .actual(Some(period))
        .at("/result/busy_periods")
        .into())
}

/// `attendees` lists everybody who was invited.
pub fn lists_the_invited(reply: &Reply<'_>) -> Judgement {
    let invited = input(reply, "/attendees").and_then(Value::as_array).filter(|invited| !invited.is_empty());
    let invited = invited.ok_or_else(|| CheckFailure::NotObserved("nobody is invited".to_owned()))?;
    let listed = envelope::items(reply, "attendees")?;
    let named = |address: &str| {
        listed.iter().any(|item| {
            item.get("email").and_then(Value::as_str).is_some_and(|email| email.eq_ignore_ascii_case(address))
        })
    };
    match invited.iter().filter_map(Value::as_str).find(|address| !named(address)) {
        None => Ok(()),
        Some(address) => Err(reply
            .finding("somebody who was invited is not among `attendees`", "list every address of the request")
            .expected(address)
            .actual(reply.body().pointer("/result/attendees"))
            .at("/result/attendees")
            .into()),
    }
}

/// The status is the expected word; another one is a warning.
pub fn has_status(reply: &Reply<'_>, expected: &str, level_free: bool) -> Judgement {
    let status = reply.result()?.get("status");
    if status.and_then(Value::as_str) == Some(expected) {
        return Ok(());
    }
    let finding = reply
        .finding(format!("`result.status` is not `{expected}`"), format!("answer `{expected}`"))
        .expected(expected)
        .actual(status)
        .at("/result/status");
    Err(if level_free && status.is_some_and(Value::is_string) {
        finding.recommended("the words of a status are not settled (ambiguity A14)")
    } else {
        finding
    }
    .into())
}

const SUGGESTIONS: &str = "suggestions";

/// Each suggestion lasts as long as was asked for.
pub fn last_as_asked(reply: &Reply<'_>) -> Judgement {
    let minutes = input(reply, "/duration_minutes").and_then(Value::as_i64);
    let minutes = minutes.ok_or_else(|| CheckFailure::NotObserved("no duration is asked for".to_owned()))?;
    for period in periods(reply, SUGGESTIONS, Empty::Surprising)? {
        if second(&period.end) - second(&period.start) != minutes * 60 {
            let finding = reply
                .finding(
                    "a suggestion lasts longer or shorter than was asked for",
                    "suggest `duration_minutes`",
                )
                .expected(format!("{minutes} minutes"));
            return Err(at_item(finding, SUGGESTIONS, period.index, reply));
        }
    }
    Ok(())
}

/// Each suggestion lies within the range of dates.
pub fn lie_in_the_range(reply: &Reply<'_>) -> Judgement {
    let (Some(first), Some(last)) = (day(reply, "/date_range/start"), day(reply, "/date_range/end")) else {
        return Ok(());
    };
    for period in periods(reply, SUGGESTIONS, Empty::Surprising)? {
        // A time in UTC does not show which day it is where the people are.
        let slack = if period.start.is_utc { Span::new().hours(EAST) } else { Span::new() };
        let (start, end) = (
            period.start.at.datetime().checked_add(slack).map(DateTime::date),
            period.end.at.datetime().checked_sub(slack).map(DateTime::date),
        );
        let after_midnight = last.tomorrow().unwrap_or(last);
        let ends =
            |end: Date| end <= last || (end == after_midnight && period.end.at.time() == Time::midnight());
        if !(start.is_ok_and(|start| start >= first) && end.is_ok_and(ends)) {
            let finding = reply
                .finding(
                    "a suggestion lies outside `date_range`",
                    "suggest times on the days that were asked for",
                )
                .expected(format!("from {first} to {last}"));
            return Err(at_item(finding, SUGGESTIONS, period.index, reply));
        }
    }
    Ok(())
}

/// Scores lie between 0 and 1.
pub fn have_scores_up_to_one(reply: &Reply<'_>, empty: Empty) -> Judgement {
    for (index, item) in envelope::some_items(reply, SUGGESTIONS, empty)?.iter().enumerate() {
        if item.get("score").and_then(Value::as_f64).is_some_and(|score| !(0.0..=1.0).contains(&score)) {
            let finding = reply
                .finding("a score is not between 0 and 1", "scale scores to 0 to 1")
                .recommended("the range of a score is not said (ambiguity A14)");
            return Err(at_item(finding, SUGGESTIONS, index, reply));
        }
    }
    Ok(())
}

/// Conflicts name attendees of the request, and a type.
pub fn have_conflicts_of_attendees(reply: &Reply<'_>) -> Judgement {
    let invited: Vec<&str> = input(reply, "/attendees")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (index, item) in envelope::some_items(reply, SUGGESTIONS, Empty::Surprising)?.iter().enumerate() {
        let conflicts = item.get("conflicts").and_then(Value::as_array);
        let is_sound = |conflict: &Value| {
            let attendee = conflict.get("attendee").and_then(Value::as_str);
            let is_invited =
                attendee.is_some_and(|one| invited.iter().any(|own| own.eq_ignore_ascii_case(one)));
            is_invited && conflict.get("type").is_some_and(Value::is_string)
        };
        if !conflicts.is_some_and(|conflicts| conflicts.iter().all(is_sound)) {
            let finding = reply
                .finding(
                    "`conflicts` of a suggestion is no array of conflicts of the attendees",
                    "list `{attendee, type}` for each attendee of the request who is not free, else `[]`",
                )
                .expected("an array of `{attendee, type}`");
            return Err(at_item(finding, SUGGESTIONS, index, reply));
        }
    }
    Ok(())
}

/// Suggestions as somebody reads them who may be in any zone where they are in UTC.
fn as_read(periods: &[Period]) -> Vec<Vec<(usize, Zoned, Zoned)>> {
    let shifted = |hours: i8| {
        let zone = TimeZone::fixed(Offset::constant(hours));
        let read = |written: &Written| {
            if written.is_utc { written.at.with_time_zone(zone.clone()) } else { written.at.clone() }
        };
        periods.iter().map(|period| (period.index, read(&period.start), read(&period.end))).collect()
    };
    if periods.iter().any(|period| period.start.is_utc) {
        (WEST..=EAST).map(shifted).collect()
    } else {
        vec![shifted(0)]
    }
}

/// The first suggestion that is not as preferred, in the reading that fits best.
fn misfit(periods: &[Period], fits: impl Fn(&Zoned, &Zoned) -> bool) -> Option<usize> {
    let misfits = as_read(periods)
        .into_iter()
        .map(|read| read.into_iter().find(|(_, start, end)| !fits(start, end)).map(|(index, ..)| index));
    let mut first = None;
    for misfit in misfits {
        let index = misfit?;
        first.get_or_insert(index);
    }
    first
}

/// No suggestion is on a Monday.
pub fn avoid_mondays(reply: &Reply<'_>) -> Judgement {
    if input(reply, "/preferences/avoid_mondays") != Some(&Value::Bool(true)) {
        return Err(CheckFailure::NotObserved("the request does not ask for it".to_owned()));
    }
    let periods = periods(reply, SUGGESTIONS, Empty::Surprising)?;
    match misfit(&periods, |start, _| start.weekday() != Weekday::Monday) {
        None => Ok(()),
        Some(index) => {
            let finding = reply.finding("a Monday is suggested", "leave Mondays out with `avoid_mondays`");
            Err(at_item(finding, SUGGESTIONS, index, reply))
        }
    }
}

/// Each suggestion lies inside the preferred hours.
pub fn keep_preferred_hours(reply: &Reply<'_>) -> Judgement {
    let hour = |name: &str| -> Option<Time> {
        let text = input(reply, &format!("/preferences/preferred_hours/{name}"))?.as_str()?;
        format!("{text}:00").parse().ok()
    };
    let (Some(from), Some(to)) = (hour("start"), hour("end")) else { return Ok(()) };
    let periods = periods(reply, SUGGESTIONS, Empty::Surprising)?;
    let fits =
        |start: &Zoned, end: &Zoned| start.time() >= from && end.time() <= to && end.date() == start.date();
    match misfit(&periods, fits) {
        None => Ok(()),
        Some(index) => {
            let finding = reply
                .finding(
                    "a suggestion lies outside the preferred hours",
                    "suggest times inside `preferred_hours`",
                )
                .expected(format!("{from} to {to}"));
            Err(at_item(finding, SUGGESTIONS, index, reply))
        }
    }
}

#[cfg(test)]
mod tests;
