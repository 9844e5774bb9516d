//! Whole turns: suspend, terminate, overrides, several calls, submit_result, built-ins, what models do wrong.

use callmark_reference::utp::message::{AfterExecution, RosterRow, Status};
use serde_json::{Value, json};

use super::support::{
    AGENT, CHANNEL, Harness, PROJECT, calls, json_of, row, success, suspending, terminating, trace_id, within,
};
use futures::StreamExt as _;

#[tokio::test]
async fn a_suspending_call_brings_the_model_its_result() {
    let mut harness =
        Harness::start(vec![suspending("tides")], vec![calls(&[("call_1", "tides", "{\"n\":1}")])]).await;
    let receipt = harness.start_turn("turn_1").await;
    assert_eq!(receipt, json!({"agent_id": AGENT, "agent_turn_id": "turn_1", "turn_epoch": 1}));
    let command = harness.command().await;
    assert_eq!(command.message.subject.as_str(), format!("cg.v1r3.{PROJECT}.{CHANNEL}.cmd.tool.svc.tides"));
    for (member, value) in [
        ("agent_id", AGENT),
        ("agent_turn_id", "turn_1"),
        ("tool_call_id", "call_1"),
        ("after_execution", "suspend"),
        ("tool_name", "tides"),
        ("context_box_id", "box_12"),
    ] {
        assert_eq!(command.body[member], value, "{member}");
    }
    for inline in ["args", "arguments", "result", "params"] {
        assert_eq!(command.body.get(inline), None);
    }
    assert_eq!(command.card["content"]["__type__"], "ToolCallContent");
    assert_eq!(command.card["content"]["arguments"], json!({"n": 1}));
    let metadata = &command.card["metadata"];
    assert_eq!(metadata["trace_id"], trace_id());
    assert_eq!(metadata["parent_step_id"], "step_p");
    assert_eq!(metadata["step_id"], command.body["step_id"]);
    let headers = command.message.headers.as_ref().expect("headers");
    let traceparent = headers.get("traceparent").expect("a trace").as_str();
    assert!(traceparent.contains(trace_id()) && !traceparent.contains("00c1d2e3f4a5b6c7"));
    assert_eq!(headers.get("tracestate").expect("a state").as_str(), "vendor=1");
    assert_eq!(headers.get("CG-Recursion-Depth").expect("a depth").as_str(), "1");

    let receipt = harness.answer(&command, success(json!({"high_water": ["04:12"]}))).await;
    assert_eq!(receipt["duplicate"], false);
    let wakeup = within("wakeup", harness.wakeups.next()).await.expect("a wakeup");
    assert!(wakeup.subject.ends_with(".cmd.agent.pool_blue.wakeup"));
    assert_eq!(json_of(&wakeup), json!({"agent_id": AGENT}));
    let (event, deliverable) = harness.ended().await;
    assert_eq!((event.status, event.error), (Status::Success, None));
    let deliverable = deliverable.expect("a deliverable");
    assert_eq!(deliverable["content"]["text"], "done");
    assert_eq!(deliverable["type"], "task.deliverable");
    assert_eq!(deliverable["metadata"]["agent_turn_id"], "turn_1");
    assert_eq!(harness.tool_message("call_1"), json!({"high_water": ["04:12"]}));
    let roles: Vec<Value> = harness.last_messages().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert!(harness.last_messages()[1]["content"].as_str().expect("text").contains("token-9"));

    let records = harness.records().await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["payload"]["step_id"], command.body["step_id"]);
    let recorded = records[0]["traceparent"].as_str().expect("a trace");
    assert!(recorded.contains(trace_id()) && !recorded.contains("00c1d2e3f4a5b6c7"));

    // Asked for again, the turn is not begun again.
    let again = harness.start_turn("turn_1").await;
    assert_eq!(again["agent_turn_id"], "turn_1");
    assert!(harness.no_command());
    assert_eq!(harness.script.requests().len(), 2);
}

