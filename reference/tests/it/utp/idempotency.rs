//! One outcome for each call: concurrent repetitions, restarts, kills (UTP §3.2).

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::Stdio;

use super::support::{PROJECT, Platform, json, next, row, within};
use async_nats::Message;
use callmark_reference::utp::{ToolService, ToolServiceConfig};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_identical_commands_count_once() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    let mut reports = platform.reports().await;
    let call = platform.caller.prepare(&row("probe.count"), &json!({})).await.expect("a call");
    for _ in 0..64 {
        platform.caller.publish(&call).await.expect("no error");
    }
    let sentinel = platform.caller.call(&row("probe.count"), &json!({})).await.expect("an answer");
    // The shutdown waits for every command that has arrived, so the marker comes after their reports.
    service.shutdown().await;
    let marker = format!("l0.v1.{PROJECT}.end.report");
    platform.client.publish(marker, "{}".into()).await.expect("no error");
    let mut callbacks = HashSet::new();
    loop {
        let report = json(&next(&mut reports).await);
        if report == json!({}) {
            break;
        }
        callbacks.insert(report["payload"].to_string());
    }
    assert_eq!(callbacks.len(), 2, "{callbacks:?}");
    let records = platform.l0().inbox(PROJECT, platform.caller.agent_id()).await.expect("an Inbox");
    assert_eq!(records.len(), 2);
    let mut counts = vec![sentinel.card["content"]["result"]["count"].as_u64()];
    for record in records.iter().filter(|record| record.correlation_id == call.command["tool_call_id"]) {
        let card = card(&platform, &record.payload["tool_result_card_id"]).await;
        counts.push(card["content"]["result"]["count"].as_u64());
    }
    counts.sort_unstable();
    assert_eq!(counts, [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_repetition_that_comes_before_the_report_is_acknowledged_is_answered() {
    let mut platform = Platform::start().await;
    let service = platform.service().await;
    let call = platform.caller.prepare(&row("probe.count"), &json!({})).await.expect("a call");
    let other = platform.caller.prepare(&row("probe.echo"), &json!({})).await.expect("a call");
    let call_card = card(&platform, &call.command["tool_call_card_id"]).await;
    // From here on the test answers in place of the L0.
    platform.stop_l0().await;
    let mut requests = platform.subscribe(&format!("l0.v1.{PROJECT}.>")).await;
    let answer = async |request: &Message, answer: Value| {
        let reply = request.reply.clone().expect("a request");
        platform.client.publish(reply, answer.to_string().into()).await.expect("no error");
    };
    platform.caller.publish(&call).await.expect("no error");
    let mut unacknowledged = None;
    let mut reports = 0;
    while reports < 2 {
        let request = next(&mut requests).await;
        let operation = request.subject.rsplit('.').next().expect("an operation");
        let other_card = &other.command["tool_call_card_id"];
        match operation {
            "report" if reports == 0 => {
                reports = 1;
                platform.caller.publish(&call).await.expect("no error");
                // When the service asks for the card of this one, it has seen the repetition.
                platform.caller.publish(&other).await.expect("no error");
                unacknowledged = Some(request);
            }
            "report" => {
                assert_eq!(json(&request)["correlation_id"], call.command["tool_call_id"]);
                reports += 1;
            }
            "get" if json(&request)["card_ids"][0] == *other_card => {
                if let Some(first) = unacknowledged.take() {
                    answer(&first, json!({"inbox_id": "in_1", "duplicate": false})).await;
                }
            }
            "get" => answer(&request, json!({"cards": [call_card], "missing_card_ids": []})).await,
            _ => answer(&request, json!({"card_id": json(&request)["card"]["card_id"]})).await,
        }
    }
    drop(service);
}

#[tokio::test]
async fn the_same_call_id_in_another_turn_is_another_call() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    let mut reports = platform.reports().await;
    let call = platform.caller.prepare(&row("probe.count"), &json!({})).await.expect("a call");
    let mut other_turn = call.clone();
    other_turn.command["agent_turn_id"] = json!("another turn");
    let mut pointers = HashSet::new();
    for call in [call, other_turn] {
        platform.caller.publish(&call).await.expect("no error");
        let report = json(&next(&mut reports).await);
        assert_eq!(report["payload"]["agent_turn_id"], call.command["agent_turn_id"]);
        pointers.insert(report["payload"]["tool_result_card_id"].to_string());
    }
    assert_eq!(pointers.len(), 2);
    let next_call = platform.caller.call(&row("probe.count"), &json!({})).await.expect("an answer");
    assert_eq!(next_call.card["content"]["result"], json!({"count": 3}));
    service.shutdown().await;
}

#[tokio::test]
async fn a_repetition_after_a_restart_gets_the_same_answer() {
    let platform = Platform::start().await;
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = platform.config();
    config.data_dir = Some(directory.path().to_owned());
    let service = ToolService::start(config.clone()).await.expect("a service");
    let call = platform.caller.prepare(&row("probe.count"), &json!({})).await.expect("a call");
    let first = platform.caller.send(&call).await.expect("an answer");
    service.shutdown().await;

    let service = ToolService::start(config).await.expect("a service");
    let mut reports = platform.reports().await;
    let mut saves = platform.subscribe(&format!("l0.v1.{PROJECT}.cards.save")).await;
    platform.caller.publish(&call).await.expect("no error");
    assert_eq!(json(&next(&mut saves).await)["card"], first.card);
    assert_eq!(json(&next(&mut reports).await)["payload"], json!(first.callback));
    let second = platform.caller.call(&row("probe.count"), &json!({})).await.expect("an answer");
    assert_eq!(second.card["content"]["result"], json!({"count": 2}));
    service.shutdown().await;
}

const CHILD_URL: &str = "UTP_TEST_CHILD_NATS_URL";
const CHILD_DIR: &str = "UTP_TEST_CHILD_DATA_DIR";
const READY: &str = "test.child.ready";

/// Starts this test binary again as a process that only runs [`child_service`].
fn spawn_child(url: &str, data_dir: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "utp::idempotency::child_service", "--nocapture"])
        .env(CHILD_URL, url)
        .env(CHILD_DIR, data_dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("a process")
}

