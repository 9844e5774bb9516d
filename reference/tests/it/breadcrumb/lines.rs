//! The runner over JSON lines.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use callmark_reference::breadcrumb::runner::RunnerConfig;
use callmark_reference::breadcrumb::runner::lines::run_lines;
use callmark_reference::breadcrumb::store::StoreConfig;
use callmark_reference::breadcrumb::tools;
use serde_json::{Value, json};

use super::support::{request, soon, store};

#[tokio::test]
async fn each_line_is_a_breadcrumb_and_each_request_an_answer() {
    let (server, client) = store(StoreConfig::new()).await;
    let logged = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&logged);
    let mut config = RunnerConfig::new(server.url(), tools::catalog(&client, []).expect("a catalogue"));
    config.log = Arc::new(move |line: &str| log.lock().expect("a log").push(line.to_owned()));
    let invocation = |id: &str, version: u32, requests: Value| {
        json!({
            "id": id, "version": version, "schema_name": "agent.response.v1", "title": "t",
            "tags": ["agent:response", "session:s1"], "context": {"tool_requests": requests},
        })
        .to_string()
    };
    let endless = format!("\"{}\"", "x".repeat(3_000_000));
    let lines = [
        invocation("b1", 1, json!([request("t-1", "timer", json!({"seconds": 0.2}), true)])),
        "no breadcrumb".to_owned(),
        String::new(),
        endless,
        invocation("b1", 2, json!([request("t-1", "timer", json!({"seconds": 0.2}), true)])),
        json!({"id": "b2", "version": 1, "schema_name": "memo.v1", "title": "t", "tags": [], "context": {}})
            .to_string(),
        invocation("b3", 1, json!([request("e-1", "echo", json!({"message": "x"}), false)])),
    ];
    let mut written = Vec::new();
    soon("the end of the lines", run_lines(config, Cursor::new(lines.join("\n")), &mut written))
        .await
        .expect("an end");
    let written = String::from_utf8(written).expect("text");
    let mut breadcrumbs: Vec<Value> =
        written.lines().map(|line| serde_json::from_str(line).expect("a breadcrumb")).collect();
    assert_eq!(breadcrumbs.remove(0)["schema_name"], json!("tool.catalog.v1"));
    let seen: Vec<_> = breadcrumbs
        .iter()
        .map(|breadcrumb| (breadcrumb["schema_name"].as_str(), breadcrumb["context"]["request_id"].as_str()))
        .collect();
    let (response, shown) = (Some("tool.response.v1"), Some("agent.response.v1"));
    assert_eq!(seen, [(response, Some("e-1")), (shown, Some("e-1")), (response, Some("t-1"))]);
    assert_eq!(logged.lock().expect("a log").iter().filter(|line| line.contains("passed over")).count(), 2);
    server.shutdown().await;
}
