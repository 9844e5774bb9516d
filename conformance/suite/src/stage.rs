//! Sets the stage of a run: opens what the selected profiles need, and says what could not be opened.
//!
//! `utp` lays the ground of a UTP target and opens its roles.

mod found;
pub mod utp;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_nats::ConnectOptions;
use futures::future::{BoxFuture, LocalBoxFuture};

use crate::breadcrumb::agent::session::CrumbAgentSession;
use crate::breadcrumb::session::RunnerSession;
use crate::engine::family::Family;
use crate::engine::session::{Session, Sessions};
use crate::hub::agent::session::AgentSession;
use crate::hub::session::HubSession;
use crate::judge::Cause;
use crate::management::session::{ManagementPlan, ManagementSession};
use crate::manifest::{BreadcrumbTable, Manifest, UtpTable};
use crate::pace::PaceLimits;
use crate::target::{Log, Opening, Target};
use crate::toolbus::session::ToolbusSession;
use crate::transcript::{Frame, Kind};
use crate::utp::capture::{Capture, Exercise};
use crate::utp::credentials;
use crate::utp::judge::seen;
use crate::utp::scene::Scene;
use crate::utp::services::Services;
use crate::utp::session::{Liveness, SessionError, UtpSession};
use crate::utp::tool::{Role, Tool};
use crate::wire::Straight;

pub use found::Found;

/// Logs of what a run starts, beside each other.
pub const LOGS: [&str; 7] =
    ["target.log", "toolbus.log", "hub.log", "agent.log", "registry.log", "runner.log", "crumb-agent.log"];

/// What a stage is set with.
pub struct StagePlan<'a> {
    /// The target.
    pub manifest: &'a Manifest,
    /// The selected profiles.
    pub profiles: &'a [String],
    /// The broker.
    pub nats_url: &'a str,
    /// Limits of all waiting.
    pub limits: PaceLimits,
    /// Seed of all ids.
    pub seed: u64,
    /// Where a started target's output goes.
    pub log: PathBuf,
    /// In place of the manifest's `start`.
    pub target: Option<Box<dyn Target>>,
    /// What makes the messages that `utp.schema` captures.
    pub exercise: Option<&'a dyn Exercise>,
}

/// The sessions of a run, and the profiles that have none.
#[derive(Default)]
pub struct SetStage {
    /// For the run.
    pub sessions: Sessions,
    /// Causes, by profile.
    pub blocked: BTreeMap<String, (Cause, String)>,
}

impl SetStage {
    /// Ends what was started.
    pub fn strike(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.sessions.close())
    }
}

/// Sets the stage for the selected profiles.
///
/// Boxed, as are the other doors of this library: so it is compiled here, and not again in every crate that calls it.
pub fn set(plan: StagePlan<'_>) -> LocalBoxFuture<'_, SetStage> {
    Box::pin(set_all(plan))
}

async fn set_all(mut plan: StagePlan<'_>) -> SetStage {
    let mut set = SetStage::default();
    let mut services = Services::default();
    let wants = |profile: &str| plan.profiles.iter().any(|own| own == profile);
    let table = plan.manifest.utp.as_ref();
    let captures_itself =
        wants("utp.schema") && plan.exercise.is_none() && table.is_some_and(|utp| own_capture(utp).is_none());
    // The exercise comes first: the Tool Service under test serves every project, and would answer its commands too.
    if wants("utp.schema") && !captures_itself {
        take(&mut set, &mut services, capture(&plan, None).await);
    }
    // Boxed, because what the roles keep across their waits is large.
    Box::pin(utp::set(&mut plan, &mut set, &mut services, captures_itself)).await;
    if captures_itself {
        let session = services.roles.get(&Role::ToolService).cloned();
        let captured = capture(&plan, session.as_deref()).await;
        take(&mut set, &mut services, captured);
    }
    if services.ground.is_some() || services.capture.is_some() {
        set.sessions.insert(&crate::utp::Service, Arc::new(services));
    }
    // Each waits for its own target to start and to show what it does.
    let (management, toolbus, hub, agent, runner, crumb_agent) = futures::join!(
        opened(plan.profiles, &["utp.registry"], open_management(&plan)),
        opened(plan.profiles, &["toolbus.server", "toolbus.artifacts"], open_toolbus(&plan)),
        opened(plan.profiles, &["hub.server"], open_hub(&plan)),
        opened(plan.profiles, &["hub.agent"], open_agent(&plan)),
        opened(
            plan.profiles,
            &["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"],
            open_runner(&plan)
        ),
        opened(plan.profiles, &["breadcrumb.agent"], open_crumb_agent(&plan)),
    );
    let blocked = &mut set.blocked;
    let opened: [(&dyn Family, Option<Arc<dyn Session>>); 6] = [
        (&crate::management::Registry, management.unless(blocked)),
        (&crate::toolbus::Server, toolbus.unless(blocked)),
        (&crate::hub::Server, hub.unless(blocked)),
        (&crate::hub::agent::Agent, agent.unless(blocked)),
        (&crate::breadcrumb::Runner, runner.unless(blocked)),
        (&crate::breadcrumb::agent::Agent, crumb_agent.unless(blocked)),
    ];
    for (family, session) in opened {
        if let Some(session) = session {
            set.sessions.insert(family, session);
        }
    }
    set
}

/// Why a profile cannot run.
type Blocked = (Cause, String);

/// What came of opening the session that some profiles share.
struct Opened<'a, T> {
    /// Those of them that are to run.
    profiles: Vec<&'a str>,
    session: Option<Result<T, Blocked>>,
}

