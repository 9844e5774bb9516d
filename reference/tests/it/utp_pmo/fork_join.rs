//! `fork_join`: all, the first failure, the deadline.

use callmark_reference::utp::caller::CallOutcome;
use serde_json::{Value, json};

use super::support::{Harness, Started, read, task};

/// Forks, lets `end` end turns, and returns the answer.
async fn forked(
    harness: &Harness,
    arguments: &Value,
    turns: usize,
    end: impl AsyncFnOnce(&Harness, &[Started]),
) -> CallOutcome {
    let call = harness.prepare("fork_join", arguments).await;
    let work = async {
        let mut started = Vec::new();
        for _ in 0..turns {
            started.push(harness.next_turn().await);
        }
        // Requests cross each other; the instructions say which is which.
        started.sort_by_key(|turn| turn.text("instruction").to_owned());
        end(harness, &started).await;
    };
    tokio::join!(harness.send(&call), work).0
}

fn statuses(tasks: &Value) -> Vec<&str> {
    tasks.as_array().expect("tasks").iter().map(|task| task["status"].as_str().expect("a status")).collect()
}

#[tokio::test]
async fn all_tasks_are_waited_for() {
    let mut harness = Harness::start().await;
    let arguments = json!({"tasks": [task("a"), task("b"), task("c")]});
    let outcome = forked(&harness, &arguments, 3, async |harness, turns| {
        for turn in turns.iter().rev() {
            harness.end(turn, "success", Some(turn.text("instruction"))).await;
        }
    })
    .await;
    let (status, _, result) = read(&outcome);
    assert_eq!(status, "success");
    let outputs: Vec<_> =
        result["tasks"].as_array().expect("tasks").iter().map(|task| &task["output"]).collect();
    assert_eq!(outputs, ["a", "b", "c"]);
    assert_eq!(outcome.card["metadata"]["parent_step_id"], "step_root");
    assert!(harness.has_no_turn());
}

#[tokio::test]
async fn a_failed_task_makes_it_partial_and_all_failed_make_it_failed() {
    let harness = Harness::start().await;
    let arguments = json!({"tasks": [task("a"), task("b")]});
    let outcome = forked(&harness, &arguments, 2, async |harness, turns| {
        harness.end(&turns[0], "failed", None).await;
        harness.end(&turns[1], "success", Some("done")).await;
    })
    .await;
    let (status, code, result) = read(&outcome);
    assert_eq!((status, code), ("partial", "incomplete_result"));
    assert_eq!(statuses(&result["tasks"]), ["failed", "success"]);
    assert_eq!(result["tasks"][0]["error"]["code"], "auth_failed");

    let outcome = forked(&harness, &arguments, 2, async |harness, turns| {
        harness.end(&turns[0], "failed", None).await;
        harness.end(&turns[1], "canceled", None).await;
    })
    .await;
    assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "auth_failed"));
    let detail = &outcome.card["content"]["error"]["detail"];
    assert_eq!(statuses(&detail["tasks"]), ["failed", "canceled"]);
}

#[tokio::test]
async fn the_first_failure_ends_it_where_that_is_asked_for() {
    let harness = Harness::start().await;
    let arguments = json!({"tasks": [task("a"), task("b")], "fail_fast": true});
    let outcome = forked(&harness, &arguments, 2, async |harness, turns| {
        harness.end(&turns[1], "failed", None).await;
    })
    .await;
    assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "auth_failed"));
    let detail = &outcome.card["content"]["error"]["detail"];
    assert_eq!(statuses(&detail["tasks"]), ["unfinished", "failed"]);
}

#[tokio::test]
async fn the_deadline_ends_it_with_what_is_there() {
    let harness = Harness::start().await;
    let arguments = json!({"tasks": [task("a")], "deadline_seconds": 0.05});
    let outcome = forked(&harness, &arguments, 1, async |_, _| {}).await;
    assert_eq!((read(&outcome).0, read(&outcome).1), ("timeout", "tool_timeout"));

    // The first is ended before the deadline can come: the wait is long, and the end is reported at once.
    let arguments = json!({"tasks": [task("a"), task("b")], "deadline_seconds": 1.5});
    let outcome = forked(&harness, &arguments, 2, async |harness, turns| {
        harness.end(&turns[0], "success", Some("done")).await;
    })
    .await;
    let (status, code, result) = read(&outcome);
    assert_eq!((status, code), ("partial", "tool_timeout"));
    assert_eq!(statuses(&result["tasks"]), ["success", "unfinished"]);
}

#[tokio::test]
async fn a_task_without_an_agent_starts_none() {
    let mut harness = Harness::start().await;
    let nobody = json!({"target_strategy": "reuse", "target_ref": "ag_nobody", "instruction": "x"});
    let outcome = harness.call("fork_join", &json!({"tasks": [task("a"), nobody]})).await;
    assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "bad_request"));
    assert_eq!(outcome.card["content"]["error"]["detail"]["task"], 1);
    for tasks in [json!([]), json!(vec![task("a"); 17]), json!("tasks")] {
        let outcome = harness.call("fork_join", &json!({ "tasks": tasks })).await;
        assert_eq!(read(&outcome).1, "bad_request");
    }
    assert!(harness.has_no_turn());
}

#[tokio::test]
async fn sixteen_new_agents_work_side_by_side() {
    let harness = Harness::start().await;
    let tasks: Vec<Value> = (0..16)
        .map(|index| json!({"target_strategy": "new", "target_ref": "helper", "instruction": format!("{index:02}")}))
        .collect();
    let outcome = forked(&harness, &json!({ "tasks": tasks }), 16, async |harness, turns| {
        for turn in turns {
            harness.end(turn, "success", Some(turn.text("instruction"))).await;
        }
    })
    .await;
    let tasks = read(&outcome).2["tasks"].as_array().expect("tasks");
    let mut agents: Vec<_> = tasks.iter().map(|task| task["agent_id"].to_string()).collect();
    agents.sort();
    agents.dedup();
    assert_eq!(agents.len(), 16);
    assert_eq!(tasks[11]["output"], "11");
}
