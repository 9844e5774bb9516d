//! A broker, an L0, an upstream double, an executor and a caller in one process; nothing here sleeps.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use bytes::Bytes;
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::environment::Environment;
use callmark_reference::utp::caller::{CallOutcome, PreparedCall};
use callmark_reference::utp::message::ToolRow;
use callmark_reference::utp::openapi::rows;
use callmark_reference::utp::{Caller, L0, L0Config, OpenApi, OpenApiConfig, Revision, Upstream, round_trip};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub(crate) const VERSION: Revision = Revision::V1r3;
pub(crate) const PROJECT: &str = "prj_orchid";
const CHANNEL: &str = "ch_7";
const DEADLINE: Duration = Duration::from_secs(10);
/// Comes after everything that was said before it.
const END: &str = "l0.end";

/// The keys of the environment; none may be seen anywhere but at the upstream.
pub(crate) const DEFAULT_KEY: &str = "default-key-1f0e";
pub(crate) const ALT_KEY: &str = "alt-key-77aa/+\"x";
pub(crate) const PARAM_KEY: &str = "param-key-93b1";
pub(crate) const SERVICE_KEY: &str = "service-key-0c4d";
pub(crate) const KEYS: [&str; 4] = [DEFAULT_KEY, ALT_KEY, PARAM_KEY, SERVICE_KEY];

pub(crate) struct Harness {
    _broker: Broker,
    l0: L0,
    caller: Caller,
    pub(crate) upstream: MockServer,
    service: OpenApi,
    client: Client,
    bus: Subscriber,
    log: mpsc::UnboundedReceiver<String>,
}

pub(crate) fn environment() -> Environment {
    [
        ("JINA_API_KEY", DEFAULT_KEY),
        ("ALT_KEY", ALT_KEY),
        ("PARAM_KEY", PARAM_KEY),
        ("SERVICE_KEY", SERVICE_KEY),
        ("BROKEN_KEY", "line\nbreak"),
    ]
    .into_iter()
    .collect()
}

impl Harness {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts with a configuration that `change` has changed.
    pub(crate) async fn start_with(change: impl FnOnce(&mut OpenApiConfig)) -> Self {
        Self::start_in(VERSION, change).await
    }

    /// With a caller of this revision.
    pub(crate) async fn start_in(revision: Revision, change: impl FnOnce(&mut OpenApiConfig)) -> Self {
        let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
        let l0 = L0::start(L0Config::new(broker.url())).await.expect("an L0");
        let client = async_nats::connect(broker.url()).await.expect("a client");
        let bus = client.subscribe("l0.>").await.expect("a subscription");
        round_trip(&client).await.expect("an answer of the broker");
        let caller =
            Caller::connect(&broker.url(), revision, l0.handle(), PROJECT, CHANNEL).await.expect("a caller");
        let upstream = MockServer::start().await;
        let (sender, log) = mpsc::unbounded_channel();
        let mut config = OpenApiConfig::new(broker.url());
        config.upstream = Upstream::Through(upstream.uri());
        config.environment = environment();
        config.log = Arc::new(move |line| {
            let _ = sender.send(line.to_owned());
        });
        config.upstream_deadline = Duration::from_secs(5);
        change(&mut config);
        let service = OpenApi::start(config).await.expect("an executor");
        Self { _broker: broker, l0, caller, upstream, service, client, bus, log }
    }

    /// The upstream answers everything like this.
    pub(crate) async fn answers(&self, answer: ResponseTemplate) {
        self.upstream.reset().await;
        Mock::given(any()).respond_with(answer).mount(&self.upstream).await;
    }

    /// Calls a tool with these options.
    pub(crate) async fn call(&self, options: &Value, arguments: &Value) -> CallOutcome {
        let row = row(options);
        self.l0.put_tool(row.clone()).await.expect("no error");
        self.caller.call(&row, arguments).await.expect("an answer")
    }

    /// Registers a row as it is, and prepares a call of it.
    pub(crate) async fn prepare(&self, row: &ToolRow, arguments: &Value) -> PreparedCall {
        self.l0.put_tool(row.clone()).await.expect("no error");
        self.caller.prepare(row, arguments).await.expect("a call")
    }

    /// Calls a tool and returns what its one request was.
    pub(crate) async fn request_of(&self, options: &Value, arguments: &Value) -> Request {
        self.answers(ResponseTemplate::new(200).set_body_json(json!({"ok": true}))).await;
        let outcome = self.call(options, arguments).await;
        assert_eq!(outcome.card["content"]["status"], "success", "{}", outcome.card);
        let mut requests = self.requests().await;
        assert_eq!(requests.len(), 1);
        requests.remove(0)
    }

    pub(crate) async fn requests(&self) -> Vec<Request> {
        self.upstream.received_requests().await.expect("recording")
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Ends the service, then returns all that was said to the platform and all that was logged.
    pub(crate) async fn end(mut self) -> (Vec<String>, Vec<String>) {
        self.service.shutdown().await;
        self.client.publish(END, Bytes::new()).await.expect("no error");
        let mut said = Vec::new();
        loop {
            let message = tokio::time::timeout(DEADLINE, self.bus.next()).await.expect("a message");
            let message = message.expect("an open subscription");
            if message.subject.as_str() == END {
                break;
            }
            said.push(String::from_utf8_lossy(&message.payload).into_owned());
        }
        let mut logged = Vec::new();
        while let Ok(line) = self.log.try_recv() {
            logged.push(line);
        }
        // The double blocks its thread when it is dropped, for ever if this task has used up its share of the runtime.
        tokio::task::yield_now().await;
        (said, logged)
    }
}

pub(crate) fn row(options: &Value) -> ToolRow {
    let mut row = rows(PROJECT, VERSION).remove(0);
    row.options = options.clone();
    row
}

/// Options of a search tool, with these members more in the namespace.
pub(crate) fn search(more: &Value) -> Value {
    let mut jina = json!({"mode": "search"});
    for (name, value) in more.as_object().expect("an object") {
        jina[name] = value.clone();
    }
    json!({ "jina": jina })
}

pub(crate) fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.get(name).map(|value| value.to_str().expect("text"))
}

/// Where a request went, as the upstream saw it.
pub(crate) fn target(request: &Request) -> String {
    let query = request.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{} {}{}{query}", request.method, header(request, "host").unwrap_or("-"), request.url.path())
}
