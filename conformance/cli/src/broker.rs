//! Choosing a broker, and starting it: embedded, a `nats-server` binary, a container, or what runs at a URL.
//!
//! Neighbours: the command line and the manifest name a [`BrokerChoice`]; every driver connects to
//! the [`RunningBroker`]'s URL and does not know which it was.
//! Deliberately absent: any fallback from one choice to another. What cannot start is an error
//! that says how to get it, because a run on another broker than asked for is another run.

#[cfg(feature = "container")]
mod container;
#[cfg(not(feature = "container"))]
#[path = "broker/no_container.rs"]
mod container;
mod error;
mod nodes;
mod probe;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_nats::ServerAddr;
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::target::SharedProcess;
use callmark_suite::families::utp::binding::Commands;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::nats_access::NatsAccess;
use callmark_suite::families::utp::nats_servers;
use callmark_suite::families::utp::nats_servers::{SCHEMES, redacted};
use callmark_suite::guard;
use callmark_suite::guard::Guarded;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

use self::container::Container;
pub use self::error::BrokerStartError;
use self::probe::probe;

/// The path of the binary that `server` starts; `nats-server` of `PATH` without it.
pub const SERVER_VARIABLE: &str = "NATS_SERVER_BIN";

const SERVER_START_DEADLINE: Duration = Duration::from_secs(10);
const SERVER_STOP_DEADLINE: Duration = Duration::from_secs(5);

/// The most of a starting server's log that is read and kept for the error.
const LOG_LIMIT: u64 = 64 * 1024;

/// What precedes the address in the log of every `nats-server` since 1.0.
const LISTENING: &str = "Listening for client connections on ";

/// What `--broker` and `[utp] nats` accept: `embedded`, `server`, `container`, or the URLs of servers.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum BrokerChoice {
    /// The broker inside this process.
    #[default]
    Embedded,
    /// A `nats-server` binary, started on a free loopback port.
    Server,
    /// The `nats` image, started with Docker.
    Container,
    /// What runs there already, of several servers the first that answers; URLs are separated by commas. They may carry
    /// credentials, which are never shown.
    Url(String),
}

impl BrokerChoice {
    /// As a manifest says it, with credentials.
    pub(crate) fn given(&self) -> &str {
        match self {
            Self::Embedded => "embedded",
            Self::Server => "server",
            Self::Container => "container",
            Self::Url(url) => url,
        }
    }
}

/// A choice that is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "unknown broker `{given}`, expected `embedded`, `server`, `container`, or a `nats://`, `tls://`, `ws://` or `wss://` \
     URL; several are separated by commas"
)]
pub struct ParseBrokerError {
    /// What was given, without credentials.
    pub given: String,
}

impl FromStr for BrokerChoice {
    type Err = ParseBrokerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "server" => Ok(Self::Server),
            "container" => Ok(Self::Container),
            urls if nats_servers::urls(urls).into_iter().all(is_server) => Ok(Self::Url(urls.to_owned())),
            other => Err(ParseBrokerError { given: redacted(other) }),
        }
    }
}

fn is_server(url: &str) -> bool {
    SCHEMES.iter().any(|scheme| url.starts_with(scheme)) && ServerAddr::from_str(url).is_ok()
}

impl fmt::Display for BrokerChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&redacted(self.given()))
    }
}

// Derived, it would show credentials.
impl fmt::Debug for BrokerChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BrokerChoice({self})")
    }
}

/// A running broker; ended when dropped or by [`RunningBroker::stop`], except one that ran before.
pub struct RunningBroker {
    url: String,
    process: Process,
}

/// What has to be ended with the run.
enum Process {
    Embedded(Broker),
    Server(Child, Option<Guarded>, TempDir),
    Container(Box<Container>),
    /// The nodes of the manifest.
    Nodes(Arc<SharedProcess>),
    /// It is not ours.
    External,
}

impl RunningBroker {
    /// What was chosen, and which of several servers answers, without credentials.
    pub fn shown(&self, choice: &BrokerChoice) -> String {
        let all = choice.to_string();
        let answers = || format!("{} answers, of {all}", nats_servers::redacted(self.url()));
        if all.contains(',') { answers() } else { all }
    }

