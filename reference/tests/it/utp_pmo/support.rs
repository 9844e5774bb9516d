//! A broker, an L0, a PMO, a caller, and a runtime double that answers `turns.start` and ends turns on demand.
//!
//! Every wait has a deadline; nothing here sleeps.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, Subscriber};
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::caller::{CallOutcome, PreparedCall};
use callmark_reference::utp::message::{RosterRow, ToolRow};
use callmark_reference::utp::pmo::rows;
use callmark_reference::utp::{Caller, L0, L0Config, Pmo, PmoConfig, Revision, round_trip};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(crate) const VERSION: Revision = Revision::V1r3;
pub(crate) const PROJECT: &str = "prj_orchid";
pub(crate) const CHANNEL: &str = "ch_7";
pub(crate) const AGENT: &str = "ag_gardener";
const DEADLINE: Duration = Duration::from_secs(10);

/// A turn that the PMO asked for, with the headers of its request.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    pub(crate) request: Value,
    /// The turn's id, which the double makes up where the request says none.
    pub(crate) turn_id: String,
    pub(crate) headers: async_nats::HeaderMap,
    pub(crate) traceparent: Option<String>,
}

impl Started {
    pub(crate) fn text(&self, member: &str) -> &str {
        self.request[member].as_str().unwrap_or_else(|| panic!("no text `{member}`: {}", self.request))
    }
}

pub(crate) struct Harness {
    broker: Broker,
    pub(crate) l0: L0,
    pub(crate) client: Client,
    pub(crate) caller: Caller,
    pub(crate) pmo: Option<Pmo>,
    started: tokio::sync::Mutex<mpsc::UnboundedReceiver<Started>>,
    answers: Arc<Mutex<VecDeque<Value>>>,
    runtime: JoinHandle<()>,
}

impl Harness {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts with a configuration that `change` has changed.
    pub(crate) async fn start_with(change: impl FnOnce(&mut PmoConfig)) -> Self {
        Self::start_in(VERSION, change).await
    }

    /// With a caller of this revision.
    pub(crate) async fn start_in(revision: Revision, change: impl FnOnce(&mut PmoConfig)) -> Self {
        let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
        let l0 = L0::start(L0Config::new(broker.url())).await.expect("an L0");
        let client = async_nats::connect(broker.url()).await.expect("a client");
        let caller =
            Caller::connect(&broker.url(), revision, l0.handle(), PROJECT, CHANNEL).await.expect("a caller");
        let mut gardener = RosterRow::new(PROJECT, AGENT, "pool_green");
        gardener.profile = Some(json!("gardener"));
        gardener.metadata = Some(json!({"tool": "spade"}));
        l0.put_roster(gardener).await.expect("no error");
        let (sender, started) = mpsc::unbounded_channel();
        let answers = Arc::new(Mutex::new(VecDeque::new()));
        let runtime = run_turns(&client, sender, Arc::clone(&answers)).await;
        let mut config = PmoConfig::new(broker.url());
        change(&mut config);
        let pmo = Pmo::start(config).await.expect("a PMO");
        Self { broker, l0, client, caller, pmo: Some(pmo), started: started.into(), answers, runtime }
    }

    pub(crate) fn url(&self) -> String {
        self.broker.url()
    }

    pub(crate) async fn call(&self, built_in: &str, arguments: &Value) -> CallOutcome {
        self.send(&self.prepare(built_in, arguments).await).await
    }

    pub(crate) async fn prepare(&self, built_in: &str, arguments: &Value) -> PreparedCall {
        self.caller.prepare(&row(built_in), arguments).await.expect("a call")
    }

    pub(crate) async fn send(&self, call: &PreparedCall) -> CallOutcome {
        self.caller.send(call).await.expect("an answer")
    }

    /// The next turn that was asked for.
    pub(crate) async fn next_turn(&self) -> Started {
        within("a turn", async { self.started.lock().await.recv().await }).await.expect("a runtime")
    }

    /// Whether no turn was asked for beyond those that were taken.
    pub(crate) fn has_no_turn(&mut self) -> bool {
        self.started.get_mut().try_recv().is_err()
    }

