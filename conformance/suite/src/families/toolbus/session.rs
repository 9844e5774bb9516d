//! The session of a run with an MCP server: which servers are started, and what was found out before the
//! first scenario.

mod calibrate;
mod diagnose;
mod error;
mod fleet;
mod lease;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};

use super::call::Probe;
use super::load::ToolbusCaller;
use super::manifest::{ToolbusTable, Transport};
use super::revision::Era;
use super::server::{Opening, Server};
use crate::engine::diagnosis::Check;
use crate::engine::digest::{hash, nonce};
use crate::engine::environment;
use crate::engine::load::Caller;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established, with_prefix};
use crate::engine::target::OpenContext;
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::guard;
use crate::net::wire::{PassthroughWire, Wire};
use crate::transcript::lock;

/// In place of the address of a server that is gone when the report is read.
const SHOWN_ADDRESS: &str = "127.0.0.1:8080";
/// Scenarios that move much data at a time.
const TURNS: usize = 1;
/// Servers of their own that scenarios have at a time.
const LEASES: usize = 4;

pub use error::ToolbusError;
pub(super) use fleet::StartedFleet;
pub use lease::Lease;
use lease::Leases;

/// Which context root a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootKind {
    /// Configured under the first of the two names.
    First,
    /// Configured under the second name alone.
    Second,
    /// None.
    None,
}

impl RootKind {
    /// The name in frames.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
            Self::None => "none",
        }
    }
}

/// An open session.
pub struct ToolbusSession {
    /// The manifest's table, as far as it is about the era.
    pub table: ToolbusTable,
    /// The era of MCP that is spoken.
    pub era: Era,
    /// Waiting times.
    pub timeouts: Timeouts,
    /// JSON Pointer to the results in the envelope.
    pub result_pointer: String,
    /// Where in the results the echoed value is.
    pub value_base: String,
    /// The revision of MCP that the server has agreed to.
    pub revision: String,
    /// What ids begin with that the suite makes up.
    pub(super) prefix: String,
    /// Where servers are started.
    outside: PathBuf,
    /// Keeps it; none where a run is judged again, which starts none.
    directory: Mutex<Option<TempDir>>,
    plan: OpenContext<ToolbusTable>,
    echoed: Result<(), String>,
    baselines: BTreeMap<Probe, Result<Value, String>>,
    shared: AsyncMutex<BTreeMap<(RootKind, Transport), Arc<Server>>>,
    /// Whether one of those has ended by itself.
    has_exited: AtomicBool,
    leases: Arc<Leases>,
    started: AtomicUsize,
    ids: Arc<AtomicI64>,
    all: Mutex<Vec<Weak<Server>>>,
    turn: Arc<Semaphore>,
    nonce: String,
}

/// Where results are, unless the manifest says otherwise or calibration finds them elsewhere.
const RESULT_POINTER: &str = "/result";

/// What was found out about a server before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolbusSnapshot {
    timeouts: Timeouts,
    result_pointer: String,
    value_base: String,
    revision: String,
    outside: PathBuf,
    echoed: Result<(), String>,
    baselines: Vec<(Probe, Result<Value, String>)>,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
}

impl ToolbusSnapshot {
    /// Of a session that nobody opened.
    pub(crate) fn unopened(table: &ToolbusTable) -> Self {
        Self {
            timeouts: Timeouts::unopened(),
            result_pointer: table.result_pointer.clone().unwrap_or_else(|| RESULT_POINTER.to_owned()),
            value_base: String::new(),
            revision: String::new(),
            outside: PathBuf::new(),
            echoed: Ok(()),
            baselines: Vec::new(),
            nonce: String::new(),
            prefix: String::new(),
        }
    }

    /// What of it cannot have been found out about the target of this table.
    pub(crate) fn contradiction(&self, table: &ToolbusTable) -> Option<String> {
        let declared = table.result_pointer.as_ref().filter(|declared| **declared != self.result_pointer)?;
        Some(format!(
            "its results were at `{}`, and `toolbus.result_pointer` is `{declared}`",
            self.result_pointer
        ))
    }
}

