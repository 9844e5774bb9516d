//! The PMO: children start below the call, under an id that the platform gives, and not too deep.

use callmark_reference::utp::caller::PreparedCall;
use callmark_reference::utp::pmo::rows;
use callmark_reference::utp::revision::headers;
use callmark_reference::utp::{Pmo, PmoConfig, Revision};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::utp_pmo::support::{AGENT, CHANNEL, Harness, PROJECT, Started, read, task, within};

const DEPTH: &str = "CG-Recursion-Depth";

async fn harness() -> Harness {
    Harness::start_in(Revision::V1r4, |_| {}).await
}

async fn prepare(harness: &Harness, built_in: &str, arguments: &Value, depth: &str) -> PreparedCall {
    let row = rows(PROJECT, Revision::V1r4).into_iter().find(|row| row.tool_name == built_in);
    let mut call = harness.caller.prepare(&row.expect("a built-in"), arguments).await.expect("a call");
    call.sent.set(DEPTH, depth);
    call
}

fn header<'a>(turn: &'a Started, name: &str) -> Option<&'a str> {
    turn.headers.get(name).map(async_nats::HeaderValue::as_str)
}

#[tokio::test]
async fn a_turn_is_started_one_deeper_and_its_id_is_the_platforms() {
    let harness = harness().await;
    let call = prepare(&harness, "delegate_async", &task("weed"), "4").await;
    let outcome = harness.send(&call).await;
    let turn = harness.next_turn().await;
    let mut members: Vec<&str> =
        turn.request.as_object().expect("an object").keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["agent_id", "correlation_id", "instruction"]);
    assert!(turn.text("correlation_id").contains(&call.tool_call_id));
    for (name, value) in [
        (headers::PROJECT_ID, Some(PROJECT)),
        (headers::CHANNEL_ID, Some(CHANNEL)),
        (headers::PARENT_AGENT_ID, call.sent.value(headers::AGENT_ID)),
        (headers::PARENT_TURN_ID, call.sent.value(headers::TURN_ID)),
        (headers::PARENT_STEP_ID, call.sent.value(headers::STEP_ID)),
        (DEPTH, Some("5")),
        (headers::AGENT_ID, None),
        (headers::TURN_ID, None),
    ] {
        assert_eq!(header(&turn, name), value, "{name}");
    }
    let trace_id = call.headers.traceparent.trace_id();
    assert!(turn.traceparent.as_deref().is_some_and(|trace| trace.contains(trace_id)));
    let (status, _, result) = read(&outcome);
    assert_eq!((status, &result["agent_turn_id"]), ("success", &json!(turn.turn_id)));
}

#[tokio::test]
async fn a_command_that_is_repeated_after_a_restart_starts_nothing_new() {
    let mut harness = harness().await;
    let call = prepare(&harness, "delegate_async", &task("weed"), "0").await;
    let first = harness.send(&call).await;
    harness.next_turn().await;
    if let Some(pmo) = harness.pmo.take() {
        pmo.shutdown().await;
    }
    // Its ledger was in memory, so the new one asks for the turn again.
    let mut reports = harness.subscribe(&format!("l0.v1.{PROJECT}.*.report")).await;
    let pmo = Pmo::start(PmoConfig::new(harness.url())).await.expect("a PMO");
    harness.caller.publish(&call).await.expect("no error");
    let report = within("report", reports.next()).await.expect("an open subscription");
    let report: Value = serde_json::from_slice(&report.payload).expect("JSON");
    assert_eq!(report["payload"]["tool_result_card_id"], first.card["card_id"]);
    assert_eq!(report["payload"]["status"], "success");
    assert!(harness.has_no_turn());
    pmo.shutdown().await;
}

#[tokio::test]
async fn no_turn_starts_at_the_maximum() {
    let mut harness = harness().await;
    for (depth, starts) in [("18", true), ("19", false), ("20", false), ("25", false)] {
        for (built_in, arguments) in [
            ("delegate_async", task("weed")),
            ("launch_principal", json!({"profile_name": "weeder", "instruction": "weed"})),
        ] {
            let outcome = harness.send(&prepare(&harness, built_in, &arguments, depth).await).await;
            let (status, code, _) = read(&outcome);
            if starts {
                assert_eq!(status, "success");
                assert_eq!(header(&harness.next_turn().await, DEPTH), Some("19"));
            } else {
                assert_eq!((status, code), ("failed", "recursion_depth_exceeded"), "{built_in} at {depth}");
            }
        }
    }
    let waiting = prepare(&harness, "fork_join", &json!({"tasks": [task("weed")]}), "19").await;
    assert_eq!(read(&harness.send(&waiting).await).1, "recursion_depth_exceeded");
    assert!(harness.has_no_turn());
    // What starts no turn may be called at any depth.
    let provision = json!({"action": "ensure", "agent_id": AGENT});
    assert_eq!(
        read(&harness.send(&prepare(&harness, "provision_agent", &provision, "25").await).await).0,
        "success"
    );
}

#[tokio::test]
async fn children_end_by_what_their_events_headers_say() {
    let harness = harness().await;
    let arguments = json!({"tasks": [task("weed"), task("water")]});
    let call = prepare(&harness, "fork_join", &arguments, "0").await;
    let ends = async {
        let turns = [harness.next_turn().await, harness.next_turn().await];
        assert_ne!(turns[0].turn_id, turns[1].turn_id);
        for turn in turns {
            let mut sent = async_nats::HeaderMap::new();
            sent.insert(headers::AGENT_ID, AGENT);
            sent.insert(headers::TURN_ID, turn.turn_id.as_str());
            let subject = format!("cg.v1r4.{PROJECT}.{CHANNEL}.evt.agent.{AGENT}.task");
            let event = json!({"status": "success", "deliverable_card_id": null}).to_string();
            harness.client.publish_with_headers(subject, sent, event.into()).await.expect("no error");
        }
    };
    let (outcome, ()) = tokio::join!(harness.send(&call), ends);
    let (status, _, result) = read(&outcome);
    assert_eq!(status, "success");
    assert_eq!(result["tasks"][1]["status"], "success");
}

#[tokio::test]
async fn a_built_in_needs_its_step_from_the_header() {
    let harness = harness().await;
    let mut call = prepare(&harness, "delegate_async", &task("weed"), "0").await;
    call.sent.remove(headers::STEP_ID);
    let outcome = harness.send(&call).await;
    assert_eq!(read(&outcome).0, "failed");
    let mut call = prepare(&harness, "delegate_async", &task("weed"), "0").await;
    call.command["step_id"] = json!("step");
    assert_eq!(read(&harness.send(&call).await).1, "protocol_violation");
}
