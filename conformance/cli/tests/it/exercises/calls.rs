//! What clients of a Hub and of an MCP server ask, as a vendor's own tests would.

use std::collections::BTreeMap;

use callmark_reference::hub::fixtures;
use serde_json::{Value, json};

use super::http::{Given, ask};

const EXECUTE: &str = "/api/internal/tools/execute/";
const STATUS: &str = "/api/internal/integrations/status/";
const MODERN: &str = "2026-07-28";

/// Uses calendar and mailbox of one customer, twice, and asks for others whose calls fail.
pub(super) fn hub_calls(address: &str, secret: &str, number: usize, connected: &str, not_connected: &str) {
    let hub = HubClient { address, secret, number };
    let is_reference = connected == fixtures::CONNECTED;
    let [message, thread] = if is_reference {
        [fixtures::MESSAGE_WITH_ATTACHMENT_ID, fixtures::THREAD_ID]
    } else {
        ["inbox:1002", "thread:plan"]
    };
    for _ in 0..2 {
        for (tool, inputs) in usual(message, thread) {
            hub.execute(connected, tool, &inputs);
        }
        let created = hub.execute(connected, "calendar_create_event", &event());
        let id = created.json().and_then(|own| own.pointer("/result/event_id").cloned()).unwrap_or_default();
        let moved = json!({"start": "2031-03-05T16:00:00+01:00", "end": "2031-03-05T16:30:00+01:00"});
        let update = json!({"event_id": id, "updates": moved, "send_notifications": false});
        hub.execute(connected, "calendar_update_event", &update);
        let delete = json!({"event_id": id, "send_notifications": false});
        hub.execute(connected, "calendar_delete_event", &delete);
        hub.execute(connected, "weather_report", &json!({}));
        for (tool, inputs) in usual(message, thread).into_iter().take(2).chain([("email_send", mail())]) {
            hub.execute(not_connected, tool, &inputs);
        }
        hub.status(connected);
        hub.status(not_connected);
    }
    if is_reference {
        for customer in [
            fixtures::EXPIRED,
            fixtures::READ_ONLY,
            fixtures::UPSTREAM_DOWN,
            fixtures::LIMITED,
            fixtures::OTHER,
        ] {
            // The limit of one is three calls an hour.
            for _ in 0..5 {
                hub.execute(customer, "calendar_create_event", &event());
            }
            hub.status(customer);
        }
    }
}

/// Calls that change nothing but a mailbox.
fn usual(message: &str, thread: &str) -> Vec<(&'static str, Value)> {
    let range = json!({"start_date": "2031-03-04", "end_date": "2031-03-07", "timezone": "Europe/Madrid",
                       "calendars": ["primary"]});
    let preferences = json!({"preferred_hours": {"start": "09:00", "end": "13:00"}, "avoid_mondays": true});
    vec![
        ("calendar_get_availability", range),
        ("email_search", json!({"query": "harvest", "max_results": 2, "include_body": false})),
        ("email_search", json!({"query": "harvest", "max_results": 5, "include_body": true})),
        ("email_read", json!({"message_id": message, "mark_as_read": false})),
        ("email_check_replies", json!({"thread_id": thread, "since": "2001-01-01T00:00:00Z"})),
        ("email_send", mail()),
        (
            "calendar_find_optimal_times",
            json!({"duration_minutes": 30, "attendees": ["ana@orchid.example", "bo@orchid.example"],
                   "date_range": {"start": "2031-03-03", "end": "2031-03-07"}, "preferences": preferences}),
        ),
    ]
}

fn mail() -> Value {
    json!({"to": ["bo@orchid.example"], "cc": [], "bcc": [], "subject": "Plan", "body": "Hi, see below.",
           "body_type": "text", "reply_to_message_id": null})
}

fn event() -> Value {
    json!({"title": "Plan", "start": "2031-03-05T15:00:00+01:00", "end": "2031-03-05T15:30:00+01:00",
           "description": "Two open points", "location": "Room 4",
           "attendees": ["ana@orchid.example", "bo@orchid.example"], "send_notifications": false})
}

