//! The agent runtime: commands, reports, wakeups, the end of a turn, and who may start one.

use std::time::Duration;

use async_nats::{HeaderMap, HeaderValue, Message};
use callmark_reference::utp::message::ToolRow;
use callmark_reference::utp::revision::headers;
use callmark_reference::utp::{Revision, RuntimeConfig};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::utp_runtime::support::{
    AGENT, CHANNEL, Command, Harness, PROJECT, calls, json_of, suspending, terminating, within,
};

const DEPTH: &str = "CG-Recursion-Depth";
const TRACE: &str = "00-5f1c0d5e2b7a4c66a1d2e3f405162738-00c1d2e3f4a5b6c7-01";

fn in_v1r4(mut row: ToolRow) -> ToolRow {
    row.target_subject = row.target_subject.replace(".v1r3.", ".v1r4.");
    row
}

async fn harness(
    rows: Vec<ToolRow>,
    answers: Vec<Value>,
    change: impl FnOnce(&mut RuntimeConfig),
) -> Harness {
    Harness::start_in(Revision::V1r4, rows, answers, change).await
}

async fn request(harness: &Harness, end: &str, pairs: &[(&str, &str)], body: &Value) -> Value {
    let mut sent = HeaderMap::new();
    for (name, value) in pairs {
        sent.insert(*name, *value);
    }
    sent.insert("traceparent", TRACE);
    let subject = format!("l0.v1.{PROJECT}.{CHANNEL}.{end}");
    let reply = harness.client.request_with_headers(subject, sent, body.to_string().into());
    json_of(&within("reply", reply).await.expect("a reply"))
}

async fn start_turn(harness: &Harness, depth: &str) -> Value {
    let pairs = [
        (headers::PROJECT_ID, PROJECT),
        (headers::CHANNEL_ID, CHANNEL),
        (headers::PARENT_AGENT_ID, "ag_parent"),
        (headers::PARENT_TURN_ID, "turn_parent"),
        (headers::PARENT_STEP_ID, "step_parent"),
        (DEPTH, depth),
    ];
    let body = json!({"agent_id": AGENT, "instruction": "token-9", "agent_turn_id": "chosen",
        "correlation_id": "call_p-1"});
    request(harness, "turns.start", &pairs, &body).await
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    message.headers.as_ref()?.get(name).map(HeaderValue::as_str)
}

/// Answers a command as a tool does, at this depth.
async fn report(harness: &Harness, command: &Command, depth: &str) -> Value {
    let value = |name| header(&command.message, name).expect("a header");
    let call = value(headers::TOOL_CALL_ID);
    let after_execution = command.body["after_execution"].clone();
    let card = json!({
        "card_id": format!("card_{call}"), "project_id": PROJECT, "type": "tool.result",
        "author_id": "tool.tides", "tool_call_id": call,
        "content": {"__type__": "ToolResultContent", "status": "success", "after_execution": after_execution,
                    "result": {"high": 1}, "error": null},
        "metadata": {"tool_call_id": call, "function_name": "tides"}
    });
    harness.save(&card).await;
    let mut pairs: Vec<(&str, &str)> = [
        headers::PROJECT_ID,
        headers::CHANNEL_ID,
        headers::AGENT_ID,
        headers::TURN_ID,
        headers::TURN_EPOCH,
        headers::STEP_ID,
        headers::TOOL_CALL_ID,
    ]
    .map(|name| (name, value(name)))
    .to_vec();
    pairs.push((DEPTH, depth));
    let body = json!({
        "message_type": "tool_result", "correlation_id": call, "source_agent_id": "tool.tides",
        "payload": {"status": "success", "after_execution": after_execution,
                    "tool_result_card_id": card["card_id"]}
    });
    request(harness, "report", &pairs, &body).await
}

