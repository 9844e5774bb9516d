//! Instances of a fleet as processes, a platform and a caller beside them, and what became of each call.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Duration;

use async_nats::{Client, Subscriber, jetstream};
use callmark_reference::utp::tool_service::{Tool, ToolCall, ToolDefinition, ToolFailure, ToolOutput};
use callmark_reference::utp::{
    Caller, FleetConfig, L0, L0Config, ToolService, ToolServiceConfig, round_trip,
};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::utp::support::{CHANNEL, PROJECT, VERSION, json as body};

const CHILD_URL: &str = "UTP_TEST_FLEET_NATS_URL";
const CHILD_NAME: &str = "UTP_TEST_FLEET_INSTANCE";
const CHILD_DATABASE: &str = "UTP_TEST_FLEET_DATABASE";
const CHILD_HOLDS: &str = "UTP_TEST_FLEET_HOLDS";
const READY: &str = "test.fleet.ready";
/// Published by a tool that holds its call.
pub(crate) const HELD: &str = "test.fleet.held";
/// The tool that holds its call.
pub(crate) const HOLD: &str = "test.hold";
/// For everything that is waited for; a lease is among it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// A platform and a caller on a server, which instances join.
pub(crate) struct Fleet {
    pub(crate) urls: String,
    pub(crate) client: Client,
    pub(crate) caller: Caller,
    /// Where instances keep their ledger, if it is not in JetStream.
    pub(crate) database: Option<String>,
    l0: L0,
}

impl Fleet {
    /// Everything but the instances, at these servers, with a stream of commands or without.
    pub(crate) async fn around(urls: &str, stream: Option<jetstream::stream::Config>) -> Self {
        let l0 = L0::start(L0Config::new(urls)).await.expect("an L0");
        let servers: Vec<&str> = urls.split(',').collect();
        let client = async_nats::connect(&servers[..]).await.expect("a client");
        if let Some(config) = stream {
            within("stream", stream_of(&client, config)).await;
        }
        let caller = Caller::connect(urls, VERSION, l0.handle(), PROJECT, CHANNEL).await.expect("a caller");
        Self { urls: urls.to_owned(), client, caller: caller.with_deadline(DEADLINE), database: None, l0 }
    }

    /// The numbers that the calls in the caller's Inbox were given.
    pub(crate) async fn counts(&self) -> Vec<u64> {
        let records = self.l0.inbox(PROJECT, self.caller.agent_id()).await.expect("an Inbox");
        let mut counts = Vec::with_capacity(records.len());
        for record in records {
            let request = json!({"card_ids": [record.payload["tool_result_card_id"]]}).to_string();
            let subject = format!("l0.v1.{PROJECT}.cards.get");
            let reply = self.client.request(subject, request.into()).await.expect("a reply");
            let count = &body(&reply)["cards"][0]["content"]["result"]["count"];
            counts.push(count.as_u64().expect("a count"));
        }
        counts.sort_unstable();
        counts
    }

    /// How many calls are answered.
    pub(crate) async fn answered(&self) -> usize {
        self.l0.inbox(PROJECT, self.caller.agent_id()).await.expect("an Inbox").len()
    }

    /// Returns when the broker has read the subscription.
    pub(crate) async fn subscribe(&self, subject: &str) -> Subscriber {
        let subscriber = self.client.subscribe(subject.to_owned()).await.expect("a subscription");
        round_trip(&self.client).await.expect("an answer of the broker");
        subscriber
    }

    /// Starts an instance as a process, and waits until it receives commands.
    pub(crate) async fn instance(&self, name: &str) -> Child {
        self.instance_that(name, false).await
    }

    /// One whose tool [`HOLD`] never ends, or ends at once.
    pub(crate) async fn instance_that(&self, name: &str, holds: bool) -> Child {
        let mut ready = self.subscribe(&format!("{READY}.{name}")).await;
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command
            .args(["--exact", "utp_fleet::support::child_instance", "--nocapture"])
            .env(CHILD_URL, &self.urls)
            .env(CHILD_NAME, name)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(database) = &self.database {
            command.env(CHILD_DATABASE, database);
        }
        if holds {
            command.env(CHILD_HOLDS, "1");
        }
        let child = command.spawn().expect("a process");
        within("instance", ready.next()).await.expect("an open subscription");
        child
    }
}

