//! Hubs that do nothing of what they should score no pass, and never end as conformant.

use callmark_suite::families::hub::manifest::HubTable;
use std::time::Duration;

use crate::support::{self, nothing};
use callmark_reports::record::Verdict;
use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

async fn check(respond: impl Respond + 'static, expect: Verdict) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut manifest = support::manifest();
    let hub = manifest.get_mut::<HubTable>().expect("the bundled manifest has a Hub");
    hub.launch.start = None;
    hub.provider = None;
    hub.base_url = Some(server.uri());
    hub.secret = Some("s3cr3t-for-tests".to_owned());
    hub.launch.start_timeout_seconds = Some(1.0);
    nothing::check(&manifest, &["hub.server"], "", expect, "the Hub").await;
}

#[tokio::test]
async fn not_found_for_everything() {
    check(ResponseTemplate::new(404), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn the_envelope_of_an_unknown_tool_for_everything() {
    let error = json!({"success": false, "tool": "email_send",
                       "error": {"code": "TOOL_NOT_FOUND", "message": "unknown tool"}});
    check(ResponseTemplate::new(404).set_body_json(error), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_empty_body_for_everything() {
    check(ResponseTemplate::new(200), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_echo() {
    let echo =
        |request: &Request| ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json");
    check(echo, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_internal_error_for_everything() {
    check(ResponseTemplate::new(500).set_body_string("<html>oops</html>"), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_refusal_of_everybody() {
    check(ResponseTemplate::new(401).set_body_string("no"), Verdict::Incomplete).await;
}

#[tokio::test]
async fn unavailable_for_ever() {
    check(ResponseTemplate::new(503), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_limit_that_everybody_has_hit() {
    check(ResponseTemplate::new(429), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn silence() {
    check(ResponseTemplate::new(200).set_delay(Duration::from_secs(600)), Verdict::Incomplete).await;
}

#[tokio::test]
async fn success_for_everything() {
    let success = json!({"success": true, "tool": "email_send", "result": {},
                         "metadata": {"execution_time_ms": 1, "api_calls": 1}});
    check(ResponseTemplate::new(200).set_body_json(success), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn success_for_everything_with_the_name_of_its_tool() {
    let success = |request: &Request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
        ResponseTemplate::new(200).set_body_json(json!({
            "success": true, "tool": body["tool"], "result": {}, "metadata": {"execution_time_ms": 1, "api_calls": 1},
        }))
    };
    check(success, Verdict::Nonconformant).await;
}