/// The body of the process that is killed; as an ordinary test it has nothing to do.
#[tokio::test]
async fn child_service() {
    let (Ok(url), Ok(data_dir)) = (std::env::var(CHILD_URL), std::env::var(CHILD_DIR)) else {
        return;
    };
    let mut config = ToolServiceConfig::new(&url);
    config.data_dir = Some(PathBuf::from(data_dir));
    let _service = ToolService::start(config).await.expect("a service");
    let client = async_nats::connect(url).await.expect("a client");
    client.publish(READY, "".into()).await.expect("no error");
    client.flush().await.expect("a flush");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_point_neither_loses_nor_repeats_a_count() {
    let platform = Platform::start().await;
    let directory = tempfile::tempdir().expect("a directory");
    let mut ready = platform.subscribe(READY).await;
    let mut reports = platform.reports().await;
    // Where the process is killed: as soon as this is seen on the bus.
    let points = [
        format!("l0.v1.{PROJECT}.cards.get"),
        format!("l0.v1.{PROJECT}.cards.save"),
        format!("l0.v1.{PROJECT}.*.report"),
        format!("cg.*.{PROJECT}.*.cmd.agent.*.wakeup"),
    ];
    let mut calls: u64 = 0;
    for point in points.iter().cycle().take(8) {
        let mut child = spawn_child(&platform.broker.url(), directory.path());
        next(&mut ready).await;
        let call = platform.caller.prepare(&row("probe.count"), &json!({})).await.expect("a call");
        let mut seen = platform.subscribe(point).await;
        platform.caller.publish(&call).await.expect("no error");
        next(&mut seen).await;
        // SIGKILL: the process gets no chance to tidy up.
        child.kill().await.expect("a kill");
        drop(seen);

        let mut child = spawn_child(&platform.broker.url(), directory.path());
        next(&mut ready).await;
        platform.caller.publish(&call).await.expect("no error");
        calls += 1;
        // Whoever reports this call, before the kill or after it, reports the same card with the same count.
        let payload = report_of(&mut reports, &call.command["tool_call_id"]).await;
        let card = card(&platform, &payload["tool_result_card_id"]).await;
        assert_eq!(card["content"]["result"], json!({"count": calls}), "killed at `{point}`");
        // The sentinel comes after everything that the repetition caused.
        let sentinel = platform.caller.call(&row("probe.count"), &json!({})).await.expect("an answer");
        calls += 1;
        assert_eq!(sentinel.card["content"]["result"], json!({"count": calls}), "killed at `{point}`");
        child.kill().await.expect("a kill");
    }
    let records = platform.l0().inbox(PROJECT, platform.caller.agent_id()).await.expect("an Inbox");
    assert_eq!(records.len() as u64, calls);
}

async fn report_of(reports: &mut async_nats::Subscriber, tool_call_id: &Value) -> Value {
    within("report", async {
        loop {
            let report = json(&next(reports).await);
            if report["correlation_id"] == *tool_call_id {
                return report["payload"].clone();
            }
        }
    })
    .await
}

async fn card(platform: &Platform, card_id: &Value) -> Value {
    let request = json!({"card_ids": [card_id]}).to_string();
    let reply =
        platform.client.request(format!("l0.v1.{PROJECT}.cards.get"), request.into()).await.expect("a reply");
    json(&reply)["cards"][0].clone()
}