/// Makes a stream; servers that have only just found each other may need a while for that.
async fn stream_of(client: &Client, config: jetstream::stream::Config) {
    let context = jetstream::new(client.clone());
    while context.create_stream(config.clone()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A stream as the suite makes it.
pub(crate) fn commands(num_replicas: usize) -> jetstream::stream::Config {
    jetstream::stream::Config {
        name: format!("cg_cmd_{VERSION}"),
        subjects: vec![format!("cg.{VERSION}.*.*.cmd.>")],
        num_replicas,
        ..Default::default()
    }
}

/// The body of an instance's process; as an ordinary test it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_instance() {
    let (Ok(url), Ok(name)) = (std::env::var(CHILD_URL), std::env::var(CHILD_NAME)) else {
        return;
    };
    let servers: Vec<&str> = url.split(',').collect();
    let client = async_nats::connect(&servers[..]).await.expect("a client");
    let mut config = ToolServiceConfig::new(&url);
    let mut fleet = FleetConfig::named(&name);
    fleet.database = std::env::var(CHILD_DATABASE).ok().map(|database| database.parse().expect("a URL"));
    config.fleet = Some(fleet);
    config.tools.push(std::sync::Arc::new(Hold { client: client.clone() }));
    let _service = ToolService::start(config).await.expect("a service");
    client.publish(format!("{READY}.{name}"), "".into()).await.expect("no error");
    client.flush().await.expect("a flush");
    std::future::pending::<()>().await;
}

/// A tool that says when it runs, and then ends at once or never.
struct Hold {
    client: Client,
}

/// Its row, for the caller.
pub(crate) fn hold_row() -> callmark_reference::utp::message::ToolRow {
    hold_definition().row(PROJECT, VERSION)
}

fn hold_definition() -> ToolDefinition {
    ToolDefinition {
        tool_name: HOLD,
        target: "cmd.tool.test.hold",
        author: "tool.test",
        description: "Holds its call.",
        parameters: json!({"type": "object"}),
        after_execution: callmark_reference::utp::message::AfterExecution::Suspend,
    }
}

impl Tool for Hold {
    fn definition(&self) -> ToolDefinition {
        hold_definition()
    }

    fn run(&self, _: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let client = self.client.clone();
        async move {
            client.publish(HELD, "".into()).await.expect("no error");
            client.flush().await.expect("a flush");
            if std::env::var(CHILD_HOLDS).is_ok() {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::Complete(json!("held")))
        }
        .boxed()
    }
}

/// What was reported and stored, by call.
#[derive(Default)]
pub(crate) struct Outcomes {
    callbacks: BTreeMap<String, BTreeSet<String>>,
    cards: BTreeMap<String, BTreeSet<String>>,
}

impl Outcomes {
    /// Takes a report.
    pub(crate) fn report(&mut self, report: &Value) {
        let call = report["correlation_id"].as_str().expect("a call").to_owned();
        self.callbacks.entry(call).or_default().insert(report["payload"].to_string());
    }

    /// Takes a card that is stored.
    pub(crate) fn card(&mut self, card: &Value) {
        if card["type"] == "tool.result" {
            let call = card["tool_call_id"].as_str().expect("a call").to_owned();
            self.cards.entry(call).or_default().insert(card.to_string());
        }
    }

    pub(crate) fn answered(&self) -> usize {
        self.callbacks.len()
    }

    pub(crate) fn is_answered(&self, call: &str) -> bool {
        self.callbacks.contains_key(call)
    }

    /// Checks that each call has one outcome, and that counting them gave each number once.
    pub(crate) fn check_counts(&self, calls: usize) {
        assert_eq!(self.answered(), calls);
        for (call, callbacks) in &self.callbacks {
            assert_eq!(callbacks.len(), 1, "{call}: {callbacks:?}");
        }
        let mut counts = BTreeSet::new();
        for (call, cards) in &self.cards {
            assert_eq!(cards.len(), 1, "{call}: {cards:?}");
            let card: Value = serde_json::from_str(cards.first().expect("a card")).expect("JSON");
            counts.insert(card["content"]["result"]["count"].as_u64().expect("a count"));
        }
        assert_eq!(counts, (1..=calls as u64).collect());
    }
}

/// Reports and cards of the project, as they pass.
pub(crate) struct Watch {
    reports: Subscriber,
    cards: Subscriber,
    pub(crate) outcomes: Outcomes,
}

impl Watch {
    pub(crate) async fn start(fleet: &Fleet) -> Self {
        let cards = fleet.subscribe(&format!("l0.v1.{PROJECT}.cards.save")).await;
        let reports = fleet.subscribe(&format!("l0.v1.{PROJECT}.*.report")).await;
        Self { reports, cards, outcomes: Outcomes::default() }
    }

    /// Takes what passes until so many calls are answered, or nothing has passed for a while; returns whether they are.
    pub(crate) async fn until(&mut self, answered: usize, quiet: Duration) -> bool {
        while self.outcomes.answered() < answered {
            let next = async {
                tokio::select! {
                    card = self.cards.next() => self.outcomes.card(&body(&card.expect("a card"))["card"]),
                    report = self.reports.next() => self.outcomes.report(&body(&report.expect("a report"))),
                }
            };
            if tokio::time::timeout(quiet, next).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Takes what has passed by now.
    pub(crate) async fn rest(&mut self, fleet: &Fleet) {
        round_trip(&fleet.client).await.expect("an answer of the broker");
        while let Some(Some(card)) = self.cards.next().now_or_never() {
            self.outcomes.card(&body(&card)["card"]);
        }
        while let Some(Some(report)) = self.reports.next().now_or_never() {
            self.outcomes.report(&body(&report));
        }
    }
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(tokio::time::error::Elapsed { .. }) => panic!("no {what} within {DEADLINE:?}"),
    }
}