#[tokio::test]
async fn a_terminating_call_ends_the_turn_with_its_result() {
    let mut harness =
        Harness::start(vec![terminating("tides")], vec![calls(&[("call_1", "tides", "{}")])]).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    assert_eq!(command.body["after_execution"], "terminate");
    let mut content = success(json!({"high_water": []}));
    content["after_execution"] = json!("terminate");
    content["status"] = json!("failed");
    content["error"] = json!({"code": "quota", "message": "m-88"});
    let card = super::support::result_card(&command, content);
    harness.save(&card).await;
    // The callback claims a success: the card says otherwise, and the card counts.
    let mut payload = super::support::callback(&command, &card);
    payload["status"] = json!("success");
    payload["result"] = json!({"high_water": ["inline"]});
    harness.report(&payload).await;
    let (event, deliverable) = harness.ended().await;
    assert_eq!(event.status, Status::Failed);
    assert_eq!(event.error, Some(json!({"code": "quota", "message": "m-88"})));
    assert_eq!(event.tool_result_card_id.as_deref(), card["card_id"].as_str());
    assert_eq!(deliverable.expect("a deliverable")["content"]["result"], json!({"high_water": []}));
    assert_eq!(harness.script.requests().len(), 1);
}

#[tokio::test]
async fn a_valid_override_decides_and_no_other() {
    // The registered value, the control object, and whether the model is asked again.
    let cases = [
        ("suspend", json!({"after_execution": "terminate"}), false),
        ("terminate", json!({"after_execution": "suspend"}), true),
        ("suspend", json!({"after_execution": "pause"}), true),
        ("terminate", json!({"after_execution": ["suspend"]}), false),
        ("terminate", json!("suspend"), false),
    ];
    for (base, control, asked_again) in cases {
        let after_execution = AfterExecution::parse(base).expect("one of the two");
        let tool = row("tides", after_execution, json!({}));
        let mut harness = Harness::start(vec![tool], vec![calls(&[("call_1", "tides", "{}")])]).await;
        harness.start_turn("turn_1").await;
        let command = harness.command().await;
        let mut content = success(json!({"k": 1, "__cg_control": control}));
        content["after_execution"] = json!(base);
        harness.answer(&command, content).await;
        let (event, _) = harness.ended().await;
        assert_eq!(event.status, Status::Success);
        assert_eq!(harness.script.requests().len() == 2, asked_again, "{base} {control}");
        assert_eq!(harness.records().await[0]["payload"]["after_execution"], base);
    }
}

#[tokio::test]
async fn a_suspending_result_does_not_end_a_turn_that_waits_for_more() {
    let answer = calls(&[("call_a", "stop", "{}"), ("call_b", "tides", "{}")]);
    let mut harness = Harness::start(vec![suspending("tides"), terminating("stop")], vec![answer]).await;
    harness.start_turn("turn_1").await;
    let (first, second) = (harness.command().await, harness.command().await);
    harness.answer(&second, success(json!({"b": 1}))).await;
    // Duplicates change nothing, whatever else is in them.
    let mut again = super::support::callback(&second, &super::support::result_card(&second, json!({})));
    again["status"] = json!("failed");
    again["x_future"] = json!(1);
    assert_eq!(harness.report(&again).await["duplicate"], true);
    assert_eq!(harness.script.requests().len(), 1);
    let mut content = success(json!({"a": 1}));
    content["after_execution"] = json!("terminate");
    harness.answer(&first, content).await;
    let (event, deliverable) = harness.ended().await;
    assert_eq!(event.status, Status::Success);
    assert_eq!(deliverable.expect("a deliverable")["content"]["result"], json!({"a": 1}));
    assert_eq!(harness.script.requests().len(), 1);
}

