//! A call that nobody answers: the runtime answers in the tool's stead.

use std::time::Duration;

use callmark_reference::utp::message::{AfterExecution, Status};
use serde_json::json;

use super::support::{Harness, callback, calls, result_card, row, success, terminating};

#[tokio::test]
async fn a_call_that_is_not_answered_ends_as_timeout_and_a_late_answer_changes_nothing() {
    let tool = row("slow", AfterExecution::Suspend, json!({"suspend_timeout_seconds": 0.2}));
    let mut harness = Harness::start(vec![tool], vec![calls(&[("call_1", "slow", "{}")])]).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    let (event, _) = harness.ended().await;
    assert_eq!(event.status, Status::Success);
    assert_eq!(harness.tool_message("call_1")["error"]["code"], "tool_timeout");
    let records = harness.records().await;
    assert_eq!(records[0]["payload"]["status"], "timeout");
    let card = harness.card(records[0]["payload"]["tool_result_card_id"].as_str().expect("a pointer")).await;
    assert_eq!(card["content"]["error"]["code"], "tool_timeout");
    assert_eq!(card["metadata"]["step_id"], command.body["step_id"]);
    let late = result_card(&command, success(json!({"k": 1})));
    harness.save(&late).await;
    assert_eq!(harness.report(&callback(&command, &late)).await["duplicate"], true);
    assert_eq!(harness.script.requests().len(), 2);
}

#[tokio::test]
async fn a_terminating_call_ends_its_turn_by_timeout_too() {
    let answer = calls(&[("call_1", "stop", "{}")]);
    let mut harness = Harness::start_with(vec![terminating("stop")], vec![answer], |config| {
        config.call_deadline = Duration::from_millis(200);
    })
    .await;
    harness.start_turn("turn_1").await;
    let (event, _) = harness.ended().await;
    assert_eq!(event.status, Status::Timeout);
    assert_eq!(event.error.expect("a reason")["code"], "tool_timeout");
    assert_eq!(harness.script.requests().len(), 1);
}
