//! What the tests have in common: ids, a Hub that answers, and calls.

use std::time::Duration;

use callmark_reference::hub::agent::{Agent, AgentCall, AgentConfig, CallFailure, Outcome};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub(crate) const SECRET: &str = "s3cr3t-for-tests";
pub(crate) const AGENT: &str = "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60";
pub(crate) const CUSTOMER: &str = "b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7";
pub(crate) const EXECUTE: &str = "/api/internal/tools/execute/";
/// An address where nobody listens.
pub(crate) const NOBODY: &str = "http://127.0.0.1:1";
/// By when everything has happened in a test that works.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) fn config(hub_url: &str) -> AgentConfig {
    AgentConfig { customer_id: Some(CUSTOMER.to_owned()), ..AgentConfig::new(hub_url, SECRET, AGENT) }
}

pub(crate) fn agent(hub_url: &str) -> Agent {
    Agent::new(config(hub_url)).expect("an agent")
}

pub(crate) fn call(tool: &str, inputs: Value) -> AgentCall {
    AgentCall { tool: tool.to_owned(), inputs, customer_id: None, user_id: None, conversation_id: None }
}

/// Inputs with every parameter that a tool of the Hub takes.
pub(crate) fn inputs(tool: &str) -> Value {
    match tool {
        "calendar_get_availability" => json!({"start_date": "2031-03-04", "end_date": "2031-03-07",
            "timezone": "Europe/Madrid", "calendars": ["primary"]}),
        "calendar_create_event" => json!({"title": "Seed review", "start": "2031-03-05T15:00:00+01:00",
            "end": "2031-03-05T15:30:00+01:00", "description": "Two open points", "location": "Room 4",
            "attendees": ["ana@orchid.example", "bo@orchid.example"], "send_notifications": false}),
        "calendar_update_event" => json!({"event_id": "ev_9Q2", "updates": {"title": "Seed review (moved)",
            "start": "2031-03-05T16:00:00+01:00", "end": "2031-03-05T16:30:00+01:00"},
            "send_notifications": false}),
        "calendar_delete_event" => json!({"event_id": "ev_9Q2", "send_notifications": false}),
        "calendar_find_optimal_times" => json!({"duration_minutes": 30, "attendees": ["ana@orchid.example"],
            "date_range": {"start": "2031-03-03", "end": "2031-03-07"},
            "preferences": {"preferred_hours": {"start": "09:00", "end": "13:00"}, "avoid_mondays": true}}),
        "email_send" => json!({"to": ["bo@orchid.example"], "cc": [], "bcc": [], "subject": "Two points",
            "body": "Hi Bo, see below.", "body_type": "text", "reply_to_message_id": null}),
        "email_search" => {
            json!({"query": "from:ana@orchid.example", "max_results": 2, "include_body": false})
        }
        "email_read" => json!({"message_id": "m_51", "mark_as_read": false}),
        "email_check_replies" => json!({"thread_id": "t_12", "since": "2031-03-01T08:00:00Z"}),
        other => panic!("`{other}` is no tool of the Hub"),
    }
}

/// A Hub that gives this answer to every execution.
pub(crate) async fn hub(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path(EXECUTE)).respond_with(answer).mount(&server).await;
    server
}

pub(crate) fn success(result: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(
        json!({"success": true, "result": result, "metadata": {"execution_time_ms": 1, "api_calls": 1}}),
    )
}

pub(crate) fn refusal(status: u16, code: &str, details: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(
        json!({"success": false, "tool": "any", "error": {"code": code, "message": format!("reported: {code}"), "details": details}}),
    )
}

/// What became of a call, within the deadline of a test.
pub(crate) async fn done(agent: &Agent, call: AgentCall) -> Result<Outcome, CallFailure> {
    tokio::time::timeout(DEADLINE, agent.call(call)).await.expect("in time")
}

pub(crate) async fn failure(agent: &Agent, call: AgentCall) -> CallFailure {
    done(agent, call).await.expect_err("a failure")
}

/// How many requests a server got.
pub(crate) async fn count(server: &MockServer) -> usize {
    let requests = server.received_requests().await.expect("they are recorded");
    requests.iter().filter(|request| request.method.as_str() == "POST").count()
}