#[tokio::test]
async fn two_results_reach_the_model_once_each() {
    let answer = calls(&[("call_a", "tides", "{\"n\":1}"), ("call_b", "tides", "{\"n\":2}")]);
    let mut harness = Harness::start(vec![suspending("tides")], vec![answer]).await;
    harness.start_turn("turn_1").await;
    let (first, second) = (harness.command().await, harness.command().await);
    harness.answer(&second, success(json!({"b": 1}))).await;
    let mut partial = success(json!({"a": 1}));
    partial["status"] = json!("partial");
    harness.answer(&first, partial).await;
    harness.ended().await;
    assert_eq!(harness.script.requests().len(), 2);
    assert_eq!(harness.tool_message("call_a"), json!({"status": "partial", "result": {"a": 1}}));
    assert_eq!(harness.tool_message("call_b"), json!({"b": 1}));
}

#[tokio::test]
async fn the_same_call_id_in_another_turn_is_another_call() {
    let answers = vec![
        calls(&[("x", "tides", "{\"n\":1}")]),
        json!({"content": "one"}),
        calls(&[("x", "tides", "{\"n\":2}")]),
    ];
    let mut harness = Harness::start(vec![suspending("tides")], answers).await;
    for (turn, number) in [("turn_1", 1), ("turn_2", 2)] {
        harness.start_turn(turn).await;
        let command = harness.command().await;
        assert_eq!(command.card["content"]["arguments"], json!({"n": number}));
        let receipt = harness.answer(&command, success(json!({"n": number}))).await;
        assert_eq!(receipt["duplicate"], false);
        let (event, _) = harness.ended().await;
        assert_eq!(event.agent_turn_id, turn);
        assert_eq!(harness.tool_message("x"), json!({"n": number}));
    }
}

#[tokio::test]
async fn submit_result_ends_the_turn_and_never_travels() {
    let answer = calls(&[("call_1", "submit_result", "{\"text\":\"all of it\",\"more\":[1]}")]);
    let mut harness = Harness::start(Vec::new(), vec![answer]).await;
    harness.start_turn("turn_1").await;
    let (event, deliverable) = harness.ended().await;
    assert_eq!(event.status, Status::Success);
    assert_eq!(deliverable.expect("a deliverable")["content"], json!({"text": "all of it", "more": [1]}));
    assert!(harness.no_command());
}

#[tokio::test]
async fn a_built_in_gets_its_eight_members_on_its_own_path() {
    let mut tool = suspending("fork_join");
    "cg.v1r3.{project_id}.{channel_id}.cmd.sys.pmo.internal.fork_join".clone_into(&mut tool.target_subject);
    let mut harness = Harness::start(vec![tool], vec![calls(&[("call_1", "fork_join", "{}")])]).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    let subject = format!("cg.v1r3.{PROJECT}.{CHANNEL}.cmd.sys.pmo.internal.fork_join");
    assert_eq!(command.message.subject.as_str(), subject);
    for member in [
        "agent_id",
        "agent_turn_id",
        "turn_epoch",
        "step_id",
        "tool_call_id",
        "after_execution",
        "tool_call_card_id",
        "tool_name",
    ] {
        assert!(!command.body[member].is_null() && command.body[member] != "", "{member}");
    }
}

#[tokio::test]
async fn what_a_model_gets_wrong_is_reported_to_it() {
    let answers = vec![
        calls(&[("c1", "nothing", "{}"), ("c2", "tides", "{\"n\":"), ("c3", "tides", "[1]")]),
        // An id that was used before, as models that count per answer do.
        calls(&[("c1", "tides", "{}")]),
    ];
    let mut harness = Harness::start(vec![suspending("tides")], answers).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    assert_eq!(command.body["tool_call_id"], "c1_2");
    for call in ["c1", "c2", "c3"] {
        assert_eq!(harness.tool_message(call)["error"]["code"], "bad_request");
    }
    harness.answer(&command, success(json!({"ok": true}))).await;
    harness.ended().await;
    assert_eq!(harness.tool_message("c1_2"), json!({"ok": true}));
}