    /// What the suite connects to: URLs, separated by commas, of which the first has answered. May carry credentials.
    pub fn urls(&self) -> &str {
        &self.url
    }

    /// What another client connects to: the server that has answered. May carry credentials.
    pub fn url(&self) -> &str {
        nats_servers::first(&self.url)
    }

    /// The subjects that each client is subscribed to, where the broker can be asked.
    pub fn subscriptions(&self) -> Option<Vec<Vec<String>>> {
        match &self.process {
            Process::Embedded(broker) => Some(broker.subscriptions()),
            Process::Server(..) | Process::Container(_) | Process::Nodes(_) | Process::External => None,
        }
    }

    /// The processes of its nodes, where they were started as the manifest says.
    pub fn nodes(&self) -> Option<Arc<SharedProcess>> {
        match &self.process {
            Process::Nodes(nodes) => Some(Arc::clone(nodes)),
            _ => None,
        }
    }

    /// Ends it and returns when it has ended. Failures to end are not reported: dropping does the
    /// rest (`SIGKILL`, removal of the container).
    pub async fn stop(self) {
        match self.process {
            Process::Embedded(broker) => broker.shutdown().await,
            Process::Server(mut child, _guarded, _streams) => {
                if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
                    // Not reaped yet, so the id is still its own.
                    let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
                }
                if timeout(SERVER_STOP_DEADLINE, child.wait()).await.is_err() {
                    let _ = child.kill().await;
                }
            }
            Process::Container(container) => {
                container.stop().await;
            }
            Process::Nodes(nodes) => nodes.stop_together().await,
            Process::External => {}
        }
    }
}

impl fmt::Debug for RunningBroker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RunningBroker({})", redacted(&self.url))
    }
}

/// Starts the chosen broker, or finds it running, and returns once a client has connected to it.
///
/// # Errors
///
/// A [`BrokerStartError`] that names what is missing; its help says how to get it.
pub async fn start(choice: &BrokerChoice) -> Result<RunningBroker, BrokerStartError> {
    reached(choice, &NatsAccess::default(), Commands::Core).await
}

/// As [`start`], as this manifest says who connects, and with the nodes that it has the suite start where its own broker is
/// chosen. What they print goes to a file in the directory `logs`.
///
/// # Errors
///
/// As there.
pub async fn start_for(
    choice: &BrokerChoice,
    manifest: &Manifest,
    logs: &Path,
) -> Result<RunningBroker, BrokerStartError> {
    let utp = manifest.get::<UtpTable>();
    let (access, commands) = (NatsAccess::of(manifest), utp.map(|utp| utp.commands).unwrap_or_default());
    let Some(utp) = utp.filter(|utp| !utp.broker_nodes.is_empty() && utp.nats == choice.given()) else {
        return reached(choice, &access, commands).await;
    };
    let nodes = nodes::start(manifest, utp, &access, logs).await?;
    let found = reached(choice, &access, commands).await?;
    Ok(RunningBroker { url: found.url, process: Process::Nodes(nodes) })
}

async fn reached(
    choice: &BrokerChoice,
    access: &NatsAccess,
    commands: Commands,
) -> Result<RunningBroker, BrokerStartError> {
    let broker = match choice {
        BrokerChoice::Embedded if commands == Commands::JetStream => {
            return Err(BrokerStartError::NoJetStream);
        }
        BrokerChoice::Embedded => {
            let broker = Broker::start(BrokerConfig::default()).await?;
            RunningBroker { url: broker.url(), process: Process::Embedded(broker) }
        }
        BrokerChoice::Server => start_server(&find_server()?).await?,
        BrokerChoice::Container => {
            let (url, container) = container::start(commands).await?;
            RunningBroker { url, process: Process::Container(Box::new(container)) }
        }
        BrokerChoice::Url(urls) => {
            let url = first_reachable(urls, access).await?;
            return Ok(RunningBroker { url, process: Process::External });
        }
    };
    match probe(&broker.url, access).await {
        Ok(()) => Ok(broker),
        Err(error) => {
            broker.stop().await;
            Err(error)
        }
    }
}

