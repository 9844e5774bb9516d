//! When people are busy, as the provider's free-busy query reports it, for a range of whole days.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::hub::envelope::Refusal;
use crate::hub::inputs::{self, Inputs};
use crate::hub::moment::Moment;
use crate::hub::session::{ProviderSession, incomplete, read};

/// The provider answers for about a quarter of a year.
const DAYS: i32 = 92;
/// The provider answers for so many calendars at once.
pub(super) const CALENDARS: usize = 50;

/// Whole days from `start` to `end`, which belongs to them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Days {
    pub(super) start: Date,
    pub(super) end: Date,
}

impl Days {
    pub(super) fn read(inputs: &Inputs<'_>, start: &str, end: &str) -> Result<Self, Refusal> {
        let days =
            Self { start: inputs.required(start, inputs::date)?, end: inputs.required(end, inputs::date)? };
        let length = days.start.until(days.end).map_or(DAYS, |span| span.get_days());
        match length {
            ..0 => Err(inputs.refuse(end, "must not be before the start")),
            0..DAYS => Ok(days),
            DAYS.. => Err(inputs.refuse(end, "must be at most 92 days after the start")),
        }
    }

    /// From the first moment of the first day to the first one after the last, by the clocks of the zone.
    pub(super) fn bounds(self, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let begin = |date: Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp());
        Some((begin(self.start)?, begin(self.end.checked_add(1.day()).ok()?)?))
    }

    /// Each of them.
    pub(super) fn iter(self) -> impl Iterator<Item = Date> {
        self.start.series(1.day()).take_while(move |&date| date <= self.end)
    }
}

/// A time in which someone is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Busy {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
}

/// What is known of one calendar.
#[derive(Debug)]
pub(super) enum Calendar {
    /// Sorted by their starts.
    Known(Vec<Busy>),
    /// The provider says that there is no such calendar, or none that may be seen.
    NotFound,
    /// The provider says something else, or nothing.
    Unknown,
}

#[derive(Deserialize)]
struct FreeBusyResponse {
    calendars: HashMap<String, CalendarEntry>,
}

#[derive(Deserialize)]
struct CalendarEntry {
    #[serde(default)]
    busy: Vec<Period>,
    #[serde(default)]
    errors: Vec<Value>,
}

#[derive(Deserialize)]
struct Period {
    start: String,
    end: String,
}

/// Asks for all calendars at once; the answers are in the order of the ids.
pub(super) async fn query(
    session: &ProviderSession,
    days: Days,
    zone: &TimeZone,
    ids: &[&str],
) -> Result<Vec<Calendar>, Refusal> {
    let range = days.bounds(zone).ok_or_else(|| Refusal::input("inputs", "has days beyond the calendar"))?;
    let items: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
    let question = json!({
        "timeMin": Moment::in_zone(range.0, zone).to_string(),
        "timeMax": Moment::in_zone(range.1, zone).to_string(),
        "timeZone": zone.iana_name().unwrap_or("UTC"),
        "items": items,
    });
    let answer = session.post(&["freeBusy"], &[], &question).await?;
    let mut answer: FreeBusyResponse = read(answer, "calendars")?;
    ids.iter().map(|&id| calendar(answer.calendars.remove(id), range)).collect()
}

fn calendar(entry: Option<CalendarEntry>, (from, to): (Timestamp, Timestamp)) -> Result<Calendar, Refusal> {
    let Some(entry) = entry else { return Ok(Calendar::Unknown) };
    if let Some(error) = entry.errors.first() {
        let missing = error.get("reason").and_then(Value::as_str) == Some("notFound");
        return Ok(if missing { Calendar::NotFound } else { Calendar::Unknown });
    }
    let mut periods = Vec::with_capacity(entry.busy.len());
    for period in entry.busy {
        let moment = |text: &str| Moment::parse(text).ok_or_else(|| incomplete("busy"));
        let busy = Busy { start: moment(&period.start)?.timestamp, end: moment(&period.end)?.timestamp };
        if busy.start < busy.end && busy.start < to && busy.end > from {
            periods.push(busy);
        }
    }
    periods.sort_unstable();
    Ok(Calendar::Known(periods))
}
