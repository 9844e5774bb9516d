//! A platform that is not there, refuses, stumbles, or makes no sense.

use std::time::Duration;

use callmark_reference::utp::PlatformConfig;
use serde_json::{Value, json};

use super::support::{Harness, read, task};

fn refusal(status: u16) -> Value {
    json!({"refuse": status, "error": {"code": "x", "message": "no"}})
}

#[tokio::test]
async fn a_platform_that_fails_has_its_code() {
    async fn check(answers: Vec<Value>, expect: (&str, &str)) {
        let harness = Harness::start_with(|config| config.delivery_deadline = Duration::from_secs(2)).await;
        harness.refuse(answers);
        let outcome = harness.call("delegate_async", &task("x")).await;
        assert_eq!((read(&outcome).0, read(&outcome).1), expect);
    }
    check(vec![refusal(503), refusal(429)], ("success", "-")).await;
    check(vec![refusal(503); 9], ("failed", "upstream_unavailable")).await;
    check(vec![refusal(404)], ("failed", "bad_request")).await;
    check(vec![refusal(400)], ("failed", "internal_error")).await;
    check(vec![json!({"agent_id": "x"})], ("failed", "internal_error")).await;
    check(vec![json!({"agent_id": "x", "agent_turn_id": "", "turn_epoch": 1})], ("failed", "internal_error"))
        .await;
}

#[tokio::test]
async fn turns_that_cannot_be_started_are_failed_tasks() {
    let mut harness = Harness::start().await;
    harness.refuse([refusal(400), refusal(400)]);
    let outcome = harness.call("fork_join", &json!({"tasks": [task("a"), task("b")]})).await;
    assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "internal_error"));
    harness.refuse([refusal(400)]);
    let arguments = json!({"tasks": [task("a"), task("b")], "fail_fast": true});
    let outcome = harness.call("fork_join", &arguments).await;
    assert_eq!(read(&outcome).0, "failed");
    harness.next_turn().await;
    assert!(harness.has_no_turn());
}

#[tokio::test]
async fn the_id_that_the_platform_gives_a_turn_counts() {
    let harness = Harness::start().await;
    harness.refuse([json!({"agent_id": "ag_gardener", "agent_turn_id": "turn_theirs", "turn_epoch": 7})]);
    let call = harness.prepare("fork_join", &json!({"tasks": [task("a")]})).await;
    let work = async {
        let turn = harness.next_turn().await;
        // The end of the turn under the id that was asked for is not the end that is waited for.
        harness.end(&turn, "failed", None).await;
        let end = json!({"agent_id": "ag_gardener", "agent_turn_id": "turn_theirs", "status": "success"});
        harness.publish("ag_gardener", &end).await;
    };
    let (outcome, ()) = tokio::join!(harness.send(&call), work);
    let (status, _, result) = read(&outcome);
    assert_eq!(status, "success");
    assert_eq!(result["tasks"][0]["agent_turn_id"], "turn_theirs");
}

#[tokio::test]
async fn a_platform_over_http_that_is_not_there_leaves_the_command_unanswered() {
    // Bound and dropped: nobody listens on this port.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let (sender, mut log) = tokio::sync::mpsc::unbounded_channel();
    let mut harness = Harness::start_with(|config| {
        config.platform = PlatformConfig::Http { base_url };
        config.delivery_deadline = Duration::from_millis(200);
        config.log = std::sync::Arc::new(move |line| {
            let _ = sender.send(line.to_owned());
        });
    })
    .await;
    let call = harness.prepare("delegate_async", &task("x")).await;
    harness.caller.publish(&call).await.expect("no error");
    let line = super::support::within("a line", log.recv()).await.expect("a line");
    assert!(line.contains("not answered"), "{line}");
    assert!(harness.has_no_turn());
}