#[tokio::test]
async fn a_turn_has_an_end_whatever_the_model_does() {
    let endless = vec![calls(&[("c", "nothing", "{}")]); 40];
    let mut harness = Harness::start(Vec::new(), endless).await;
    harness.start_turn("turn_1").await;
    let (event, deliverable) = harness.ended().await;
    assert_eq!((event.status, deliverable), (Status::Failed, None));
    assert_eq!(event.error.expect("a reason")["code"], "too_many_rounds");
    assert_eq!(harness.script.requests().len(), 16);
}

#[tokio::test]
async fn a_wakeup_goes_where_the_roster_says_at_the_moment() {
    let mut harness =
        Harness::start(vec![suspending("tides")], vec![calls(&[("call_1", "tides", "{}")])]).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    harness.shop.put_roster(RosterRow::new(PROJECT, AGENT, "pool_red")).await.expect("no error");
    harness.answer(&command, success(json!(1))).await;
    let wakeup = within("wakeup", harness.wakeups.next()).await.expect("a wakeup");
    assert!(wakeup.subject.ends_with(".cmd.agent.pool_red.wakeup"));
    let (event, _) = harness.ended().await;
    assert_eq!(event.status, Status::Success);
}

#[tokio::test]
async fn a_shutdown_cancels_what_waits() {
    let mut harness =
        Harness::start(vec![suspending("tides")], vec![calls(&[("call_1", "tides", "{}")])]).await;
    harness.start_turn("turn_1").await;
    harness.command().await;
    let runtime = harness.runtime.take().expect("a runtime");
    within("shutdown", runtime.shutdown()).await;
    let (event, deliverable) = harness.ended().await;
    assert_eq!((event.status, deliverable), (Status::Canceled, None));
}

#[tokio::test]
async fn a_request_without_the_two_members_begins_nothing() {
    let harness = Harness::start(Vec::new(), Vec::new()).await;
    let start = format!("{CHANNEL}.turns.start");
    for body in [
        json!({"agent_id": AGENT}),
        json!({"instruction": "x"}),
        json!({"agent_id": "a.b", "instruction": "x"}),
        json!({"agent_id": " ", "instruction": "x"}),
        json!([]),
    ] {
        assert_eq!(harness.request(&start, &body).await["error"]["code"], "bad_request", "{body}");
    }
    assert_eq!(harness.script.requests().len(), 0);
    harness.start_turn("turn_1").await;
    let other = json!({"agent_id": "ag_other", "instruction": "x", "agent_turn_id": "turn_1"});
    assert_eq!(harness.request(&start, &other).await["error"]["code"], "conflict");
    let receipt = harness.request(&start, &json!({"agent_id": AGENT, "instruction": "x"})).await;
    assert!(receipt["agent_turn_id"].as_str().expect("an id").starts_with("turn_"));
}

#[tokio::test]
async fn a_runtime_takes_no_more_turns_than_it_may() {
    let answer = calls(&[("call_1", "tides", "{}")]);
    let mut harness =
        Harness::start_with(vec![suspending("tides")], vec![answer], |config| config.max_turns = 1).await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    assert_eq!(harness.start_turn("turn_2").await["error"]["code"], "busy");
    // The turn that is there is still answered alike.
    assert_eq!(harness.start_turn("turn_1").await["agent_turn_id"], "turn_1");
    harness.answer(&command, success(json!(1))).await;
    assert_eq!(harness.ended().await.0.status, Status::Success);
}

#[tokio::test]
async fn a_model_that_does_not_answer_fails_the_turn() {
    let mut harness = Harness::start_with(Vec::new(), Vec::new(), |config| {
        "http://127.0.0.1:1/v1".clone_into(&mut config.model_url);
    })
    .await;
    harness.start_turn("turn_1").await;
    let (event, deliverable) = harness.ended().await;
    assert_eq!((event.status, deliverable), (Status::Failed, None));
    assert_eq!(event.error.expect("a reason")["code"], "upstream_unavailable");
}
