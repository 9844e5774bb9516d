//! How the servers of a session come to be: one that is started or one that runs, over either transport, each with a
//! context root of its own.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::{RootKind, SHOWN_ADDRESS, ToolbusSession};
use crate::engine::environment;
use crate::engine::target::{self, ChildProcess, Handing, Launch, Pipes, Port};
use crate::families::toolbus::http::{Endpoint as HttpEndpoint, Http};
use crate::families::toolbus::link::{Link, Sink};
use crate::families::toolbus::manifest::{Endpoint, Transport};
use crate::families::toolbus::server::{Connect, Opening, Server, ServerPlan};
use crate::families::toolbus::stdio::Stdio;
use crate::guard;
use crate::transcript::lock;

/// What the private directory of a server is called.
const PRIVATE: &str = "private";
/// The variable in which a replica finds its number, from 1.
const REPLICA_VARIABLE: &str = "CALLMARK_REPLICA";

/// Servers that start at a time, of all sessions: as many as there are processors, since a program that loads keeps one
/// busy. Were as many started as scenarios run, none of them would answer in time on a slow machine.
static STARTING: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(2, NonZero::get).max(2)));

impl ToolbusSession {
    /// Opens a connection to a server, and remembers it for the end of the run.
    pub(super) async fn connect(
        &self,
        kind: RootKind,
        transport: Transport,
        earlier: Option<&Server>,
        opening: Opening,
    ) -> Result<Arc<Server>, String> {
        let open = |handing| async move {
            let private = self.private_directory(transport, earlier)?;
            let root = earlier.and_then(|earlier| earlier.root.clone());
            let mut server =
                self.open_server(kind, transport, (root, private.as_deref()), opening, handing).await?;
            server.private = private;
            Ok(server)
        };
        let starts = self.table.is_started_over(transport);
        let _turn =
            if starts { Some(STARTING.acquire().await.map_err(|error| error.to_string())?) } else { None };
        let server = target::opened(open, Clone::clone);
        let server = Arc::new(server.await?);
        lock(&self.all).push(Arc::downgrade(&server));
        Ok(server)
    }

    async fn open_server(
        &self,
        kind: RootKind,
        transport: Transport,
        (root, private): (Option<PathBuf>, Option<&TempDir>),
        opening: Opening,
        handing: Handing,
    ) -> Result<Server, String> {
        let table = &self.table;
        let plan = self.server_plan(opening, self.start_timeout());
        if !table.is_started_over(transport) {
            let (url, root) = match kind {
                RootKind::First => (table.url.clone(), table.root.clone()),
                RootKind::Second => pair(table.endpoints.second_root.as_ref()),
                RootKind::None => pair(table.endpoints.without_root.as_ref()),
            };
            let url = url.ok_or("the manifest names no such endpoint")?;
            let shown = url.clone();
            return Server::open(vec![self.connect_over_http(url, shown, None)], root, plan).await;
        }
        let root = match (kind, root) {
            (RootKind::None, _) => None,
            (_, Some(root)) => Some(root),
            (_, None) => Some(self.new_root()?),
        };
        let shown = root.as_ref().map(|root| root.display().to_string()).unwrap_or_default();
        let [first, second] = &table.env_root_names;
        let own = match kind {
            RootKind::First => Some((first.as_str(), shown.as_str())),
            RootKind::Second => Some((second.as_str(), shown.as_str())),
            RootKind::None => None,
        };
        let private = private.map(Self::private_path);
        let around = own.into_iter().chain(table.private_dir.as_deref().zip(private.as_deref()));
        let around: Vec<(&str, &str)> = around.collect();
        match transport {
            Transport::Stdio => {
                let launch = self.launch(table.command.as_deref());
                let around: Vec<(String, String)> =
                    around.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
                let era = self.era;
                let link: Connect = Box::new(move |sink: Sink| {
                    let around: Vec<(&str, &str)> =
                        around.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                    Ok(Arc::new(Stdio::start(&launch, &around, era, sink)?) as Arc<dyn Link>)
                });
                Server::open(vec![link], root, plan).await
            }
            Transport::Http => {
                let launch = self.launch(table.launch.start.as_deref());
                let numbers =
                    table.replicas.map_or(vec![None], |count| (1..=count.get()).map(Some).collect());
                let started = numbers.into_iter().map(|number| self.start(&launch, &around, number, handing));
                Server::open(started.collect::<Result<_, String>>()?, root, plan).await
            }
        }
    }

