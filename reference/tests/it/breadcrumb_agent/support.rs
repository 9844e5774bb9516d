//! A store, a scripted model, and what an agent does between them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use callmark_reference::breadcrumb::agent::AgentConfig;
use callmark_reference::breadcrumb::client::{Breadcrumb, Events, StoreClient};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Waits, but not for ever.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

pub(crate) fn catalog() -> Value {
    let expression = json!({"type": "object", "properties": {"expression": {"type": "string"}},
                            "required": ["expression"]});
    json!({"schema_name": "tool.catalog.v1", "title": "Tools", "tags": ["tool:catalog"], "context": {"tools": [
        {"name": "calculator", "description": "Evaluates an arithmetic expression.",
         "input_schema": expression, "output_schema": {"type": "object"}},
        {"name": "random", "description": "Draws random numbers.", "input_schema": {"type": "object"}}
    ]}})
}

pub(crate) fn user(session: &str, text: &str) -> Value {
    json!({"schema_name": "user.message.v1", "title": "Message",
           "tags": ["user:message", format!("session:{session}")], "context": {"message": text, "content": text}})
}

pub(crate) fn success(request: &Value, output: &Value) -> Value {
    response(request, &json!({"status": "success", "output": output}))
}

pub(crate) fn response(request: &Value, more: &Value) -> Value {
    let mut context = more.clone();
    context["request_id"] = request["requestId"].clone();
    context["tool"] = request["tool"].clone();
    json!({"schema_name": "tool.response.v1", "title": "Response", "tags": ["tool:response"], "context": context})
}

/// A call of a function, as a model writes it.
pub(crate) fn call(tool: &str, input: &Value, return_to_llm: bool) -> Value {
    let arguments = json!({"input": input, "return_to_llm": return_to_llm});
    json!({"id": format!("call-{tool}"), "type": "function",
           "function": {"name": tool, "arguments": arguments.to_string()}})
}

pub(crate) fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

pub(crate) fn words(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A model that answers each request by a function of it.
pub(crate) struct Model {
    pub(crate) server: MockServer,
}

impl Model {
    pub(crate) async fn new(answer: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path("/v1/chat/completions"))
            .respond_with(move |request: &Request| answer(&request.body_json().expect("JSON")))
            .mount(&server)
            .await;
        Self { server }
    }

    /// One that says these messages, one after another.
    pub(crate) async fn saying(messages: impl IntoIterator<Item = Value>) -> Self {
        let messages = Mutex::new(messages.into_iter().collect::<VecDeque<_>>());
        Self::new(move |_| match messages.lock().expect("a lock").pop_front() {
            Some(message) => said(&message),
            None => ResponseTemplate::new(500),
        })
        .await
    }

    pub(crate) fn config(&self) -> AgentConfig {
        AgentConfig::new(format!("{}/v1", self.server.uri()))
    }

    /// What it was asked, oldest first.
    pub(crate) async fn asked(&self) -> Vec<Value> {
        let requests = self.server.received_requests().await.expect("requests are kept");
        requests.iter().map(|request| request.body_json().expect("JSON")).collect()
    }
}

pub(crate) fn said(message: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"choices": [{"index": 0, "message": message}]}))
}

/// A store and someone who listens to it.
pub(crate) struct Store {
    pub(crate) server: StoreServer,
    pub(crate) client: StoreClient,
    events: Events,
}

impl Store {
    /// One that holds the catalogue.
    pub(crate) async fn new() -> Self {
        let store = Self::over(StoreServer::start(StoreConfig::new()).await.expect("a store")).await;
        store.put(&catalog()).await;
        store
    }

    /// One that holds what it holds.
    pub(crate) async fn over(server: StoreServer) -> Self {
        let client = StoreClient::new(&server.url(), None).expect("a client");
        let events = client.events(Vec::new()).await.expect("a stream");
        Self { server, client, events }
    }

    pub(crate) async fn put(&self, breadcrumb: &Value) -> String {
        self.client.create(breadcrumb).await.expect("it is stored")
    }

    /// The next thing that the agent says.
    pub(crate) async fn said(&mut self) -> Breadcrumb {
        loop {
            let event = soon(self.events.next()).await.expect("an event");
            if event.schema_name.as_deref() == Some("agent.response.v1") {
                return event;
            }
        }
    }
}
