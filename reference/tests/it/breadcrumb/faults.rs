//! Whatever is wrong with a request, a tool or a configuration is one error under its id, and the runner goes on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callmark_reference::breadcrumb::store::{StoreConfig, StoredSecret};
use callmark_reference::breadcrumb::tool::ToolFailure;
use callmark_reference::secret::Secret;
use serde_json::{Value, json};

use super::support::{Scene, function, memo, request};

#[tokio::test]
async fn a_faulty_request_is_an_error_under_its_id_and_the_next_one_is_served() {
    let mut scene = Scene::new().await;
    let mut check = async |faulty: Value, tool: &str, part: &str| {
        scene.invoke(json!([faulty])).await;
        let response = scene.response().await;
        assert_eq!(response["request_id"], json!("f-1"), "{response}");
        assert_eq!((&response["tool"], &response["status"]), (&json!(tool), &json!("error")), "{response}");
        let error = response["error"].as_str().expect("a text");
        assert!(error.contains(part), "{error}");
        assert!(response.get("output").is_none());
        let echo = scene.output("echo", json!({"message": "still there"})).await;
        assert_eq!(echo, json!({"echo": "still there"}));
    };
    check(request("f-1", "no-such-tool", json!({}), true), "no-such-tool", "there is no tool").await;
    check(request("f-1", "Calculator", json!({"expression": "1+1"}), true), "Calculator", "`calculator`")
        .await;
    check(request("f-1", "calculator", json!({}), true), "calculator", "expression").await;
    check(request("f-1", "calculator", json!({"expression": "1 +"}), true), "calculator", "complete").await;
    check(request("f-1", "timer", json!({"seconds": "two"}), true), "timer", "seconds").await;
    check(request("f-1", "timer", json!({"seconds": 301}), true), "timer", "seconds").await;
    check(request("f-1", "echo", json!("x"), true), "echo", "`input`").await;
    check(json!({"tool": "echo", "requestId": "f-1", "return_to_llm": true}), "echo", "`input`").await;
    check(json!({"input": {}, "requestId": "f-1", "return_to_llm": true}), "", "`tool`").await;
    check(
        request("f-1", "breadcrumb-update", json!({"breadcrumb_id": "x", "updates": {}}), true),
        "breadcrumb-update",
        "no breadcrumb",
    )
    .await;
    scene.end().await;
}

#[tokio::test]
async fn what_has_no_id_is_passed_over_and_its_siblings_are_served() {
    let mut scene = Scene::new().await;
    scene.client.create(&memo("no invocation", &["agent:response"])).await.expect("an id");
    scene.invoke(json!("nothing")).await;
    scene.invoke(json!([])).await;
    scene
        .invoke(json!([
            {"tool": "echo", "input": {"message": "nameless"}, "return_to_llm": true},
            "nonsense",
            request("bad-1", "calculator", json!({"expression": "?"}), true),
            request("good-1", "echo", json!({"message": "x"}), true),
        ]))
        .await;
    let mut ids =
        vec![scene.response().await["request_id"].clone(), scene.response().await["request_id"].clone()];
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!("bad-1"), json!("good-1")]);
    let last = scene.call("echo", json!({"message": "y"})).await;
    assert_eq!(last["request_id"], json!("call-1"));
    scene.end().await;
}

#[tokio::test]
async fn a_tool_that_misbehaves_is_an_error_like_others() {
    let more = vec![
        function("panics", async |_| panic!("on purpose")),
        function("hangs", async |_| std::future::pending().await),
        function("mumbles", async |_| Ok(json!("no object"))),
        function("floods", async |_| Ok(json!({"text": "x".repeat(2_000_000)}))),
        function("fails", async |_| Err(ToolFailure::new("out of rope"))),
    ];
    let mut scene = Scene::with(StoreConfig::new(), more, |config| {
        config.deadline = Duration::from_millis(200);
    })
    .await;
    for (tool, error) in [
        ("panics", "`panics` broke down"),
        ("hangs", "`hangs` took longer than 200ms"),
        ("mumbles", "`mumbles` gave an output that is no object"),
        ("floods", "the output is too long for an answer"),
        ("fails", "out of rope"),
    ] {
        let response = scene.call(tool, json!({})).await;
        assert_eq!((&response["status"], &response["error"]), (&json!("error"), &json!(error)), "{tool}");
    }
    scene.output("random", json!({})).await;
    scene.end().await;
}

#[tokio::test]
async fn a_configuration_is_the_one_that_is_named() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keys = Arc::clone(&seen);
    let spy = function("spy", move |call| {
        let keys = Arc::clone(&keys);
        async move {
            let config = call.config;
            let key =
                config.as_ref().and_then(|config| config.key.as_ref()).map(|key| key.expose().to_owned());
            keys.lock().expect("keys").push(key);
            Ok(config.map_or(json!({}), |config| json!({"model": config.model, "settings": config.settings})))
        }
    });
    let mut store = StoreConfig::new();
    let secret = |id: &str, value: &str| StoredSecret {
        id: id.to_owned(),
        name: id.to_owned(),
        value: Secret::from(value),
    };
    store.secrets = vec![secret("sec-a", "key-of-a"), secret("sec-b", "key-of-b")];
    let logged = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&logged);
    let mut scene = Scene::with(store, vec![spy], |config| {
        config.log = Arc::new(move |line: &str| log.lock().expect("a log").push_str(line));
    })
    .await;
    let put = async |scene: &Scene, schema_name: &str, tool: &str, secret: &str| {
        let context = json!({"toolName": tool, "config": {
            "apiKeySecretId": secret, "defaultModel": "m-quartz", "temperature": 0.2, "maxTokens": 17,
        }});
        let breadcrumb =
            json!({"schema_name": schema_name, "title": "t", "tags": ["tool:config"], "context": context});
        scene.client.create(&breadcrumb).await.expect("an id")
    };
    let named = put(&scene, "tool.config.v1", "spy", "sec-b").await;
    let note = put(&scene, "note.v1", "spy", "sec-a").await;
    let of_others = put(&scene, "tool.config.v1", "echo", "sec-a").await;
    let lost_key = put(&scene, "tool.config.v1", "spy", "sec-c").await;
    let mut call = async |config_id: Value| {
        let mut request = request("s-1", "spy", json!({}), true);
        request["config_id"] = config_id;
        scene.invoke(json!([request])).await;
        scene.response().await
    };
    let response = call(json!(named)).await;
    assert_eq!(response["output"]["model"], json!("m-quartz"));
    assert_eq!(response["output"]["settings"], json!({"temperature": 0.2, "maxTokens": 17}));
    for id in [
        json!(note),
        json!(of_others),
        json!(lost_key),
        json!("3f0c1b6e-5d1a-4c0e-9a58-0b6d2b1f7e11"),
        json!(7),
    ] {
        let response = call(id.clone()).await;
        assert_eq!(response["status"], json!("error"), "{id}");
        assert!(!response.to_string().contains("key-of"), "{response}");
    }
    assert_eq!(call(Value::Null).await["output"], json!({}));
    assert_eq!(*seen.lock().expect("keys"), [Some("key-of-b".to_owned()), None]);
    assert!(!logged.lock().expect("a log").contains("key-of"));
    scene.end().await;
}
