//! Which times suit a meeting best: pure arithmetic over busy times, by the clocks of one zone.
//!
//! Every quarter of an hour of each day is looked at, from the first to the last that fits between the hours.
//! A slot never spans a change of the clocks, so that its hours are what they seem, and a time that the clocks
//! skip is no slot. The own calendar must be free; an attendee who is not free is a conflict.
//! The past is not special: a query for last week returns last week.

use jiff::civil::{Date, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::free_busy::{Busy, Calendar};

/// The distance between two starts.
const STEP_MINUTES: u16 = 15;
/// How many suggestions are made.
const SUGGESTIONS: usize = 5;

/// What is asked for.
#[derive(Debug)]
pub(super) struct SlotQuery<'a> {
    pub(super) minutes: u16,
    /// Between these minutes of the day.
    pub(super) hours: (u16, u16),
    pub(super) avoid_mondays: bool,
    /// Other days are suggested last.
    pub(super) working_days: &'a [String],
    pub(super) zone: &'a TimeZone,
}

/// Who has other plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) attendee: String,
    /// `busy`, or `unknown` where the provider does not report it: leaving it out would mean that they are free.
    pub(super) kind: &'static str,
}

/// A time that suits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) date: Date,
    /// From 0 to 1, best.
    pub(super) score: f64,
    pub(super) conflicts: Vec<Conflict>,
}

/// At most five times, best first, on different days where there are enough.
pub(super) fn suggest(
    query: &SlotQuery<'_>,
    days: impl Iterator<Item = Date>,
    own: &[Busy],
    attendees: &[(String, Calendar)],
) -> Vec<Slot> {
    let days: Vec<Date> =
        days.filter(|date| !query.avoid_mondays || date.weekday() != Weekday::Monday).collect();
    let own = Occupied::new(own);
    let attendees: Vec<Attendee<'_>> = attendees
        .iter()
        .map(|(name, calendar)| match calendar {
            Calendar::Known(busy) => Attendee { name, occupied: Some(Occupied::new(busy)) },
            Calendar::NotFound | Calendar::Unknown => Attendee { name, occupied: None },
        })
        .collect();
    let mut slots = Vec::new();
    for (index, &date) in days.iter().enumerate() {
        let lateness = share(index, days.len());
        slots.extend(slots_of(query, date, lateness, &own, &attendees));
    }
    slots.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.start.cmp(&right.start)));
    let mut chosen: Vec<Slot> = Vec::with_capacity(SUGGESTIONS);
    // The best of each day, then the best of what is left.
    for another_day in [true, false] {
        for slot in &slots {
            let taken = chosen.iter().any(|other| {
                (another_day && other.date == slot.date) || (slot.start < other.end && other.start < slot.end)
            });
            if chosen.len() < SUGGESTIONS && !taken {
                chosen.push(slot.clone());
            }
        }
    }
    chosen.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.start.cmp(&right.start)));
    chosen
}

fn slots_of<'a>(
    query: &'a SlotQuery<'_>,
    date: Date,
    lateness: f64,
    own: &'a Occupied,
    attendees: &'a [Attendee<'a>],
) -> impl Iterator<Item = Slot> + 'a {
    let (first, end) = query.hours;
    let last = end.saturating_sub(query.minutes);
    let working = query.working_days.iter().any(|day| day == name_of(date.weekday()));
    let starts = (first..=last).step_by(STEP_MINUTES.into()).filter(move |_| query.minutes <= end);
    starts.filter_map(move |start| {
        let (from, to) = clear_time(query, date, start)?;
        if own.overlaps(from, to) {
            return None;
        }
        let conflicts: Vec<Conflict> =
            attendees.iter().filter_map(|attendee| attendee.conflict(from, to)).collect();
        let earliness = share(usize::from(start - first), usize::from(end - first));
        let penalty = 0.6 * share(conflicts.len(), attendees.len())
            + 0.2 * if working { 0.0 } else { 1.0 }
            + 0.1 * lateness
            + 0.1 * earliness;
        // Two digits are enough to compare, and easier to read.
        let score = ((1.0 - penalty) * 100.0).round() / 100.0;
        Some(Slot { start: from, end: to, date, score: score.clamp(0.0, 1.0), conflicts })
    })
}

/// Start and end of a slot, unless the clocks skip its start or change while it lasts.
fn clear_time(query: &SlotQuery<'_>, date: Date, start: u16) -> Option<(Timestamp, Timestamp)> {
    let local = date.at(0, 0, 0, 0).checked_add(i64::from(start).minutes()).ok()?;
    let ambiguous = query.zone.to_ambiguous_timestamp(local);
    let offset = match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { .. } => return None,
        AmbiguousOffset::Fold { before, .. } => before,
    };
    let from = offset.to_timestamp(local).ok()?;
    let to = from.checked_add(SignedDuration::from_mins(i64::from(query.minutes))).ok()?;
    (query.zone.to_offset(to) == offset).then_some((from, to))
}

/// An attendee; `None` where the provider reports no busy times.
struct Attendee<'a> {
    name: &'a str,
    occupied: Option<Occupied>,
}

impl Attendee<'_> {
    fn conflict(&self, from: Timestamp, to: Timestamp) -> Option<Conflict> {
        let kind = match &self.occupied {
            Some(occupied) => occupied.overlaps(from, to).then_some("busy")?,
            None => "unknown",
        };
        Some(Conflict { attendee: self.name.to_owned(), kind })
    }
}

/// Busy times that neither touch nor overlap, in their order, so that one search finds the only one that matters.
struct Occupied(Vec<Busy>);

impl Occupied {
    /// `busy` is sorted by its starts.
    fn new(busy: &[Busy]) -> Self {
        let mut merged: Vec<Busy> = Vec::with_capacity(busy.len());
        for &next in busy {
            match merged.last_mut() {
                Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
                _ => merged.push(next),
            }
        }
        Self(merged)
    }

    fn overlaps(&self, from: Timestamp, to: Timestamp) -> bool {
        let before_end = self.0.partition_point(|busy| busy.start < to);
        self.0[..before_end].last().is_some_and(|busy| from < busy.end)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

fn name_of(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    }
}
