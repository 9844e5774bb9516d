//! What the upstream is asked, and what its answer becomes.

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::support::{Harness, header, search, target};

#[tokio::test]
async fn options_and_arguments_shape_the_request() {
    async fn check(harness: &Harness, options: Value, arguments: Value, expect: &str, body: Value) {
        let request = harness.request_of(&options, &arguments).await;
        assert_eq!(target(&request), expect);
        let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        assert_eq!(sent, body);
        assert_eq!(header(&request, "accept"), Some("application/json"));
    }
    let harness = Harness::start().await;
    let query = || json!({"query": "high water", "n": 3});
    check(&harness, search(&json!({})), query(), "GET s.jina.ai/?n=3&q=high+water", Value::Null).await;
    let base = json!({"base_url": "https://s.jina.ai", "path": "/v9", "method": "GET"});
    check(&harness, search(&base), query(), "GET s.jina.ai/v9?n=3&q=high+water", Value::Null).await;
    let post = json!({"path": "/search", "method": "POST"});
    let body = json!({"n": 3, "q": "high water"});
    check(&harness, search(&post), query(), "POST s.jina.ai/search", body).await;
    let reader = json!({"jina": {"mode": "reader"}});
    let page = json!({"url": "https://example.org/a?b=1"});
    let path = "r.jina.ai/https%3A%2F%2Fexample.org%2Fa%3Fb%3D1";
    check(&harness, reader, page.clone(), &format!("GET {path}"), Value::Null).await;
    let reader = json!({"jina": {"mode": "reader", "method": "POST"}});
    check(&harness, reader, page, &format!("POST {path}"), json!({})).await;
}

#[tokio::test]
async fn an_answer_becomes_a_result() {
    let harness = Harness::start().await;
    let object = json!({"hits": [1], "__cg_control": {"after_execution": "terminate"}});
    harness.answers(ResponseTemplate::new(200).set_body_json(object)).await;
    let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
    let result = &outcome.card["content"]["result"];
    assert_eq!(result["hits"], json!([1]));
    assert!(result["latency_ms"].is_u64());
    assert_eq!(result.get("__cg_control"), None);

    harness.answers(ResponseTemplate::new(200).set_body_string("plain")).await;
    let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
    assert_eq!(outcome.card["content"]["result"]["data"], "plain");
    assert_eq!(outcome.card["metadata"]["function_name"], "jina_search");

    harness.answers(ResponseTemplate::new(200).set_body_string("x".repeat(1024 * 1024))).await;
    let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
    assert_eq!(outcome.card["content"]["status"], "partial");

    harness.answers(ResponseTemplate::new(200).set_body_string("x".repeat(5 * 1024 * 1024))).await;
    let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
    assert_eq!(outcome.card["content"]["error"]["code"], "internal_error");
}

#[tokio::test]
async fn a_repeated_command_asks_the_upstream_once() {
    let harness = Harness::start().await;
    harness.answers(ResponseTemplate::new(200).set_body_json(json!({"ok": true}))).await;
    let options = search(&json!({}));
    harness.call(&options, &json!({"query": "first"})).await;
    let row = super::support::row(&options);
    let call = harness.caller().prepare(&row, &json!({"query": "second"})).await.expect("a call");
    let first = harness.caller().send(&call).await.expect("an answer");
    harness.caller().publish(&call).await.expect("no error");
    // A later call on the same subscription is answered after the repetition was received.
    harness.call(&options, &json!({"query": "third"})).await;
    let queries: Vec<_> = harness.requests().await.iter().map(target).collect();
    assert_eq!(queries, ["GET s.jina.ai/?q=first", "GET s.jina.ai/?q=second", "GET s.jina.ai/?q=third"]);
    let (said, _) = harness.end().await;
    let card_id = first.callback.tool_result_card_id;
    let reported = |text: &&String| text.contains("message_type") && text.contains(&card_id);
    assert_eq!(said.iter().filter(reported).count(), 2);
}

#[tokio::test]
async fn a_command_that_must_not_run_asks_nothing() {
    let harness = Harness::start().await;
    let options = search(&json!({}));
    harness.request_of(&options, &json!({"query": "registered"})).await;
    let row = super::support::row(&options);
    for (member, value) in [("args", json!({"query": "inline"})), ("tool_name", json!("jina_unknown"))] {
        let mut call = harness.caller().prepare(&row, &json!({"query": "x"})).await.expect("a call");
        call.command[member] = value;
        let outcome = harness.caller().send(&call).await.expect("an answer");
        assert_eq!(outcome.card["content"]["error"]["code"], "bad_request");
        assert_eq!(outcome.card["metadata"]["trace_id"].as_str().map(str::len), Some(32));
        assert_eq!(outcome.card["author_id"], "tool.openapi");
    }
    assert_eq!(harness.requests().await.len(), 1);
}
