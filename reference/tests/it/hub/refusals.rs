//! What the Hub refuses before it asks anybody: strangers, malformed requests, wrong inputs, slow clients.

use std::time::Duration;

use callmark_reference::hub::fixtures;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wiremock::{MockServer, ResponseTemplate};

use super::support::{AGENT, DEADLINE, SECRET, TestHub, answering, asked, availability, body, full_inputs};

/// A Hub whose provider must not be asked.
async fn test_hub() -> (TestHub, MockServer) {
    let provider = answering(ResponseTemplate::new(500)).await;
    (TestHub::at(&provider.uri(), |_config| ()).await, provider)
}

#[tokio::test]
async fn strangers_execute_nothing() {
    let (test_hub, provider) = test_hub().await;
    let long = format!("ServiceSecret {SECRET}x");
    let bearer = format!("Bearer {SECRET}");
    for header in
        [None, Some("ServiceSecret other"), Some("ServiceSecret "), Some(long.as_str()), Some(&bearer)]
    {
        for (tool, inputs) in full_inputs() {
            let mut request = test_hub.post().json(&body(tool, fixtures::CONNECTED, &inputs));
            if let Some(header) = header {
                request = request.header("Authorization", header);
            }
            assert_eq!(test_hub.send(request).await.code(), (401, "UNAUTHORIZED"), "{header:?}");
        }
        let malformed = test_hub.send(test_hub.post().body("{\"tool\":")).await;
        assert_eq!(malformed.code(), (401, "UNAUTHORIZED"), "nothing is looked at before the secret");
    }
    assert_eq!(asked(&provider, "/").await, 0);
}

#[tokio::test]
async fn requests_of_another_form_are_refused() {
    let (test_hub, provider) = test_hub().await;
    let check = async |text: String, expect: (u16, &str), tool: Option<&str>| {
        let request = test_hub.post().header("Authorization", format!("ServiceSecret {SECRET}"));
        let answer = test_hub.send(request.body(text.clone())).await;
        assert_eq!(answer.code(), expect, "{text:.80}");
        assert_eq!(answer.body.get("tool").and_then(Value::as_str), tool);
    };
    let invalid = (400, "INVALID_REQUEST");
    for text in ["", "{\"tool\":", "[]", "null", "7", "\"x\"", "{}", "\u{0}", "{\"tool\":null}"] {
        check(text.to_owned(), invalid, None).await;
    }
    check("[".repeat(100_000), invalid, None).await;
    let name = "calendar_get_availability";
    let good = body(name, fixtures::CONNECTED, &availability());
    for (member, wrong) in [
        ("agent_id", json!("x")),
        ("agent_id", Value::Null),
        ("customer_id", json!(17)),
        ("customer_id", json!("")),
        ("user_id", json!(0)),
        ("inputs", json!([])),
        ("inputs", json!("{}")),
        ("context", json!("c")),
        ("context", json!({"conversation_id": 7})),
    ] {
        let mut request = good.clone();
        request[member] = wrong;
        check(request.to_string(), invalid, Some(name)).await;
    }
    for member in ["agent_id", "customer_id", "inputs"] {
        let mut request = good.clone();
        request.as_object_mut().expect("an object").shift_remove(member);
        check(request.to_string(), invalid, Some(name)).await;
    }
    for size in [1_100_000, 5_000_000] {
        check(format!("{{\"tool\":\"{}\"}}", "x".repeat(size)), (413, "PAYLOAD_TOO_LARGE"), None).await;
    }
    assert_eq!(asked(&provider, "/").await, 0);
}

