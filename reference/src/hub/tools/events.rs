//! `calendar_create_event`, `calendar_update_event`, `calendar_delete_event`: one request to the primary calendar each.
//!
//! Nobody is notified unless that is asked for. An update changes what it names and nothing else; an event that
//! lasts whole days, or recurs, cannot be said in the contract.

use serde_json::{Map, Value, json};

use crate::hub::envelope::Refusal;
use crate::hub::inputs::{self, Inputs};
use crate::hub::session::{ProviderSession, incomplete};

const EVENTS: [&str; 3] = ["calendars", "primary", "events"];

pub(in crate::hub) struct Creation {
    event: Value,
    notify: bool,
}

pub(in crate::hub) struct Update {
    event_id: String,
    changes: Value,
    notify: bool,
}

pub(in crate::hub) struct Deletion {
    event_id: String,
    notify: bool,
}

impl Creation {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        for name in ["title", "start", "end"] {
            inputs.required(name, |_| Ok(()))?;
        }
        Ok(Self { event: fields(inputs)?, notify: notify(inputs)? })
    }

    pub(super) async fn make(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let event = session.post(&EVENTS, &[updates(self.notify)], &self.event).await?;
        result(&event)
    }
}

impl Update {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        let event_id = inputs.required("event_id", inputs::id)?;
        let changes = fields(&inputs.required_object("updates")?)?;
        if changes.as_object().is_none_or(Map::is_empty) {
            return Err(inputs.refuse("updates", "names nothing that could be changed"));
        }
        Ok(Self { event_id, changes, notify: notify(inputs)? })
    }

    pub(super) async fn make(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let path = [EVENTS.as_slice(), &[self.event_id.as_str()]].concat();
        let event = session.patch(&path, &[updates(self.notify)], &self.changes).await?;
        result(&event)
    }
}

impl Deletion {
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        Ok(Self { event_id: inputs.required("event_id", inputs::id)?, notify: notify(inputs)? })
    }

    pub(super) async fn make(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        let path = [EVENTS.as_slice(), &[self.event_id.as_str()]].concat();
        session.delete(&path, &[updates(self.notify)]).await?;
        Ok(json!({"event_id": self.event_id, "status": "deleted"}))
    }
}

/// The fields of an event under the provider's names, as many as there are.
fn fields(inputs: &Inputs<'_>) -> Result<Value, Refusal> {
    let mut event = Map::new();
    if let Some(title) = inputs.optional("title", inputs::text)? {
        event.insert("summary".to_owned(), title.into());
    }
    let start = inputs.optional("start", inputs::moment)?;
    let end = inputs.optional("end", inputs::moment)?;
    if let (Some(start), Some(end)) = (start, end)
        && start.timestamp >= end.timestamp
    {
        return Err(inputs.refuse("end", "must be after the start"));
    }
    for (name, moment) in [("start", start), ("end", end)] {
        if let Some(moment) = moment {
            event.insert(name.to_owned(), json!({"dateTime": moment.to_string()}));
        }
    }
    for name in ["description", "location"] {
        if let Some(text) = inputs.optional(name, inputs::text)? {
            event.insert(name.to_owned(), text.into());
        }
    }
    if let Some(attendees) = inputs.optional("attendees", inputs::addresses)? {
        let attendees = attendees.into_iter().map(|email| json!({ "email": email })).collect();
        event.insert("attendees".to_owned(), attendees);
    }
    Ok(Value::Object(event))
}

fn notify(inputs: &Inputs<'_>) -> Result<bool, Refusal> {
    Ok(inputs.optional("send_notifications", inputs::flag)?.unwrap_or(false))
}

fn updates(notify: bool) -> (&'static str, &'static str) {
    ("sendUpdates", if notify { "all" } else { "none" })
}

/// The event under the contract's names.
fn result(event: &Value) -> Result<Value, Refusal> {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    let attendee = |attendee: &Value| {
        let email = attendee.get("email")?.as_str()?;
        let status = attendee.get("responseStatus").and_then(Value::as_str).unwrap_or("needsAction");
        Some(json!({"email": email, "response_status": status}))
    };
    let attendees = event.get("attendees").and_then(Value::as_array);
    Ok(json!({
        "event_id": text("id").filter(|id| !id.is_empty()).ok_or_else(|| incomplete("id"))?,
        // What has happened is not called a failure for want of a link.
        "html_link": text("htmlLink"),
        "status": text("status").unwrap_or("confirmed"),
        "attendees": attendees.into_iter().flatten().filter_map(attendee).collect::<Value>(),
    }))
}
