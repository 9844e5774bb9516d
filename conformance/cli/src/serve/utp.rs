//! `serve utp`: platform, Tool Service, PMO and agent runtime on one broker, with a demo project to try them in.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, HeaderMap};
use callmark_reference::log::Log;
use callmark_reference::postgres::DatabaseUrl;
use callmark_reference::utp::message::{RosterRow, TurnRequest};
use callmark_reference::utp::runtime::{Reports, RuntimeConfig};
use callmark_reference::utp::{
    self, FleetConfig, L0, L0Config, OpenApi, OpenApiConfig, Pmo, PmoConfig, Revision, Runtime,
    ScriptedModel, ToolService, ToolServiceConfig, Upstream, pmo, revision, round_trip,
};
use futures::StreamExt as _;
use serde_json::{Value, json};

use callmark_suite::families::utp::credentials;

use crate::args::{ServeArguments, StoreChoice};
use crate::broker::{self, RunningBroker};
use crate::exit::{self, Failure};
use crate::setup::no_broker;

/// The revisions to serve, where the command line does not say it.
const PROTOCOL_VERSION: &str = "CALLMARK_PROTOCOL_VERSION";
/// The broker of what is served alone, and which instance of a fleet it is.
const NATS: &str = "CALLMARK_NATS_URL";
const REPLICA: &str = "CALLMARK_REPLICA";
/// What an executor that is served alone asks in place of the real hosts, and its proxy.
const UPSTREAM: &str = "CALLMARK_UPSTREAM_URL";
const PROXY: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
/// The project that is there from the start.
const PROJECT: &str = "prj_demo";
/// The channel of the demo turn.
const CHANNEL: &str = "public";
/// The agent that is there from the start, and one that work can be given to.
const AGENTS: [&str; 2] = ["ag_pilot", "ag_helper"];
/// Where the agents' wakeups go.
const WORKER_TARGET: &str = "worker_generic";
/// The model to ask in place of the scripted one.
const MODEL: &str = "CALLMARK_MODEL_URL";
/// For the demo turn.
const TURN_DEADLINE: Duration = Duration::from_secs(120);
/// Characters of a body that are printed.
const SHOWN: usize = 1200;

/// Everything that is served.
struct Served {
    broker: RunningBroker,
    l0: L0,
    service: ToolService,
    pmo: Pmo,
    runtime: Runtime,
    model: Option<ScriptedModel>,
}

impl Served {
    async fn start(
        arguments: &ServeArguments,
        revisions: &[Revision],
        model_log: Log,
    ) -> Result<Self, Failure> {
        let broker = broker::start(&arguments.broker).await.map_err(|error| no_broker(&error))?;
        let log: Log = Arc::new(|line: &str| eprintln!("{line}"));
        let mut config = L0Config::new(broker.url());
        config.revisions = revisions.to_vec();
        config.http = Some(arguments.listen);
        config.data_dir.clone_from(&arguments.data);
        config.database = database(arguments);
        config.log = Arc::clone(&log);
        let l0 = L0::start(config).await.map_err(Failure::caused)?;
        furnish(&l0, revisions[0]).await?;
        let mut config = ToolServiceConfig::new(broker.url());
        config.revisions = revisions.to_vec();
        config.data_dir.clone_from(&arguments.data);
        config.fleet = fleet(arguments).map(|mut fleet| {
            fleet.with_platform = true;
            fleet
        });
        config.log = Arc::clone(&log);
        let service = ToolService::start(config).await.map_err(Failure::caused)?;
        let mut config = PmoConfig::new(broker.url());
        config.revisions = revisions.to_vec();
        config.log = Arc::clone(&log);
        let pmo = Pmo::start(config).await.map_err(Failure::caused)?;
        let own = std::env::var(MODEL).ok().filter(|url| !url.is_empty());
        let (url, model) = if let Some(url) = own {
            (url, None)
        } else {
            let any = ([127, 0, 0, 1], 0).into();
            let model = ScriptedModel::start_with_log(any, model_log).await.map_err(Failure::caused)?;
            (model.url(), Some(model))
        };
        let mut config = RuntimeConfig::new(broker.url(), url);
        config.revisions = revisions.to_vec();
        config.reports = Reports::Platform;
        config.log = log;
        let runtime = Runtime::start(config).await.map_err(Failure::caused)?;
        Ok(Self { broker, l0, service, pmo, runtime, model })
    }

    async fn end(self) {
        self.runtime.shutdown().await;
        self.pmo.shutdown().await;
        self.service.shutdown().await;
        self.l0.shutdown().await;
        if let Some(model) = self.model {
            model.shutdown().await;
        }
        self.broker.stop().await;
    }
}