#[tokio::test]
async fn wrong_inputs_are_refused_and_named() {
    let (test_hub, provider) = test_hub().await;
    for (tool, member, wrong) in [
        ("calendar_get_availability", "start_date", json!("2031-03-04T00:00:00Z")),
        ("calendar_get_availability", "start_date", Value::Null),
        ("calendar_get_availability", "end_date", json!("2031-03-03")),
        ("calendar_get_availability", "end_date", json!("2032-03-03")),
        ("calendar_get_availability", "timezone", json!("Mars/Olympus")),
        ("calendar_get_availability", "calendars", json!("primary")),
        ("calendar_get_availability", "calendars", json!([7])),
        ("calendar_create_event", "title", Value::Null),
        ("calendar_create_event", "start", json!("2031-03-05T15:00:00")),
        ("calendar_create_event", "end", json!("2031-03-05T15:00:00+01:00")),
        ("calendar_create_event", "attendees", json!("ana@orchid.example")),
        ("calendar_create_event", "attendees", json!(["a@x\r\nBcc: b@y"])),
        ("calendar_create_event", "send_notifications", json!("yes")),
        ("calendar_update_event", "event_id", Value::Null),
        ("calendar_update_event", "event_id", json!("..")),
        ("calendar_update_event", "updates", json!({})),
        ("calendar_update_event", "updates", json!({"unknown": 1})),
        ("calendar_delete_event", "event_id", json!(7)),
        ("calendar_delete_event", "event_id", json!("")),
        ("calendar_find_optimal_times", "duration_minutes", json!(0)),
        ("calendar_find_optimal_times", "duration_minutes", json!(1441)),
        ("calendar_find_optimal_times", "date_range", Value::Null),
        ("calendar_find_optimal_times", "preferences", json!([])),
        ("email_send", "to", json!([])),
        ("email_send", "to", json!("bo@orchid.example")),
        ("email_send", "to", json!(["bo@orchid.example\nBcc: eve@x"])),
        ("email_send", "cc", json!(["Bo <bo@orchid.example>"])),
        ("email_send", "bcc", json!([null])),
        ("email_send", "subject", json!("Hi\r\nBcc: eve@x")),
        ("email_send", "subject", json!("Hi\nthere")),
        ("email_send", "body", Value::Null),
        ("email_send", "body_type", json!("rtf")),
        ("email_send", "reply_to_message_id", json!(7)),
        ("email_search", "query", Value::Null),
        ("email_search", "max_results", json!(0)),
        ("email_search", "max_results", json!("10")),
        ("email_search", "include_body", json!(1)),
        ("email_read", "message_id", Value::Null),
        ("email_read", "message_id", json!("a b")),
        ("email_check_replies", "thread_id", Value::Null),
        ("email_check_replies", "since", json!("2031-03-01")),
    ] {
        let (_, mut inputs) =
            full_inputs().into_iter().find(|(name, _)| *name == tool).expect("a known tool");
        inputs[member] = wrong.clone();
        let answer = test_hub.execute(tool, fixtures::CONNECTED, inputs).await;
        assert_eq!(answer.code(), (400, "INVALID_INPUT"), "{tool} {member} {wrong}");
        assert_eq!(answer.body["tool"], tool);
        let named = answer.body["error"]["details"]["member"].as_str().expect("a member");
        assert!(named.starts_with(&format!("inputs.{member}")), "{named}");
        assert!(answer.body["error"]["message"].as_str().is_some_and(|message| message.contains(named)));
    }
    assert_eq!(asked(&provider, "/").await, 0);
}

#[tokio::test]
async fn other_methods_execute_nothing() {
    let (test_hub, provider) = test_hub().await;
    let url = format!("{}/api/internal/tools/execute/", test_hub.hub.url());
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let method = method.parse().expect("a method");
        let request = test_hub
            .client
            .request(method, &url)
            .header("Authorization", format!("ServiceSecret {SECRET}"))
            .json(&body("calendar_get_availability", fixtures::CONNECTED, &availability()));
        assert_eq!(test_hub.send(request).await.code(), (405, "METHOD_NOT_ALLOWED"));
    }
    let unnamed = body("calendar_get_availability", AGENT, &availability());
    assert_eq!(test_hub.send(test_hub.post().json(&unnamed)).await.status, 401);
    assert_eq!(asked(&provider, "/").await, 0);
}

/// Sends the beginning of a request and returns all that comes until the connection is closed.
async fn begin(test_hub: &TestHub, text: &str) -> String {
    let mut stream = TcpStream::connect(test_hub.hub.address()).await.expect("a connection");
    stream.write_all(text.as_bytes()).await.expect("the Hub reads");
    let mut seen = Vec::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut seen)).await;
    let _ = read.expect("the Hub closes the connection in time");
    String::from_utf8(seen).expect("text")
}

#[tokio::test]
async fn slow_clients_are_not_waited_for() {
    let test_hub = TestHub::with(|config| {
        config.limits.header_deadline = Duration::from_millis(200);
        config.limits.body_deadline = Duration::from_millis(200);
    })
    .await;
    assert_eq!(begin(&test_hub, "").await, "");
    let line = "POST /api/internal/tools/execute/ HTTP/1.1\r\nHost: hub\r\n";
    assert!(!begin(&test_hub, line).await.contains("200 OK"));
    let head = format!("{line}Authorization: ServiceSecret {SECRET}\r\nContent-Length: 100\r\n\r\n{{");
    let answer = begin(&test_hub, &head).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("REQUEST_TIMEOUT"));
    test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await.result();
}
