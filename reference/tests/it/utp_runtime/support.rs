//! A broker, an L0 for cards, tools and roster, a runtime, and a model and tools that the tests play.
//!
//! The runtime takes its own reports, so its projects are served by a [`Shop`] and not by an L0 on the same broker:
//! the [`Shop`] is an L0 over HTTP on a broker of its own. Every wait has a deadline; nothing here sleeps.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::message::{AfterExecution, RosterRow, TaskEvent, ToolRow};
use callmark_reference::utp::{L0, L0Config, PlatformConfig, Revision, Runtime, RuntimeConfig};
use futures::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

pub(crate) const PROJECT: &str = "prj_orchid";
pub(crate) const CHANNEL: &str = "ch_7";
pub(crate) const AGENT: &str = "ag_pilot";
const DEADLINE: Duration = Duration::from_secs(10);
const TRACE: &str = "5f1c0d5e2b7a4c66a1d2e3f405162738";

/// A model that says what the test has it say, in order, and then that it is done.
#[derive(Clone, Default)]
pub(crate) struct Script {
    state: Arc<Mutex<ScriptState>>,
}

#[derive(Default)]
struct ScriptState {
    answers: Vec<Value>,
    requests: Vec<Value>,
}

impl Script {
    fn state(&self) -> std::sync::MutexGuard<'_, ScriptState> {
        self.state.lock().expect("no panic elsewhere")
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.state().requests.clone()
    }
}

impl Respond for Script {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut state = self.state();
        state.requests.push(request.body_json().expect("JSON"));
        let message = match state.answers.len() {
            0 => json!({"role": "assistant", "content": "done"}),
            _ => state.answers.remove(0),
        };
        ResponseTemplate::new(200).set_body_json(json!({"choices": [{"message": message}]}))
    }
}

/// One answer of the model that makes calls: id, tool, arguments as the model writes them.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// Everything around a runtime.
pub(crate) struct Harness {
    pub(crate) client: Client,
    pub(crate) script: Script,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) events: Subscriber,
    pub(crate) wakeups: Subscriber,
    pub(crate) shop: L0,
    pub(crate) platform_url: String,
    commands: Subscriber,
    http: reqwest::Client,
    _brokers: [Broker; 2],
    _model: MockServer,
}

impl Harness {
    pub(crate) async fn start(rows: Vec<ToolRow>, answers: Vec<Value>) -> Self {
        Self::start_with(rows, answers, |_| {}).await
    }

    pub(crate) async fn start_with(
        rows: Vec<ToolRow>,
        answers: Vec<Value>,
        change: impl FnOnce(&mut RuntimeConfig),
    ) -> Self {
        Self::start_in(Revision::V1r3, rows, answers, change).await
    }

