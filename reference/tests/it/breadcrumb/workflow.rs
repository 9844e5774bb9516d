//! The workflow as a tool among others: one answer, outputs by step, faults by name.

use std::time::{Duration, Instant};

use callmark_reference::breadcrumb::client::ListQuery;
use callmark_reference::breadcrumb::store::StoreConfig;
use serde_json::{Value, json};

use super::support::{Scene, function};

#[tokio::test]
async fn steps_use_outputs_of_earlier_ones_whatever_their_order() {
    let mut scene = Scene::new().await;
    let output = scene
        .output("workflow", json!({"steps": [
            {"id": "report", "tool": "echo", "input": {"message": "${sum.result} of ${draw.numbers[0]}"}, "dependencies": ["sum", "draw"]},
            {"id": "sum", "tool": "calculator", "input": {"expression": "${draw.numbers[0]} + 9"}, "dependencies": ["draw"]},
            {"id": "text", "tool": "echo", "input": {"message": "${draw.numbers[0]}"}},
            {"id": "draw", "tool": "random", "input": {"min": 33, "max": 33}},
        ]}))
        .await;
    assert_eq!(
        output["results"],
        json!({
            "report": {"echo": "42 of 33"}, "sum": {"result": 42}, "text": {"echo": "33"}, "draw": {"numbers": [33]},
        })
    );
    assert_eq!(output["executionOrder"], json!(["draw", "sum", "text", "report"]));
    assert_eq!(output.get("errors"), None);
    let query = ListQuery { schema_name: Some("tool.response.v1".to_owned()), ..ListQuery::default() };
    let answers = scene.client.list(&query).await.expect("a list");
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].context["tool"], json!("workflow"));
    scene.end().await;
}

#[tokio::test]
async fn independent_steps_run_at_the_same_time_and_dependents_wait() {
    let mut scene = Scene::new().await;
    let started = Instant::now();
    let timer = |id: &str| json!({"id": id, "tool": "timer", "input": {"seconds": 0.5}});
    let steps: Vec<Value> = (0..8).map(|number| timer(&format!("t{number}"))).collect();
    let output = scene.output("workflow", json!({"steps": steps})).await;
    assert_eq!(output["results"].as_object().map(serde_json::Map::len), Some(8));
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_millis(1500), "{took:?}");
    scene.end().await;
}

#[tokio::test]
async fn a_step_that_fails_is_named_and_its_dependents_do_not_run() {
    let spy = function("spy", async |call| Ok(json!({"got": call.input})));
    let panics = function("panics", async |_| panic!("on purpose"));
    let mut scene = Scene::with(StoreConfig::new(), vec![spy, panics], |_| {}).await;
    let output = scene
        .output(
            "workflow",
            json!({"steps": [
                {"id": "bad", "tool": "calculator", "input": {"expression": "1 +"}},
                {"id": "after", "tool": "spy", "input": {"v": "${bad.result}"}, "dependencies": ["bad"]},
                {"id": "typo", "tool": "spy", "input": {"v": "${good.nothing}"}, "dependencies": ["good"]},
                {"id": "open", "tool": "spy", "input": {"v": "${good"}},
                {"id": "worse", "tool": "panics"},
                {"id": "short", "tool": "echo", "input": {}},
                {"id": "good", "tool": "spy", "input": {"v": [1]}},
            ]}),
        )
        .await;
    assert_eq!(output["results"], json!({"good": {"got": {"v": [1]}}}));
    let errors = output["errors"].as_object().expect("errors");
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["bad", "after", "typo", "open", "worse", "short"]);
    assert!(errors["after"].as_str().is_some_and(|text| text.contains("`bad`")));
    assert!(errors["typo"].as_str().is_some_and(|text| text.contains("good.nothing")));
    scene.end().await;
}

#[tokio::test]
async fn what_cannot_be_planned_is_an_error_that_names_it() {
    let mut scene = Scene::new().await;
    let mut check = async |steps: Value, part: &str| {
        let response = scene.call("workflow", json!({"steps": steps})).await;
        assert_eq!(response["status"], json!("error"), "{response}");
        assert!(response["error"].as_str().is_some_and(|text| text.contains(part)), "{response}");
    };
    check(json!([]), "no steps").await;
    check(json!("steps"), "steps").await;
    check(json!([{"id": "a", "tool": "nothing"}]), "`nothing`").await;
    check(json!([{"id": "a", "tool": "workflow"}]), "`a`").await;
    check(json!([{"id": "a", "tool": "echo", "dependencies": ["b"]}]), "`b`").await;
    check(
        json!([{"id": "a", "tool": "echo", "dependencies": ["b"]}, {"id": "b", "tool": "echo", "dependencies": ["a"]}]),
        "`a`, `b`",
    )
    .await;
    check(json!([{"id": "a", "tool": "random"}, {"id": "a", "tool": "random"}]), "two steps `a`").await;
    scene.end().await;
}
