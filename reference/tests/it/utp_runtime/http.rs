//! The runtime's HTTP binding: turns, reports, Inbox.

use callmark_reference::utp::Runtime;
use callmark_reference::utp::message::Status;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::support::{
    AGENT, CHANNEL, Harness, PROJECT, callback, calls, result_card, success, suspending, trace_id, within,
};

#[tokio::test]
async fn a_turn_over_http() {
    let answer = calls(&[("call_1", "tides", "{}")]);
    let mut harness = Harness::start_with(vec![suspending("tides")], vec![answer], |config| {
        config.listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await;
    let base = format!(
        "{}/projects/{PROJECT}",
        harness.runtime.as_ref().and_then(Runtime::http_url).expect("an address")
    );
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let traceparent = format!("00-{}-00c1d2e3f4a5b6c7-01", trace_id());
    let send = async |request: RequestBuilder| {
        let request = request.header("traceparent", &traceparent);
        let answer = within("answer", request.send()).await.expect("an answer");
        (answer.status(), within("body", answer.json::<Value>()).await.expect("JSON"))
    };
    let turns = format!("{base}/channels/{CHANNEL}/turns");
    let ask = json!({"agent_id": AGENT, "instruction": "token-9", "agent_turn_id": "turn_1"});
    let receipt = json!({"agent_id": AGENT, "agent_turn_id": "turn_1", "turn_epoch": 1});
    assert_eq!(send(client.post(&turns).json(&ask)).await, (StatusCode::OK, receipt.clone()));
    assert_eq!(send(client.post(&turns).json(&ask)).await, (StatusCode::OK, receipt));
    let command = harness.command().await;
    assert_eq!(command.card["metadata"]["trace_id"], trace_id());
    let card = result_card(&command, success(json!({"k": 1})));
    harness.save(&card).await;
    let mut report = json!({"message_type": "tool_result", "correlation_id": "call_1",
        "source_agent_id": "tool.tides", "payload": callback(&command, &card)});
    let reports = format!("{base}/channels/{CHANNEL}/reports");
    let (status, receipt) = send(client.post(&reports).json(&report)).await;
    assert_eq!((status, &receipt["duplicate"]), (StatusCode::OK, &json!(false)));
    let (_, again) = send(client.post(&reports).json(&report)).await;
    assert_eq!((&again["inbox_id"], &again["duplicate"]), (&receipt["inbox_id"], &json!(true)));
    let (event, _) = harness.ended().await;
    assert_eq!(event.status, Status::Success);
    let (_, listed) = send(client.get(format!("{base}/agents/{AGENT}/inbox"))).await;
    assert_eq!(listed["records"][0]["payload"], report["payload"]);
    assert_eq!(listed["records"].as_array().expect("records").len(), 1);

    report["payload"]["status"] = json!("done");
    let (status, refusal) = send(client.post(&reports).json(&report)).await;
    assert_eq!((status, &refusal["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("bad_request")));
    let (status, _) = send(client.post(&turns).json(&json!({"agent_id": AGENT}))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let long = json!({"agent_id": AGENT, "instruction": "x".repeat(2 * 1024 * 1024)});
    assert_eq!(send(client.post(&turns).json(&long)).await.0, StatusCode::PAYLOAD_TOO_LARGE);
}
