//! What a correct Hub answers: the results of the nine tools, the envelopes, the status (Tool Execution Contract
//! L43-74, L91-322, L337-355).

use serde_json::{Value, json};

use crate::families::hub::contract;

/// Where a customer connects an integration, in the mock's answers.
pub const SETUP_URL: &str = "https://hub.orchid.example/integrations/google";

/// The result of a tool; nothing where it is none of the nine. Every one of them holds `mark`.
pub fn result(tool: &str, mark: &str) -> Option<Value> {
    let [ana, bo] = contract::PEOPLE;
    Some(match tool {
        "calendar_get_availability" => json!({
            "busy_periods": [{"start": "2031-03-05T11:00:00+01:00", "end": "2031-03-05T11:45:00+01:00",
                              "calendar": format!("{mark}@calendar.example")},
                             {"start": "2031-03-05T22:00:00-05:00", "end": "2031-03-05T23:30:00-05:00",
                              "calendar": ana}],
            "working_hours": {"start": "08:30", "end": "16:30", "days": ["monday", "tuesday", "thursday"]},
        }),
        "calendar_create_event" => json!({
            "event_id": format!("ev_{mark}"), "html_link": format!("https://cal.example/e/{mark}"),
            "status": "confirmed",
            "attendees": [{"email": ana, "response_status": "needsAction"},
                          {"email": bo, "response_status": "needsAction"}],
        }),
        "calendar_update_event" => json!({
            "event_id": format!("ev_{mark}"), "html_link": format!("https://cal.example/e/{mark}"),
            "status": "confirmed",
        }),
        "calendar_delete_event" => json!({"event_id": format!("ev_{mark}"), "status": "cancelled"}),
        "calendar_find_optimal_times" => json!({
            "suggestions": [
                {"start": "2031-03-04T09:30:00+01:00", "end": "2031-03-04T10:00:00+01:00", "score": 0.91,
                 "conflicts": []},
                {"start": "2031-03-05T12:00:00+01:00", "end": "2031-03-05T12:30:00+01:00", "score": 0.6,
                 "conflicts": [{"attendee": format!("{mark}@orchid.example"), "type": "tentative"}]},
                {"start": "2031-03-06T22:15:00-05:00", "end": "2031-03-06T22:45:00-05:00", "score": 0.25,
                 "conflicts": [{"attendee": ana, "type": "busy"}, {"attendee": bo, "type": "busy"}]},
            ],
        }),
        "email_send" => json!({
            "message_id": format!("m_{mark}"), "thread_id": format!("t_{mark}"), "status": "sent",
        }),
        "email_search" => json!({
            "messages": [{"message_id": format!("m_{mark}"), "thread_id": format!("t_{mark}"), "from": ana,
                          "to": [bo], "subject": "Two points", "snippet": format!("Hi Bo, see {mark}"),
                          "date": "2031-03-01T08:00:00Z", "has_attachments": false},
                         {"message_id": format!("<CAF+{mark}/B=@Mail.example>"), "thread_id": format!("T_{mark}"),
                          "from": bo, "to": [ana, bo], "subject": "Žatva – 雨", "snippet": "a &amp; b <c>",
                          "date": "2031-02-28T21:30:00-05:00", "has_attachments": true}],
            "total_results": 2,
        }),
        "email_read" => json!({
            "message_id": format!("m_{mark}"), "thread_id": format!("t_{mark}"), "from": ana, "to": [bo],
            "subject": "Two points", "body": format!("Hi Bo, see {mark}.\n\nÜberblick: a &amp; b, <b>two</b> points.\n-- \nAna"), "date": "2031-03-01T08:00:00Z",
            "attachments": [{"filename": "plan.ods", "size": 2048,
                             "mime_type": "application/vnd.oasis.opendocument.spreadsheet"},
                            {"filename": "rows 4-7.csv", "size": 0, "mime_type": "text/csv"}],
        }),
        "email_check_replies" => json!({
            "has_new_replies": true,
            "replies": [{"message_id": format!("m_{mark}"), "from": bo, "snippet": format!("Fine, {mark}"),
                         "date": "2031-03-02T10:15:00Z"},
                        {"message_id": format!("n_{mark}"), "from": ana, "snippet": "Danke – bis März",
                         "date": "2031-03-03T23:45:00-05:00"}],
        }),
        _ => return None,
    })
}

/// The envelope of a success.
pub fn success(tool: &str, result: &Value) -> Value {
    json!({"success": true, "tool": tool, "result": result,
           "metadata": {"execution_time_ms": 81, "api_calls": 1}})
}

/// The envelope of a success that came at once: nothing was asked of the provider, and `error` is null.
pub fn success_with_nulls(tool: &str, result: &Value) -> Value {
    json!({"success": true, "tool": tool, "result": result, "error": null,
           "metadata": {"execution_time_ms": 0, "api_calls": 0}})
}

/// The envelope of an error.
pub fn failure(tool: &str, code: &str, text: Option<&str>, details: Option<&Value>) -> Value {
    let mut error = json!({"code": code, "message": text.unwrap_or_else(|| message(code))});
    if let Some(details) = details.cloned().or_else(|| own_details(tool, code)) {
        error["details"] = details;
    }
    json!({"success": false, "tool": tool, "error": error})
}

fn own_details(tool: &str, code: &str) -> Option<Value> {
    let integration = if tool.starts_with("email_") { "google_gmail" } else { "google_calendar" };
    match code {
        "INTEGRATION_NOT_CONNECTED" => Some(json!({"integration": integration, "setup_url": SETUP_URL})),
        "INTEGRATION_EXPIRED" | "INTEGRATION_PERMISSION_DENIED" => Some(json!({"integration": integration})),
        _ => None,
    }
}

/// The mock's words for a code.
pub fn message(code: &str) -> &'static str {
    match code {
        "INTEGRATION_NOT_CONNECTED" => "this customer has not connected the Google integration yet",
        "INTEGRATION_EXPIRED" => "the Google integration of this customer expired and could not be refreshed",
        "INTEGRATION_PERMISSION_DENIED" => "the Google integration lacks permission for this operation",
        "TOOL_NOT_FOUND" => "this Hub executes no tool of that name",
        "RATE_LIMITED" => "this customer reached the rate limit, please wait",
        "EXTERNAL_API_ERROR" => "the calendar and mail provider answered with an error",
        _ => "the call cannot be executed",
    }
}

/// The status of a customer's integrations.
pub fn status(customer_id: &str, connected: bool) -> Value {
    let entry = |scope: &str| {
        if connected {
            json!({"connected": true, "scopes": [scope], "email": contract::PEOPLE[0],
                   "expires_at": "2031-04-01T00:00:00Z"})
        } else {
            json!({"connected": false, "setup_url": SETUP_URL})
        }
    };
    json!({"customer_id": customer_id, "integrations": {
        "google_calendar": entry("calendar.events"), "google_gmail": entry("gmail.modify"),
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_holds_its_mark() {
        for tool in contract::TOOLS {
            let text = result(tool, "tok-1").map(|result| result.to_string()).unwrap_or_default();
            assert!(text.contains("tok-1"), "{tool}");
        }
    }
}
