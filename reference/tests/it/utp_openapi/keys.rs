//! Keys: where they come from, where they go, and that they are nowhere else.

use std::collections::BTreeMap;

use callmark_reference::environment::Environment;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::support::{ALT_KEY, DEFAULT_KEY, Harness, KEYS, header, search, target};

fn with_envs(options: &Value) -> Value {
    let mut options = options.clone();
    options["envs"] = json!({"site_key": "PARAM_KEY"});
    options
}

#[tokio::test]
async fn the_key_comes_from_its_variable() {
    async fn check(harness: &Harness, more: Value, expect: &str) {
        let request = harness.request_of(&search(&more), &json!({"query": "x", "api_key": "literal"})).await;
        assert_eq!(header(&request, "authorization"), Some(format!("Bearer {expect}").as_str()));
        assert!(!request.url.as_str().contains("literal"));
    }
    let harness = Harness::start().await;
    check(&harness, json!({}), DEFAULT_KEY).await;
    check(&harness, json!({"auth_env": "ALT_KEY"}), ALT_KEY).await;
    check(&harness, json!({"api_key": "literal", "headers": {"Authorization": "literal"}}), DEFAULT_KEY)
        .await;
}

#[tokio::test]
async fn a_key_that_is_not_set_is_missed_only_where_it_is_named() {
    let environment: Environment = [("OTHER", "x")].into_iter().collect();
    let harness = Harness::start_with(|config| config.environment = environment).await;
    let request = harness.request_of(&search(&json!({"api_key": "literal"})), &json!({"query": "x"})).await;
    assert_eq!(header(&request, "authorization"), None);
    harness.answers(ResponseTemplate::new(200)).await;
    for options in [search(&json!({"auth_env": "JINA_API_KEY"})), with_envs(&search(&json!({})))] {
        let outcome = harness.call(&options, &json!({"query": "x", "site_key": "literal"})).await;
        let error = &outcome.card["content"]["error"];
        assert_eq!(error["code"], "auth_failed");
        assert!(error["detail"]["variable"].is_string());
    }
    assert!(harness.requests().await.is_empty());
}

#[tokio::test]
async fn a_parameter_gets_the_value_of_its_variable() {
    let harness = Harness::start().await;
    let options = with_envs(&search(&json!({})));
    let request = harness.request_of(&options, &json!({"query": "x", "site_key": "model's"})).await;
    assert_eq!(target(&request), "GET s.jina.ai/?site_key=param-key-93b1&q=x");
    let options = with_envs(&search(&json!({"method": "POST"})));
    let request = harness.request_of(&options, &json!({"query": "x"})).await;
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body, json!({"q": "x", "site_key": "param-key-93b1"}));
}

#[tokio::test]
async fn the_services_own_variable_wins() {
    let overrides = BTreeMap::from([
        ("site_key".to_owned(), "SERVICE_KEY".to_owned()),
        ("unlisted".to_owned(), "ALT_KEY".to_owned()),
    ]);
    let harness = Harness::start_with(|config| config.env_overrides = overrides).await;
    let request = harness.request_of(&with_envs(&search(&json!({}))), &json!({"query": "x"})).await;
    assert_eq!(target(&request), "GET s.jina.ai/?q=x&site_key=service-key-0c4d");
}

#[tokio::test]
async fn no_key_is_in_a_card_a_report_or_the_log() {
    let overrides = BTreeMap::from([("service_key".to_owned(), "SERVICE_KEY".to_owned())]);
    let harness = Harness::start_with(|config| config.env_overrides = overrides).await;
    let mut options = search(&json!({"auth_env": "ALT_KEY", "method": "GET"}));
    options["envs"] = json!({"site_key": "PARAM_KEY", "service_key": "PARAM_KEY", "other": "JINA_API_KEY"});
    let echo = json!({"echo": KEYS, "text": KEYS.join(" "), DEFAULT_KEY: 1, "__cg_control": KEYS});
    let escaped = json!({"echo": KEYS}).to_string();
    for status in [200, 302, 401, 429, 500] {
        for body in
            [echo.to_string(), escaped.clone(), KEYS.join("\n"), "k=alt-key-77aa%2F%2B%22x".to_owned()]
        {
            harness.answers(ResponseTemplate::new(status).set_body_string(body)).await;
            let outcome = harness.call(&options, &json!({"query": "x"})).await;
            assert_eq!(harness.requests().await.len(), 1, "{}", outcome.card);
        }
    }
    // A key that cannot be sent, and an upstream that cannot be reached, are reported without the key too.
    let broken = harness.call(&search(&json!({"auth_env": "BROKEN_KEY"})), &json!({"query": "x"})).await;
    assert_eq!(broken.card["content"]["error"]["code"], "auth_failed");
    let (said, logged) = harness.end().await;
    assert!(said.len() > 40 && logged.len() > 20, "{} {}", said.len(), logged.len());
    for line in said.iter().chain(&logged) {
        for key in KEYS {
            let in_json = Value::from(key).to_string();
            for form in [key, &in_json[1..in_json.len() - 1], "alt-key-77aa"] {
                assert!(!line.contains(form), "`{form}` in {line}");
            }
        }
    }
}
