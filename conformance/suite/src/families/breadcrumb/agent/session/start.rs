//! Opens the parties around an agent, and starts it with what it has to know of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;

use super::{CrumbAgentError, CrumbAgentSession};
use crate::engine::digest::nonce;
use crate::engine::manifest::launch::filled;
use crate::engine::target::{ChildProcess, Handing, Launch, OpenContext, Pipes, Port, SharedProcess};
use crate::engine::timing::Timeouts;
use crate::families::breadcrumb::agent::driver::{Courier, Driver, Way, line};
use crate::families::breadcrumb::agent::manifest::{Capture, CrumbAgentTable};
use crate::families::breadcrumb::agent::model::Model;
use crate::families::breadcrumb::agent::scenario_state::ScenarioStates;
use crate::families::breadcrumb::agent::seed_data;
use crate::families::breadcrumb::agent::tools::Around;
use crate::families::breadcrumb::in_memory_store::Refused;
use crate::families::breadcrumb::json_lines;
use crate::families::breadcrumb::json_lines::LineWriter;
use crate::families::breadcrumb::router::ScenarioRouter;
use crate::families::breadcrumb::store::{Posting, Store, fixtures, stock};
use crate::net::http_server::HttpServer;
use crate::transcript::Kind;

/// A session before anything was learnt.
pub(super) async fn set_up(
    plan: OpenContext<CrumbAgentTable>,
    handing: Handing,
) -> Result<CrumbAgentSession, CrumbAgentError> {
    let OpenContext { table, directory, log, limits, wire, seed, outbound, inbound } = plan;
    let router = Arc::new(ScenarioRouter::new(wire));
    let posting = if table.drive.is_some() {
        Posting::Records
    } else if table.capture == Capture::Envelope {
        Posting::Envelopes
    } else {
        Posting::Loose
    };
    let store = Store::start(table.listen.as_deref(), &router, posting, None).await;
    let store = store.map_err(CrumbAgentError::Listen)?;
    let held = fixtures(table.fixtures.as_deref(), &directory).map_err(CrumbAgentError::Config)?;
    stock_up(&store, &held)?;
    let states = Arc::<ScenarioStates>::default();
    let model = Model::new(&router, &states);
    let speaking = Arc::clone(&model);
    let server =
        HttpServer::start(table.model_listen.as_deref(), Arc::new(move |request| speaking.serve(&request)));
    let server = server.await.map_err(CrumbAgentError::Listen)?;
    let store_url = inbound.url(&store.url()).await.map_err(CrumbAgentError::Start)?;
    let model_url = inbound.url(&server.url()).await.map_err(CrumbAgentError::Start)?;
    let beneath = inbound.around(Vec::new()).await.map_err(CrumbAgentError::Start)?;
    let port = Port::take(handing).map_err(CrumbAgentError::Start)?;
    let words = BTreeMap::from([
        ("store_url", store_url),
        ("model_url", format!("{model_url}/v1")),
        ("listen", port.address()),
    ]);
    let mut processes = Vec::new();
    log.clear();
    let placeholders: Vec<(&str, &str)> = words.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let launch = |command: &[String]| {
        Launch::of(&table.launch, command, &directory, &log, &placeholders).beneath(beneath.clone())
    };
    if let Some(command) = &table.launch.start {
        processes.push(spawn(&launch(command), &words, Pipes::None)?);
    }
    let mut listening = JoinSet::new();
    let drive = table.drive.clone().unwrap_or_default();
    let way = if let Some(command) = &drive.command {
        let mut process = spawn(&launch(command), &words, Pipes::Both)?;
        let Some((input, output)) = process.pipes() else {
            return Err(CrumbAgentError::Start("its command line has no pipes".to_owned()));
        };
        processes.push(process);
        let hearing = Arc::clone(&router);
        listening.spawn(json_lines::read(output, move |text| {
            hearing.record_incoming(Kind::Said, "stdout", BTreeMap::new(), line(&text));
        }));
        let input = LineWriter::new(input);
        for crumb in store
            .contents
            .list(&crate::families::breadcrumb::in_memory_store::Filter {
                limit: usize::MAX,
                ..Default::default()
            })
            .iter()
            .rev()
        {
            input.send(&crumb.full()).map_err(CrumbAgentError::Reach)?;
        }
        Way::Lines(input)
    } else if let Some(url) = &drive.http {
        let url = filled(url, &placeholders);
        let (deadline, patience) =
            (limits.scaled(table.deadline()), limits.scaled(table.launch.start_timeout()));
        Way::Http(
            Courier::new(&url, &outbound, &router, deadline, patience).map_err(CrumbAgentError::Config)?,
        )
    } else {
        Way::Store
    };
    if let Some(first) = processes.pop() {
        processes.push(first.on(port));
    }
    Ok(CrumbAgentSession {
        timeouts: Timeouts::calibrated(Duration::from_secs(1), &limits),
        around: Arc::new(Around {
            router,
            driver: Driver { store, way },
            model,
            prefix: outbound.prefix().to_owned(),
        }),
        states,
        further_tools: names(&held),
        works: false,
        process: SharedProcess::new(processes),
        nonce: nonce(),
        outbound,
        seed,
        table,
        _model: Some(server),
        _listening: listening,
    })
}

/// Puts into the store what it holds from the start.
fn stock_up(store: &Store, fixtures: &[Value]) -> Result<(), CrumbAgentError> {
    let fault =
        |refused: Refused| CrumbAgentError::Config(format!("`breadcrumb.agent.fixtures`: {refused:?}"));
    for (id, body) in seed_data::breadcrumbs() {
        store.contents.put(id.to_owned(), &body, None).map_err(fault)?;
    }
    stock(&store.contents, fixtures).map_err(fault)
}

/// All values of members called `name`.
fn names(values: &[Value]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for value in values {
        match value {
            Value::Object(members) => {
                all.extend(members.get("name").and_then(Value::as_str).map(str::to_owned));
                let nested: Vec<Value> = members.values().cloned().collect();
                all.extend(names(&nested));
            }
            Value::Array(items) => all.extend(names(items)),
            _ => {}
        }
    }
    all
}

fn spawn(
    launch: &Launch,
    words: &BTreeMap<&str, String>,
    pipes: Pipes,
) -> Result<ChildProcess, CrumbAgentError> {
    let around = [
        ("CALLMARK_STORE_URL", words["store_url"].as_str()),
        ("CALLMARK_MODEL_URL", &words["model_url"]),
        ("CALLMARK_LISTEN", &words["listen"]),
    ];
    launch.spawn(&around, pipes).map_err(CrumbAgentError::Start)
}