/// Opens a session, unless none of its profiles is to run.
async fn opened<'a, T>(
    selected: &[String],
    profiles: &[&'a str],
    opening: impl Future<Output = Result<T, Blocked>>,
) -> Opened<'a, T> {
    let profiles: Vec<&str> =
        profiles.iter().copied().filter(|profile| selected.iter().any(|own| own == profile)).collect();
    let session = if profiles.is_empty() { None } else { Some(Box::pin(opening).await) };
    Opened { profiles, session }
}

impl<S: Session> Opened<'_, Arc<S>> {
    /// The session, unless `blocked` is given why there is none.
    fn unless(self, blocked: &mut BTreeMap<String, Blocked>) -> Option<Arc<dyn Session>> {
        match self.session? {
            Ok(session) => Some(session),
            Err(cause) => {
                blocked.extend(self.profiles.iter().map(|profile| ((*profile).to_owned(), cause.clone())));
                None
            }
        }
    }
}

fn take(set: &mut SetStage, services: &mut Services, captured: Result<Capture, Blocked>) {
    match captured {
        Ok(capture) => services.capture = Some(Arc::new(capture)),
        Err(blocked) => {
            set.blocked.entry("utp.schema".to_owned()).or_insert(blocked);
        }
    }
}

/// What a session of a run is opened with; the output of what it starts goes to a file of its own.
fn opening<T>(plan: &StagePlan<'_>, table: T, log: &str) -> Opening<T> {
    Opening {
        table,
        directory: plan.manifest.directory.clone(),
        log: self::log(plan, plan.log.with_file_name(log)),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
    }
}

/// A log without the secrets of the manifest.
fn log(plan: &StagePlan<'_>, path: PathBuf) -> Log {
    let log = Log::from(path);
    log.hide(plan.manifest.secrets());
    log
}

/// Of a manifest that lacks what a session needs.
fn lacks(what: &str) -> Blocked {
    (Cause::Config, format!("the manifest {what}"))
}