    /// Starts a process that listens, the one of this number where there are replicas.
    fn start(
        &self,
        launch: &Launch,
        around: &[(&str, &str)],
        number: Option<u32>,
        handing: Handing,
    ) -> Result<Connect, String> {
        let (process, listen) = Self::listening(launch, around, number, handing)?;
        let (url, shown) = self.addresses(&listen);
        Ok(self.connect_over_http(url, shown, Some(process)))
    }

    /// A process that is to listen, and where.
    pub(super) fn listening(
        launch: &Launch,
        around: &[(&str, &str)],
        number: Option<u32>,
        handing: Handing,
    ) -> Result<(ChildProcess, String), String> {
        let port = Port::take(handing)?;
        let (listen, number) = (port.address(), number.map(|number| number.to_string()));
        let mut around = around.to_vec();
        around.push(("CALLMARK_LISTEN", &listen));
        around.extend(number.as_deref().map(|number| (REPLICA_VARIABLE, number)));
        let process = launch.spawn(&around, Pipes::None)?.on(port);
        Ok((process, listen))
    }

    /// The endpoint of a server that listens there, and what reports call it.
    pub(super) fn addresses(&self, listen: &str) -> (String, String) {
        let pattern = self.table.url.as_deref().unwrap_or("http://{listen}/mcp");
        let at = |address: &str| pattern.replace("{listen}", address);
        (at(listen), at(SHOWN_ADDRESS))
    }

    /// What a connection is opened with.
    pub(super) fn server_plan(&self, opening: Opening, deadline: Duration) -> ServerPlan {
        ServerPlan {
            era: self.era,
            opening,
            ids: Arc::clone(&self.ids),
            wire: Arc::clone(&self.plan.wire),
            deadline,
            outbound: Arc::clone(&self.plan.outbound),
        }
    }

    /// How an endpoint is connected with, and the process behind it where the suite started that.
    pub(super) fn connect_over_http(
        &self,
        url: String,
        shown: String,
        process: Option<ChildProcess>,
    ) -> Connect {
        let (headers, outbound, era) =
            (self.table.headers.clone(), Arc::clone(&self.plan.outbound), self.era);
        Box::new(move |sink: Sink| {
            let endpoint = HttpEndpoint { url, shown, headers: &headers, era };
            Ok(Arc::new(Http::new(endpoint, process, &outbound, sink)?) as Arc<dyn Link>)
        })
    }

    /// The private directory of a server that is started: a new one, or that of the server in whose place it comes.
    pub(super) fn private_directory(
        &self,
        transport: Transport,
        earlier: Option<&Server>,
    ) -> Result<Option<Arc<TempDir>>, String> {
        if self.table.private_dir.is_none() || !self.table.is_started_over(transport) {
            return Ok(None);
        }
        if let Some(own) = earlier.and_then(|earlier| earlier.private.clone()) {
            return Ok(Some(own));
        }
        let made = guard::directory("private-")
            .and_then(|directory| std::fs::create_dir(directory.path().join(PRIVATE)).map(|()| directory));
        let made = made.inspect_err(|error| environment::note(error));
        made.map(|directory| Some(Arc::new(directory)))
            .map_err(|error| format!("no private directory: {error}"))
    }

    /// The private directory itself.
    pub(super) fn private_path(directory: &TempDir) -> String {
        directory.path().join(PRIVATE).display().to_string()
    }

    pub(super) fn launch(&self, command: Option<&[String]>) -> Launch {
        let (table, plan) = (&self.table, &self.plan);
        let launch = Launch::of(&table.launch, command.unwrap_or_default(), &plan.directory, &plan.log, &[]);
        Launch { removed: table.env_root_names.to_vec(), ..launch }
    }

    pub(super) fn new_root(&self) -> Result<PathBuf, String> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        // What climbs out of it by a few levels still lands where the suite looks.
        let root = self.outside.join(format!("server{number}/a/b/c/d/e/f/g/h/i/j/context"));
        std::fs::create_dir_all(&root)
            .inspect_err(|error| environment::note(error))
            .map_err(|error| format!("`{}`: {error}", root.display()))?;
        Ok(root)
    }
}

fn pair(endpoint: Option<&Endpoint>) -> (Option<String>, Option<PathBuf>) {
    (endpoint.map(|own| own.url.clone()), endpoint.and_then(|own| own.root.clone()))
}
