//! Which requests are executed, how often, and where the results go.

use std::time::{Duration, Instant};

use callmark_reference::breadcrumb::client::ListQuery;
use callmark_reference::breadcrumb::runner::{Runner, RunnerConfig};
use callmark_reference::breadcrumb::store::StoreConfig;
use callmark_reference::breadcrumb::tools;
use serde_json::{Value, json};

use super::support::{Scene, request, store};

#[tokio::test]
async fn a_result_goes_where_its_request_says() {
    let mut scene = Scene::new().await;
    let requests = json!([
        request("a-1", "echo", json!({"message": "for the agent"}), true),
        request("b-1", "echo", json!({"message": "for the user"}), false),
    ]);
    scene.invoke(requests).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(scene.next().await);
    }
    seen.sort_by_key(|event| (event.schema_name.clone(), event.context["request_id"].to_string()));
    let [shown, for_agent, record] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(shown.schema_name.as_deref(), Some("agent.response.v1"));
    assert_eq!(shown.context["message"], json!("for the user"));
    assert_eq!(shown.context["result"], json!({"echo": "for the user"}));
    assert_eq!(shown.tags, ["agent:response", "tool:result", "session:s1"]);
    assert_eq!(for_agent.tags, ["tool:response", "request:a-1", "workspace:tools", "session:s1"]);
    let context = Value::Object(for_agent.context.clone());
    assert_eq!(
        (&context["request_id"], &context["tool"], &context["status"], &context["output"]),
        (&json!("a-1"), &json!("echo"), &json!("success"), &json!({"echo": "for the agent"}))
    );
    assert_eq!(record.context["output"], json!({"echo": "for the user"}));
    scene.end().await;
}

#[tokio::test]
async fn a_failure_that_the_user_waits_for_is_reported_to_the_user() {
    let mut scene = Scene::new().await;
    scene.invoke(json!([request("c-1", "calculator", json!({"expression": "1 / 0"}), false)])).await;
    let record = scene.next().await;
    assert_eq!(record.context["status"], json!("error"));
    let shown = scene.next().await;
    assert_eq!(shown.schema_name.as_deref(), Some("agent.response.v1"));
    assert_eq!(shown.context["message"], json!("The tool `calculator` failed: division by zero"));
    assert!(!shown.context.contains_key("result"));
    scene.end().await;
}

#[tokio::test]
async fn a_tool_request_is_answered_too() {
    let mut scene = Scene::new().await;
    let put = |tags: Value, id: &str| {
        json!({
            "schema_name": "tool.request.v1", "title": "t", "tags": tags,
            "context": {"tool": "echo", "input": {"message": "x"}, "requestId": id, "requestedBy": "a"},
        })
    };
    scene.client.create(&put(json!(["tool:request", "workspace:others"]), "r-1")).await.expect("an id");
    scene
        .client
        .create(&put(json!(["tool:request", "workspace:tools", "session:s2"]), "r-2"))
        .await
        .expect("an id");
    let event = scene.next().await;
    assert_eq!(event.context["request_id"], json!("r-2"));
    assert!(event.has_tag("session:s2"));
    scene.end().await;
}

#[tokio::test]
async fn requests_of_a_message_run_at_the_same_time() {
    let mut scene = Scene::new().await;
    let started = Instant::now();
    let timer = |id: &str| request(id, "timer", json!({"seconds": 0.5}), true);
    scene.invoke(json!([timer("t-1"), timer("t-2"), timer("t-3"), timer("t-4")])).await;
    for _ in 0..4 {
        assert_eq!(scene.response().await["output"], json!({"waited": 0.5}));
    }
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_millis(1500), "{took:?}");
    scene.end().await;
}

#[tokio::test]
async fn an_invocation_is_executed_once_however_often_it_changes() {
    let mut scene = Scene::new().await;
    let id = scene.invoke(json!([request("a-1", "random", json!({}), true)])).await;
    assert_eq!(scene.response().await["request_id"], json!("a-1"));
    scene.client.patch(&id, &json!({"title": "changed"}), None).await.expect("a change");
    let again = json!({"context": {"tool_requests": [request("a-2", "random", json!({}), true)]}});
    scene.client.patch(&id, &again, None).await.expect("a change");
    scene.invoke(json!([request("b-1", "echo", json!({"message": "x"}), true)])).await;
    assert_eq!(scene.response().await["request_id"], json!("b-1"));
    scene.end().await;
}

#[tokio::test]
async fn an_invocation_that_was_answered_before_the_runner_came_is_not_run_again() {
    let mut scene = Scene::new().await;
    let id = scene.invoke(json!([request("a-1", "random", json!({}), true)])).await;
    scene.response().await;
    let catalog = tools::catalog(&scene.client, []).expect("a catalogue");
    let next = Runner::start(RunnerConfig::new(scene.store.url(), catalog)).await.expect("a runner");
    std::mem::replace(&mut scene.runner, next).shutdown().await;
    scene.client.patch(&id, &json!({"title": "changed"}), None).await.expect("a change");
    scene.invoke(json!([request("b-1", "echo", json!({"message": "x"}), true)])).await;
    assert_eq!(scene.response().await["request_id"], json!("b-1"));
    let query = ListQuery { tag: Some("request:a-1".to_owned()), ..ListQuery::default() };
    assert_eq!(scene.client.list(&query).await.expect("a list").len(), 1);
    scene.end().await;
}

#[tokio::test]
async fn the_catalogue_is_one_breadcrumb_however_often_runners_start() {
    let (server, client) = store(StoreConfig::new()).await;
    let query = ListQuery { schema_name: Some("tool.catalog.v1".to_owned()), ..ListQuery::default() };
    for (extra, version) in [(false, 1), (false, 1), (true, 2)] {
        let more = extra.then(|| super::support::function("extra", async |_| Ok(json!({}))));
        let catalog = tools::catalog(&client, more).expect("a catalogue");
        let runner = Runner::start(RunnerConfig::new(server.url(), catalog)).await.expect("a runner");
        let found = client.list(&query).await.expect("a list");
        let [published] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(published.version, version);
        assert!(published.has_tag("workspace:tools") && published.has_tag("tool:catalog"));
        let tools = published.context["tools"].as_array().expect("tools");
        assert_eq!(tools.len(), if extra { 9 } else { 8 });
        for tool in tools {
            for member in ["name", "description", "category"] {
                assert!(tool[member].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
            }
            assert!(tool["input_schema"].is_object() && tool["output_schema"].is_object(), "{tool}");
        }
        runner.shutdown().await;
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_runner_waits_for_open_calls_when_it_ends() {
    let mut scene = Scene::new().await;
    scene
        .invoke(json!([
            request("e-1", "echo", json!({"message": "x"}), true),
            request("t-1", "timer", json!({"seconds": 0.3}), true),
        ]))
        .await;
    assert_eq!(scene.response().await["request_id"], json!("e-1"));
    let catalog = tools::catalog(&scene.client, []).expect("a catalogue");
    let next = Runner::start(RunnerConfig::new(scene.store.url(), catalog)).await.expect("a runner");
    std::mem::replace(&mut scene.runner, next).shutdown().await;
    let query = ListQuery { tag: Some("request:t-1".to_owned()), ..ListQuery::default() };
    assert_eq!(scene.client.list(&query).await.expect("a list").len(), 1);
    scene.end().await;
}
