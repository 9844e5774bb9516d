//! Opens the parties around a runner, and starts it with what it has to know of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::engine::digest::{hash, nonce};
use crate::engine::target::{ChildProcess, Handing, Launch, Log, OpenContext, Pipes, Port};
use crate::families::breadcrumb::external_store::ExternalStore;
use crate::families::breadcrumb::json_lines;
use crate::families::breadcrumb::json_lines::LineWriter;
use crate::families::breadcrumb::manifest::{BreadcrumbTable, LANGUAGE_MODELS};
use crate::families::breadcrumb::router::ScenarioRouter;
use crate::families::breadcrumb::runner::error::RunnerError;
use crate::families::breadcrumb::runner::pages::Pages;
use crate::families::breadcrumb::runner::upstream::{Upstream, secret_id};
use crate::families::breadcrumb::store::{Posting, Store, fixtures, is_blank, stock};
use crate::families::breadcrumb::store_access::StoreAccess;
use crate::net::inbound::Inbound;
use crate::net::outbound::Outbound;
use crate::transcript::{Kind, lock};

/// For the event stream of a system to open.
const OPENING: Duration = Duration::from_secs(10);
/// Keys of a run.
const KEYS: usize = 2;

/// The parties around a runner, and its process.
pub(super) struct Parties {
    pub(super) store_access: StoreAccess,
    pub(super) router: Arc<ScenarioRouter>,
    pub(super) upstream: Option<Upstream>,
    pub(super) pages: Option<Pages>,
    pub(super) keys: Vec<String>,
    /// Where the runner runs.
    pub(super) directory: PathBuf,
    pub(super) process: Option<ChildProcess>,
    pub(super) nonce: String,
    pub(super) listening: JoinSet<()>,
}

/// Opens the parties, and starts the runner where the manifest says how.
pub(super) async fn set_up(
    plan: OpenContext<BreadcrumbTable>,
    handing: Handing,
) -> Result<Parties, RunnerError> {
    let OpenContext { table, directory, log, wire, outbound, inbound, .. } = plan;
    let router = Arc::new(ScenarioRouter::new(wire));
    let mut listening = JoinSet::new();
    let mut process = None;
    let has_model = table.catalog.iter().any(|tool| LANGUAGE_MODELS.contains(&tool.as_str()));
    let listen = table.upstream_listen.as_deref();
    let upstream = if has_model {
        Some(Upstream::start(listen, &router).await.map_err(RunnerError::Upstream)?)
    } else {
        None
    };
    let pages = if table.catalog.contains("astral") {
        Some(Pages::start(&router).await.map_err(RunnerError::Listen)?)
    } else {
        None
    };
    let nonce = nonce();
    let generated = |number: usize| format!("cmk_{}", &hash(&[&nonce, &number.to_string()])[..24]);
    let keys: Vec<String> = (0..if has_model { KEYS } else { 0 }).map(generated).collect();
    let store_access = if let Some(base) = &table.store {
        StoreAccess::External(follow(&table, base, &outbound, &router, &mut listening).await?)
    } else {
        let store = Store::start(table.listen.as_deref(), &router, Posting::Plain, None)
            .await
            .map_err(RunnerError::Listen)?;
        let held = fixtures(table.fixtures.as_deref(), &directory).map_err(RunnerError::Config)?;
        stock(&store.contents, &held)
            .map_err(|refused| RunnerError::Config(format!("`breadcrumb.fixtures`: {refused:?}")))?;
        log.hide(keys.iter().cloned());
        for (number, key) in keys.iter().enumerate() {
            store.contents.keep_secret(&secret_id(number), &format!("key-{number}"), key);
        }
        let port = Port::take(handing).map_err(RunnerError::Start)?;
        let words = words(&inbound, &store, upstream.as_ref(), &port.address()).await?;
        let played = upstream.as_ref().map(Upstream::played);
        let beneath = inbound.around(played.into_iter().collect()).await.map_err(RunnerError::Listen)?;
        process = start(&table, &directory, &log, &words, beneath)?.map(|process| process.on(port));
        match process.as_mut().filter(|_| table.lines).and_then(ChildProcess::pipes) {
            Some((input, output)) => {
                let (router, contents) = (Arc::clone(&router), Arc::clone(&store.contents));
                listening.spawn(json_lines::read(output, move |line| {
                    let said = serde_json::from_str(&line).unwrap_or(Value::from(line));
                    for body in router.record_incoming(Kind::Crumb, "stdout", BTreeMap::new(), said) {
                        // What is no breadcrumb was written down, and is stored nowhere.
                        let _ = contents.put(contents.fresh_id(), &body, None);
                    }
                }));
                StoreAccess::Lines { store, input: LineWriter::new(input) }
            }
            None => StoreAccess::Store(store),
        }
    };
    let directory = table.launch.directory(&directory);
    Ok(Parties { store_access, router, upstream, pages, keys, directory, process, nonce, listening })
}