#[tokio::test]
async fn a_turn_runs_with_its_identity_in_headers() {
    let answers = vec![calls(&[("call_1", "tides", "{}")])];
    let mut harness = harness(vec![in_v1r4(suspending("tides"))], answers, |_| {}).await;
    let receipt = start_turn(&harness, "3").await;
    let turn_id = receipt["agent_turn_id"].as_str().expect("an id").to_owned();
    assert_ne!(turn_id, "chosen");
    assert_eq!(start_turn(&harness, "3").await, receipt);

    let command = harness.command().await;
    let step_id = command.card["metadata"]["step_id"].as_str().expect("a step");
    for (name, value) in [
        (headers::PROJECT_ID, PROJECT),
        (headers::CHANNEL_ID, CHANNEL),
        (headers::AGENT_ID, AGENT),
        (headers::TURN_ID, &turn_id),
        (headers::TURN_EPOCH, "1"),
        (headers::STEP_ID, step_id),
        (headers::TOOL_CALL_ID, "call_1"),
        (DEPTH, "3"),
    ] {
        assert_eq!(header(&command.message, name), Some(value), "{name}");
    }
    let mut members: Vec<&str> =
        command.body.as_object().expect("an object").keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["after_execution", "tool_call_card_id", "tool_name"]);
    assert_eq!(command.card["metadata"]["parent_step_id"], "step_parent");

    for depth in ["2", "0", "three"] {
        assert_eq!(report(&harness, &command, depth).await["error"]["code"], "protocol_violation", "{depth}");
    }
    assert_eq!(report(&harness, &command, "3").await["duplicate"], false);
    let wakeup = within("wakeup", harness.wakeups.next()).await.expect("a wakeup");
    assert_eq!(header(&wakeup, headers::AGENT_ID), Some(AGENT));
    assert_eq!(header(&wakeup, headers::TOOL_CALL_ID), None);

    let ended = within("task event", harness.events.next()).await.expect("an event");
    for (name, value) in [
        (headers::PROJECT_ID, PROJECT),
        (headers::CHANNEL_ID, CHANNEL),
        (headers::AGENT_ID, AGENT),
        (headers::TURN_ID, &turn_id),
        (headers::TURN_EPOCH, "1"),
    ] {
        assert_eq!(header(&ended, name), Some(value), "{name}");
    }
    assert_eq!(json_of(&ended)["status"], "success");
    assert_eq!(harness.tool_message("call_1"), json!({"high": 1}));
    // A second report of the call is applied to nothing.
    assert_eq!(report(&harness, &command, "3").await["duplicate"], true);
}

#[tokio::test]
async fn a_terminating_result_ends_the_turn() {
    let answers = vec![calls(&[("call_1", "tides", "{}")])];
    let mut harness = harness(vec![in_v1r4(terminating("tides"))], answers, |_| {}).await;
    start_turn(&harness, "0").await;
    let command = harness.command().await;
    report(&harness, &command, "0").await;
    let (event, _) = harness.ended().await;
    assert_eq!(event.tool_result_card_id.as_deref(), Some("card_call_1"));
}

#[tokio::test]
async fn no_turn_starts_too_deep_or_elsewhere() {
    let harness = harness(Vec::new(), Vec::new(), |_| {}).await;
    for depth in ["20", "21"] {
        assert_eq!(start_turn(&harness, depth).await["error"]["code"], "recursion_depth_exceeded", "{depth}");
    }
    assert_eq!(start_turn(&harness, "-1").await["error"]["code"], "bad_request");
    let body = json!({"agent_id": AGENT, "instruction": "do"});
    let elsewhere = request(&harness, "turns.start", &[(headers::PROJECT_ID, "other")], &body).await;
    assert_eq!(elsewhere["error"]["code"], "protocol_violation");
    assert_eq!(start_turn(&harness, "19").await["agent_id"], AGENT);
}

#[tokio::test]
async fn a_call_that_is_not_answered_ends_as_a_timeout_of_its_revision() {
    let answers = vec![calls(&[("call_1", "tides", "{}")])];
    let change = |config: &mut RuntimeConfig| config.call_deadline = Duration::from_millis(50);
    let mut harness = harness(vec![in_v1r4(suspending("tides"))], answers, change).await;
    start_turn(&harness, "2").await;
    within("task event", harness.events.next()).await.expect("an event");
    assert_eq!(harness.tool_message("call_1")["error"]["code"], "tool_timeout");
    let records = harness.records().await;
    assert_eq!(records[0]["context"]["recursion_depth"], 2);
    assert_eq!(records[0]["payload"]["status"], "timeout");
}

#[tokio::test]
async fn a_turn_of_one_revision_may_call_a_tool_of_the_other() {
    let answers = vec![calls(&[("call_1", "tides", "{}")])];
    let harness = harness(vec![suspending("tides")], answers, |_| {}).await;
    let subject = format!("cg.v1r3.{PROJECT}.{CHANNEL}.cmd.tool.>");
    let mut commands = harness.client.subscribe(subject).await.expect("a subscription");
    start_turn(&harness, "2").await;
    let command = within("command", commands.next()).await.expect("a command");
    assert_eq!(json_of(&command)["agent_id"], AGENT);
    assert_eq!(header(&command, headers::AGENT_ID), None);
}
