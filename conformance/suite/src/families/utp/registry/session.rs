//! A session with a management API, and what was found out about it before the first scenario.

mod calibrate;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::{Client, Request, segment, tools_path};
use super::definition::Definition;
use super::error::ManagementError;
use super::upload::{MadeUpload, Upload};
use crate::engine::diagnosis::Check;
use crate::engine::digest::{hash, nonce};
use crate::engine::judge::Cause;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established, with_prefix};
use crate::engine::target;
use crate::engine::target::{ChildProcess, Handing, Launch, OpenContext, Pipes, Port, SharedProcess};
use crate::engine::timing::Timeouts;
use crate::families::utp::manifest::{RegistryRead, RegistryTable};
use crate::families::utp::nats_servers;
use crate::families::utp::revision::Revision;
use crate::net::address::elsewhere;
use crate::net::http_client::Caller;
use crate::transcript;

/// Longest time between two looks at a row.
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// The address in reports where the real one is gone when they are read.
const SHOWN_BASE: &str = "http://127.0.0.1:8080";

/// `<ver>` of the subjects of a registry.
#[derive(Clone, Debug)]
pub struct SubjectVersions {
    /// The one of the session's revision, in which definitions are written.
    pub own: String,
    /// All that the target serves.
    pub served: Vec<String>,
}

/// What a session is opened with.
#[derive(Clone)]
pub struct ManagementPlan {
    /// As every session.
    pub context: OpenContext<RegistryTable>,
    /// `<ver>` of the subjects.
    pub versions: SubjectVersions,
    /// The versions that a started registry is to serve, separated by commas.
    pub spoken: String,
    /// The broker, for a started registry that needs one.
    pub nats_url: String,
    /// Who has started the registry already, in another revision.
    pub beside: Option<Arc<ManagementSession>>,
}

/// An open session.
pub struct ManagementSession {
    /// The manifest's table.
    pub table: RegistryTable,
    /// `<ver>` of the subjects.
    pub versions: SubjectVersions,
    /// Waiting times.
    pub timeouts: Timeouts,
    /// The way to the registry.
    pub client: Client,
    base: String,
    works: bool,
    summary: String,
    process: Arc<SharedProcess>,
    /// Whose target it is, as the id of a family, where one start of it serves several revisions.
    shares: Option<&'static str>,
    seed: u64,
    nonce: String,
    /// What projects, tools and words begin with.
    pub(super) prefix: String,
}

impl std::fmt::Debug for ManagementSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ManagementSession").field("works", &self.works).finish_non_exhaustive()
    }
}

/// What was found out about a registry before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManagementSnapshot {
    timeouts: Timeouts,
    base: String,
    works: bool,
    #[serde(rename = "told")]
    summary: String,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
}

impl ManagementSnapshot {
    /// Of a session that nobody opened.
    pub(crate) fn unopened() -> Self {
        Self {
            timeouts: Timeouts::unopened(),
            base: String::new(),
            works: true,
            summary: String::new(),
            nonce: String::new(),
            prefix: String::new(),
        }
    }

    /// What of it cannot have been found out about the target of this table.
    pub(crate) fn contradiction(&self, table: &RegistryTable) -> Option<String> {
        let base = table.base_url.as_deref().unwrap_or("http://{listen}");
        elsewhere("utp.registry.base_url", base, &self.base)
    }
}

