//! Instants and zones as the calendar writes them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::response::{ProviderResponse, refuse};

/// The zone of every calendar here.
pub(super) const HOME: &str = "Europe/Madrid";

/// The beginning or the end of an event.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    /// As it was given; with its offset where it was given without one.
    pub(super) text: String,
    /// A whole day.
    pub(super) is_date: bool,
    /// As it is answered.
    pub(super) resource: Value,
}

/// A zone by its IANA name.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

/// The zone of every calendar here.
pub(super) fn home() -> TimeZone {
    zone(HOME).unwrap_or(TimeZone::UTC)
}

/// An instant with its offset in a zone, `Z` for none, as the service writes it.
pub(super) fn in_zone(at: Timestamp, zone: &TimeZone) -> String {
    let zoned = at.to_zoned(zone.clone());
    let form = if zoned.offset().seconds() == 0 { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    zoned.strftime(form).to_string()
}

/// With milliseconds, for times of making and changing.
pub(super) fn exact(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Midnight at the beginning of a day.
pub(super) fn midnight(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    Some(date.to_zoned(zone.clone()).ok()?.timestamp())
}

/// Reads `start` or `end` of an event.
pub(super) fn moment(value: Option<&Value>, which: &str) -> Result<Moment, ProviderResponse> {
    let invalid = |what: &str| refuse(400, "invalid", &format!("Invalid {what} for {which} time."));
    let Some(value) = value.filter(|value| value.is_object()) else {
        return Err(refuse(400, "required", &format!("Missing {which} time.")));
    };
    let named = value["timeZone"].as_str();
    if let Some(text) = value["dateTime"].as_str() {
        let given: Option<Timestamp> = text.parse().ok();
        let place = match named {
            Some(name) => Some(zone(name).ok_or_else(|| invalid("time zone definition"))?),
            None => None,
        };
        let (at, text) = match (given, place) {
            (Some(at), _) => (at, text.to_owned()),
            (None, Some(place)) => {
                let local: DateTime = text.parse().map_err(|_| invalid("value"))?;
                let at = local.to_zoned(place.clone()).map_err(|_| invalid("value"))?.timestamp();
                (at, in_zone(at, &place))
            }
            (None, None) if text.parse::<DateTime>().is_ok() => {
                let message = format!("Missing time zone definition for {which} time.");
                return Err(refuse(400, "required", &message));
            }
            (None, None) => return Err(invalid("value")),
        };
        let resource = json!({"dateTime": in_zone(at, &home()), "timeZone": named.unwrap_or(HOME)});
        return Ok(Moment { at, text, is_date: false, resource });
    }
    let Some(text) = value["date"].as_str() else {
        return Err(refuse(400, "required", &format!("Missing {which} time.")));
    };
    let date: Date = text.parse().map_err(|_| invalid("value"))?;
    let at = midnight(date, &home()).ok_or_else(|| invalid("value"))?;
    Ok(Moment { at, text: date.to_string(), is_date: true, resource: json!({"date": date.to_string()}) })
}

/// A parameter or member that is an instant.
pub(super) fn instant(text: &str, name: &str) -> Result<Timestamp, ProviderResponse> {
    text.parse().map_err(|_| refuse(400, "badRequest", &format!("Invalid value for {name}")))
}
