//! The protocol around the built-ins: members, lineage, trace, repetition.

use callmark_reference::utp::message::{RosterRow, Status};
use callmark_reference::utp::{Pmo, PmoConfig};
use futures::StreamExt;
use serde_json::{Value, json};

use super::support::{AGENT, CHANNEL, Harness, PROJECT, VERSION, read, task, within};

#[tokio::test]
async fn an_incomplete_command_starts_nothing() {
    let mut harness = Harness::start().await;
    for member in ["tool_call_id", "agent_turn_id", "turn_epoch", "agent_id"] {
        let mut call = harness.prepare("delegate_async", &task("dropped")).await;
        call.command.as_object_mut().expect("an object").remove(member);
        harness.caller.publish(&call).await.expect("no error");
    }
    for member in ["step_id", "after_execution", "tool_call_card_id"] {
        for value in [None, Some(Value::Null), Some(json!(""))] {
            let mut call = harness.prepare("delegate_async", &task("refused")).await;
            match value {
                Some(value) => call.command[member] = value,
                None => drop(call.command.as_object_mut().expect("an object").remove(member)),
            }
            let outcome = harness.send(&call).await;
            assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "bad_request"), "{member}");
        }
    }
    for (member, value) in [
        ("after_execution", json!("pause")),
        ("tool_call_card_id", json!("nowhere")),
        ("args", task("inline")),
        ("arguments", task("inline")),
    ] {
        let mut call = harness.prepare("delegate_async", &task("refused")).await;
        call.command[member] = value;
        let outcome = harness.send(&call).await;
        assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "bad_request"), "{member}");
    }
    let outcome = harness.call("delegate_async", &task("good")).await;
    assert_eq!(outcome.callback.status, Status::Success);
    assert_eq!(harness.next_turn().await.text("instruction"), "good");
    assert!(harness.has_no_turn());
}

#[tokio::test]
async fn the_name_and_what_is_unknown_do_not_matter() {
    let harness = Harness::start().await;
    for (member, value) in
        [("tool_name", Value::Null), ("x_future", json!({"a": 1})), ("context_box_id", json!("box_7"))]
    {
        let mut call = harness.prepare("delegate_async", &task("good")).await;
        call.command[member] = value;
        let outcome = harness.send(&call).await;
        assert_eq!(read(&outcome).0, "success", "{member}");
        assert_eq!(outcome.card["metadata"]["function_name"], "delegate_async");
    }
    let mut call = harness.prepare("delegate_async", &task("good")).await;
    call.subject = format!("cg.{VERSION}.{PROJECT}.{CHANNEL}.cmd.sys.pmo.internal.no.such");
    assert_eq!(read(&harness.send(&call).await).1, "bad_request");
}

#[tokio::test]
async fn answers_have_the_lineage_of_the_card_and_the_trace_of_the_command() {
    let harness = Harness::start().await;
    let call = harness.prepare("delegate_async", &task("good")).await;
    let outcome = harness.send(&call).await;
    let (command, metadata) = (&call.command, &outcome.card["metadata"]);
    assert_eq!(metadata["step_id"], command["step_id"]);
    assert_eq!(metadata["parent_step_id"], "step_root");
    assert_eq!(outcome.callback.step_id, Some(command["step_id"].clone()));
    assert_eq!(json!(outcome.callback.agent_turn_id), command["agent_turn_id"]);
    assert_eq!(outcome.callback.turn_epoch, command["turn_epoch"]);
    let trace_id = call.headers.traceparent.trace_id();
    assert!(outcome.record.traceparent.contains(trace_id));
    assert!(!outcome.record.traceparent.contains(call.headers.traceparent.span_id()));

    let turn = harness.next_turn().await;
    let traceparent = turn.traceparent.clone().expect("a traceparent");
    assert!(traceparent.contains(trace_id) && !traceparent.contains(call.headers.traceparent.span_id()));
    assert_eq!(turn.request["parent_agent_turn_id"], command["agent_turn_id"]);
    assert_eq!(turn.request["parent_step_id"], command["step_id"]);
    assert_eq!(turn.request["trace_id"], metadata["trace_id"]);
}

#[tokio::test]
async fn a_repeated_command_has_one_child_and_one_answer() {
    let mut harness = Harness::start().await;
    let mut reports = harness.subscribe(&format!("l0.v1.{PROJECT}.*.report")).await;
    let call = harness.prepare("delegate_async", &task("once")).await;
    harness.send(&call).await;
    // While a call is being answered a repetition is left to that answer; after another call it is over.
    harness.call("provision_agent", &json!({"action": "create"})).await;
    harness.caller.publish(&call).await.expect("no error");
    harness.call("provision_agent", &json!({"action": "create"})).await;
    // Another PMO has an empty memory, as one has after a crash.
    if let Some(pmo) = harness.pmo.take() {
        pmo.shutdown().await;
    }
    harness.pmo = Some(Pmo::start(PmoConfig::new(harness.url())).await.expect("a PMO"));
    harness.caller.publish(&call).await.expect("no error");
    let mut cards = Vec::new();
    while cards.len() < 3 {
        let report = within("a report", reports.next()).await.expect("a report");
        let report: Value = serde_json::from_slice(&report.payload).expect("JSON");
        if report["correlation_id"] == call.command["tool_call_id"] {
            cards.push(report["payload"]["tool_result_card_id"].clone());
        }
    }
    assert!(cards.iter().all(|card| *card == cards[0]), "{cards:?}");
    harness.next_turn().await;
    assert!(harness.has_no_turn());
}

#[tokio::test]
async fn a_waiting_call_is_canceled_at_shutdown() {
    let mut harness = Harness::start().await;
    let pmo = harness.pmo.take().expect("a PMO");
    let call = harness.prepare("ask_expert", &json!({"expert_profile": "botanist", "question": "why"})).await;
    let ended = async {
        harness.next_turn().await;
        pmo.shutdown().await;
    };
    let (outcome, ()) = tokio::join!(harness.send(&call), ended);
    assert_eq!(outcome.callback.status, Status::Canceled);
}

#[tokio::test]
async fn the_agents_of_other_projects_are_not_there() {
    let harness = Harness::start().await;
    harness.l0.put_roster(RosterRow::new("prj_other", "ag_other", "pool")).await.expect("no error");
    let mut arguments = task("x");
    arguments["target_ref"] = json!("ag_other");
    assert_eq!(read(&harness.call("delegate_async", &arguments).await).1, "bad_request");
    arguments["target_ref"] = json!(AGENT);
    assert_eq!(read(&harness.call("delegate_async", &arguments).await).0, "success");
}