/// Follows the store of a system.
async fn follow(
    table: &BreadcrumbTable,
    base: &str,
    outbound: &Arc<Outbound>,
    router: &Arc<ScenarioRouter>,
    listening: &mut JoinSet<()>,
) -> Result<ExternalStore, RunnerError> {
    let system = ExternalStore::of(table, base, outbound).map_err(RunnerError::Config)?;
    let (opened, mut is_open) = watch::channel(false);
    let router = Arc::clone(router);
    let blanks = Mutex::new(BTreeSet::new());
    listening.spawn(system.clone().follow(opened, move |crumb, version| {
        let id = crumb.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        // An answer that was stored without content is given when it is filled.
        let was_blank = lock(&blanks).remove(&id);
        if is_blank(&crumb) {
            lock(&blanks).insert(id);
        }
        let kind = if version > 1 && !was_blank { Kind::CrumbChange } else { Kind::Crumb };
        router.record_incoming(kind, "event", BTreeMap::new(), crumb);
    }));
    let open = tokio::time::timeout(OPENING, is_open.wait_for(|open| *open)).await;
    if !matches!(open, Ok(Ok(_))) {
        if let Some(why) = system.trouble() {
            return Err(RunnerError::Reach(format!("`{base}`: {why}")));
        }
        return Err(RunnerError::Reach(format!("the event stream at `{base}/events/stream` does not open")));
    }
    Ok(system)
}

/// What a runner is given of the parties around it: names of variables without their prefix, and values.
async fn words(
    inbound: &Inbound,
    store: &Store,
    upstream: Option<&Upstream>,
    listen: &str,
) -> Result<BTreeMap<&'static str, String>, RunnerError> {
    let store_url = inbound.url(&store.url()).await.map_err(RunnerError::Listen)?;
    let mut words = BTreeMap::from([("store_url", store_url), ("listen", listen.to_owned())]);
    if let Some(upstream) = upstream {
        let base = inbound.url(&upstream.url()).await.map_err(RunnerError::Upstream)?;
        words.extend(Upstream::addresses(&base));
    }
    Ok(words)
}

fn start(
    table: &BreadcrumbTable,
    directory: &Path,
    log: &Log,
    words: &BTreeMap<&'static str, String>,
    beneath: BTreeMap<String, String>,
) -> Result<Option<ChildProcess>, RunnerError> {
    let Some(command) = &table.launch.start else { return Ok(None) };
    log.clear();
    let placeholders: Vec<(&str, &str)> = words.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let launch = Launch::of(&table.launch, command, directory, log, &placeholders).beneath(beneath);
    let around: Vec<(String, &str)> = words
        .iter()
        .map(|(name, value)| (format!("CALLMARK_{}", name.to_uppercase()), value.as_str()))
        .collect();
    let around: Vec<(&str, &str)> = around.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let pipes = if table.lines { Pipes::Both } else { Pipes::None };
    launch.spawn(&around, pipes).map(Some).map_err(RunnerError::Start)
}
