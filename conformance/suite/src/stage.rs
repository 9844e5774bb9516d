//! Sets the stage of a run: opens what the selected profiles need, and says what could not be opened.
//!
//! `utp` lays the ground of a UTP target and opens its roles.

pub mod utp;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::breadcrumb::agent::session::{CrumbAgentPlan, CrumbAgentSession};
use crate::breadcrumb::session::{RunnerPlan, RunnerSession};
use crate::hub::agent::session::{AgentPlan, AgentSession};
use crate::hub::session::{HubPlan, HubSession};
use crate::judge::Cause;
use crate::management::session::{ManagementPlan, ManagementSession};
use crate::manifest::{BreadcrumbTable, Manifest, UtpTable};
use crate::pace::PaceLimits;
use crate::target::Target;
use crate::toolbus::session::{ToolbusPlan, ToolbusSession};
use crate::transcript::{Frame, Kind};
use crate::utp::capture::{Capture, Exercise};
use crate::utp::judge::seen;
use crate::utp::scene::Scene;
use crate::utp::session::{Liveness, SessionError, UtpSession};
use crate::utp::tool::{Role, Tool};
use crate::wire::Straight;
use crate::world::Stage;

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

/// A stage, and the profiles that it has no room for.
#[derive(Default)]
pub struct SetStage {
    /// For the run.
    pub stage: Stage,
    /// Causes, by profile.
    pub blocked: BTreeMap<String, (Cause, String)>,
}

impl SetStage {
    /// Ends what was started.
    pub async fn strike(&self) {
        self.stage.close().await;
    }
}

/// Sets the stage for the selected profiles.
pub async fn set(mut plan: StagePlan<'_>) -> SetStage {
    let mut set = SetStage::default();
    let wants = |profile: &str| plan.profiles.iter().any(|own| own == profile);
    let table = plan.manifest.utp.as_ref();
    let captures_itself =
        wants("utp.schema") && plan.exercise.is_none() && table.is_some_and(|utp| own_capture(utp).is_none());
    // The exercise comes first: the Tool Service under test serves every project, and would answer its commands too.
    if wants("utp.schema") && !captures_itself {
        take(&mut set, capture(&plan, None).await);
    }
    // Boxed, because what the roles keep across their waits is large.
    Box::pin(utp::set(&mut plan, &mut set, captures_itself)).await;
    if captures_itself {
        let session = set.stage.utp.get(&Role::ToolService).cloned();
        let captured = capture(&plan, session.as_deref()).await;
        take(&mut set, captured);
    }
    if wants("utp.registry") {
        match open_management(&plan).await {
            Ok(session) => set.stage.management = Some(session),
            Err(blocked) => drop(set.blocked.insert("utp.registry".to_owned(), blocked)),
        }
    }
    let buses: Vec<&str> =
        ["toolbus.server", "toolbus.artifacts"].into_iter().filter(|own| wants(own)).collect();
    if !buses.is_empty() {
        match open_toolbus(&plan).await {
            Ok(session) => set.stage.toolbus = Some(session),
            Err((cause, message)) => {
                set.blocked.extend(buses.iter().map(|own| ((*own).to_owned(), (cause, message.clone()))));
            }
        }
    }
    if wants("hub.server") {
        match open_hub(&plan).await {
            Ok(session) => set.stage.hub = Some(session),
            Err(blocked) => drop(set.blocked.insert("hub.server".to_owned(), blocked)),
        }
    }
    if wants("hub.agent") {
        match open_agent(&plan).await {
            Ok(session) => set.stage.agent = Some(session),
            Err(blocked) => drop(set.blocked.insert("hub.agent".to_owned(), blocked)),
        }
    }
    let runners: Vec<&str> = ["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"]
        .into_iter()
        .filter(|own| wants(own))
        .collect();
    if !runners.is_empty() {
        match open_runner(&plan).await {
            Ok(session) => set.stage.runner = Some(session),
            Err(blocked) => {
                set.blocked.extend(runners.iter().map(|own| ((*own).to_owned(), blocked.clone())));
            }
        }
    }
    if wants("breadcrumb.agent") {
        match open_crumb_agent(&plan).await {
            Ok(session) => set.stage.crumb_agent = Some(session),
            Err(blocked) => drop(set.blocked.insert("breadcrumb.agent".to_owned(), blocked)),
        }
    }
    set
}

fn take(set: &mut SetStage, captured: Result<Capture, (Cause, String)>) {
    match captured {
        Ok(capture) => set.stage.capture = Some(Arc::new(capture)),
        Err(blocked) => {
            set.blocked.entry("utp.schema".to_owned()).or_insert(blocked);
        }
    }
}

