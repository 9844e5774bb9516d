//! The events of an account, and how one is made from what was sent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::response::{ProviderResponse, failure, refuse};
use super::times::{Moment, exact, moment};

/// Events of one account; the oldest that were made go first.
const MAX_EVENTS: usize = 2_000;
/// What a client cannot set.
const GENERATED: [&str; 11] = [
    "kind",
    "etag",
    "id",
    "htmlLink",
    "created",
    "updated",
    "creator",
    "organizer",
    "iCalUID",
    "sequence",
    "status",
];

/// An event.
pub(super) struct Event {
    pub(super) id: String,
    /// As it is answered.
    pub(super) resource: Map<String, Value>,
    pub(super) start: Moment,
    pub(super) end: Moment,
    /// There from the beginning.
    is_seed: bool,
}

/// What stays of an event whatever is written into it.
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) owner: String,
    created: String,
    sequence: u64,
    is_seed: bool,
}

/// The events of an account.
#[derive(Default)]
pub(super) struct Events {
    live: Vec<Event>,
    deleted: Vec<String>,
}

impl Identity {
    /// Of a new event.
    pub(super) fn new(id: String, owner: &str, now: Timestamp) -> Self {
        Self { id, owner: owner.to_owned(), created: exact(now), sequence: 0, is_seed: false }
    }

    /// Of an event that is there from the beginning.
    pub(super) fn seed(id: String, owner: &str, now: Timestamp) -> Self {
        Self { is_seed: true, ..Self::new(id, owner, now) }
    }
}

impl Event {
    /// Makes an event of what was sent.
    pub(super) fn compose(
        given: &Map<String, Value>,
        identity: Identity,
        now: Timestamp,
    ) -> Result<Self, ProviderResponse> {
        let start = moment(given.get("start"), "start")?;
        let end = moment(given.get("end"), "end")?;
        if start.is_date != end.is_date {
            return Err(refuse(
                400,
                "invalid",
                "Start and end times must either both be date or both be dateTime.",
            ));
        }
        if end.at < start.at {
            return Err(refuse(400, "timeRangeEmpty", "The specified time range is empty."));
        }
        let Identity { id, owner, created, sequence, is_seed } = identity;
        let attendees = attendees(given.get("attendees"), &owner)?;
        let person = json!({"email": owner, "self": true});
        let generated = json!({
            "kind": "calendar#event",
            "etag": format!("\"{}\"", now.as_microsecond().unsigned_abs() * 2 + sequence),
            "id": id,
            "status": given.get("status").and_then(Value::as_str).unwrap_or("confirmed"),
            "htmlLink": format!(
                "https://www.google.com/calendar/event?eid={}",
                URL_SAFE_NO_PAD.encode(format!("{id} {owner}"))
            ),
            "created": created,
            "updated": exact(now),
            "creator": person,
            "organizer": person,
            "iCalUID": given.get("iCalUID").cloned().unwrap_or_else(|| json!(format!("{id}@google.com"))),
            "sequence": sequence,
        });
        let mut resource = Map::new();
        if let Value::Object(generated) = generated {
            resource.extend(generated);
        }
        for (name, value) in given {
            if !GENERATED.contains(&name.as_str()) && !value.is_null() {
                resource.insert(name.clone(), value.clone());
            }
        }
        resource.insert("start".to_owned(), start.resource.clone());
        resource.insert("end".to_owned(), end.resource.clone());
        resource.entry("reminders").or_insert_with(|| json!({"useDefault": true}));
        resource.entry("eventType").or_insert_with(|| json!("default"));
        resource.shift_remove("attendees");
        if !attendees.is_empty() {
            resource.insert("attendees".to_owned(), Value::Array(attendees));
        }
        Ok(Self { id, resource, start, end, is_seed })
    }

    /// What stays of it when it is written anew.
    pub(super) fn identity(&self, owner: &str) -> Identity {
        Identity {
            id: self.id.clone(),
            owner: owner.to_owned(),
            created: self.text("created").to_owned(),
            sequence: self.resource.get("sequence").and_then(Value::as_u64).unwrap_or_default() + 1,
            is_seed: self.is_seed,
        }
    }

    /// As it is answered.
    pub(super) fn value(&self) -> Value {
        Value::Object(self.resource.clone())
    }

