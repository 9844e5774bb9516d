//! What the agent makes of what a Hub answers: the six codes, and everything that no contract foresees.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callmark_reference::hub::agent::{Agent, AgentConfig, CallFailure, Deadlines, HubCode};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::support::{
    CUSTOMER, NOBODY, SECRET, agent, call, config, count, done, failure, hub, inputs, refusal, success,
};

#[tokio::test]
async fn each_of_the_six_codes_is_a_failure_that_is_asked_for_once() {
    for (status, code, typed) in [
        (400, "INTEGRATION_NOT_CONNECTED", HubCode::IntegrationNotConnected),
        (401, "INTEGRATION_EXPIRED", HubCode::IntegrationExpired),
        (403, "INTEGRATION_PERMISSION_DENIED", HubCode::IntegrationPermissionDenied),
        (404, "TOOL_NOT_FOUND", HubCode::ToolNotFound),
        (502, "EXTERNAL_API_ERROR", HubCode::ExternalApiError),
        (429, "RATE_LIMITED", HubCode::RateLimited),
    ] {
        let hub = hub(refusal(status, code, &json!({"integration": "google_gmail"}))).await;
        let failure = failure(&agent(&hub.uri()), call("email_send", inputs("email_send"))).await;
        assert_eq!(failure.code(), code);
        assert!(failure.message().contains(&format!("reported: {code}")), "{failure}");
        let CallFailure::Refused(refusal) = failure else { panic!("{failure:?}") };
        assert_eq!(refusal.code, typed);
        assert_eq!(refusal.details["integration"], "google_gmail");
        assert_eq!(count(&hub).await, 1, "{code}");
    }
}

#[tokio::test]
async fn the_setup_link_is_passed_on() {
    let link = "https://hub.test/integrations/google";
    let hub = hub(refusal(400, "INTEGRATION_NOT_CONNECTED", &json!({"setup_url": link}))).await;
    let failure = failure(&agent(&hub.uri()), call("email_read", inputs("email_read"))).await;
    assert_eq!(failure.setup_url(), Some(link));
    assert!(failure.message().contains(link), "{failure}");
    assert!(failure.advice().contains("setup link"));
}

#[tokio::test]
async fn a_customer_without_the_integration_is_shown_what_is_connected() {
    let hub = hub(refusal(400, "INTEGRATION_NOT_CONNECTED", &json!({}))).await;
    let call = call("calendar_delete_event", inputs("calendar_delete_event"));
    let path = format!("/api/internal/integrations/status/{CUSTOMER}/");
    let status = json!({"integrations": {"google_gmail": {"connected": true}, "google_calendar": {"connected": false}}});
    Mock::given(method("GET"))
        .and(wiremock::matchers::path(path))
        .and(wiremock::matchers::header("authorization", format!("ServiceSecret {SECRET}")))
        .respond_with(ResponseTemplate::new(200).set_body_json(status))
        .with_priority(1)
        .expect(1)
        .mount(&hub)
        .await;
    let failure = failure(&agent(&hub.uri()), call).await;
    assert!(failure.message().ends_with("(connected: google_gmail)"), "{failure}");
}

#[tokio::test]
async fn a_refused_secret_is_not_the_customers_integration() {
    for answer in [
        ResponseTemplate::new(401),
        refusal(401, "UNAUTHORIZED", &json!({})),
        ResponseTemplate::new(401).set_body_string(format!("<p>{SECRET} is wrong</p>")),
    ] {
        let hub = hub(answer).await;
        let failure = failure(&agent(&hub.uri()), call("email_read", inputs("email_read"))).await;
        assert_eq!(failure, CallFailure::SecretRefused);
        assert!(failure.message().contains("configuration") && !failure.message().contains(SECRET));
        assert_eq!(count(&hub).await, 1);
    }
}

/// A Hub that limits the first request, with `Retry-After`, and serves the next.
async fn limiting_once(retry_after: &str) -> MockServer {
    let server = hub(success(&json!({"served": true}))).await;
    let limited = refusal(429, "RATE_LIMITED", &json!({})).insert_header("retry-after", retry_after);
    Mock::given(method("POST")).respond_with(limited).up_to_n_times(1).with_priority(1).mount(&server).await;
    server
}

#[tokio::test]
async fn a_limit_is_waited_for_once_and_only_when_it_is_short() {
    let asked = || call("email_read", inputs("email_read"));
    let hub = limiting_once("0").await;
    done(&agent(&hub.uri()), asked()).await.expect("the second try");
    assert_eq!(count(&hub).await, 2);
    for retry_after in ["60", "soon", "-1", "99999999999999999999999"] {
        let hub = limiting_once(retry_after).await;
        assert_eq!(failure(&agent(&hub.uri()), asked()).await.code(), "RATE_LIMITED");
        assert_eq!(count(&hub).await, 1, "{retry_after}");
    }
    let short = Deadlines { hub: Duration::from_millis(500), ..Deadlines::default() };
    let hub = limiting_once("1").await;
    let hasty = Agent::new(AgentConfig { deadlines: short, ..config(&hub.uri()) }).expect("an agent");
    assert_eq!(failure(&hasty, asked()).await.code(), "RATE_LIMITED");
    assert_eq!(count(&hub).await, 1, "the deadline leaves no time for a second try");
}

