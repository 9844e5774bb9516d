//! `calendar_find_optimal_times`: what suits everyone, from everyone's busy times.
//!
//! Hours and days are those of the customer's time zone, and without preferred hours those in which the customer works.
//! Both days of the range belong to it. How times are chosen is in `slots`.

use serde_json::{Value, json};

use super::free_busy::{self, CALENDARS, Calendar, Days};
use super::slots::{self, Slot, SlotQuery};
use crate::hub::envelope::{Code, Refusal};
use crate::hub::inputs::{self, Inputs, minutes_of};
use crate::hub::moment::Moment;
use crate::hub::session::ProviderSession;

/// No meeting is longer than a day.
const DAY_MINUTES: u16 = 24 * 60;

pub(in crate::hub) struct Question {
    minutes: u16,
    attendees: Vec<String>,
    days: Days,
    hours: Option<(u16, u16)>,
    avoid_mondays: bool,
}

impl Question {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        let minutes = inputs.required("duration_minutes", inputs::count)?;
        let minutes = u16::try_from(minutes).ok().filter(|&minutes| minutes <= DAY_MINUTES);
        let minutes =
            minutes.ok_or_else(|| inputs.refuse("duration_minutes", "must be at most 1440 minutes"))?;
        let mut attendees = inputs.optional("attendees", inputs::addresses)?.unwrap_or_default();
        let mut seen = std::collections::HashSet::new();
        attendees.retain(|attendee| seen.insert(attendee.to_ascii_lowercase()));
        if attendees.len() >= CALENDARS {
            return Err(inputs.refuse("attendees", "must be at most 49 people"));
        }
        let days = Days::read(&inputs.required_object("date_range")?, "start", "end")?;
        let mut hours = None;
        let mut avoid_mondays = false;
        if let Some(preferences) = inputs.object("preferences")? {
            avoid_mondays = preferences.optional("avoid_mondays", inputs::flag)?.unwrap_or(false);
            if let Some(preferred) = preferences.object("preferred_hours")? {
                let start = preferred.required("start", inputs::minutes)?;
                let end = preferred.required("end", inputs::minutes)?;
                if start >= end {
                    return Err(preferred.refuse("end", "must be after the start"));
                }
                hours = Some((start, end));
            }
        }
        Ok(Self { minutes, attendees, days, hours, avoid_mondays })
    }

    pub(super) async fn answer(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let customer = &session.customer;
        let ids: Vec<&str> =
            std::iter::once("primary").chain(self.attendees.iter().map(String::as_str)).collect();
        let mut calendars = free_busy::query(session, self.days, &customer.zone, &ids).await?.into_iter();
        let Some(Calendar::Known(own)) = calendars.next() else {
            return Err(Refusal::new(
                Code::ExternalApiError,
                "the provider does not report when the customer is busy",
            ));
        };
        let attendees: Vec<(String, Calendar)> = self.attendees.iter().cloned().zip(calendars).collect();
        let working = &customer.working_hours;
        let query = SlotQuery {
            minutes: self.minutes,
            hours: self.hours.unwrap_or_else(|| {
                (minutes_of(&working.start).unwrap_or(0), minutes_of(&working.end).unwrap_or(DAY_MINUTES))
            }),
            avoid_mondays: self.avoid_mondays,
            working_days: &working.days,
            zone: &customer.zone,
        };
        let suggestion = |slot: Slot| {
            let local = |timestamp| Moment::in_zone(timestamp, &customer.zone).to_string();
            let conflicts: Vec<Value> = slot
                .conflicts
                .iter()
                .map(|conflict| json!({"attendee": conflict.attendee, "type": conflict.kind}))
                .collect();
            json!({
                "start": local(slot.start),
                "end": local(slot.end),
                "score": slot.score,
                "conflicts": conflicts,
            })
        };
        let slots = slots::suggest(&query, self.days.iter(), &own, &attendees);
        Ok(json!({"suggestions": slots.into_iter().map(suggestion).collect::<Value>()}))
    }
}
