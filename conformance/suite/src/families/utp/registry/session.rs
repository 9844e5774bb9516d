//! A session with a management API, and what was found out about it before the first scenario.

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
use super::exchange::Exchange;
use super::upload::{MadeUpload, Upload};
use crate::engine::diagnosis::Check;
use crate::engine::digest::{hash, nonce};
use crate::engine::judge::Cause;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established};
use crate::engine::target;
use crate::engine::target::{ChildProcess, Handing, Launch, OpenContext, Pipes, Port, SharedProcess};
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::utp::manifest::{RegistryRead, RegistryTable};
use crate::families::utp::nats_servers;
use crate::families::utp::revision::Revision;
use crate::net::address::elsewhere;
use crate::net::http_client::Caller;
use crate::transcript;

/// Between two looks at a registry that does not answer yet.
const LOOK: Duration = Duration::from_millis(10);
/// Before each try to have a definition taken and to read it back.
const WARM_UP: [Duration; 3] = [Duration::ZERO, Duration::from_millis(300), Duration::from_millis(1200)];
/// So long the first definition may take until it shows.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// Requests side by side that show how fast the registry is with many.
const CROWD: usize = 32;
/// Uploads side by side that show the same of those; their number stays small, since what is uploaded stays there.
const UPLOADS: usize = 8;
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
        self.table.project.clone().unwrap_or_else(|| format!("prj_{unique}"))
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
        // One that never showed what it took shows nothing later.
        let patience = if self.works { self.timeouts.answer } else { Duration::ZERO };
        self.upload_and_look(caller, project, definition, patience).await
    }

    async fn upload_and_look(
        &self,
        caller: &Caller,
        project: &str,
        definition: &Definition,
        patience: Duration,
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
        let look = |made: &MadeUpload, look: fn(&Upload<'_>) -> bool| {
            caller.transcript.with(|frames| Upload::of(frames, made).is_some_and(|upload| look(&upload)))
        };
        let began = Instant::now();
        let mut wait = self.timeouts.settle_window / 4;
        while look(&made, |upload| upload.post.is_2xx()) {
            made.after = Some(self.read(caller, project, definition).await);
            // A registry may take its time until it shows what it took.
            if caller.transcript.record_external("late", || began.elapsed() + wait > patience)
                || look(&made, |upload| upload.stored().is_some())
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

    /// Finds out whether the registry takes a definition and shows it again, and how fast it is.
    async fn calibrate(&mut self, limits: &TimeoutLimits) -> Result<(), ManagementError> {
        let caller = Caller { scenario: "calibration".to_owned(), transcript: Arc::default() };
        let within = limits.scaled(self.table.launch.start_timeout());
        self.wait_for_it(&caller, within).await?;
        let mut slowest = Duration::ZERO;
        for (number, wait) in WARM_UP.into_iter().enumerate() {
            tokio::time::sleep(wait).await;
            let unique = self.unique("calibration", &number.to_string());
            let definition =
                Definition::full(&self.versions.own, &format!("tide_{unique}"), &format!("w{unique}"));
            let project = self.project(&unique);
            let began = Instant::now();
            let patience = limits.scaled(FIRST_LOOK);
            let made = self.upload_and_look(&caller, &project, &definition, patience).await;
            // Two exchanges are more than one.
            slowest = began.elapsed();
            let (stored, status, summary) = caller.transcript.with(|frames| {
                let upload = Upload::of(frames, &made);
                let status = upload.and_then(|upload| upload.post.status());
                let summary = upload.map(|upload| upload.summary()).unwrap_or_default();
                (upload.is_some_and(|upload| upload.stored().is_some()), status, summary)
            });
            self.works = stored;
            self.summary = summary;
            if matches!(status, Some(401 | 403)) && !self.table.launch.is_started() {
                return Err(ManagementError::Refused(std::mem::take(&mut self.summary)));
            }
            // What takes a definition and does not show it, or says that it is at fault, does so later as well.
            if stored || status.is_some_and(|status| status < 500) {
                break;
            }
        }
        // Scenarios run side by side, and a registry may work in turn.
        let began = Instant::now();
        let nobody = self.nobody();
        let project = self.project("nobody");
        let crowd = (0..CROWD).map(|_| self.read(&caller, &project, &nobody));
        futures::future::join_all(crowd).await;
        slowest = slowest.max(began.elapsed());
        if self.works {
            slowest = slowest.max(self.crowded_uploads(&caller).await);
        }
        self.timeouts = Timeouts::calibrated(slowest, limits);
        Ok(())
    }

    /// How long a crowd of uploads would take, as a few of them show.
    async fn crowded_uploads(&self, caller: &Caller) -> Duration {
        let began = Instant::now();
        let uploads = (0..UPLOADS).map(|number| {
            let unique = self.unique("calibration", &format!("crowd {number}"));
            let definition =
                Definition::full(&self.versions.own, &format!("tide_{unique}"), &format!("w{unique}"));
            let project = self.project(&unique);
            async move {
                self.upload_and_look(caller, &project, &definition, Duration::ZERO).await;
            }
        });
        futures::future::join_all(uploads).await;
        // One after another they take longer the more there are; side by side the estimate is only generous.
        began.elapsed() * u32::try_from(CROWD / UPLOADS).unwrap_or(1)
    }

    /// The definition of a tool that nobody uploads.
    fn nobody(&self) -> Definition {
        Definition::full(&self.versions.own, "tide_nobody", "nobody")
    }

    /// Waits until something answers over HTTP.
    async fn wait_for_it(&self, caller: &Caller, deadline: Duration) -> Result<(), ManagementError> {
        let began = Instant::now();
        let mut wait = LOOK;
        loop {
            let nobody = self.nobody();
            let project = self.project("nobody");
            let left = deadline.saturating_sub(began.elapsed()).max(LOOK);
            let request = self.read(caller, &project, &nobody);
            let number = tokio::time::timeout(left, request).await.unwrap_or_default();
            let (status, summary) = caller.transcript.with(|frames| {
                let exchange = Exchange::of(frames, number);
                (exchange.and_then(|exchange| exchange.status()), exchange.map(|exchange| exchange.summary()))
            });
            let is_warming_up = matches!(status, Some(502..=504));
            if status.is_some() && !is_warming_up {
                return Ok(());
            }
            if let Some(ended) = self.ended() {
                return Err(ManagementError::Start(ended));
            }
            if let Some(why) = self.client.trouble() {
                return Err(ManagementError::Reach { base: self.base.clone(), why });
            }
            if began.elapsed() + wait >= deadline {
                // One that is there and fails all the time is judged.
                return if is_warming_up {
                    Ok(())
                } else {
                    let why = summary.unwrap_or_else(|| "there was no answer in time".to_owned());
                    Err(ManagementError::Silent { base: self.base.clone(), seconds: deadline.as_secs(), why })
                };
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_LOOK);
        }
    }
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
        let rows = "rows that the run uploaded: the management API of the Guide deletes none".to_owned();
        let left = (!self.table.launch.is_started()).then_some(rows).into_iter().collect();
        std::future::ready(CleanedUp { deleted: Vec::new(), left }).boxed()
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
