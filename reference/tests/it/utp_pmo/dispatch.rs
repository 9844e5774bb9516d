//! `delegate_async`, `launch_principal` and `ask_expert`.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{AGENT, Harness, read, task};

#[tokio::test]
async fn each_strategy_finds_its_agent() {
    let harness = Harness::start().await;
    let outcome = harness.call("delegate_async", &task("weed")).await;
    let (status, _, result) = read(&outcome);
    assert_eq!(status, "success");
    let turn = harness.next_turn().await;
    assert_eq!(turn.text("agent_id"), AGENT);
    assert_eq!(result["agent_id"], AGENT);
    assert_eq!(result["agent_turn_id"], turn.request["agent_turn_id"]);
    assert_eq!(result["status"], "dispatched");

    let mut arguments = task("prune");
    arguments["target_strategy"] = json!("clone");
    arguments["context_box_id"] = json!("box_7");
    harness.call("delegate_async", &arguments).await;
    let turn = harness.next_turn().await;
    assert_ne!(turn.text("agent_id"), AGENT);
    assert_eq!(turn.text("context_box_id"), "box_7");
    let row = harness.agent(turn.text("agent_id")).await;
    assert_eq!((&row["worker_target"], &row["profile"]), (&json!("pool_green"), &json!("gardener")));
    assert_eq!(row["metadata"]["tool"], "spade");

    let arguments = json!({"target_strategy": "new", "target_ref": "botanist", "instruction": "name it"});
    harness.call("delegate_async", &arguments).await;
    let turn = harness.next_turn().await;
    let row = harness.agent(turn.text("agent_id")).await;
    assert_eq!((&row["worker_target"], &row["profile"]), (&json!("worker_generic"), &json!("botanist")));
    assert_eq!(row["owner_agent_id"], harness.caller.agent_id());
}

#[tokio::test]
async fn wrong_arguments_start_nothing() {
    let mut harness = Harness::start().await;
    for change in [
        json!({"target_strategy": null}),
        json!({"target_strategy": "borrow"}),
        json!({"target_ref": "ag_nobody"}),
        json!({"target_strategy": "clone", "target_ref": "ag_nobody"}),
        json!({"target_ref": "a.b"}),
        json!({"instruction": ""}),
    ] {
        let mut arguments = task("x");
        for (name, value) in change.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        let outcome = harness.call("delegate_async", &arguments).await;
        assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "bad_request"), "{change}");
    }
    assert!(harness.has_no_turn());
}

#[tokio::test]
async fn a_principal_is_launched() {
    let harness = Harness::start().await;
    let arguments = json!({"profile_name": "principal", "instruction": "run the garden"});
    let outcome = harness.call("launch_principal", &arguments).await;
    let turn = harness.next_turn().await;
    assert_eq!(turn.text("instruction"), "run the garden");
    assert_eq!(read(&outcome).2["agent_id"], turn.request["agent_id"]);
    assert_eq!(harness.agent(turn.text("agent_id")).await["profile"], "principal");
}

/// Asks, ends the expert's turn, and returns status, code and result of the answer.
async fn asked(harness: &Harness, status: &str, text: Option<&str>) -> (String, String, Value) {
    let mut call = harness.prepare("ask_expert", &question()).await;
    call.command["context_box_id"] = json!("box_9");
    let work = async {
        let turn = harness.next_turn().await;
        assert_eq!((turn.text("instruction"), turn.text("context_box_id")), ("which rose", "box_9"));
        // The end of another turn of the agent, and what is none, end nothing.
        let other = json!({"agent_turn_id": "turn_other", "status": "failed"});
        harness.publish(turn.text("agent_id"), &other).await;
        harness.publish(turn.text("agent_id"), &json!("nonsense")).await;
        harness.end(&turn, status, text).await;
    };
    let (outcome, ()) = tokio::join!(harness.send(&call), work);
    let (status, code, result) = read(&outcome);
    (status.to_owned(), code.to_owned(), result.clone())
}

fn question() -> Value {
    json!({"expert_profile": "botanist", "question": "which rose", "include_history": true})
}

#[tokio::test]
async fn an_expert_is_asked_and_answers() {
    let harness = Harness::start().await;
    let (status, _, result) = asked(&harness, "success", Some("a dog rose")).await;
    assert_eq!((status.as_str(), &result["answer"]), ("success", &json!("a dog rose")));
    assert!(result["deliverable_card_id"].is_string() && result["agent_turn_id"].is_string());
    let (status, code, result) = asked(&harness, "partial", Some("a rose")).await;
    assert_eq!((status.as_str(), code.as_str()), ("partial", "incomplete_result"));
    assert_eq!(result["answer"], "a rose");
    for (ending, expect) in [
        ("failed", ("failed", "auth_failed")),
        ("timeout", ("timeout", "tool_timeout")),
        ("canceled", ("canceled", "canceled")),
        ("weird", ("failed", "internal_error")),
    ] {
        let (status, code, _) = asked(&harness, ending, None).await;
        assert_eq!((status.as_str(), code.as_str()), expect, "{ending}");
    }
    let (status, code, _) = asked(&harness, "success", None).await;
    assert_eq!((status.as_str(), code.as_str()), ("partial", "incomplete_result"));
}

#[tokio::test]
async fn an_expert_who_does_not_answer_is_a_timeout() {
    let harness = Harness::start_with(|config| config.child_deadline = Duration::from_millis(50)).await;
    let outcome = harness.call("ask_expert", &question()).await;
    assert_eq!((read(&outcome).0, read(&outcome).1), ("timeout", "tool_timeout"));
}