impl ToolbusSession {
    /// Id of the family whose session it is.
    pub const fn family_of(era: Era) -> &'static str {
        match era {
            Era::Legacy => "toolbus",
            Era::Modern => "toolbus@2026-07-28",
        }
    }

    /// What was found out.
    pub fn to_snapshot(&self) -> ToolbusSnapshot {
        ToolbusSnapshot {
            timeouts: self.timeouts,
            result_pointer: self.result_pointer.clone(),
            value_base: self.value_base.clone(),
            revision: self.revision.clone(),
            outside: self.outside.clone(),
            echoed: self.echoed.clone(),
            baselines: self.baselines.clone().into_iter().collect(),
            nonce: self.nonce.clone(),
            prefix: self.prefix.clone(),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(table: ToolbusTable, era: Era, snapshot: ToolbusSnapshot, seed: u64) -> Arc<Self> {
        let table = table.in_era(era);
        let plan = OpenContext {
            table: table.clone(),
            directory: PathBuf::new(),
            log: PathBuf::new().into(),
            limits: TimeoutLimits::default(),
            wire: Arc::new(PassthroughWire),
            seed,
            outbound: Arc::default(),
            inbound: Arc::default(),
        };
        Arc::new(Self {
            timeouts: snapshot.timeouts,
            result_pointer: snapshot.result_pointer,
            value_base: snapshot.value_base,
            revision: snapshot.revision,
            outside: snapshot.outside,
            prefix: snapshot.prefix,
            directory: Mutex::default(),
            table,
            era,
            plan,
            echoed: snapshot.echoed,
            baselines: snapshot.baselines.into_iter().collect(),
            shared: AsyncMutex::default(),
            has_exited: AtomicBool::default(),
            leases: Arc::new(Leases { free: Mutex::default(), room: Arc::new(Semaphore::new(LEASES)) }),
            started: AtomicUsize::new(0),
            ids: Arc::default(),
            all: Mutex::default(),
            turn: Arc::new(Semaphore::new(TURNS)),
            nonce: snapshot.nonce,
        })
    }

    fn is_again(&self) -> bool {
        lock(&self.directory).is_none()
    }

    /// Starts the first server, and learns where its results are and how fast it is.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub fn open(
        era: Era,
        plan: OpenContext<ToolbusTable>,
    ) -> BoxFuture<'static, Result<Arc<Self>, ToolbusError>> {
        Box::pin(Self::open_inner(era, plan))
    }

    async fn open_inner(era: Era, plan: OpenContext<ToolbusTable>) -> Result<Arc<Self>, ToolbusError> {
        let table = plan.table.clone().in_era(era);
        let directory = guard::directory("toolbus-").inspect_err(|error| environment::note(error));
        let directory = directory.map_err(|error| ToolbusError::Directory(error.to_string()))?;
        if Probe::Echo.table(&table).is_none() {
            return Err(ToolbusError::NoEcho);
        }
        if let Some(root) = table.root.as_ref().filter(|root| !table.is_started() && !root.is_dir()) {
            return Err(ToolbusError::NoRoot(root.display().to_string()));
        }
        // One that was waited for in every era is not waited for again.
        if let Some(why) = table.unanswered.clone() {
            return Err(ToolbusError::Connect(why));
        }
        plan.log.clear();
        let mut session = Self::unopened(era, table, plan, directory);
        let server = session.server(RootKind::First, 0).await.map_err(ToolbusError::Connect)?;
        let calibrated = session.calibrate(&server).await;
        established(session, calibrated).await
    }

    /// One that has spoken with nobody yet.
    fn unopened(era: Era, table: ToolbusTable, plan: OpenContext<ToolbusTable>, directory: TempDir) -> Self {
        Self {
            timeouts: Timeouts::calibrated(Duration::from_secs(1), &plan.limits),
            result_pointer: table.result_pointer.clone().unwrap_or_else(|| RESULT_POINTER.to_owned()),
            value_base: String::new(),
            revision: String::new(),
            outside: directory.path().to_owned(),
            prefix: plan.outbound.prefix().to_owned(),
            directory: Mutex::new(Some(directory)),
            table,
            era,
            plan,
            echoed: Ok(()),
            baselines: BTreeMap::new(),
            shared: AsyncMutex::default(),
            has_exited: AtomicBool::default(),
            leases: Arc::new(Leases { free: Mutex::default(), room: Arc::new(Semaphore::new(LEASES)) }),
            started: AtomicUsize::new(0),
            ids: Arc::new(AtomicI64::new(1)),
            all: Mutex::default(),
            turn: Arc::new(Semaphore::new(TURNS)),
            nonce: nonce(),
        }
    }

    /// Finds out by a process or a connection of its own whether a server can be spoken with in an era.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) async fn speaks(era: Era, plan: OpenContext<ToolbusTable>) -> Result<(), String> {
        let directory = guard::directory("toolbus-").map_err(|error| error.to_string())?;
        let session = Self::unopened(era, plan.table.clone().in_era(era), plan, directory);
        let spoken = session.server(RootKind::First, 0).await.map(|_| ());
        session.close().await;
        spoken
    }

    /// What messages of the target cross.
    pub fn wire(&self) -> &dyn Wire {
        &*self.plan.wire
    }

    /// Whether the echo probe gave back what it was given.
    pub fn works(&self) -> bool {
        self.echoed.is_ok()
    }

    /// Why it did not.
    pub fn why_idle(&self) -> Option<&str> {
        self.echoed.as_ref().err().map(String::as_str)
    }

    /// The envelope of a plain call of a probe, or why the manifest's call does not work.
    pub fn baseline(&self, probe: Probe) -> Option<&Result<Value, String>> {
        self.baselines.get(&probe)
    }

    /// What makes the ids of a scenario unlike those of any other, in this run and in all others.
    pub fn unique(&self, scenario: &str) -> String {
        hash(&[&self.plan.seed.to_string(), scenario, &self.nonce])[..12].to_owned()
    }

    /// The server that scenarios share. One that has ended is replaced, and for a scenario that is run again one that
    /// still owes an answer; once one has ended by itself, any.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn server(&self, kind: RootKind, attempt: u32) -> Result<Arc<Server>, String> {
        self.server_over(self.table.transport(), kind, attempt).await
    }

    /// As [`Self::server`], over a transport that need not be the run's.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn server_over(
        &self,
        transport: Transport,
        kind: RootKind,
        attempt: u32,
    ) -> Result<Arc<Server>, String> {
        if self.is_again() {
            return Ok(Arc::new(Server::offline(self.era)));
        }
        let mut shared = self.shared.lock().await;
        if let Some(server) = shared.get(&(kind, transport)) {
            if server.exited().is_some() {
                self.has_exited.store(true, Ordering::Relaxed);
            }
            // Who ended one shows by a process that nobody else had.
            let is_again = attempt > 0 && (server.owes() || self.has_exited.load(Ordering::Relaxed));
            if server.why_closed().is_none() && !is_again {
                return Ok(Arc::clone(server));
            }
        }
        let server = self.connect(kind, transport, None, Opening::Greeted).await?;
        if let Some(ended) = shared.insert((kind, transport), Arc::clone(&server)) {
            ended.close().await;
        }
        Ok(server)
    }

    /// A server for one scenario at a time, or a session of its own where the suite does not start servers.
    /// One that came through its scenario serves a later one: starting a server may be dear. A scenario that is run again
    /// gets one that nobody had.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn own_server(&self, attempt: u32) -> Result<Lease, String> {
        let room = Arc::clone(&self.leases.room).acquire_owned().await.map_err(|error| error.to_string())?;
        let free = if attempt == 0 { lock(&self.leases.free).pop() } else { None };
        let (server, is_used) = match free {
            _ if self.is_again() => (Arc::new(Server::offline(self.era)), false),
            Some(server) if server.why_closed().is_none() => (server, true),
            _ => {
                (self.connect(RootKind::First, self.table.transport(), None, Opening::Greeted).await?, false)
            }
        };
        Ok(Lease { server, is_used, is_harmed: false, leases: Arc::clone(&self.leases), _room: room })
    }

    /// A server that is new, and asked nothing by others: it serves one scenario only.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn new_server(&self, transport: Transport, opening: Opening) -> Result<Lease, String> {
        let room = Arc::clone(&self.leases.room).acquire_owned().await.map_err(|error| error.to_string())?;
        let server = if self.is_again() {
            Arc::new(Server::offline(self.era))
        } else {
            self.connect(RootKind::First, transport, None, opening).await?
        };
        let leases = Arc::clone(&self.leases);
        Ok(Lease { server, is_used: false, is_harmed: true, leases, _room: room })
    }

    /// Waits until few other scenarios move much data: together they would take much memory.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turn).acquire_owned().await.ok()
    }

    /// Ends a server and starts one that finds what it left.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn restart(&self, lease: &mut Lease) -> Result<(), String> {
        if self.is_again() {
            return Ok(());
        }
        lease.server.close().await;
        let earlier = Arc::clone(&lease.server);
        lease.server =
            self.connect(RootKind::First, self.table.transport(), Some(&earlier), Opening::Greeted).await?;
        Ok(())
    }

    /// How long a server may take until it answers.
    pub(super) fn start_timeout(&self) -> Duration {
        self.plan.limits.scaled(self.table.launch.start_timeout())
    }

    /// The directory below which all context roots lie, each with some empty levels above it.
    pub fn outside(&self) -> &Path {
        &self.outside
    }
}