/// Opens a session with the management API of a manifest.
async fn open_management(plan: &StagePlan<'_>) -> Result<Arc<ManagementSession>, Blocked> {
    let utp = plan.manifest.utp.as_ref();
    let Some((utp, table)) = utp.and_then(|utp| Some((utp, utp.registry.clone()?))) else {
        return Err(lacks("has no table `[utp.registry]`"));
    };
    let plan = ManagementPlan {
        opening: opening(plan, table, "registry.log"),
        version: utp.protocol_version.clone(),
        nats_url: plan.nats_url.to_owned(),
    };
    ManagementSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the agent of a manifest that writes invocations.
async fn open_crumb_agent(plan: &StagePlan<'_>) -> Result<Arc<CrumbAgentSession>, Blocked> {
    let Some(table) = plan.manifest.breadcrumb.as_ref().and_then(|own| own.agent.clone()) else {
        return Err(lacks("has no table `[breadcrumb.agent]`"));
    };
    let plan = opening(plan, table, "crumb-agent.log");
    CrumbAgentSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the tool runner of a manifest.
async fn open_runner(plan: &StagePlan<'_>) -> Result<Arc<RunnerSession>, Blocked> {
    let Some(table) = plan.manifest.breadcrumb.clone().filter(BreadcrumbTable::has_runner) else {
        return Err(lacks("describes no tool runner (`[breadcrumb.runner]`)"));
    };
    let plan = opening(plan, table, "runner.log");
    RunnerSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the MCP server of a manifest.
async fn open_toolbus(plan: &StagePlan<'_>) -> Result<Arc<ToolbusSession>, Blocked> {
    let Some(table) = plan.manifest.toolbus.clone() else {
        return Err(lacks("has no table `[toolbus]`"));
    };
    let plan = opening(plan, table, "toolbus.log");
    ToolbusSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the Hub of a manifest.
async fn open_hub(plan: &StagePlan<'_>) -> Result<Arc<HubSession>, Blocked> {
    let Some(table) = plan.manifest.hub.clone() else {
        return Err(lacks("has no table `[hub]`"));
    };
    let plan = opening(plan, table, "hub.log");
    HubSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the agent of a manifest.
async fn open_agent(plan: &StagePlan<'_>) -> Result<Arc<AgentSession>, Blocked> {
    let Some(table) = plan.manifest.hub.as_ref().and_then(|hub| hub.agent.clone()) else {
        return Err(lacks("has no table `[hub.agent]`"));
    };
    let plan = opening(plan, table, "agent.log");
    AgentSession::open(plan, None).await.map_err(|error| (error.cause(), error.to_string()))
}

fn own_capture(utp: &UtpTable) -> Option<&PathBuf> {
    utp.schema.as_ref().and_then(|schema| schema.capture.as_ref())
}

/// Captured messages: of the manifest's file, of the exercise, or of the Tool Service's own probes.
async fn capture(plan: &StagePlan<'_>, session: Option<&UtpSession>) -> Result<Capture, Blocked> {
    let utp = plan.manifest.utp.as_ref();
    let table = utp.and_then(|utp| utp.schema.clone()).unwrap_or_default();
    if let Some(file) = &table.capture {
        let path = plan.manifest.directory.join(file);
        return Capture::read(&path, &table).map_err(|error| (Cause::Config, error.to_string()));
    }
    if let (Some(exercise), Some(utp)) = (plan.exercise, utp) {
        let reach = |reason: String| (Cause::Reachability, reason);
        let client = credentials::of_url(ConnectOptions::new(), plan.nats_url)
            .connect(plan.nats_url)
            .await
            .map_err(|error| reach(error.to_string()))?;
        return Capture::watch(&client, plan.nats_url, &utp.protocol_version, &table, exercise)
            .await
            .map_err(|error| reach(error.to_string()));
    }
    match session {
        Some(session) => Ok(of_probes(session).await),
        None => Err((
            Cause::Config,
            "there is nothing to capture: name a file with `[utp.schema] capture`, or a Tool Service"
                .to_owned(),
        )),
    }
}

/// Calls the probes once and captures what the Tool Service sends.
async fn of_probes(session: &UtpSession) -> Capture {
    let project = session.ground.project("capture");
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let mut statuses = vec!["success".to_owned()];
    for probe in [Tool::Echo, Tool::Ctl, Tool::Fail] {
        if !session.declares(probe) {
            continue;
        }
        if probe == Tool::Fail {
            statuses.push("failed".to_owned());
        }
        let call = scene.prepare(probe);
        scene.send(session, &call).await;
        let calls = seen::Calls { subject: &call, others: &scene.others };
        let own = |frame: &Frame| frame.text("/payload/tool_call_id") == Some(call.tool_call_id.as_str());
        let answered =
            |frames: &[Frame]| seen::reports(frames, &calls).iter().any(|frame| own(frame)).then_some(());
        let patience =
            if session.liveness == Liveness::Answers { session.pace.answer } else { session.pace.quiet };
        // What does not come is not captured, and then not observed.
        let _ = project.transcript.wait(patience, answered).await;
        scene.others.extend(call.names());
    }
    let frames: Vec<Frame> =
        project.transcript.frames().into_iter().filter(|frame| frame.kind != Kind::Command).collect();
    Capture::of_frames(&frames, statuses)
}

/// Class of the cause of a session that could not be opened.
pub fn cause(error: &SessionError) -> Cause {
    match error {
        SessionError::NoEcho | SessionError::NoBuiltin | SessionError::Start(_) => Cause::Config,
        SessionError::Pointer { .. } => Cause::Fixture,
        SessionError::Platform(_) => Cause::Suite,
        SessionError::Broker { .. } | SessionError::Silent { .. } => Cause::Reachability,
    }
}
