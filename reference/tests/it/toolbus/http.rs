//! Streamable HTTP: sessions, headers, and who is let in.

use std::net::{Ipv4Addr, SocketAddr};

use callmark_reference::toolbus::{Config, HttpServer, ToolBusError};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::support::{DEADLINE, envelope, hello};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

async fn start() -> HttpServer {
    HttpServer::start(Config::default(), LOOPBACK).await.expect("a server")
}

fn post(url: &str) -> RequestBuilder {
    Client::new()
        .post(url)
        .timeout(DEADLINE)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
}

async fn send(request: RequestBuilder, body: &Value) -> Response {
    request.body(body.to_string()).send().await.expect("an answer")
}

/// The message with an id in an answer, which is JSON or a stream of events.
async fn message(response: Response) -> Value {
    let text = response.text().await.expect("a body");
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    events
        .chain([&*text])
        .find_map(|data| serde_json::from_str(data).ok())
        .unwrap_or_else(|| panic!("no message in {text}"))
}

/// A client with a session of its own.
struct Session {
    url: String,
    id: String,
}

impl Session {
    async fn begin(url: &str) -> Self {
        let response =
            send(post(url), &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()}))
                .await;
        assert_eq!(response.status(), StatusCode::OK);
        let id = response.headers()["mcp-session-id"].to_str().expect("a text").to_owned();
        assert_eq!(message(response).await["result"]["protocolVersion"], "2025-06-18");
        let session = Self { url: url.to_owned(), id };
        let notified =
            send(session.post(), &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(notified.status(), StatusCode::ACCEPTED);
        session
    }

    fn post(&self) -> RequestBuilder {
        post(&self.url).header("mcp-session-id", &self.id).header("mcp-protocol-version", "2025-06-18")
    }

    async fn answer(&self, params: &Value) -> Value {
        let response =
            send(self.post(), &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
                .await;
        assert_eq!(response.status(), StatusCode::OK);
        message(response).await
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Value {
        envelope(&self.answer(&json!({"name": tool, "arguments": arguments})).await)
    }
}

#[tokio::test]
async fn sessions_are_served_and_apart() {
    let server = start().await;
    let (one, other) = (Session::begin(&server.url()).await, Session::begin(&server.url()).await);
    assert_ne!(one.id, other.id);
    let kept =
        one.call("probe_echo", &json!({"value": {"a": 5}, "output": {"path": "a"}, "store_as": "k"})).await;
    assert_eq!(kept["result"], 5);
    let get = json!({"action": "get", "key": "k"});
    assert_eq!(one.call("mcp_state", &get).await["result"]["value"], 5);
    assert_eq!(other.call("mcp_state", &get).await["result"]["found"], false);
    let error = one.answer(&json!({"name": "probe_fail", "arguments": {}})).await;
    assert_eq!(error["error"]["code"], -32603);
    let error = one.answer(&json!({"tool": "probe_echo", "input": {"value": 1}})).await;
    assert_eq!(error["error"]["code"], -32602);

    let ended =
        Client::new().delete(server.url()).header("mcp-session-id", &one.id).send().await.expect("an answer");
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    let gone = send(one.post(), &json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    assert_eq!(other.call("probe_echo", &json!({"value": 1})).await["result"], 1);
    timeout(DEADLINE, server.shutdown()).await.expect("in time");
}

#[tokio::test]
async fn bodies_that_are_no_message_get_an_error_in_json() {
    let server = start().await;
    let session = Session::begin(&server.url()).await;
    for (body, status, code) in [
        ("not json".to_owned(), StatusCode::BAD_REQUEST, -32700),
        ("[]".to_owned(), StatusCode::BAD_REQUEST, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned(), StatusCode::BAD_REQUEST, -32600),
        ("x".repeat(9 * 1024 * 1024), StatusCode::PAYLOAD_TOO_LARGE, -32600),
    ] {
        let response = session.post().body(body).send().await.expect("an answer");
        assert_eq!(response.status(), status);
        assert_eq!(message(response).await["error"]["code"], code);
    }
    let unknown = send(session.post(), &json!({"jsonrpc": "2.0", "id": 3, "method": "no/such"})).await;
    assert_eq!(message(unknown).await["error"]["code"], -32601);
    assert_eq!(session.call("probe_echo", &json!({"value": 1})).await["result"], 1);
}

#[tokio::test]
async fn only_programs_of_this_machine_are_let_in() {
    let server = start().await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()});
    let port = server.address().port();
    for (header, value, status) in [
        ("host", "evil.example".to_owned(), StatusCode::FORBIDDEN),
        ("host", format!("evil.example:{port}"), StatusCode::FORBIDDEN),
        ("host", format!("localhost:{port}"), StatusCode::OK),
        ("origin", "http://evil.example".to_owned(), StatusCode::FORBIDDEN),
        ("origin", "null".to_owned(), StatusCode::FORBIDDEN),
        ("origin", format!("http://127.0.0.1:{port}"), StatusCode::OK),
        ("mcp-protocol-version", "1999-01-01".to_owned(), StatusCode::BAD_REQUEST),
        ("mcp-protocol-version", "2026-07-28".to_owned(), StatusCode::BAD_REQUEST),
        ("accept", "text/html".to_owned(), StatusCode::NOT_ACCEPTABLE),
    ] {
        // The last of two headers of one name would be another request than the one meant.
        let mut request = post(&server.url()).body(hello.to_string()).build().expect("a request");
        request.headers_mut().insert(header, value.parse().expect("a value"));
        let response = Client::new().execute(request).await.expect("an answer");
        assert_eq!(response.status(), status, "{header}: {value}");
    }
    let elsewhere = send(post(&server.url().replace("/mcp", "/other")), &hello).await;
    assert_eq!(elsewhere.status(), StatusCode::NOT_FOUND);
    let without_session =
        send(post(&server.url()), &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!(without_session.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn there_are_so_many_sessions_and_no_more() {
    let server = start().await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(Session::begin(&server.url()).await);
    }
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()});
    let refused = send(post(&server.url()), &hello).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(sessions[5].call("probe_echo", &json!({"value": 1})).await["result"], 1);
}

#[tokio::test]
async fn an_address_that_is_taken_is_reported() {
    let server = start().await;
    let error = HttpServer::start(Config::default(), server.address()).await.expect_err("it is taken");
    assert!(matches!(error, ToolBusError::Listen { .. }));
    assert!(error.to_string().contains(&server.address().to_string()));
}
