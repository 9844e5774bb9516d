//! The calendar below `/calendar/v3`: which path does what.

use serde_json::{Value, json};

use super::context::RequestContext;
use super::events::{Event, Identity, merge};
use super::free_busy;
use super::response::{Done, Handled, ProviderResponse, failure, refuse, unplayed};
use super::times::{HOME, exact, in_zone, instant};

/// Events in one answer, at most and unless something else is said.
const MAX_PAGE: usize = 2_500;
const PAGE: usize = 250;
const SETTINGS: [(&str, &str); 5] = [
    ("timezone", HOME),
    ("locale", "en"),
    ("weekStart", "1"),
    ("format24HourTime", "true"),
    ("defaultEventLength", "60"),
];

/// Answers a request.
pub(super) fn answer(context: &mut RequestContext<'_>) -> Handled {
    let request = context.request;
    match (request.method.as_str(), &request.path()[2..]) {
        ("POST", ["freeBusy"]) => free_busy::query(context),
        ("GET", ["calendars", id]) => Ok(Done::read(calendar(context, id))),
        ("GET", ["users", "me", "calendarList"]) => Ok(Done::read(json!({
            "kind": "calendar#calendarList", "etag": "\"1\"", "nextSyncToken": "1",
            "items": [entry(context, "primary")],
        }))),
        ("GET", ["users", "me", "calendarList", id]) => Ok(Done::read(entry(context, id))),
        ("GET", ["users", "me", "settings"]) => Ok(Done::read(json!({
            "kind": "calendar#settings", "etag": "\"1\"", "nextSyncToken": "1",
            "items": SETTINGS.map(|(id, value)| setting(id, value)),
        }))),
        ("GET", ["users", "me", "settings", id]) => {
            let known = SETTINGS.iter().find(|(name, _)| name == id).ok_or_else(|| failure(404))?;
            Ok(Done::read(setting(known.0, known.1)))
        }
        ("GET", ["calendars", _, "events"]) => list(context),
        ("POST", ["calendars", _, "events"] | ["calendars", _, "events", "import"]) => {
            let given = request.object()?;
            insert(context, &given)
        }
        ("POST", ["calendars", _, "events", "quickAdd"]) => quick_add(context),
        ("GET", ["calendars", _, "events", id]) => Ok(Done::read(context.account.events.find(id)?.value())),
        ("PATCH" | "PUT", ["calendars", _, "events", id]) => change(context, id),
        ("DELETE", ["calendars", _, "events", id]) => {
            let notifies = notifies(context)?;
            check_tag(context, id)?;
            context.account.events.delete(id)?;
            Ok(Done::with(ProviderResponse::empty(), vec![deleted(id, notifies)]))
        }
        _ => Err(unplayed()),
    }
}

fn insert(context: &mut RequestContext<'_>, given: &serde_json::Map<String, Value>) -> Handled {
    let notifies = notifies(context)?;
    let id = match given.get("id").and_then(Value::as_str) {
        None => context.ids.event_id(),
        Some(id) if context.account.events.has(id) => {
            return Err(refuse(409, "duplicate", "The requested identifier already exists."));
        }
        Some(id) if (5..=1024).contains(&id.len()) && id.bytes().all(is_base32) => id.to_owned(),
        Some(_) => return Err(refuse(400, "invalid", "Invalid resource id value.")),
    };
    let identity = Identity::new(id, &context.account.address, context.now);
    let event = Event::compose(given, identity, context.now)?;
    let (id, resource) = (event.id.clone(), event.value());
    let effect = written(context, &event, notifies);
    context.account.events.put(event);
    Ok(Done::with(ProviderResponse::ok(resource), vec![effect]).making([id]))
}

/// An event of one sentence: the title is known, the time is the next hour.
fn quick_add(context: &mut RequestContext<'_>) -> Handled {
    let text = context.request.parameter("text").ok_or_else(|| refuse(400, "required", "Missing text."))?;
    let end = context.now + jiff::SignedDuration::from_hours(1);
    let given = json!({
        "summary": text, "start": {"dateTime": exact(context.now)}, "end": {"dateTime": exact(end)},
    });
    insert(context, given.as_object().unwrap_or(&serde_json::Map::new()))
}

/// PUT replaces an event, PATCH changes what is named.
fn change(context: &mut RequestContext<'_>, id: &str) -> Handled {
    let notifies = notifies(context)?;
    let given = context.request.object()?;
    check_tag(context, id)?;
    let old = context.account.events.find(id)?;
    if given.get("status").and_then(Value::as_str) == Some("cancelled") {
        let mut resource = old.value();
        resource["status"] = json!("cancelled");
        context.account.events.delete(id)?;
        return Ok(Done::with(ProviderResponse::ok(resource), vec![deleted(id, notifies)]));
    }
    let identity = old.identity(&context.account.address);
    let event = if context.request.method == "PUT" {
        Event::compose(&given, identity, context.now)?
    } else {
        let mut members = old.resource.clone();
        merge(&mut members, &given);
        let mut event = Event::compose(&members, identity, context.now)?;
        // What was not touched is still returned as it was given.
        for (name, new, old) in [("start", &mut event.start, &old.start), ("end", &mut event.end, &old.end)] {
            if !given.contains_key(name) {
                new.text.clone_from(&old.text);
            }
        }
        event
    };
    let resource = event.value();
    let effect = written(context, &event, notifies);
    context.account.events.put(event);
    Ok(Done::with(ProviderResponse::ok(resource), vec![effect]))
}

