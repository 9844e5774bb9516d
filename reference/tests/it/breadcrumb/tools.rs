//! The tools against a store: their outputs, and that these satisfy the schemas that the catalogue publishes.

use std::time::{Duration, Instant};

use callmark_reference::breadcrumb::tool::ToolCall;
use callmark_reference::breadcrumb::tools;
use serde_json::json;

use super::support::{Scene, memo};

#[tokio::test]
async fn the_utilities_answer_in_their_form() {
    let mut scene = Scene::new().await;
    assert_eq!(scene.output("calculator", json!({"expression": "(7 + 5) / 3"})).await, json!({"result": 4}));
    let message = "ünïcode \"quoted\" ${not.a.var} 漢字\n\u{0}";
    assert_eq!(scene.output("echo", json!({"message": message})).await, json!({"echo": message}));
    let numbers = scene.output("random", json!({"min": 3, "max": 9, "count": 2})).await;
    let numbers = numbers["numbers"].as_array().expect("numbers");
    assert!(
        numbers.len() == 2 && numbers.iter().all(|number| (3..=9).contains(&number.as_i64().unwrap_or(0)))
    );
    let started = Instant::now();
    assert_eq!(scene.output("timer", json!({"seconds": 1})).await, json!({"waited": 1}));
    assert!(started.elapsed() >= Duration::from_secs(1));
    scene.end().await;
}

#[tokio::test]
async fn breadcrumbs_are_created_updated_and_found() {
    let mut scene = Scene::new().await;
    let input = json!({"schema_name": "memo.v1", "title": "Pump log", "tags": ["pump"], "context": {"text": "leaks"}});
    let created = scene.output("breadcrumb-create", input).await;
    assert_eq!(created["success"], json!(true));
    let id = created["id"].as_str().expect("an id").to_owned();
    assert_eq!(scene.client.full(&id).await.expect("a breadcrumb").title, "Pump log");

    let update = json!({"breadcrumb_id": id, "updates": {"title": "Pump log 2"}, "version": 1});
    let updated = scene.output("breadcrumb-update", update.clone()).await;
    assert_eq!(updated, json!({"id": id, "success": true, "new_version": 2}));
    let stale = scene.call("breadcrumb-update", update).await;
    assert!(stale["error"].as_str().is_some_and(|text| text.contains("another version")), "{stale}");

    scene.client.create(&memo("Anchor", &["anchor"])).await.expect("an id");
    let found = scene.output("breadcrumb-search", json!({"tag": "pump", "limit": 5})).await;
    assert_eq!(found["count"], json!(1));
    assert_eq!(
        found["breadcrumbs"][0],
        json!({
            "id": id, "title": "Pump log 2", "tags": ["pump"], "schema_name": "memo.v1", "version": 2,
            "context": {"text": "leaks"},
        })
    );
    assert_eq!(
        scene.output("breadcrumb-search", json!({"query": "leaks", "schema_name": "memo.v1"})).await["count"],
        json!(1)
    );
    assert_eq!(scene.output("breadcrumb-search", json!({"schema_name": "memo.v1"})).await["count"], json!(2));
    let none = scene.output("breadcrumb-search", json!({"tag": "sextant"})).await;
    assert_eq!(none, json!({"breadcrumbs": [], "count": 0}));
    scene.end().await;
}

#[tokio::test]
async fn outputs_satisfy_their_schemas() {
    let scene = Scene::new().await;
    let id = scene.client.create(&memo("t", &["t"])).await.expect("an id");
    let catalog = tools::catalog(&scene.client, []).expect("a catalogue");
    for (name, input) in [
        ("calculator", json!({"expression": "1 / 8"})),
        ("random", json!({"min": 0.5})),
        ("echo", json!({"message": ""})),
        ("timer", json!({"seconds": 0})),
        ("breadcrumb-create", json!({"title": "u"})),
        ("breadcrumb-update", json!({"breadcrumb_id": id, "updates": {"tags": []}})),
        ("breadcrumb-search", json!({})),
        ("workflow", json!({"steps": [{"id": "a", "tool": "random"}, {"id": "b", "tool": "echo"}]})),
    ] {
        let input = input.as_object().expect("an object").clone();
        let tool = catalog.admit(name, &input).expect("an input");
        let output = tool.run(ToolCall::new(input)).await.expect("an output");
        let schema = &tool.definition().output_schema;
        let fault = jsonschema::validate(schema, &output).err().map(|fault| fault.to_string());
        assert_eq!(fault, None, "{name}: {output}");
    }
    scene.end().await;
}
