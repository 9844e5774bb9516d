//! The agent from outside: the drive hook, the chat, and one call through text.

use std::net::{Ipv4Addr, SocketAddr};

use callmark_reference::hub::agent::{AgentConfig, AgentError, DriveServer, run_once};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::support::{CUSTOMER, DEADLINE, NOBODY, config, hub, inputs, refusal, success};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

async fn start(config: AgentConfig) -> DriveServer {
    DriveServer::start(config, LOOPBACK).await.expect("a server")
}

async fn post(server: &DriveServer, place: &str, body: &Value) -> (u16, Value) {
    let request = Client::new().post(format!("{}{place}", server.url())).timeout(DEADLINE).json(body);
    answer(request.send().await.expect("an answer")).await
}

async fn answer(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

fn driven(tool: &str, inputs: &Value) -> Value {
    json!({"tool": tool, "inputs": inputs, "customer_id": CUSTOMER, "user_id": null, "conversation_id": "conv-1"})
}

#[tokio::test]
async fn calls_are_driven_over_http() {
    let link = "https://hub.test/integrations/google";
    let hub = hub(refusal(400, "INTEGRATION_NOT_CONNECTED", &json!({"setup_url": link}))).await;
    let server = start(config(&hub.uri())).await;
    let (status, body) =
        post(&server, "/drive", &driven("mission_create_task", &json!({"title": "sow"}))).await;
    assert_eq!((status, &body["ok"], &body["outcome"]["title"]), (200, &json!(true), &json!("sow")));
    let (status, body) = post(&server, "/drive", &driven("email_read", &inputs("email_read"))).await;
    assert_eq!((status, &body["ok"]), (200, &json!(false)));
    assert_eq!(body["outcome"]["code"], "INTEGRATION_NOT_CONNECTED");
    assert_eq!(body["outcome"]["setup_url"], link);
    let (status, body) = post(&server, "/drive", &json!({"tool": "no_such_tool", "inputs": {}})).await;
    assert_eq!((status, &body["outcome"]["code"]), (200, &json!("UNKNOWN_TOOL")));
    let health = Client::new().get(format!("{}/health", server.url())).send().await.expect("an answer");
    assert_eq!(answer(health).await, (200, json!({"status": "ok"})));
    tokio::time::timeout(DEADLINE, server.shutdown()).await.expect("in time");
}

#[tokio::test]
async fn bodies_that_are_no_call_and_pages_are_refused() {
    let server = start(config(NOBODY)).await;
    let url = format!("{}/drive", server.url());
    let call = driven("mission_list_tasks", &json!({})).to_string();
    let json = "application/json";
    for (content_type, host, body, expect) in [
        (json, "localhost", call.clone(), 200),
        ("application/json; charset=utf-8", "127.0.0.1:80", call.clone(), 200),
        (json, "[::1]:80", call.clone(), 200),
        (json, "evil.example", call.clone(), 403),
        (json, "127.0.0.1.evil.example", call.clone(), 403),
        ("text/plain", "localhost", call, 415),
        (json, "localhost", "{\"tool\":".to_owned(), 400),
        (json, "localhost", "{\"inputs\":{}}".to_owned(), 400),
        (json, "localhost", "x".repeat(1024 * 1024 + 1), 413),
    ] {
        let request = Client::new().post(&url).header("content-type", content_type).header("host", host);
        let response = request.body(body).send().await.expect("an answer");
        let (status, body) = answer(response).await;
        assert_eq!(status, expect, "{content_type} {host}");
        assert_eq!(body["error"]["code"].is_string(), status != 200);
    }
    let (status, _) = post(&server, "/elsewhere", &json!({})).await;
    assert_eq!(status, 404);
    let (status, body) = post(&server, "/v1/chat", &json!({"message": "hello"})).await;
    assert_eq!((status, &body["error"]["code"]), (503, &json!("NOT_CONFIGURED")));
}

#[tokio::test]
async fn a_turn_is_taken_over_http() {
    let model = MockServer::start().await;
    let said = json!({"choices": [{"message": {"role": "assistant", "content": "Good morning."}}]});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_json(said))
        .mount(&model)
        .await;
    let model_url = Some(format!("{}/v1", model.uri()));
    let server = start(AgentConfig { model_url, ..config(NOBODY) }).await;
    let body = json!({"message": "hello", "conversation_id": "conv-1"});
    assert_eq!(post(&server, "/v1/chat", &body).await, (200, json!({"reply": "Good morning."})));
}

#[tokio::test]
async fn one_call_can_be_made_through_text() {
    let hub = hub(success(&json!({"subject": "Two points"}))).await;
    let call = driven("email_read", &inputs("email_read")).to_string();
    let text = run_once(config(&hub.uri()), &call).await.expect("an answer");
    assert_eq!(text, r#"{"ok":true,"outcome":{"subject":"Two points"}}"#);
    let text = run_once(config(NOBODY), &call).await.expect("an answer");
    assert!(text.starts_with(r#"{"ok":false,"outcome":{"code":"HUB_UNREACHABLE""#), "{text}");
    let error = run_once(config(NOBODY), "{}").await.expect_err("no call");
    assert!(matches!(error, AgentError::Request { .. }));
}

#[tokio::test]
async fn an_address_that_is_taken_is_reported() {
    let server = start(config(NOBODY)).await;
    let error = DriveServer::start(config(NOBODY), server.address()).await.expect_err("it is taken");
    assert!(matches!(error, AgentError::Listen { .. }));
}
