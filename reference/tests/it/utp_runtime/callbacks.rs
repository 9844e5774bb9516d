//! Callbacks that must not be consumed as a result, and what becomes of their calls.

use callmark_reference::utp::message::Status;
use serde_json::{Value, json};

use super::support::{Command, Harness, callback, calls, result_card, success, suspending};

async fn waiting() -> (Harness, Command) {
    let mut harness =
        Harness::start(vec![suspending("tides")], vec![calls(&[("call_1", "tides", "{}")])]).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    (harness, command)
}

#[tokio::test]
async fn a_report_that_lacks_a_member_is_refused_and_leaves_nothing() {
    let (mut harness, command) = waiting().await;
    let card = result_card(&command, success(json!({"k": 1})));
    harness.save(&card).await;
    let good = callback(&command, &card);
    let mut bad = Vec::new();
    for member in [
        "tool_call_id",
        "agent_turn_id",
        "turn_epoch",
        "agent_id",
        "tool_result_card_id",
        "status",
        "after_execution",
    ] {
        let mut payload = good.clone();
        payload.as_object_mut().expect("an object").shift_remove(member);
        bad.push(payload);
        bad.push({
            let mut payload = good.clone();
            payload[member] = Value::Null;
            payload
        });
    }
    for (member, value) in [
        ("tool_result_card_id", ""),
        ("tool_result_card_id", "  "),
        ("status", "done"),
        ("after_execution", "pause"),
    ] {
        let mut payload = good.clone();
        payload[member] = json!(value);
        bad.push(payload);
    }
    for payload in bad {
        assert_eq!(harness.report(&payload).await["error"]["code"], "bad_request", "{payload}");
    }
    assert_eq!(harness.records().await, Vec::<Value>::new());
    assert_eq!(harness.script.requests().len(), 1);
    // Without `step_id` and with members that nobody knows the callback is as good as any.
    let mut payload = good;
    payload.as_object_mut().expect("an object").shift_remove("step_id");
    payload["x_future"] = json!([1]);
    assert_eq!(harness.report(&payload).await["duplicate"], false);
    harness.ended().await;
    assert_eq!(harness.tool_message("call_1"), json!({"k": 1}));
    assert_eq!(harness.records().await[0]["payload"], payload);
}

/// A callback that points to this card, or to nothing, fails its call visibly and the turn goes on.
async fn check_not_consumed(change: impl FnOnce(&mut Value)) {
    let (mut harness, command) = waiting().await;
    let mut card = result_card(&command, success(json!({"k": "forbidden"})));
    let payload = callback(&command, &card);
    change(&mut card);
    if card.is_object() {
        harness.save(&card).await;
    }
    harness.report(&payload).await;
    let (event, _) = harness.ended().await;
    assert_eq!(event.status, Status::Success);
    let result = harness.tool_message("call_1");
    assert_eq!(result["error"]["code"], "invalid_result", "{card}");
    assert!(!result.to_string().contains("forbidden"));
}

#[tokio::test]
async fn a_pointer_to_anything_but_the_calls_result_is_not_consumed() {
    check_not_consumed(|card| *card = Value::Null).await;
    check_not_consumed(|card| card["type"] = json!("tool.call")).await;
    check_not_consumed(|card| card["tool_call_id"] = json!("call_2")).await;
    check_not_consumed(|card| card["content"] = json!("forbidden")).await;
    check_not_consumed(|card| card["content"] = json!({"k": "forbidden"})).await;
    check_not_consumed(|card| card["content"]["status"] = json!("done")).await;
    check_not_consumed(|card| card["content"]["after_execution"] = json!("pause")).await;
}

#[tokio::test]
async fn a_callback_for_no_waiting_call_is_left_alone() {
    let (mut harness, command) = waiting().await;
    let card = result_card(&command, success(json!({"k": 1})));
    harness.save(&card).await;
    let good = callback(&command, &card);
    for (member, value) in [("tool_call_id", "call_9"), ("agent_turn_id", "turn_9"), ("agent_id", "ag_other")]
    {
        let mut payload = good.clone();
        // Of another agent and turn, so that it is no duplicate of the good one.
        payload["agent_turn_id"] = json!("turn_9");
        payload[member] = json!(value);
        harness.report(&payload).await;
    }
    assert_eq!(harness.script.requests().len(), 1);
    harness.report(&good).await;
    harness.ended().await;
    assert_eq!(harness.script.requests().len(), 2);
    assert_eq!(harness.tool_message("call_1"), json!({"k": 1}));
}
