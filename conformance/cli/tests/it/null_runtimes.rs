//! Agent runtimes that do nothing of what they should score no pass, and never end as conformant, over the bus and
//! over HTTP.

use std::time::Duration;

use bytes::Bytes;
use callmark_cli::broker::{self, BrokerChoice};
use callmark_reference::utp::round_trip;
use callmark_reports::record::Verdict;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::families::utp::binding::PlatformKind;
use callmark_suite::families::utp::manifest::UtpTable;
use futures::StreamExt as _;
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::{self, nothing};

const PROFILES: [&str; 4] = ["utp.worker", "utp.execution", "utp.worker@v1r4", "utp.execution@v1r4"];

async fn check(manifest: &Manifest, nats_url: &str, expect: Verdict, who: &str) {
    for profile in PROFILES {
        nothing::check(manifest, &[profile], nats_url, expect, &format!("{who} as {profile}")).await;
    }
}

/// One that answers whatever it is asked over the bus, or says nothing.
async fn check_bus(answer: fn(&Value) -> Option<Value>, expect: Verdict, who: &str) {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let mut asked = client.subscribe("runtime.>").await.expect("a subscription");
    round_trip(&client).await.expect("an answer of the broker");
    let answering = tokio::spawn(async move {
        while let Some(request) = asked.next().await {
            let body = serde_json::from_slice(&request.payload).unwrap_or_default();
            if let (Some(reply), Some(answer)) = (request.reply, answer(&body)) {
                let _ = client.publish(reply, Bytes::from(answer.to_string())).await;
            }
        }
    });
    check(&support::manifest(), broker.url(), expect, who).await;
    answering.abort();
}

async fn check_http(respond: impl Respond + 'static, expect: Verdict, who: &str) {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut manifest = support::manifest();
    let utp = manifest.get_mut::<UtpTable>().expect("the bundled manifest has UTP roles");
    utp.platform = PlatformKind::Http;
    utp.runtime.url = Some(server.uri());
    check(&manifest, broker.url(), expect, who).await;
}

#[tokio::test]
async fn silence_on_the_bus() {
    check_bus(|_| None, Verdict::Incomplete, "silence").await;
}

#[tokio::test]
async fn not_found_on_the_bus() {
    let answer = |_: &Value| Some(json!({"error": {"code": "not_found", "message": "no such thing"}}));
    check_bus(answer, Verdict::Incomplete, "not found").await;
}

#[tokio::test]
async fn empty_answers_on_the_bus() {
    check_bus(|_| Some(json!({})), Verdict::Incomplete, "empty answers").await;
}

#[tokio::test]
async fn an_echo_on_the_bus() {
    check_bus(|body| Some(body.clone()), Verdict::Incomplete, "an echo").await;
}

#[tokio::test]
async fn always_accepting_on_the_bus() {
    let answer = |_: &Value| {
        Some(json!({"ok": true, "status": "accepted", "agent_turn_id": "turn_1", "inbox": [], "records": []}))
    };
    check_bus(answer, Verdict::Incomplete, "always accepting").await;
}

#[tokio::test]
async fn not_found_over_http() {
    check_http(ResponseTemplate::new(404), Verdict::Incomplete, "not found").await;
}

#[tokio::test]
async fn an_internal_error_over_http() {
    let error = ResponseTemplate::new(500).set_body_string("<html>oops</html>");
    check_http(error, Verdict::Incomplete, "an internal error").await;
}

#[tokio::test]
async fn empty_answers_over_http() {
    let empty = ResponseTemplate::new(200).set_body_json(json!({}));
    check_http(empty, Verdict::Incomplete, "empty answers").await;
}

#[tokio::test]
async fn an_echo_over_http() {
    let echo =
        |request: &Request| ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json");
    check_http(echo, Verdict::Incomplete, "an echo").await;
}

#[tokio::test]
async fn silence_over_http() {
    let silent = ResponseTemplate::new(200).set_delay(Duration::from_secs(600));
    check_http(silent, Verdict::Incomplete, "silence").await;
}