impl Session for ToolbusSession {
    fn family(&self) -> &'static str {
        Self::family_of(self.era)
    }

    fn capabilities(&self) -> BTreeSet<String> {
        let table = &self.table;
        let mut all: BTreeSet<String> = Probe::ALL
            .into_iter()
            .filter(|probe| probe.table(table).is_some())
            .map(Probe::capability)
            .collect();
        let endpoint =
            |kind: &Option<super::manifest::Endpoint>| kind.as_ref().is_some_and(|own| own.root.is_some());
        let facts = [
            ("root", table.is_started() || table.root.is_some()),
            ("root.second", table.is_started() || endpoint(&table.endpoints.second_root)),
            ("root.none", table.is_started() || table.endpoints.without_root.is_some()),
            ("restart", table.is_started()),
            ("stdio", table.has_transport(Transport::Stdio)),
            ("http", table.has_transport(Transport::Http)),
            ("started.http", table.launch.is_started()),
            ("replicas", table.replicas_count() > 1),
            ("scope.first", !table.scopes.is_empty()),
            ("scope.second", table.scopes.len() > 1),
            // Where MCP has no session, nothing says when one ends.
            ("scope.session", self.era == Era::Legacy && table.scopes.iter().any(|scope| scope == "session")),
            ("scope.persistent", table.scopes.iter().any(|scope| scope == "persistent")),
        ];
        all.extend(facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name.to_owned()));
        all
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works())
            .then_some("the target never did the work of its echo probe, so nothing counts as a pass")
    }

    fn snapshot(&self) -> Value {
        protocol::snapshot(&self.to_snapshot())
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move { self.checks().await }.boxed_local()
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        let left = (!self.table.is_started()).then(|| {
            let calls = self.ids.load(Ordering::Relaxed).max(1) - 1;
            let ids = with_prefix("ids", &self.prefix);
            format!("artifacts and stored results of up to {calls} calls{ids}: the tool bus has no call that deletes them")
        });
        std::future::ready(CleanedUp::left(left)).boxed()
    }

    fn caller(self: Arc<Self>, _: &str) -> Option<Arc<dyn Caller>> {
        Some(Arc::new(ToolbusCaller::new(self)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            let shared = std::mem::take(&mut *self.shared.lock().await);
            drop(shared);
            lock(&self.leases.free).clear();
            let all: Vec<Arc<Server>> = lock(&self.all).iter().filter_map(Weak::upgrade).collect();
            futures::future::join_all(all.iter().map(|server| server.close())).await;
            drop(lock(&self.directory).take());
        }
        .boxed()
    }
}
