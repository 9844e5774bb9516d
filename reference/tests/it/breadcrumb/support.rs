//! What the tests share: a store, a runner in front of it, an agent's way to ask, and waiting with a deadline.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use callmark_reference::breadcrumb::client::{Event, Events, ListQuery, StoreClient};
use callmark_reference::breadcrumb::runner::{Runner, RunnerConfig};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use callmark_reference::breadcrumb::tool::{Tool, ToolCall, ToolDefinition, ToolFailure};
use callmark_reference::breadcrumb::tools;
use futures::future::BoxFuture;
use serde_json::{Value, json};

/// For anything that must happen.
const DEADLINE: Duration = Duration::from_secs(15);

/// Waits, and says what for when it was in vain.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("{what} did not happen in time"))
}

pub(crate) async fn store(config: StoreConfig) -> (StoreServer, StoreClient) {
    let store = StoreServer::start(config).await.expect("a store");
    let client = StoreClient::new(&store.url(), None).expect("a client");
    (store, client)
}

pub(crate) fn memo(title: &str, tags: &[&str]) -> Value {
    json!({"schema_name": "memo.v1", "title": title, "tags": tags, "context": {"text": format!("about {title}")}})
}

struct Function {
    definition: ToolDefinition,
    function: Box<dyn Fn(ToolCall) -> BoxFuture<'static, Result<Value, ToolFailure>> + Send + Sync>,
}

/// A tool that is a function.
pub(crate) fn function<F, O>(name: &str, function: F) -> Arc<dyn Tool>
where
    F: Fn(ToolCall) -> O + Send + Sync + 'static,
    O: Future<Output = Result<Value, ToolFailure>> + Send + 'static,
{
    let definition = ToolDefinition {
        name: name.to_owned(),
        description: "a tool of a test".to_owned(),
        category: "utility".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: json!({"type": "object"}),
    };
    Arc::new(Function { definition, function: Box::new(move |call| Box::pin(function(call))) })
}

impl Tool for Function {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        (self.function)(call)
    }
}

/// A store, a runner, and who listens to both.
pub(crate) struct Scene {
    pub(crate) store: StoreServer,
    pub(crate) client: StoreClient,
    pub(crate) runner: Runner,
    events: Events,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(StoreConfig::new(), Vec::new(), |_| {}).await
    }

    pub(crate) async fn with(
        config: StoreConfig,
        more: Vec<Arc<dyn Tool>>,
        adjust: impl FnOnce(&mut RunnerConfig),
    ) -> Self {
        let (store, client) = store(config).await;
        let catalog = tools::catalog(&client, more).expect("a catalogue");
        let mut runner = RunnerConfig::new(store.url(), catalog);
        adjust(&mut runner);
        let runner = Runner::start(runner).await.expect("a runner");
        let watched = vec![ListQuery::default()];
        let events = client.events(watched).await.expect("events");
        Self { store, client, runner, events }
    }

    /// Puts an invocation of session `s1` with these requests; gives its id.
    pub(crate) async fn invoke(&self, tool_requests: Value) -> String {
        let invocation = json!({
            "schema_name": "agent.response.v1", "title": "t", "tags": ["agent:response", "session:s1"],
            "context": {"message": "One moment.", "tool_requests": tool_requests},
        });
        self.client.create(&invocation).await.expect("an id")
    }

    /// The next breadcrumb that the runner stores.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            let event = soon("an event", self.events.next()).await.expect("an event");
            if !event.context.contains_key("tool_requests") && event.context.contains_key("request_id") {
                return event;
            }
        }
    }

    /// The next `tool.response.v1`.
    pub(crate) async fn response(&mut self) -> Value {
        loop {
            let event = self.next().await;
            if event.schema_name.as_deref() == Some("tool.response.v1") {
                return Value::Object(event.context);
            }
        }
    }

    /// Asks for one call and gives the context of its answer.
    pub(crate) async fn call(&mut self, tool: &str, input: Value) -> Value {
        self.invoke(json!([request("call-1", tool, input, true)])).await;
        self.response().await
    }

    /// As `call`, for one that succeeds; gives its output.
    pub(crate) async fn output(&mut self, tool: &str, input: Value) -> Value {
        let mut response = self.call(tool, input).await;
        assert_eq!(response["status"], json!("success"), "{response}");
        response["output"].take()
    }

    pub(crate) async fn end(self) {
        self.runner.shutdown().await;
        self.store.shutdown().await;
    }
}

#[expect(clippy::needless_pass_by_value, reason = "inputs are written where they are used")]
pub(crate) fn request(id: &str, tool: &str, input: Value, return_to_llm: bool) -> Value {
    json!({"tool": tool, "input": input, "requestId": id, "return_to_llm": return_to_llm})
}