/// An agent of the Hub.
struct HubClient<'a> {
    address: &'a str,
    secret: &'a str,
    number: usize,
}

impl HubClient<'_> {
    fn execute(&self, customer: &str, tool: &str, inputs: &Value) -> Given {
        let context = json!({"conversation_id": "exercise", "request_id": format!("req-{}", self.number)});
        let body = json!({"tool": tool, "agent_id": "3f3c1d0a-0000-4000-8000-000000000001",
                          "customer_id": customer, "user_id": null, "inputs": inputs, "context": context});
        ask(self.address, "POST", EXECUTE, &self.headers(), body.to_string().as_bytes())
    }

    fn status(&self, customer: &str) {
        ask(self.address, "GET", &format!("{STATUS}{customer}/"), &self.headers(), b"");
    }

    fn headers(&self) -> BTreeMap<String, String> {
        let secret = format!("ServiceSecret {}", self.secret);
        [("authorization", &*secret), ("content-type", "application/json")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }
}

/// Calls tools: with and without ids of a trace, with a shaped result, in each mode, and some that fail.
pub(super) fn mcp_calls(address: &str, is_modern: bool) {
    let mut client = McpClient { address, is_modern, session: None, last: 0 };
    if !is_modern {
        client.begin();
    }
    let traced = json!({"trace_id": "3ca964908f62484742fae08be9e22f9c", "span_id": "7e41c5b291885785",
                        "parent_span_id": "1111c5b291885785", "text": "high water"});
    let calls = [
        ("probe_echo", json!({"value": {"rows": [1, 2, 3]}})),
        ("text_statistics", json!({"text": "high water at noon"})),
        ("text_statistics", traced),
        ("depot_lookup", json!({"action": "list"})),
        ("depot_lookup", json!({"action": "list", "response_mode": "ai"})),
        ("depot_lookup", json!({"action": "list", "response_mode": "compact"})),
        ("depot_lookup", json!({"action": "find", "item": "bolt-9"})),
        ("probe_echo", json!({"value": {"rows": [1, 2, 3]}, "output": {"path": "rows[0]"}})),
        ("mcp_state", json!({"action": "list"})),
        ("probe_fail", json!({"message": "no paper"})),
        ("depot_lookup", json!({"action": "find", "item": 9})),
        ("no_such_tool", json!({})),
    ];
    for (tool, arguments) in calls.iter().cycle().take(2 * calls.len()) {
        client.call(tool, arguments);
    }
    client.end();
}

/// A client over streamable HTTP.
struct McpClient<'a> {
    address: &'a str,
    is_modern: bool,
    session: Option<String>,
    last: u64,
}

impl McpClient<'_> {
    fn begin(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                            "clientInfo": {"name": "exercise", "version": "1"}});
        let answer = self.send("initialize", Some(params), "");
        self.session = answer.headers.get("mcp-session-id").cloned();
        assert!(self.session.is_some(), "{answer:?}");
        self.send("notifications/initialized", None, "");
    }

    /// Ends the session, where there is one: a server keeps so many at a time.
    fn end(self) {
        if let Some(session) = self.session {
            let headers = [("mcp-session-id".to_owned(), session)].into();
            ask(self.address, "DELETE", "/mcp", &headers, b"");
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Given {
        let mut params = json!({"name": tool, "arguments": arguments});
        if self.is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "exercise", "version": "1"},
            });
        }
        self.send("tools/call", Some(params), tool)
    }

    fn send(&mut self, method: &str, params: Option<Value>, tool: &str) -> Given {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            self.last += 1;
            message["id"] = self.last.into();
            message["params"] = params;
        }
        let version = if self.is_modern { MODERN } else { "2025-11-25" };
        let mut headers: BTreeMap<String, String> = [
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("mcp-protocol-version", version),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        if self.is_modern {
            headers.insert("mcp-method".to_owned(), method.to_owned());
            headers.insert("mcp-name".to_owned(), tool.to_owned());
        }
        headers.extend(self.session.clone().map(|own| ("mcp-session-id".to_owned(), own)));
        ask(self.address, "POST", "/mcp", &headers, message.to_string().as_bytes())
    }
}
