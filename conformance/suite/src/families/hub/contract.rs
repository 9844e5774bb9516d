//! What the contract fixes for both sides: the nine tools with their inputs, the six codes, the two paths.

use serde_json::{Value, json};

/// Where tools are executed (Tool Execution Contract L20).
pub const EXECUTE: &str = "/api/internal/tools/execute/";
/// Where the status of integrations is, without customer and final slash (L333).
pub const STATUS_BASE: &str = "/api/internal/integrations/status/";
/// The scheme of `Authorization` (L21).
pub const SCHEME: &str = "ServiceSecret";

/// The six error codes with their statuses (L78-85).
pub const CODES: [(&str, u16); 6] = [
    ("INTEGRATION_NOT_CONNECTED", 400),
    ("INTEGRATION_EXPIRED", 401),
    ("INTEGRATION_PERMISSION_DENIED", 403),
    ("TOOL_NOT_FOUND", 404),
    ("RATE_LIMITED", 429),
    ("EXTERNAL_API_ERROR", 502),
];

/// The status that belongs to a code of the table.
pub fn status_of(code: &str) -> Option<u16> {
    CODES.iter().find(|(known, _)| *known == code).map(|(_, status)| *status)
}

/// The code of an integration that the customer has not connected.
pub const NOT_CONNECTED: &str = "INTEGRATION_NOT_CONNECTED";
/// The code of a tool that a Hub does not know.
pub const TOOL_NOT_FOUND: &str = "TOOL_NOT_FOUND";
/// The code of what an external service refuses.
pub const EXTERNAL_API_ERROR: &str = "EXTERNAL_API_ERROR";
/// The id of a customer that no Hub knows.
pub const NOBODY: &str = "5e0d7c1a-93b4-4c58-8f5e-2a6b1d9047c3";
/// The names of the nine tools that are executed by a Hub (L91-322), calendar first.
pub const TOOLS: [&str; 9] = [
    "calendar_get_availability",
    "calendar_create_event",
    "calendar_update_event",
    "calendar_delete_event",
    "calendar_find_optimal_times",
    "email_send",
    "email_search",
    "email_read",
    "email_check_replies",
];

/// The inputs that a tool's specification shows and without which it has nothing to do. The contract marks none of them as
/// required, and a Hub may ask for them.
pub fn main_inputs(tool: &str) -> &'static [&'static str] {
    match tool {
        "calendar_get_availability" => &["start_date", "end_date"],
        "calendar_create_event" => &["title", "start", "end"],
        "calendar_update_event" => &["event_id", "updates"],
        "calendar_delete_event" => &["event_id"],
        "calendar_find_optimal_times" => &["duration_minutes", "date_range"],
        "email_send" => &["to", "subject", "body"],
        "email_search" => &["query"],
        "email_read" => &["message_id"],
        "email_check_replies" => &["thread_id"],
        _ => &[],
    }
}

/// The tools of each half, those first that change nothing.
pub const HALVES: [&[&str]; 2] = [
    &[
        "calendar_get_availability",
        "calendar_find_optimal_times",
        "calendar_delete_event",
        "calendar_update_event",
        "calendar_create_event",
    ],
    &["email_search", "email_read", "email_check_replies", "email_send"],
];

/// The people that the suite writes to and meets, where a manifest names no others.
pub const PEOPLE: [&str; 2] = ["ana@orchid.example", "bo@orchid.example"];

/// What the inputs of a call refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Subjects {
    /// Stands in titles and subjects, so that they belong to one scenario.
    pub mark: String,
    /// Two addresses.
    pub people: [String; 2],
    /// An event.
    pub event_id: String,
    /// A message.
    pub message_id: String,
    /// A thread.
    pub thread_id: String,
    /// A search.
    pub query: String,
    /// A day for events, `YYYY-MM-DD`.
    pub day: String,
}

impl Default for Subjects {
    fn default() -> Self {
        Self {
            mark: "Seed review".to_owned(),
            people: PEOPLE.map(str::to_owned),
            event_id: "ev_9Q2".to_owned(),
            message_id: "m_51".to_owned(),
            thread_id: "t_12".to_owned(),
            query: format!("from:{}", PEOPLE[0]),
            day: "2031-03-05".to_owned(),
        }
    }
}

/// A text of so many characters, with letters beyond ASCII, in lines of some 1,200 characters of which no two are
/// alike.
pub fn long_text(characters: usize) -> String {
    let sentence = |number: usize| {
        let end = if number.is_multiple_of(40) { '\n' } else { ' ' };
        format!("Row {number}: žatva – 雨, soil & seeds.{end}")
    };
    let all: String = (1..=characters / 30 + 1).map(sentence).collect();
    let mut text: String = all.chars().take(characters.saturating_sub(1)).collect();
    text.push('.');
    text
}

/// When the event of a day begins and ends.
pub fn times_of_event(day: &str) -> [String; 2] {
    [format!("{day}T15:00:00+01:00"), format!("{day}T15:30:00+01:00")]
}

/// The full documented inputs of a tool (rules/hub.md §004.2.4); an empty object for a tool that is none of the nine.
pub fn full_inputs(tool: &str, subjects: &Subjects) -> Value {
    let Subjects { mark, people, event_id, message_id, thread_id, query, day } = subjects;
    match tool {
        "calendar_get_availability" => json!({
            "start_date": "2031-03-04", "end_date": "2031-03-07", "timezone": "Europe/Madrid",
            "calendars": ["primary"],
        }),
        "calendar_create_event" => json!({
            "title": mark, "start": times_of_event(day)[0], "end": times_of_event(day)[1], "description": format!("Two open points of {mark}"), "location": "Room 4", "attendees": people,
            "send_notifications": false,
        }),
        "calendar_update_event" => json!({
            "event_id": event_id,
            "updates": {
                "title": format!("{mark} (moved)"), "start": format!("{day}T16:00:00+01:00"),
                "end": format!("{day}T16:30:00+01:00"),
            },
            "send_notifications": false,
        }),
        "calendar_delete_event" => json!({"event_id": event_id, "send_notifications": false}),
        "calendar_find_optimal_times" => json!({
            "duration_minutes": 30, "attendees": people,
            "date_range": {"start": "2031-03-03", "end": "2031-03-07"},
            "preferences": {"preferred_hours": {"start": "09:00", "end": "13:00"}, "avoid_mondays": true},
        }),
        "email_send" => json!({
            "to": [people[1]], "cc": [], "bcc": [], "subject": mark, "body": format!("Hi, see below. {mark}"),
            "body_type": "text", "reply_to_message_id": null,
        }),
        "email_search" => json!({"query": query, "max_results": 2, "include_body": false}),
        "email_read" => json!({"message_id": message_id, "mark_as_read": false}),
        "email_check_replies" => json!({"thread_id": thread_id, "since": "2001-01-01T00:00:00Z"}),
        _ => json!({}),
    }
}