/// The URLs, of which the first answers.
async fn first_reachable(urls: &str, access: &NatsAccess) -> Result<String, BrokerStartError> {
    let mut all = nats_servers::urls(urls);
    let mut whys = Vec::new();
    for place in 0..all.len() {
        match probe(all[place], access).await {
            Ok(()) => {
                all.swap(0, place);
                return Ok(all.join(","));
            }
            Err(error) if all.len() == 1 => return Err(error),
            Err(BrokerStartError::Unreachable { url, why }) => whys.push(format!("`{url}`: {why}")),
            Err(error) => whys.push(error.to_string()),
        }
    }
    Err(BrokerStartError::Unreachable { url: redacted(urls), why: whys.join("; ") })
}

fn find_server() -> Result<PathBuf, BrokerStartError> {
    server_in(env::var_os(SERVER_VARIABLE), env::var_os("PATH"))
}

fn server_in(named: Option<OsString>, path: Option<OsString>) -> Result<PathBuf, BrokerStartError> {
    if let Some(named) = named.filter(|named| !named.is_empty()).map(PathBuf::from) {
        if named.is_file() {
            return Ok(named);
        }
        let looked = format!("`{SERVER_VARIABLE}` is `{}`, which is no file", named.display());
        return Err(BrokerStartError::NoServer { looked });
    }
    env::split_paths(&path.unwrap_or_default())
        .map(|folder| folder.join("nats-server"))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| BrokerStartError::NoServer {
            looked: format!("`{SERVER_VARIABLE}` is not set, and there is none in `PATH`"),
        })
}

/// With JetStream, whatever commands come by: a target may keep its ledger there.
async fn start_server(binary: &Path) -> Result<RunningBroker, BrokerStartError> {
    let streams = guard::directory("callmark-streams-").map_err(BrokerStartError::NoDirectory)?;
    let keeping = [OsStr::new("--jetstream"), OsStr::new("--store_dir"), streams.path().as_os_str()];
    // Port -1 lets the server take a free one, so there is no race for it; the log says which.
    let starting = guard::Starting::new();
    let mut child = Command::new(binary)
        .envs([guard::variable()])
        .envs(guard::temporary())
        .args(["--addr", "127.0.0.1", "--port", "-1"])
        .args(keeping)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| BrokerStartError::ServerSpawn { binary: binary.into(), source })?;
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    let guarded = group.map(|group| starting.started(group));
    let spawn_failed = |source| BrokerStartError::ServerSpawn { binary: binary.into(), source };
    let stderr = child
        .stderr
        .take()
        .ok_or_else(|| spawn_failed(io::Error::other("its standard error is not captured")))?;
    let late = |_| BrokerStartError::Deadline {
        what: format!("`{}`", binary.display()),
        limit: SERVER_START_DEADLINE,
    };
    let mut log = BufReader::new(stderr);
    let announced = timeout(SERVER_START_DEADLINE, listening_address(&mut log))
        .await
        .map_err(late)?
        .map_err(spawn_failed)?;
    match announced {
        Ok(address) => {
            // Read on, or the pipe fills and the server stalls. It ends with the server.
            tokio::spawn(async move { tokio::io::copy(&mut log, &mut tokio::io::sink()).await });
            let url = format!("nats://{address}");
            Ok(RunningBroker { url, process: Process::Server(child, guarded, streams) })
        }
        Err(log) => {
            let _ = child.start_kill();
            let status = timeout(SERVER_STOP_DEADLINE, child.wait()).await.map_err(late)?;
            let status = status.map_err(spawn_failed)?;
            Err(BrokerStartError::ServerEnded { binary: binary.into(), status, log })
        }
    }
}

/// The address that the log announces, or the whole log if it ends without one.
async fn listening_address(log: &mut BufReader<ChildStderr>) -> io::Result<Result<SocketAddr, String>> {
    let mut lines = log.take(LOG_LIMIT).lines();
    let mut said = String::new();
    while let Some(line) = lines.next_line().await? {
        let address = line.split_once(LISTENING).and_then(|(_, address)| address.trim().parse().ok());
        if let Some(address) = address {
            return Ok(Ok(address));
        }
        said.push_str(&line);
        said.push('\n');
    }
    Ok(Err(said))
}

#[cfg(test)]
#[path = "broker_tests.rs"]
mod tests;
