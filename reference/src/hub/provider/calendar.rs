//! Calendar v3: free-busy queries, and the events of the primary calendar.

use axum::Json;
use axum::extract::{self, Path};
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::problem::{JsonResult, Problem};
use super::seeds;
use super::state::{Access, Account, ENTRIES, SharedState};

/// What an event may hold that the caller sets.
const FIELDS: [&str; 6] = ["summary", "description", "location", "start", "end", "attendees"];
/// A query for more days is refused.
const DAYS: i64 = 100;

pub(super) async fn free_busy(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Json(query): Json<Value>,
) -> JsonResult {
    let moment = |name: &str| query.get(name).and_then(Value::as_str)?.parse::<Timestamp>().ok();
    let (Some(from), Some(to)) = (moment("timeMin"), moment("timeMax")) else {
        return Err(Problem::invalid("timeMin and timeMax are date-times."));
    };
    if from >= to || to.duration_since(from).as_hours() > DAYS * 24 {
        return Err(Problem::new(400, "timeRangeTooLong", "The requested time range is empty or too long."));
    }
    let ids = query.get("items").and_then(Value::as_array).into_iter().flatten();
    let ids: Vec<&str> = ids.filter_map(|item| item.get("id")?.as_str()).collect();
    state.with_account(&headers, Access::Read, |account| {
        let calendars: Map<String, Value> =
            ids.into_iter().map(|id| (id.to_owned(), calendar(account, id, from, to))).collect();
        Ok(Json(json!({
            "kind": "calendar#freeBusy",
            "timeMin": from.to_string(),
            "timeMax": to.to_string(),
            "calendars": calendars,
        })))
    })
}

fn calendar(account: &Account, id: &str, from: Timestamp, to: Timestamp) -> Value {
    let own = id == "primary" || id.eq_ignore_ascii_case(&account.email);
    let Some(weekly) = seeds::weekly(if own { "primary" } else { id }) else {
        return json!({"errors": [{"domain": "global", "reason": "notFound"}], "busy": []});
    };
    let mut periods: Vec<(Timestamp, Timestamp)> = seeds::periods(weekly, from, to);
    if own {
        periods.extend(account.events.values().filter_map(times));
    }
    periods.retain(|&(start, end)| start < to && end > from);
    periods.sort_unstable();
    let busy: Vec<Value> = periods
        .into_iter()
        .map(|(start, end)| json!({"start": start.to_string(), "end": end.to_string()}))
        .collect();
    json!({ "busy": busy })
}

pub(super) async fn list(extract::State(state): SharedState, headers: HeaderMap) -> JsonResult {
    state.with_account(&headers, Access::Read, |account| {
        let items: Vec<&Value> = account.events.values().collect();
        Ok(Json(json!({"kind": "calendar#events", "items": items})))
    })
}

pub(super) async fn get(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path(event): Path<String>,
) -> JsonResult {
    state.with_account(&headers, Access::Read, |account| {
        account.events.get(&event).cloned().map(Json).ok_or_else(Problem::not_found)
    })
}

pub(super) async fn insert(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Json(sent): Json<Value>,
) -> JsonResult {
    let id = format!("ev-{}", state.next());
    state.with_account(&headers, Access::Write, |account| {
        if account.events.len() >= ENTRIES {
            return Err(Problem::full());
        }
        let event = changed(seeds::blank_event(&id, &account.email), &sent)?;
        account.events.insert(id, event.clone());
        Ok(Json(event))
    })
}

pub(super) async fn patch(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path(id): Path<String>,
    Json(sent): Json<Value>,
) -> JsonResult {
    state.with_account(&headers, Access::Write, |account| {
        let event = account.events.get_mut(&id).ok_or_else(Problem::not_found)?;
        *event = changed(event.clone(), &sent)?;
        Ok(Json(event.clone()))
    })
}

pub(super) async fn delete(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.with_account(&headers, Access::Write, |account| {
        account.events.remove(&id).map(|_event| StatusCode::NO_CONTENT).ok_or_else(Problem::not_found)
    })
}

/// The event with the fields that were sent; `null` takes one away.
fn changed(mut event: Value, sent: &Value) -> Result<Value, Problem> {
    let sent = sent.as_object().ok_or(Problem::invalid("An event is an object."))?;
    let fields = event.as_object_mut().ok_or(Problem::invalid("An event is an object."))?;
    for name in FIELDS {
        match sent.get(name) {
            None => {}
            Some(Value::Null) => {
                fields.remove(name);
            }
            Some(value) if name == "attendees" => {
                let attendee = |attendee: &Value| {
                    let email = attendee.get("email")?.as_str()?;
                    Some(json!({"email": email, "responseStatus": "needsAction"}))
                };
                let attendees: Option<Vec<Value>> =
                    value.as_array().and_then(|attendees| attendees.iter().map(attendee).collect());
                let attendees = attendees.ok_or(Problem::invalid("Invalid attendee email."))?;
                fields.insert(name.to_owned(), attendees.into());
            }
            Some(value) => {
                fields.insert(name.to_owned(), value.clone());
            }
        }
    }
    match times(&event) {
        Some((start, end)) if start < end => Ok(event),
        _ => Err(Problem::new(400, "timeRangeEmpty", "The specified time range is empty.")),
    }
}

fn times(event: &Value) -> Option<(Timestamp, Timestamp)> {
    let moment = |name: &str| event.get(name)?.get("dateTime")?.as_str()?.parse::<Timestamp>().ok();
    Some((moment("start")?, moment("end")?))
}