fn list(context: &RequestContext<'_>) -> Handled {
    let request = context.request;
    let bound = |name: &str| request.parameter(name).map(|text| instant(text, name)).transpose();
    let (from, to) = (bound("timeMin")?, bound("timeMax")?);
    if matches!((from, to), (Some(from), Some(to)) if to <= from) {
        return Err(refuse(400, "timeRangeEmpty", "The specified time range is empty."));
    }
    let words = request.parameter("q").map(str::to_lowercase);
    let by_start = request.parameter("orderBy") == Some("startTime");
    if by_start && request.parameter("singleEvents") != Some("true") {
        let message = "The requested ordering is not available for the particular query.";
        return Err(refuse(400, "badRequest", message));
    }
    let uid = request.parameter("iCalUID");
    let mut found: Vec<&Event> = context
        .account
        .events
        .iter()
        .filter(|event| from.is_none_or(|from| event.end.at > from))
        .filter(|event| to.is_none_or(|to| event.start.at < to))
        .filter(|event| words.as_ref().is_none_or(|words| event.mentions(words)))
        .filter(|event| uid.is_none_or(|uid| event.text("iCalUID") == uid))
        .collect();
    if by_start {
        found.sort_by_key(|event| event.start.at);
    }
    let size = request.number("maxResults")?.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let skip = request.number("pageToken")?.unwrap_or_default();
    let items: Vec<Value> = found.iter().skip(skip).take(size).map(|event| event.value()).collect();
    let mut body = json!({
        "kind": "calendar#events", "etag": "\"1\"", "summary": context.account.address,
        "description": "", "updated": exact(context.now), "timeZone": HOME, "accessRole": "owner",
        "defaultReminders": [], "items": items,
    });
    let next = skip.saturating_add(size);
    let token = if next < found.len() { ("nextPageToken", next) } else { ("nextSyncToken", 1) };
    body[token.0] = json!(token.1.to_string());
    Ok(Done::read(body))
}

/// Whether attendees are notified; `None` if unspecified, which means no.
fn notifies(context: &RequestContext<'_>) -> Result<Option<bool>, ProviderResponse> {
    match context.request.parameter("sendUpdates") {
        Some("all" | "externalOnly") => return Ok(Some(true)),
        Some("none") => return Ok(Some(false)),
        Some(_) => return Err(refuse(400, "invalidParameter", "Invalid value for sendUpdates")),
        None => {}
    }
    match context.request.parameter("sendNotifications").map(str::to_lowercase).as_deref() {
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(refuse(400, "invalidParameter", "Invalid value for sendNotifications")),
        None => Ok(None),
    }
}

/// A change that was meant for an earlier state of the event is refused.
fn check_tag(context: &RequestContext<'_>, id: &str) -> Result<(), ProviderResponse> {
    let current = context.account.events.find(id)?.text("etag");
    match context.request.if_match.as_deref() {
        Some(wanted) if wanted != "*" && wanted != current => {
            Err(refuse(412, "conditionNotMet", "Precondition Failed"))
        }
        _ => Ok(()),
    }
}

fn written(context: &RequestContext<'_>, event: &Event, notifies: Option<bool>) -> Value {
    json!({"effect": "event", "notifies": notifies, "event": event.seen(), "request": context.request.json})
}

fn deleted(id: &str, notifies: Option<bool>) -> Value {
    json!({"effect": "delete", "notifies": notifies, "event_id": id})
}

fn is_base32(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'v')
}

fn name_of(context: &RequestContext<'_>, id: &str) -> String {
    if id == "primary" { context.account.address.clone() } else { id.to_owned() }
}

fn calendar(context: &RequestContext<'_>, id: &str) -> Value {
    let name = name_of(context, id);
    json!({
        "kind": "calendar#calendar", "etag": "\"1\"", "id": name, "summary": name, "timeZone": HOME,
        "conferenceProperties": {"allowedConferenceSolutionTypes": ["hangoutsMeet"]},
    })
}

fn entry(context: &RequestContext<'_>, id: &str) -> Value {
    let name = name_of(context, id);
    json!({
        "kind": "calendar#calendarListEntry", "etag": "\"1\"", "id": name, "summary": name, "timeZone": HOME,
        "accessRole": "owner", "primary": name == context.account.address, "selected": true,
        "defaultReminders": [], "colorId": "14", "updated": in_zone(context.now, &jiff::tz::TimeZone::UTC),
    })
}

fn setting(id: &str, value: &str) -> Value {
    json!({"kind": "calendar#setting", "etag": "\"1\"", "id": id, "value": value})
}