impl ManagementSession {
    /// Id of the family whose session it is.
    pub const fn family_of(revision: Revision) -> &'static str {
        match revision {
            Revision::V1r3 => "utp.registry",
            Revision::V1r4 => "utp.registry@v1r4",
        }
    }

    /// What was found out.
    pub fn to_snapshot(&self) -> ManagementSnapshot {
        ManagementSnapshot {
            timeouts: self.timeouts,
            base: self.base.clone(),
            works: self.works,
            summary: self.summary.clone(),
            nonce: self.nonce.clone(),
            prefix: self.prefix.clone(),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(
        table: RegistryTable,
        versions: SubjectVersions,
        snapshot: ManagementSnapshot,
        seed: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            client: Client::offline(&table),
            table,
            versions,
            timeouts: snapshot.timeouts,
            base: snapshot.base,
            works: snapshot.works,
            summary: snapshot.summary,
            process: Arc::default(),
            shares: None,
            seed,
            nonce: snapshot.nonce,
            prefix: snapshot.prefix,
        })
    }

    /// Starts the registry where that is the suite's business, and uploads a definition to it.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub fn open(plan: ManagementPlan) -> BoxFuture<'static, Result<Arc<Self>, ManagementError>> {
        Box::pin(Self::open_inner(plan))
    }

    async fn open_inner(plan: ManagementPlan) -> Result<Arc<Self>, ManagementError> {
        let why = |error: &ManagementError| match error {
            ManagementError::Start(why) => why.clone(),
            _ => String::new(),
        };
        target::opened(|handing| Self::open_on(plan.clone(), handing), why).await
    }

    async fn open_on(plan: ManagementPlan, handing: Handing) -> Result<Arc<Self>, ManagementError> {
        let table = plan.context.table.clone();
        let mut base = table.base_url.clone().unwrap_or_else(|| "http://{listen}".to_owned());
        let mut process = None;
        match (&plan.beside, &table.launch.start) {
            (Some(other), _) => base.clone_from(&other.base),
            (None, Some(command)) => {
                let port = Port::take(handing).map_err(ManagementError::Start)?;
                base = base.replace("{listen}", &port.address());
                let beneath =
                    plan.context.inbound.around(Vec::new()).await.map_err(ManagementError::Start)?;
                process = Some(start(&plan, command, &port.address(), beneath)?.on(port));
            }
            (None, None) if table.base_url.is_none() => return Err(ManagementError::NoRegistry),
            (None, None) => {}
        }
        let process = match &plan.beside {
            Some(other) => Arc::clone(&other.process),
            None => Arc::new(SharedProcess::new(process)),
        };
        let mut session = Self {
            timeouts: Timeouts::calibrated(Duration::from_secs(1), &plan.context.limits),
            client: Client::new(&base, &table, &plan.context.outbound, plan.context.wire)
                .map_err(ManagementError::Config)?,
            versions: plan.versions,
            base,
            works: false,
            summary: String::new(),
            shares: plan.beside.as_ref().map(|_| Self::family_of(Revision::V1r3)),
            process,
            seed: plan.context.seed,
            nonce: nonce(),
            prefix: plan.context.outbound.prefix().to_owned(),
            table,
        };
        let calibrated = session.calibrate(&plan.context.limits).await;
        established(session, calibrated).await
    }

    /// Whether an uploaded definition could be read back.
    pub fn works(&self) -> bool {
        self.works
    }

    fn checks(&self) -> Vec<Check> {
        if !self.works() {
            return vec![Check::bad("registry", Cause::Implementation, &self.summary)];
        }
        vec![Check::good("registry", "takes a definition and gives it back"), Check::timeouts(&self.timeouts)]
    }

    /// Says why the registry is gone, where the suite started it.
    pub fn ended(&self) -> Option<String> {
        self.process.ended()
    }

    /// What makes the words of a scenario unlike those of any other, in this run and in all others.
    pub fn unique(&self, scenario: &str, what: &str) -> String {
        hash(&[&self.seed.to_string(), scenario, &self.nonce, what])[..12].to_owned()
    }

    /// The project of a scenario.
    pub fn project(&self, unique: &str) -> String {
        self.table.project.clone().unwrap_or_else(|| format!("{}prj_{unique}", self.prefix))
    }

    /// The name of a tool outside the scenarios.
    fn tool(&self, unique: &str) -> String {
        format!("{}tide_{unique}", self.prefix)
    }

    /// A word that stands in the texts of one definition.
    pub(super) fn word(&self, unique: &str) -> String {
        format!("{}w{unique}", self.prefix)
    }

    /// What a command line needs to reach the API beside the request.
    pub(super) fn by_hand(&self) -> String {
        self.client.by_hand()
    }

    /// The address in reports.
    pub fn shown_base(&self) -> &str {
        if self.table.launch.is_started() { SHOWN_BASE } else { &self.base }
    }

    /// Uploads a definition, and looks for its row where it was taken.
    pub async fn upload(&self, caller: &Caller, project: &str, definition: &Definition) -> MadeUpload {
        self.upload_until(caller, project, definition, &is_stored).await
    }

    /// As [`upload`](Self::upload), and looks until its row is the new one, where an earlier one may be taken for it.
    pub async fn upload_until(
        &self,
        caller: &Caller,
        project: &str,
        definition: &Definition,
        is_new: IsNew<'_>,
    ) -> MadeUpload {
        // One that never showed what it took shows nothing later.
        let patience = if self.works { self.timeouts.answer } else { Duration::ZERO };
        self.upload_and_look(caller, project, definition, (patience, is_new)).await
    }

    async fn upload_and_look(
        &self,
        caller: &Caller,
        project: &str,
        definition: &Definition,
        (patience, is_new): (Duration, IsNew<'_>),
    ) -> MadeUpload {
        let request = Request {
            method: "POST",
            path: tools_path(project),
            tool: definition.name().to_owned(),
            form: definition.form.clone(),
            body: Some(definition.text()),
            about: Vec::new(),
        };
        let post = self.client.send(caller, &request, self.timeouts.answer).await;
        let mut made = MadeUpload { definition: definition.clone(), post, before: None, after: None };
        let look = |made: &MadeUpload, holds: IsNew<'_>| {
            caller.transcript.with(|frames| Upload::of(frames, made).is_some_and(|upload| holds(&upload)))
        };
        let began = Instant::now();
        let mut wait = self.timeouts.settle_window / 4;
        while look(&made, &|upload| upload.post.is_2xx()) {
            made.after = Some(self.read(caller, project, definition).await);
            // A registry may take its time until it shows what it took.
            if caller.transcript.record_external("late", || began.elapsed() + wait > patience)
                || look(&made, is_new)
            {
                break;
            }
            transcript::sleep_unless_replaying(wait).await;
            wait = (wait * 2).min(LONGEST_LOOK);
        }
        made
    }

    /// Reads the row of a tool, in the way that the manifest says.
    pub async fn read(&self, caller: &Caller, project: &str, definition: &Definition) -> u64 {
        let tools = tools_path(project);
        let request = Request {
            method: "GET",
            path: match self.table.read {
                RegistryRead::Get => format!("{tools}/{}", segment(definition.name())),
                RegistryRead::List => tools,
            },
            tool: definition.name().to_owned(),
            form: definition.form.clone(),
            body: None,
            about: vec![definition.name().to_owned(), definition.word.clone()],
        };
        self.client.send(caller, &request, self.timeouts.answer).await
    }
}

