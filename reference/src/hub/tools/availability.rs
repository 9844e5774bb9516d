//! `calendar_get_availability`: busy times by the clocks of the zone asked for.
//!
//! The days are whole, and `end_date` is one of them. Without a zone it is the customer's.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::free_busy::{self, CALENDARS, Calendar, Days};
use crate::hub::envelope::{Code, Refusal};
use crate::hub::inputs::{self, Inputs};
use crate::hub::moment::Moment;
use crate::hub::session::ProviderSession;

pub(in crate::hub) struct Question {
    days: Days,
    zone: Option<TimeZone>,
    calendars: Vec<String>,
}

impl Question {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        let days = Days::read(inputs, "start_date", "end_date")?;
        let zone = inputs.optional("timezone", inputs::zone)?;
        let mut calendars = inputs.optional("calendars", inputs::ids)?.unwrap_or_default();
        if calendars.len() > CALENDARS {
            return Err(inputs.refuse("calendars", "must be at most 50 calendars"));
        }
        if calendars.is_empty() {
            calendars.push("primary".to_owned());
        }
        let mut seen = std::collections::HashSet::new();
        calendars.retain(|calendar| seen.insert(calendar.clone()));
        Ok(Self { days, zone, calendars })
    }

    pub(super) async fn answer(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let zone = self.zone.as_ref().unwrap_or(&session.customer.zone);
        let ids: Vec<&str> = self.calendars.iter().map(String::as_str).collect();
        let calendars = free_busy::query(session, self.days, zone, &ids).await?;
        let mut periods = Vec::new();
        for (id, calendar) in ids.iter().zip(calendars) {
            match calendar {
                Calendar::Known(busy) => periods.extend(busy.into_iter().map(|busy| (busy, *id))),
                // No busy times would say that the calendar is free.
                Calendar::NotFound => {
                    return Err(Refusal::new(Code::NotFound, format!("there is no calendar `{id}`")));
                }
                Calendar::Unknown => {
                    return Err(Refusal::new(
                        Code::ExternalApiError,
                        format!("the provider does not report when `{id}` is busy"),
                    ));
                }
            }
        }
        periods.sort_unstable();
        let local = |timestamp| Moment::in_zone(timestamp, zone).to_string();
        let periods: Vec<Value> = periods
            .into_iter()
            .map(|(busy, id)| json!({"start": local(busy.start), "end": local(busy.end), "calendar": id}))
            .collect();
        Ok(json!({"busy_periods": periods, "working_hours": session.customer.working_hours}))
    }
}