/// Opens a session with the management API of a manifest.
async fn open_management(plan: &StagePlan<'_>) -> Result<Arc<ManagementSession>, (Cause, String)> {
    let utp = plan.manifest.utp.as_ref();
    let Some((utp, table)) = utp.and_then(|utp| Some((utp, utp.registry.clone()?))) else {
        return Err((Cause::Config, "the manifest has no table `[utp.registry]`".to_owned()));
    };
    let plan = ManagementPlan {
        table,
        version: utp.protocol_version.clone(),
        directory: plan.manifest.directory.clone(),
        log: plan.log.with_file_name("registry.log"),
        nats_url: plan.nats_url.to_owned(),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
    };
    ManagementSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the agent of a manifest that writes invocations.
async fn open_crumb_agent(plan: &StagePlan<'_>) -> Result<Arc<CrumbAgentSession>, (Cause, String)> {
    let Some(table) = plan.manifest.breadcrumb.as_ref().and_then(|own| own.agent.clone()) else {
        return Err((Cause::Config, "the manifest has no table `[breadcrumb.agent]`".to_owned()));
    };
    let plan = CrumbAgentPlan {
        table,
        directory: plan.manifest.directory.clone(),
        log: plan.log.with_file_name("crumb-agent.log"),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
    };
    CrumbAgentSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the tool runner of a manifest.
async fn open_runner(plan: &StagePlan<'_>) -> Result<Arc<RunnerSession>, (Cause, String)> {
    let Some(table) = plan.manifest.breadcrumb.clone().filter(BreadcrumbTable::has_runner) else {
        let message = "the manifest describes no tool runner (`[breadcrumb.runner]`)".to_owned();
        return Err((Cause::Config, message));
    };
    let plan = RunnerPlan {
        table,
        directory: plan.manifest.directory.clone(),
        log: plan.log.with_file_name("runner.log"),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
    };
    RunnerSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the MCP server of a manifest.
async fn open_toolbus(plan: &StagePlan<'_>) -> Result<Arc<ToolbusSession>, (Cause, String)> {
    let Some(table) = plan.manifest.toolbus.clone() else {
        return Err((Cause::Config, "the manifest has no table `[toolbus]`".to_owned()));
    };
    let plan = ToolbusPlan {
        table,
        directory: plan.manifest.directory.clone(),
        log: plan.log.with_file_name("toolbus.log"),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
    };
    ToolbusSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the Hub of a manifest.
async fn open_hub(plan: &StagePlan<'_>) -> Result<Arc<HubSession>, (Cause, String)> {
    let Some(table) = plan.manifest.hub.clone() else {
        return Err((Cause::Config, "the manifest has no table `[hub]`".to_owned()));
    };
    let plan = HubPlan {
        table,
        directory: plan.manifest.directory.clone(),
        log: plan.log.with_file_name("hub.log"),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
    };
    HubSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the agent of a manifest.
async fn open_agent(plan: &StagePlan<'_>) -> Result<Arc<AgentSession>, (Cause, String)> {
    let Some(table) = plan.manifest.hub.as_ref().and_then(|hub| hub.agent.clone()) else {
        return Err((Cause::Config, "the manifest has no table `[hub.agent]`".to_owned()));
    };
    let plan = AgentPlan {
        table,
        directory: plan.manifest.directory.clone(),
        log: plan.log.with_file_name("agent.log"),
        limits: plan.limits,
        wire: Arc::new(Straight),
        seed: plan.seed,
        agent: None,
    };
    AgentSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

fn own_capture(utp: &UtpTable) -> Option<&PathBuf> {
    utp.schema.as_ref().and_then(|schema| schema.capture.as_ref())
}

/// Captured messages: of the manifest's file, of the exercise, or of the Tool Service's own probes.
async fn capture(plan: &StagePlan<'_>, session: Option<&UtpSession>) -> Result<Capture, (Cause, String)> {
    let utp = plan.manifest.utp.as_ref();
    let table = utp.and_then(|utp| utp.schema.clone()).unwrap_or_default();
    if let Some(file) = &table.capture {
        let path = plan.manifest.directory.join(file);
        return Capture::read(&path, &table).map_err(|error| (Cause::Config, error.to_string()));
    }
    if let (Some(exercise), Some(utp)) = (plan.exercise, utp) {
        let reach = |reason: String| (Cause::Reachability, reason);
        let client = async_nats::connect(plan.nats_url).await.map_err(|error| reach(error.to_string()))?;
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