/// Whether what was read last of an upload is its own row.
type IsNew<'a> = &'a (dyn Fn(&Upload<'_>) -> bool + Sync);

/// Whether a row shows what only the definition said.
fn is_stored(upload: &Upload<'_>) -> bool {
    upload.stored().is_some()
}

fn start(
    plan: &ManagementPlan,
    command: &[String],
    listen: &str,
    beneath: BTreeMap<String, String>,
) -> Result<ChildProcess, ManagementError> {
    let OpenContext { table, directory, log, .. } = &plan.context;
    log.clear();
    let launch = Launch::of(&table.launch, command, directory, log, &[("listen", listen)]).beneath(beneath);
    let around = [
        ("CALLMARK_LISTEN", listen),
        ("CALLMARK_NATS_URL", nats_servers::first(&plan.nats_url)),
        ("CALLMARK_PROTOCOL_VERSION", &plan.spoken),
    ];
    launch.spawn(&around, Pipes::None).map_err(ManagementError::Start)
}

impl Session for ManagementSession {
    fn family(&self) -> &'static str {
        Self::family_of(Revision::of(&self.versions.own))
    }

    fn capabilities(&self) -> BTreeSet<String> {
        // Of a registry whose one project the manifest names, no other may be there.
        self.table.project.is_none().then(|| "registry.projects".to_owned()).into_iter().collect()
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works()).then_some("no uploaded definition could be read back, so nothing counts as a pass")
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        let names = with_prefix("names", &self.prefix);
        let rows = format!("rows that the run uploaded{names}: the management API of the Guide deletes none");
        std::future::ready(CleanedUp::left((!self.table.launch.is_started()).then_some(rows))).boxed()
    }

    fn snapshot(&self) -> Value {
        protocol::snapshot(&self.to_snapshot())
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move { self.checks() }.boxed_local()
    }

    fn process(&self) -> Option<&SharedProcess> {
        Some(&self.process)
    }

    fn shares_target_of(&self) -> Option<&'static str> {
        self.shares
    }

    fn answers_again(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            let caller = Caller { scenario: "restart".to_owned(), transcript: Arc::default() };
            let within = self.timeouts.scaled(self.table.launch.start_timeout());
            self.wait_for_it(&caller, within).await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.process.stop().boxed()
    }
}