    /// What a judgement needs to know of it.
    pub(super) fn seen(&self) -> Value {
        let member = |name: &str| self.resource.get(name).cloned().unwrap_or_default();
        let guests = self.resource.get("attendees").and_then(Value::as_array);
        let emails: Vec<&str> =
            guests.into_iter().flatten().filter_map(|each| each["email"].as_str()).collect();
        json!({
            "title": member("summary"), "start": self.start.text, "end": self.end.text,
            "description": member("description"), "location": member("location"), "attendees": emails,
        })
    }

    /// Whether it takes up time.
    pub(super) fn is_busy(&self) -> bool {
        self.text("transparency") != "transparent"
    }

    /// Whether all its texts together have a text.
    pub(super) fn mentions(&self, lowered: &str) -> bool {
        let seen = self.seen();
        let texts = ["title", "description", "location"].map(|name| seen[name].as_str().unwrap_or_default());
        texts.iter().any(|text| text.to_lowercase().contains(lowered))
            || seen["attendees"].to_string().to_lowercase().contains(lowered)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.resource.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Events {
    /// All that are not deleted.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.live.iter()
    }

    /// Finds an event.
    pub(super) fn find(&self, id: &str) -> Result<&Event, ProviderResponse> {
        self.live.iter().find(|event| event.id == id).ok_or_else(|| self.missing(id))
    }

    /// Whether an id was given already.
    pub(super) fn has(&self, id: &str) -> bool {
        self.live.iter().any(|event| event.id == id) || self.deleted.iter().any(|deleted| deleted == id)
    }

    /// Adds an event, or puts it in the place of the one with its id.
    pub(super) fn put(&mut self, event: Event) {
        if let Some(old) = self.live.iter_mut().find(|old| old.id == event.id) {
            *old = event;
            return;
        }
        self.live.push(event);
        if self.live.len() > MAX_EVENTS
            && let Some(oldest) = self.live.iter().position(|event| !event.is_seed)
        {
            self.live.remove(oldest);
        }
    }

    /// Deletes an event.
    pub(super) fn delete(&mut self, id: &str) -> Result<Event, ProviderResponse> {
        let at = self.live.iter().position(|event| event.id == id).ok_or_else(|| self.missing(id))?;
        if self.deleted.len() >= MAX_EVENTS {
            self.deleted.remove(0);
        }
        self.deleted.push(id.to_owned());
        Ok(self.live.remove(at))
    }

    fn missing(&self, id: &str) -> ProviderResponse {
        failure(if self.deleted.iter().any(|deleted| deleted == id) { 410 } else { 404 })
    }
}

/// Writes changes into an event's members: objects are merged, null takes away, the rest is replaced.
pub(super) fn merge(members: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, change) in changes {
        match (members.get_mut(name), change) {
            (_, Value::Null) => {
                members.shift_remove(name);
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                // Of the two ways to say when, the new one counts.
                if new.get("dateTime").is_some_and(Value::is_string) {
                    old.shift_remove("date");
                }
                if new.get("date").is_some_and(Value::is_string) {
                    old.shift_remove("dateTime");
                    old.shift_remove("timeZone");
                }
                merge(old, new);
            }
            _ => {
                members.insert(name.clone(), change.clone());
            }
        }
    }
}

fn attendees(given: Option<&Value>, owner: &str) -> Result<Vec<Value>, ProviderResponse> {
    let given = match given {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(given)) => given,
        Some(_) => return Err(refuse(400, "invalid", "Invalid value for: attendees")),
    };
    let one = |attendee: &Value| {
        let email = attendee["email"].as_str().map(str::trim);
        let email = email.ok_or_else(|| refuse(400, "required", "Missing attendee email."))?;
        let is_address = email.split_once('@').is_some_and(|(who, host)| !who.is_empty() && !host.is_empty());
        if !is_address {
            return Err(refuse(400, "invalid", "Invalid attendee email."));
        }
        let mut attendee = attendee.clone();
        attendee["email"] = json!(email);
        if !attendee["responseStatus"].is_string() {
            attendee["responseStatus"] = json!("needsAction");
        }
        if email.eq_ignore_ascii_case(owner) {
            attendee["self"] = json!(true);
        }
        Ok(attendee)
    };
    given.iter().map(one).collect()
}