/// What to serve: what the command line says, else the environment, else everything; the first is the demo's.
fn revisions(arguments: &ServeArguments) -> Result<Vec<Revision>, Failure> {
    if !arguments.protocol_version.is_empty() {
        return Ok(arguments.protocol_version.clone());
    }
    match std::env::var(PROTOCOL_VERSION).ok().filter(|versions| !versions.is_empty()) {
        None => Ok(Revision::ALL.to_vec()),
        Some(versions) => versions
            .split(',')
            .map(|version| version.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::usage(format!("{PROTOCOL_VERSION}: {error}"))),
    }
}

/// Puts agents and tools into the demo project.
async fn furnish(l0: &L0, revision: Revision) -> Result<(), Failure> {
    for row in utp::rows(PROJECT, revision).into_iter().chain(pmo::rows(PROJECT, revision)) {
        // Probes are for the suite; they would only puzzle a model.
        if !row.tool_name.starts_with("probe.") {
            l0.put_tool(row).await.map_err(Failure::caused)?;
        }
    }
    for agent in AGENTS {
        let row = RosterRow::new(PROJECT, agent, WORKER_TARGET);
        l0.put_roster(row).await.map_err(Failure::caused)?;
    }
    Ok(())
}

/// Serves until it is interrupted, or for one turn.
pub(super) async fn serve(arguments: &ServeArguments) -> Result<u8, Failure> {
    let shows = arguments.watch || arguments.turn.is_some();
    let model_log: Log = if shows { Arc::new(|line: &str| println!("{line}\n")) } else { Arc::new(|_| {}) };
    let revisions = revisions(arguments)?;
    let served = Served::start(arguments, &revisions, model_log).await?;
    eprintln!("NATS      {}", arguments.broker_url(served.broker.url()));
    if let Some(url) = served.l0.http_url() {
        eprintln!("platform  {url}");
    }
    match &served.model {
        Some(_) => eprintln!("model     scripted (set {MODEL} to an OpenAI-compatible URL to use another)"),
        None => eprintln!("model     that of {MODEL}"),
    }
    let served_as: Vec<&str> = revisions.iter().map(|revision| revision.as_str()).collect();
    eprintln!("protocol  {}", served_as.join(" and "));
    eprintln!("project   {PROJECT}, with the agents {}", AGENTS.join(" and "));
    let client = credentials::of_urls(ConnectOptions::new(), served.broker.url())
        .connect(served.broker.url())
        .await
        .map_err(Failure::caused)?;
    let watching = if shows { Some(watch(&client).await?) } else { None };
    let code = if let Some(instruction) = &arguments.turn {
        turn(&client, revisions[0], instruction).await
    } else {
        eprintln!("serving the tools of `callmark serve utp`; end with Ctrl-C");
        exit::until_signal().await;
        Ok(exit::CONFORMANT)
    };
    eprintln!("ending");
    if let Some(watching) = watching {
        watching.abort();
    }
    served.end().await;
    code
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The broker of what is served alone.
fn broker_of_others() -> Result<String, Failure> {
    variable(NATS).ok_or_else(|| {
        Failure::usage(format!("{NATS} says no broker"))
            .hint("`callmark certify` sets it for what it starts; set it to a `nats://` URL to try by hand")
    })
}

/// How it takes part in a fleet, if it does.
fn fleet(arguments: &ServeArguments) -> Option<FleetConfig> {
    if !matches!(arguments.store, Some(StoreChoice::Nats | StoreChoice::Postgres(_))) {
        return None;
    }
    let mut fleet = variable(REPLICA).map(FleetConfig::named).unwrap_or_default();
    fleet.database = database(arguments);
    Some(fleet)
}

/// Where tables are kept, if it is a database.
fn database(arguments: &ServeArguments) -> Option<DatabaseUrl> {
    arguments.store.as_ref().and_then(StoreChoice::database).cloned()
}

fn print_health(url: Option<String>) {
    if let Some(url) = url {
        eprintln!("health    {url}/livez and /readyz");
    }
}

/// Serves the Tool Service alone, until it is interrupted.
pub(super) async fn service(arguments: &ServeArguments) -> Result<u8, Failure> {
    let mut config = ToolServiceConfig::new(broker_of_others()?);
    config.revisions = revisions(arguments)?;
    config.data_dir.clone_from(&arguments.data);
    config.fleet = fleet(arguments);
    config.health = arguments.health;
    config.log = Arc::new(|line: &str| eprintln!("{line}"));
    let service = ToolService::start(config).await.map_err(Failure::caused)?;
    print_health(service.health_url());
    eprintln!("serving the Tool Service of `callmark serve utp`; end with Ctrl-C");
    exit::until_signal().await;
    eprintln!("ending");
    service.shutdown().await;
    Ok(exit::CONFORMANT)
}

/// Serves the OpenAPI executor alone, until it is interrupted.
pub(super) async fn openapi(arguments: &ServeArguments) -> Result<u8, Failure> {
    let mut config = OpenApiConfig::new(broker_of_others()?);
    config.revisions = revisions(arguments)?;
    config.data_dir.clone_from(&arguments.data);
    config.fleet = fleet(arguments);
    config.health = arguments.health;
    config.log = Arc::new(|line: &str| eprintln!("{line}"));
    let (shown, upstream) = match (variable(UPSTREAM), PROXY.into_iter().find_map(variable)) {
        (Some(url), _) => (format!("that of {UPSTREAM}"), Upstream::Through(url)),
        (None, Some(proxy)) => ("the real one, through the proxy".to_owned(), Upstream::RealBehind(proxy)),
        (None, None) => ("the real one".to_owned(), Upstream::Real),
    };
    config.upstream = upstream;
    let executor = OpenApi::start(config).await.map_err(Failure::caused)?;
    print_health(executor.health_url());
    eprintln!("upstream  {shown}");
    eprintln!("serving the OpenAPI executor of `callmark serve utp`; end with Ctrl-C");
    exit::until_signal().await;
    eprintln!("ending");
    executor.shutdown().await;
    Ok(exit::CONFORMANT)
}

/// Prints every message on the bus, in the order in which the broker passes them on.
async fn watch(client: &Client) -> Result<tokio::task::JoinHandle<()>, Failure> {
    // One subscription, so that the order is the broker's.
    let mut messages = client.subscribe(">").await.map_err(Failure::caused)?;
    round_trip(client).await.map_err(Failure::caused)?;
    Ok(tokio::spawn(async move {
        while let Some(message) = messages.next().await {
            // Answers to requests add nothing to the requests.
            if !message.subject.starts_with("_INBOX.") {
                println!("{}\n{}\n", message.subject, shown(&message.payload));
            }
        }
    }))
}

fn shown(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    let pretty = serde_json::from_str::<Value>(&text).and_then(|body| serde_json::to_string(&body));
    let text = pretty.unwrap_or_else(|_| text.into_owned());
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Has an agent of the demo project take a turn, and waits for its end.
async fn turn(client: &Client, revision: Revision, instruction: &str) -> Result<u8, Failure> {
    let agent = AGENTS[0];
    let subject = format!("cg.{revision}.{PROJECT}.{CHANNEL}.evt.agent.{agent}.task");
    let mut ends = client.subscribe(subject).await.map_err(Failure::caused)?;
    let request = json!(TurnRequest::new(agent, instruction));
    let subject = format!("l0.v1.{PROJECT}.{CHANNEL}.turns.start");
    let mut headers = HeaderMap::new();
    if revision >= Revision::V1r4 {
        // By these the runtime knows the revision, since the subject has no version.
        headers.insert(revision::headers::PROJECT_ID, PROJECT);
        headers.insert(revision::headers::CHANNEL_ID, CHANNEL);
    }
    client
        .request_with_headers(subject, headers, request.to_string().into())
        .await
        .map_err(Failure::caused)?;
    let end = tokio::time::timeout(TURN_DEADLINE, ends.next());
    let end = tokio::select! {
        end = end => end.ok().flatten(),
        () = exit::until_signal() => None,
    };
    let Some(end) = end else { return Err(Failure::incomplete("the turn did not end")) };
    let event: Value = serde_json::from_slice(&end.payload).unwrap_or_default();
    let card = event["deliverable_card_id"].as_str().unwrap_or_default();
    let subject = format!("l0.v1.{PROJECT}.cards.get");
    let request = json!({"card_ids": [card]}).to_string().into();
    let answer = client.request(subject, request).await.map_err(Failure::caused)?;
    let cards: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    println!("== the turn ended as {}\n{}", event["status"], cards["cards"][0]["content"]);
    Ok(exit::CONFORMANT)
}

/// One call of each kind, with what travels.
pub(super) async fn tour(arguments: &ServeArguments) -> Result<u8, Failure> {
    let broker = broker::start(&arguments.broker).await.map_err(|error| no_broker(&error))?;
    let tour =
        utp::tour(broker.url(), revisions(arguments)?[0], "prj_tour").await.map_err(Failure::caused)?;
    for stop in &tour.stops {
        let card = serde_json::to_string_pretty(&stop.outcome.card).map_err(Failure::internal)?;
        let callback = serde_json::to_string_pretty(&stop.outcome.callback).map_err(Failure::internal)?;
        println!(
            "== {} ended as {}",
            stop.tool_name,
            serde_json::to_value(stop.status).map_err(Failure::internal)?
        );
        println!("callback {callback}\ntool.result card {card}\n");
    }
    tour.end().await;
    broker.stop().await;
    Ok(exit::CONFORMANT)
}
