//! Free and busy times.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::context::RequestContext;
use super::response::{Done, Handled, refuse};
use super::times::{in_zone, instant, zone};
use crate::families::hub::contract::PEOPLE;

/// Calendars that are looked at in one request.
const MAX_ITEMS: usize = 50;

/// When [`PEOPLE`]'s first has no time: 2031-03-05, 10:00 to 10:30 in Madrid.
const ANA: [&str; 2] = ["2031-03-05T09:00:00Z", "2031-03-05T09:30:00Z"];

/// `freebusy.query`.
pub(super) fn query(context: &RequestContext<'_>) -> Handled {
    let query = context.request.object()?;
    let bound = |name: &str| {
        let text = query.get(name).and_then(Value::as_str);
        instant(text.ok_or_else(|| refuse(400, "required", &format!("Missing {name}.")))?, name)
    };
    let (from, to) = (bound("timeMin")?, bound("timeMax")?);
    if to <= from {
        return Err(refuse(400, "timeRangeEmpty", "The specified time range is empty."));
    }
    let place = match query.get("timeZone").and_then(Value::as_str) {
        None => TimeZone::UTC,
        Some(name) => zone(name).ok_or_else(|| refuse(400, "invalid", "Invalid time zone."))?,
    };
    let items = query.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if items.len() > MAX_ITEMS {
        return Err(refuse(400, "tooManyCalendarsRequested", "Too many calendars requested."));
    }
    let mut calendars = Map::new();
    for id in items.iter().filter_map(|item| item["id"].as_str()) {
        let busy: Vec<Value> = united(periods(context, id), from, to)
            .into_iter()
            .map(|(start, end)| json!({"start": in_zone(start, &place), "end": in_zone(end, &place)}))
            .collect();
        calendars.insert(id.to_owned(), json!({"busy": busy}));
    }
    Ok(Done::read(json!({
        "kind": "calendar#freeBusy",
        "timeMin": in_zone(from, &place),
        "timeMax": in_zone(to, &place),
        "calendars": calendars,
    })))
}

/// When a calendar is busy: the account's own by its events, others hardly ever.
fn periods(context: &RequestContext<'_>, id: &str) -> Vec<(Timestamp, Timestamp)> {
    if id == "primary" || id.eq_ignore_ascii_case(&context.account.address) {
        let busy = context.account.events.iter().filter(|event| event.is_busy());
        return busy.map(|event| (event.start.at, event.end.at)).collect();
    }
    let [start, end] = ANA.map(|text| text.parse().unwrap_or_default());
    if id.eq_ignore_ascii_case(PEOPLE[0]) { vec![(start, end)] } else { Vec::new() }
}

/// What lies within the bounds, periods that meet made one.
fn united(
    mut periods: Vec<(Timestamp, Timestamp)>,
    from: Timestamp,
    to: Timestamp,
) -> Vec<(Timestamp, Timestamp)> {
    periods.sort();
    let mut united: Vec<(Timestamp, Timestamp)> = Vec::new();
    for (start, end) in periods.into_iter().map(|(start, end)| (start.max(from), end.min(to))) {
        if end <= start {
            continue;
        }
        match united.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => united.push((start, end)),
        }
    }
    united
}
