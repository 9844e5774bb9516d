//! The language model tools against doubles of their providers.

use std::sync::Arc;
use std::time::Duration;

use callmark_reference::breadcrumb::llm::{LlmConfig, LlmError, tools};
use callmark_reference::breadcrumb::tool::{Tool, ToolCall, ToolConfig};
use callmark_reference::environment::Environment;
use callmark_reference::secret::Secret;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const KEY: &str = "key-of-the-test-7f3a";

fn config(server: &MockServer) -> LlmConfig {
    LlmConfig {
        openrouter_url: format!("{}/or/api/v1", server.uri()),
        venice_url: format!("{}/ve/api/v1/", server.uri()),
        ollama_url: server.uri(),
        environment: [("VENICE_API_KEY", KEY)].into_iter().collect(),
        deadline: Duration::from_secs(5),
        ..LlmConfig::default()
    }
}

fn tool(config: &LlmConfig, name: &str) -> Arc<dyn Tool> {
    let mut tools = tools(config).expect("tools").into_iter();
    tools.find(|tool| tool.definition().name == name).expect("a tool of this name")
}

fn messages() -> Value {
    json!([
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": "Colour of coal? “${no.variable}”"}
    ])
}

fn call(configured: bool) -> ToolCall {
    let input = json!({"messages": messages()});
    let config = ToolConfig {
        key: Some(Secret::from(KEY)),
        model: Some("m-quartz".to_owned()),
        settings: json!({"temperature": 0.2, "maxTokens": 17}).as_object().expect("an object").clone(),
        ..ToolConfig::default()
    };
    ToolCall::new(input.as_object().expect("an object").clone()).with_config(configured.then_some(config))
}

async fn asked(server: &MockServer) -> Value {
    let requests = server.received_requests().await.expect("requests are kept");
    assert_eq!(requests.len(), 1);
    requests[0].body_json().expect("JSON")
}

#[tokio::test]
async fn a_configuration_supplies_key_model_and_settings() {
    for (name, place) in
        [("openrouter", "/or/api/v1/chat/completions"), ("venice", "/ve/api/v1/chat/completions")]
    {
        let server = MockServer::start().await;
        let answer = json!({
            "model": "m-quartz-2", "choices": [{"message": {"role": "assistant", "content": "Black"}}],
            "usage": {"prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37, "cost": 0.000_02},
        });
        Mock::given(method("POST"))
            .and(path(place))
            .and(header("authorization", format!("Bearer {KEY}")))
            .respond_with(ResponseTemplate::new(200).set_body_json(answer))
            .mount(&server)
            .await;
        let tool = tool(&config(&server), name);
        let output = tool.run(call(true)).await.expect("an output");
        assert_eq!(
            output,
            json!({"content": "Black", "model": "m-quartz-2", "cost_estimate": 0.000_02,
                   "usage": {"prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37}})
        );
        assert!(jsonschema::is_valid(&tool.definition().output_schema, &output));
        let asked = asked(&server).await;
        assert_eq!(asked["messages"], messages());
        assert_eq!(
            (&asked["model"], &asked["max_tokens"], &asked["temperature"], &asked["stream"]),
            (&json!("m-quartz"), &json!(17), &json!(0.2), &json!(false))
        );
    }
}

#[tokio::test]
async fn ollama_needs_no_key() {
    let server = MockServer::start().await;
    let answer = json!({"model": "m-local", "message": {"role": "assistant", "content": "Black"}, "done": true,
                        "prompt_eval_count": 30, "eval_count": 7});
    Mock::given(method("POST"))
        .and(path("/api/chat"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    let output = tool(&config(&server), "ollama_local").run(call(false)).await.expect("an output");
    assert_eq!((&output["content"], &output["usage"]["total_tokens"]), (&json!("Black"), &json!(37)));
    let asked = asked(&server).await;
    assert_eq!((&asked["messages"], &asked["stream"]), (&messages(), &json!(false)));
    assert_eq!(asked.get("options"), None);
}

#[tokio::test]
async fn keys_are_those_of_the_configuration_or_of_the_environment() {
    let server = MockServer::start().await;
    let answer = json!({"model": "m", "choices": [{"message": {"content": "Black"}}]});
    Mock::given(header("authorization", format!("Bearer {KEY}")))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    let config = config(&server);
    assert!(tool(&config, "venice").run(call(false)).await.is_ok());

    let missing = tool(&config, "openrouter").run(call(false)).await.expect_err("no key");
    assert!(missing.to_string().contains("`OPENROUTER_API_KEY`"), "{missing}");
    // A configuration without a key does not fall back on somebody else's.
    let keyless = call(false).with_config(Some(ToolConfig::default()));
    let missing = tool(&config, "venice").run(keyless).await.expect_err("no key");
    assert!(missing.to_string().contains("`tool.config.v1`"), "{missing}");
    let foreign = ToolConfig {
        tool: Some("openrouter".to_owned()),
        key: Some(Secret::from(KEY)),
        ..ToolConfig::default()
    };
    let foreign = tool(&config, "venice").run(call(false).with_config(Some(foreign))).await;
    assert!(foreign.expect_err("another provider's key").to_string().contains("is for `openrouter`"));
    let odd = ToolConfig { key: Some(Secret::from("a\nb")), ..ToolConfig::default() };
    let odd = tool(&config, "venice").run(call(false).with_config(Some(odd))).await;
    assert!(odd.expect_err("no header").to_string().contains("cannot stand in a header"));
    assert_eq!(server.received_requests().await.expect("requests are kept").len(), 1);
}

#[tokio::test]
async fn what_fails_upstream_is_a_sentence_without_the_key() {
    async fn check(answer: ResponseTemplate, expect: &str) {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(answer).mount(&server).await;
        let config = LlmConfig { deadline: Duration::from_millis(500), ..config(&server) };
        let failure = tool(&config, "openrouter").run(call(true)).await.expect_err("a failure").to_string();
        assert!(failure.contains(expect), "{failure}");
        assert!(!failure.contains(KEY) && !failure.contains('\n'), "{failure}");
    }
    let error = json!({"error": {"message": format!("no such key: {KEY}\n  at handler")}});
    check(ResponseTemplate::new(401).set_body_json(error), "did not accept the key with status 401").await;
    check(ResponseTemplate::new(500).set_body_string("<html>oops</html>"), "failed with status 500").await;
    check(ResponseTemplate::new(307).insert_header("location", "/elsewhere"), "status 307").await;
    check(ResponseTemplate::new(200).set_body_string("Black"), "holds no message").await;
    check(ResponseTemplate::new(200).set_body_string("x".repeat(5 << 20)), "longer than").await;
    check(ResponseTemplate::new(200).set_delay(Duration::from_secs(5)), "did not answer within 500 ms").await;

    let config = LlmConfig { ollama_url: "http://127.0.0.1:1".to_owned(), ..LlmConfig::default() };
    let failure = tool(&config, "ollama_local").run(call(false)).await.expect_err("nobody listens");
    assert_eq!(failure.to_string(), "`ollama_local`: the provider cannot be reached");
}

#[test]
fn base_urls_are_checked_first() {
    let config = LlmConfig { venice_url: "venice".to_owned(), ..LlmConfig::default() };
    assert!(matches!(tools(&config), Err(LlmError::Url { tool: "venice", .. })));
    let real = LlmConfig {
        environment: Environment::Map(std::collections::BTreeMap::new()),
        ..LlmConfig::default()
    };
    let names: Vec<_> =
        tools(&real).expect("tools").iter().map(|tool| tool.definition().name.clone()).collect();
    assert_eq!(names, ["openrouter", "venice", "ollama_local"]);
}
