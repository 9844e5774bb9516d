//! Every way in which the upstream fails, and its code (UTP §5).

use std::time::Duration;

use callmark_reference::utp::Upstream;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::support::{DEFAULT_KEY, Harness, search};

/// The result card has the one error structure.
fn check_failure(card: &Value, status: &str, code: &str) {
    let content = &card["content"];
    assert_eq!(content["status"], status, "{card}");
    assert_eq!(content["error"]["code"], code, "{card}");
    assert_eq!(content["result"]["error_code"], code);
    assert_eq!(content["result"]["error_message"], content["error"]["message"]);
    assert!(content["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(content["error"]["detail"].is_object());
}

#[tokio::test]
async fn every_status_has_a_code() {
    async fn check(harness: &Harness, status: u16, code: &str) -> Value {
        let body = format!("no, {DEFAULT_KEY}");
        harness.answers(ResponseTemplate::new(status).set_body_string(body)).await;
        let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
        check_failure(&outcome.card, "failed", code);
        let detail = outcome.card["content"]["error"]["detail"].clone();
        assert_eq!(detail["http_status"], status);
        assert_eq!(detail["upstream_message"], "no, [redacted]");
        detail
    }
    let harness = Harness::start().await;
    for status in [401, 403] {
        check(&harness, status, "auth_failed").await;
    }
    for status in [400, 404, 422] {
        check(&harness, status, "bad_request").await;
    }
    for status in [300, 304, 500, 502, 503] {
        // A 304 has no body.
        if status != 304 {
            check(&harness, status, "upstream_unavailable").await;
        }
    }
    assert_eq!(check(&harness, 429, "upstream_unavailable").await["retryable"], true);
    for status in [405, 418] {
        check(&harness, status, "internal_error").await;
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_is_a_timeout() {
    let harness = Harness::start_with(|config| config.upstream_deadline = Duration::from_millis(50)).await;
    harness.answers(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
    check_failure(&outcome.card, "timeout", "tool_timeout");
    assert_eq!(outcome.card["content"]["error"]["detail"]["limit_milliseconds"], 50);
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_unavailable() {
    // Bound and dropped: nobody listens on this port.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let harness =
        Harness::start_with(|config| config.upstream = Upstream::Through(format!("http://{address}"))).await;
    let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
    check_failure(&outcome.card, "failed", "upstream_unavailable");
}

#[tokio::test]
async fn arguments_are_checked() {
    let harness = Harness::start().await;
    for arguments in [json!({}), json!({"query": null}), json!({"query": " "})] {
        let outcome = harness.call(&search(&json!({})), &arguments).await;
        check_failure(&outcome.card, "failed", "bad_request");
    }
    let reader = json!({"jina": {"mode": "reader"}});
    for arguments in [json!({}), json!({"url": "no address"})] {
        check_failure(&harness.call(&reader, &arguments).await.card, "failed", "bad_request");
    }
    check_failure(&harness.call(&json!({}), &json!({"query": "x"})).await.card, "failed", "bad_request");
    assert!(harness.requests().await.is_empty());
}