    /// Receives what is published in this revision.
    pub(crate) async fn start_in(
        revision: Revision,
        rows: Vec<ToolRow>,
        answers: Vec<Value>,
        change: impl FnOnce(&mut RuntimeConfig),
    ) -> Self {
        let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
        let behind = Broker::start(BrokerConfig::default()).await.expect("a broker");
        let mut config = L0Config::new(behind.url());
        config.http = Some(([127, 0, 0, 1], 0).into());
        let shop = L0::start(config).await.expect("an L0");
        for row in rows {
            shop.put_tool(row).await.expect("no error");
        }
        shop.put_roster(RosterRow::new(PROJECT, AGENT, "pool_blue")).await.expect("no error");
        let script = Script::default();
        script.state().answers = answers;
        let model = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path("/v1/chat/completions"))
            .respond_with(script.clone())
            .mount(&model)
            .await;
        let platform_url = shop.http_url().expect("an address");
        let mut config = RuntimeConfig::new(broker.url(), format!("{}/v1", model.uri()));
        config.platform = PlatformConfig::Http { base_url: platform_url.clone() };
        change(&mut config);
        let runtime = Some(Runtime::start(config).await.expect("a runtime"));
        let client = async_nats::connect(broker.url()).await.expect("a client");
        let subscribe = async |subject: String| client.subscribe(subject).await.expect("a subscription");
        let events = subscribe(format!("cg.{revision}.{PROJECT}.{CHANNEL}.evt.agent.*.task")).await;
        let wakeups = subscribe(format!("cg.{revision}.{PROJECT}.{CHANNEL}.cmd.agent.*.wakeup")).await;
        let commands = subscribe(format!("cg.{revision}.{PROJECT}.{CHANNEL}.cmd.*.>")).await;
        // A request is answered after the broker has read the subscriptions above.
        let listed = client.request(format!("l0.v1.{PROJECT}.inbox.list"), "{\"agent_id\":\"x\"}".into());
        within("an Inbox", listed).await.expect("an answer");
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self {
            client,
            script,
            runtime,
            events,
            wakeups,
            shop,
            platform_url,
            commands,
            http,
            _brokers: [broker, behind],
            _model: model,
        }
    }

    /// Asks the runtime for something over NATS.
    pub(crate) async fn request(&self, end: &str, body: &Value) -> Value {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("traceparent", format!("00-{TRACE}-00c1d2e3f4a5b6c7-01").as_str());
        headers.insert("tracestate", "vendor=1");
        let subject = format!("l0.v1.{PROJECT}.{end}");
        let reply = self.client.request_with_headers(subject, headers, body.to_string().into());
        json_of(&within("reply", reply).await.expect("a reply"))
    }

    pub(crate) async fn start_turn(&self, turn: &str) -> Value {
        let body = json!({"agent_id": AGENT, "instruction": "token-9", "agent_turn_id": turn,
            "context_box_id": "box_12", "parent_step_id": "step_p", "x_more": 1});
        self.request(&format!("{CHANNEL}.turns.start"), &body).await
    }

    /// The next command, wakeups aside.
    pub(crate) async fn command(&mut self) -> Command {
        loop {
            let message = within("command", self.commands.next()).await.expect("an open subscription");
            if !message.subject.contains(".cmd.agent.") {
                let body = json_of(&message);
                let card_id = body["tool_call_card_id"].as_str().expect("a pointer").to_owned();
                // The card is there when the command arrives.
                let card = self.card(&card_id).await;
                return Command { message, body, card };
            }
        }
    }

    /// Whether a command is there already.
    pub(crate) fn no_command(&mut self) -> bool {
        use futures::FutureExt as _;
        while let Some(Some(message)) = self.commands.next().now_or_never() {
            if !message.subject.contains(".cmd.agent.") {
                return false;
            }
        }
        true
    }

    pub(crate) async fn card(&self, card_id: &str) -> Value {
        let url = format!("{}/projects/{PROJECT}/cards/{card_id}", self.platform_url);
        let answer = within("card", self.http.get(url).send()).await.expect("an answer");
        assert_eq!(answer.status(), 200, "{card_id}");
        within("card", answer.json()).await.expect("JSON")
    }

    pub(crate) async fn save(&self, card: &Value) {
        let card_id = card["card_id"].as_str().expect("an id");
        let url = format!("{}/projects/{PROJECT}/cards/{card_id}", self.platform_url);
        let answer = within("card", self.http.put(url).json(card).send()).await.expect("an answer");
        assert_eq!(answer.status(), 200, "{card}");
    }

    /// Answers a call as a tool does: card, then report.
    pub(crate) async fn answer(&self, command: &Command, content: Value) -> Value {
        let card = result_card(command, content);
        self.save(&card).await;
        self.report(&callback(command, &card)).await
    }

    pub(crate) async fn report(&self, payload: &Value) -> Value {
        let body = json!({"message_type": "tool_result", "correlation_id": payload["tool_call_id"],
            "source_agent_id": "tool.tides", "payload": payload});
        self.request(&format!("{CHANNEL}.report"), &body).await
    }

    /// The next end of a turn, with its deliverable if there is one.
    pub(crate) async fn ended(&mut self) -> (TaskEvent, Option<Value>) {
        let message = within("task event", self.events.next()).await.expect("an open subscription");
        let event: TaskEvent = serde_json::from_slice(&message.payload).expect("a task event");
        let deliverable = match &event.deliverable_card_id {
            Some(card_id) => Some(self.card(card_id).await),
            None => None,
        };
        (event, deliverable)
    }

    /// The messages of the model's last request.
    pub(crate) fn last_messages(&self) -> Vec<Value> {
        let requests = self.script.requests();
        let last = requests.last().expect("a request");
        last["messages"].as_array().expect("messages").clone()
    }

    /// The result of a call that the model's last request holds.
    pub(crate) fn tool_message(&self, call: &str) -> Value {
        let messages = self.last_messages();
        let mut about = messages.iter().filter(|message| message["tool_call_id"] == call);
        let message = about.next().expect("a tool message");
        assert_eq!(about.next(), None, "one message for `{call}`");
        serde_json::from_str(message["content"].as_str().expect("text")).expect("JSON")
    }

    pub(crate) async fn records(&self) -> Vec<Value> {
        let listed = self.request("inbox.list", &json!({"agent_id": AGENT})).await;
        listed["records"].as_array().expect("records").clone()
    }
}

/// A command as it came, with the card that it points to.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) message: Message,
    pub(crate) body: Value,
    pub(crate) card: Value,
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
pub(crate) fn success(result: Value) -> Value {
    json!({"__type__": "ToolResultContent", "status": "success", "after_execution": "suspend",
           "result": result, "error": null})
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
pub(crate) fn result_card(command: &Command, content: Value) -> Value {
    let call = &command.body["tool_call_id"];
    json!({
        "card_id": format!("card_tr_{}_{}", command.body["agent_turn_id"], call).replace('"', ""),
        "project_id": PROJECT, "type": "tool.result", "author_id": "tool.tides", "tool_call_id": call,
        "content": content, "metadata": {"tool_call_id": call}
    })
}

/// The callback as a tool sends it: ids as received.
pub(crate) fn callback(command: &Command, card: &Value) -> Value {
    let mut payload = json!({
        "tool_result_card_id": card["card_id"], "status": card["content"]["status"],
        "step_id": command.card["metadata"]["step_id"]
    });
    for member in ["tool_call_id", "agent_turn_id", "turn_epoch", "agent_id", "after_execution"] {
        payload[member] = command.body[member].clone();
    }
    payload
}

pub(crate) fn row(name: &str, after_execution: AfterExecution, options: Value) -> ToolRow {
    ToolRow {
        project_id: PROJECT.to_owned(),
        tool_name: name.to_owned(),
        description: Some(format!("Does {name}.")),
        parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        target_subject: format!("cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.svc.{name}"),
        after_execution,
        options,
    }
}

pub(crate) fn suspending(name: &str) -> ToolRow {
    row(name, AfterExecution::Suspend, json!({}))
}

pub(crate) fn terminating(name: &str) -> ToolRow {
    row(name, AfterExecution::Terminate, json!({}))
}

pub(crate) fn json_of(message: &Message) -> Value {
    serde_json::from_slice(&message.payload).expect("JSON")
}

pub(crate) fn trace_id() -> &'static str {
    TRACE
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(tokio::time::error::Elapsed { .. }) => panic!("no {what} within {DEADLINE:?}"),
    }
}