#[tokio::test]
async fn a_limit_that_stays_is_a_failure_after_two_requests() {
    let hub = hub(refusal(429, "RATE_LIMITED", &json!({})).insert_header("retry-after", "0")).await;
    let failure = failure(&agent(&hub.uri()), call("email_read", inputs("email_read"))).await;
    assert_eq!(failure.code(), "RATE_LIMITED");
    assert_eq!(count(&hub).await, 2);
}

#[tokio::test]
async fn answers_outside_the_contract_fail_one_call_and_no_more() {
    let wrong = |body: serde_json::Value| ResponseTemplate::new(200).set_body_json(body);
    for (answer, code, says) in [
        (ResponseTemplate::new(502).set_body_raw("<html>bad gateway", "text/html"), "HUB_ANSWER", "HTML"),
        (ResponseTemplate::new(200), "HUB_ANSWER", "empty body"),
        (ResponseTemplate::new(200).set_body_string("{\"success\": tr"), "HUB_ANSWER", "no JSON"),
        (wrong(json!({"ok": true})), "HUB_ANSWER", "`success`"),
        (wrong(json!({"success": true, "result": true})), "HUB_ANSWER", "`result` is no object"),
        (ResponseTemplate::new(302).insert_header("location", "/elsewhere/"), "HUB_ANSWER", "status 302"),
        (
            ResponseTemplate::new(200).set_body_bytes(vec![b' '; 20 * 1024 * 1024]),
            "HUB_ANSWER_TOO_LARGE",
            "larger than",
        ),
    ] {
        let server = hub(success(&json!({"fine": 1}))).await;
        let agent = agent(&server.uri());
        Mock::given(method("POST"))
            .respond_with(answer)
            .up_to_n_times(1)
            .with_priority(1)
            .mount(&server)
            .await;
        let asked = || call("email_send", inputs("email_send"));
        let failure = failure(&agent, asked()).await;
        assert_eq!(failure.code(), code, "{failure}");
        assert!(failure.message().contains(says), "{failure}");
        assert!(failure.message().contains("not known whether"), "{failure}");
        assert_eq!(count(&server).await, 1);
        assert_eq!(done(&agent, asked()).await.expect("the next call works").result["fine"], 1);
    }
}

/// A server that reads a request, writes these bytes, and closes.
async fn blunt(bytes: &'static [u8]) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let served = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&served);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            *counter.lock().expect("not poisoned") += 1;
            let mut request = vec![0; 64 * 1024];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    (url, served)
}

#[tokio::test]
async fn connections_that_break_are_failures_and_nothing_is_sent_twice() {
    let truncated =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{\"success\"";
    for bytes in [&b""[..], b"NOT HTTP AT ALL\r\n\r\n", truncated] {
        let (url, served) = blunt(bytes).await;
        let failure =
            failure(&agent(&url), call("calendar_delete_event", inputs("calendar_delete_event"))).await;
        assert_eq!(failure.code(), "HUB_ANSWER", "{failure}");
        assert!(failure.message().contains("not known whether"), "{failure}");
        assert_eq!(*served.lock().expect("not poisoned"), 1);
    }
    let failure = failure(&agent(NOBODY), call("email_send", inputs("email_send"))).await;
    assert_eq!(failure.code(), "HUB_UNREACHABLE");
    assert!(!failure.message().contains("not known"), "{failure}");
}

#[tokio::test]
async fn a_hub_that_hangs_is_left_at_the_deadline() {
    let hub = hub(success(&json!({})).set_delay(Duration::from_secs(60))).await;
    let deadlines = Deadlines { hub: Duration::from_millis(200), ..Deadlines::default() };
    let agent = Agent::new(AgentConfig { deadlines, ..config(&hub.uri()) }).expect("an agent");
    let failure = failure(&agent, call("email_read", inputs("email_read"))).await;
    assert_eq!(failure.code(), "HUB_DEADLINE");
    assert_eq!(count(&hub).await, 1);
}

#[tokio::test]
async fn the_secret_is_in_no_log_and_no_outcome() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let hub =
        hub(refusal(400, SECRET, &json!({"setup_url": format!("http://hub.test/{SECRET}"), SECRET: SECRET})))
            .await;
    let log = Arc::new(move |line: &str| kept.lock().expect("not poisoned").push(line.to_owned()));
    let agent = Agent::new(AgentConfig { log, ..config(&hub.uri()) }).expect("an agent");
    let failure = failure(&agent, call("email_read", inputs("email_read"))).await;
    let _ = done(&agent, call("mission_create_task", json!({"title": "t"}))).await.expect("a task");
    let lines = lines.lock().expect("not poisoned").join("\n");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(!format!("{failure:?} {failure} {lines}").contains(SECRET), "{failure:?} {lines}");
}