    /// The runtime answers the next requests like this, and starts nothing.
    pub(crate) fn refuse(&self, answers: impl IntoIterator<Item = Value>) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
    }

    /// Ends a turn: writes its deliverable, then publishes its end.
    pub(crate) async fn end(&self, turn: &Started, status: &str, text: Option<&str>) {
        let turn_id = &turn.turn_id;
        let card_id = text.map(|_| format!("card_d_{turn_id}"));
        if let Some(text) = text {
            let card = json!({
                "card_id": card_id, "project_id": PROJECT, "type": "task.deliverable",
                "content": {"text": text}, "metadata": {"agent_turn_id": turn_id},
            });
            let body = json!({ "card": card }).to_string();
            let saved = self.client.request(format!("l0.v1.{PROJECT}.cards.save"), body.into());
            within("a receipt", saved).await.expect("a card store");
        }
        let error = (status == "failed").then(|| json!({"code": "auth_failed", "message": "no key"}));
        self.publish(
            turn.text("agent_id"),
            &json!({
                "agent_id": turn.text("agent_id"), "agent_turn_id": turn_id, "turn_epoch": 1,
                "status": status, "deliverable_card_id": card_id, "tool_result_card_id": null, "error": error,
            }),
        )
        .await;
    }

    /// Publishes a task event as it is.
    pub(crate) async fn publish(&self, agent_id: &str, event: &Value) {
        let subject = format!("cg.{VERSION}.{PROJECT}.{CHANNEL}.evt.agent.{agent_id}.task");
        self.client.publish(subject, event.to_string().into()).await.expect("no error");
        self.client.flush().await.expect("a flush");
    }

    /// A row of the roster.
    pub(crate) async fn agent(&self, agent_id: &str) -> Value {
        let body = json!({ "agent_id": agent_id }).to_string();
        let request = self.client.request(format!("l0.v1.{PROJECT}.roster.get"), body.into());
        let reply = within("a row", request).await.expect("a roster");
        serde_json::from_slice::<Value>(&reply.payload).expect("JSON")["agent"].take()
    }

    pub(crate) async fn subscribe(&self, subject: &str) -> Subscriber {
        let subscriber = self.client.subscribe(subject.to_owned()).await.expect("a subscription");
        round_trip(&self.client).await.expect("an answer of the broker");
        subscriber
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.runtime.abort();
    }
}

/// Answers `turns.start`: an answer that was put ready, else a receipt for a turn that is reported to the test once.
async fn run_turns(
    client: &Client,
    started: mpsc::UnboundedSender<Started>,
    answers: Arc<Mutex<VecDeque<Value>>>,
) -> JoinHandle<()> {
    let mut requests = client.subscribe("l0.v1.*.*.turns.start").await.expect("a subscription");
    round_trip(client).await.expect("an answer of the broker");
    let client = client.clone();
    tokio::spawn(async move {
        let mut known = Vec::new();
        while let Some(message) = requests.next().await {
            let request: Value = serde_json::from_slice(&message.payload).expect("JSON");
            // In v1r4 a start is known by its correlation id, and the turn's id is not the caller's to choose.
            let turn_id = request["agent_turn_id"].as_str().map_or_else(
                || format!("turn_{}", request["correlation_id"].as_str().unwrap_or_default()),
                str::to_owned,
            );
            let ready = answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let mut headers = async_nats::HeaderMap::new();
            let answer = match ready {
                Some(answer) => {
                    if let Some(status) = answer["refuse"].as_u64() {
                        headers.insert("Nats-Service-Error", "refused");
                        headers.insert("Nats-Service-Error-Code", status.to_string().as_str());
                    }
                    answer
                }
                None => json!({
                    "agent_id": request["agent_id"], "agent_turn_id": turn_id, "turn_epoch": 1
                }),
            };
            if answer.get("refuse").is_none() && !known.contains(&turn_id) {
                known.push(turn_id.clone());
                let headers = message.headers.clone().unwrap_or_default();
                let traceparent = headers.get("traceparent").map(|value| value.as_str().to_owned());
                let _ = started.send(Started { request, turn_id, headers, traceparent });
            }
            let reply = message.reply.expect("a reply subject");
            client.publish_with_headers(reply, headers, answer.to_string().into()).await.expect("no error");
        }
    })
}

pub(crate) fn row(built_in: &str) -> ToolRow {
    rows(PROJECT, VERSION).into_iter().find(|row| row.tool_name == built_in).expect("a built-in")
}

pub(crate) fn task(instruction: &str) -> Value {
    json!({"target_strategy": "reuse", "target_ref": AGENT, "instruction": instruction})
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(tokio::time::error::Elapsed { .. }) => panic!("no {what} within {DEADLINE:?}"),
    }
}

/// Status, error code and result of an answer, after checking what every answer must be.
pub(crate) fn read(outcome: &CallOutcome) -> (&str, &str, &Value) {
    let content = &outcome.card["content"];
    assert_eq!(content["status"], json!(outcome.callback.status));
    let code = content["error"]["code"].as_str().unwrap_or("-");
    if matches!(content["status"].as_str(), Some("failed" | "timeout" | "canceled")) {
        assert_eq!(content["result"]["error_code"], code);
        assert!(content["result"]["error_message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    (content["status"].as_str().expect("a status"), code, &content["result"])
}
