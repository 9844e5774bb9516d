//! The roles of a UTP target: its ground, and a session for each role.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{SetStage, StagePlan, cause};
use crate::manifest::{Builtin, OpenApiTable, PlatformKind, PmoTable, ProbeName, UtpTable};
use crate::pace::PaceLimits;
use crate::runtime::model::Model;
use crate::runtime::session::{RuntimePlan, RuntimeSession};
use crate::target::{Launch, Logged, Process, Running, Target, free_address};
use crate::utp::call::ToolTable;
use crate::utp::ground::{Ground, GroundPlan};
use crate::utp::services::Services;
use crate::utp::session::{SessionError, SessionPlan, UtpSession};
use crate::utp::subject;
use crate::utp::tool::{Role, Tool};
use crate::utp::upstream::{self, Keys, Upstream, UpstreamPlan};
use crate::wire::{Straight, Wire};

/// The profiles whose roles stand on the ground.
pub const PROFILES: [&str; 5] = ["utp.tool-service", "utp.openapi", "utp.pmo", "utp.worker", "utp.execution"];

/// Opens the roles that the selected profiles need. A captured Tool Service is needed without being selected.
pub(super) async fn set(
    plan: &mut StagePlan<'_>,
    set: &mut SetStage,
    services: &mut Services,
    captured: bool,
) {
    let selected = |profile: &str| plan.profiles.iter().any(|own| own == profile);
    let wanted: Vec<&'static str> = PROFILES
        .into_iter()
        .filter(|profile| selected(profile) || (captured && *profile == "utp.tool-service"))
        .collect();
    if wanted.is_empty() {
        return;
    }
    let block = |set: &mut SetStage, profile: &str, error: &SessionError| {
        set.blocked.insert(profile.to_owned(), (cause(error), error.to_string()));
        if captured && profile == "utp.tool-service" {
            set.blocked.insert("utp.schema".to_owned(), (cause(error), error.to_string()));
        }
    };
    let Some(table) = plan.manifest.utp.clone() else {
        for profile in wanted {
            block(set, profile, &SessionError::NoEcho);
        }
        return;
    };
    let is_started = plan.target.is_some() || table.start.is_some();
    let parties = match Parties::gather(&wanted, &table, is_started).await {
        Ok(parties) => parties,
        Err(message) => {
            let error = SessionError::Platform(message);
            for profile in wanted {
                block(set, profile, &error);
            }
            return;
        }
    };
    let target = plan.target.take().unwrap_or_else(|| described(plan, &table, &parties.secrets()));
    let laid = Ground::lay(GroundPlan {
        nats_url: plan.nats_url.to_owned(),
        version: table.protocol_version.clone(),
        platform: table.platform,
        wire: Arc::new(Straight),
        seed: plan.seed,
        target,
        environment: parties.environment.clone(),
        upstream: parties.upstream.clone(),
    });
    let ground = match laid.await {
        Ok(ground) => ground,
        Err(error) => {
            for profile in wanted {
                block(set, profile, &error);
            }
            return;
        }
    };
    services.ground = Some(Arc::clone(&ground));
    for role in wanted.iter().filter_map(|profile| Role::of(profile)) {
        match UtpSession::open(session_plan(role, &table, &ground, plan.limits)).await {
            Ok(session) => drop(services.roles.insert(role, session)),
            Err(error) => block(set, role.profile(), &error),
        }
    }
    let callers: Vec<&str> = wanted.into_iter().filter(|profile| CALLERS.contains(profile)).collect();
    if let (Some(model), false) = (parties.model.clone(), callers.is_empty()) {
        let own = runtime_plan(&table, &ground, model, (parties.url, parties.secret), plan.limits);
        match RuntimeSession::open(own).await {
            Ok(session) => set.sessions.insert(&crate::runtime::Runtime, session),
            Err(error) => callers.into_iter().for_each(|profile| block(set, profile, &error)),
        }
    }
}

/// The variable that a parameter is taken from.
const PARAM_KEY: &str = "CALLMARK_PARAM_KEY";
/// Profiles of a runtime.
const CALLERS: [&str; 2] = ["utp.worker", "utp.execution"];

/// The parties that the suite plays beside the platform, and what a started target is told of them.
#[derive(Default)]
struct Parties {
    model: Option<Arc<Model>>,
    upstream: Option<Arc<Upstream>>,
    /// Base URL of a runtime that is reached over HTTP.
    url: Option<String>,
    /// What a started target finds in `CALLMARK_PARAM_KEY`.
    secret: Option<String>,
    environment: BTreeMap<String, String>,
}

impl Parties {
    /// What a started target must not write into its log.
    fn secrets(&self) -> Vec<String> {
        let keys = self.upstream.iter().flat_map(|upstream| upstream.plan.keys.iter());
        keys.map(|key| key.expose().to_owned()).chain(self.secret.clone()).collect()
    }

    async fn gather(wanted: &[&str], table: &UtpTable, is_started: bool) -> Result<Self, String> {
        let mut parties = Self::default();
        if let Some(own) = table.openapi.as_ref().filter(|_| wanted.contains(&"utp.openapi")) {
            let upstream = Upstream::start(upstream_plan(own, is_started)).await;
            let upstream = upstream.map_err(|error| format!("no upstream: {error}"))?;
            parties.environment.insert("CALLMARK_UPSTREAM_URL".to_owned(), upstream.url());
            parties.environment.extend(upstream.plan.keys.environment());
            parties.upstream = Some(upstream);
        }
        let known = parties.environment.get(PARAM_KEY).cloned();
        let mut tell = |name: &str, value: String| drop(parties.environment.insert(name.to_owned(), value));
        if CALLERS.iter().any(|profile| wanted.contains(profile)) {
            let model = Arc::new(Model::start(table.runtime.model.as_deref()).await?);
            tell("CALLMARK_MODEL_URL", model.url());
            if is_started {
                let secret = known.unwrap_or_else(|| crate::utp::ground::made_up("param"));
                tell(PARAM_KEY, secret.clone());
                parties.secret = Some(secret);
            } else {
                parties.secret =
                    table.openapi.as_ref().and_then(|own| own.environment.get(PARAM_KEY).cloned());
            }
            parties.model = Some(model);
            if table.platform == PlatformKind::Http {
                let url = if let Some(url) = &table.runtime.url {
                    url.clone()
                } else {
                    let address = free_address()?;
                    tell("CALLMARK_LISTEN", address.clone());
                    format!("http://{address}")
                };
                parties.url = Some(url);
            }
        }
        Ok(parties)
    }
}

/// What a runtime is opened with.
pub fn runtime_plan(
    table: &UtpTable,
    ground: &Arc<Ground>,
    model: Arc<Model>,
    (url, secret): (Option<String>, Option<String>),
    limits: PaceLimits,
) -> RuntimePlan {
    model.attend(&ground.desk);
    RuntimePlan {
        ground: Arc::clone(ground),
        model,
        table: table.clone(),
        url,
        secret,
        limits,
        ready_within: ready_within(table, limits),
    }
}

fn ready_within(table: &UtpTable, limits: PaceLimits) -> Duration {
    table.start_timeout().mul_f64(limits.scale.clamp(0.01, 1000.0))
}

/// What a role is opened with.
pub fn session_plan(role: Role, table: &UtpTable, ground: &Arc<Ground>, limits: PaceLimits) -> SessionPlan {
    SessionPlan {
        ground: Arc::clone(ground),
        role,
        tools: tools(role, table),
        limits,
        ready_within: ready_within(table, limits),
    }
}

/// What can be called of a role.
pub(super) fn tools(role: Role, table: &UtpTable) -> BTreeMap<Tool, ToolTable> {
    match role {
        Role::ToolService => {
            let probes = table.tool_service.iter().flat_map(|service| &service.probes);
            probes.map(|(name, probe): (&ProbeName, _)| (Tool::from(*name), ToolTable::from(probe))).collect()
        }
        Role::Pmo => table.pmo.as_ref().map(|pmo| builtins(pmo, &table.protocol_version)).unwrap_or_default(),
        Role::OpenApi => {
            table.openapi.as_ref().map(|own| jina(own, &table.protocol_version)).unwrap_or_default()
        }
    }
}

fn builtins(pmo: &PmoTable, version: &str) -> BTreeMap<Tool, ToolTable> {
    Builtin::ALL
        .into_iter()
        .filter(|builtin| pmo.has(*builtin))
        .map(|builtin| {
            let table = ToolTable {
                tool_name: builtin.name().to_owned(),
                target_subject: Some(subject::builtin(version, builtin.name())),
                arguments: pmo.arguments.get(&builtin).cloned(),
                options: json!({}),
                ..ToolTable::default()
            };
            (Tool::from(builtin), table)
        })
        .collect()
}

fn jina(own: &OpenApiTable, version: &str) -> BTreeMap<Tool, ToolTable> {
    [(Tool::Search, "search", "s.jina.ai"), (Tool::Reader, "reader", "r.jina.ai")]
        .into_iter()
        .filter(|(_, mode, _)| own.modes.as_ref().is_none_or(|modes| modes.iter().any(|own| own == mode)))
        .map(|(tool, mode, host)| {
            let table = ToolTable {
                tool_name: format!("jina_{mode}"),
                target_subject: Some(
                    own.target_subject.clone().unwrap_or_else(|| subject::usual(version, "jina")),
                ),
                options: upstream::options(mode, host),
                ..ToolTable::default()
            };
            (tool, table)
        })
        .collect()
}

/// What an upstream is started with for the executor of a manifest.
pub fn upstream_plan(own: &OpenApiTable, is_started: bool) -> UpstreamPlan {
    UpstreamPlan {
        listen: own.upstream.clone(),
        keys: if is_started { Keys::completed(&own.environment) } else { Keys::told(&own.environment) },
        timeout: own.timeout_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        service_envs: own.service_envs,
        has_log: is_started || own.log.is_some(),
    }
}

/// The target as the manifest describes it.
fn described(plan: &StagePlan<'_>, utp: &UtpTable, made_up: &[String]) -> Box<dyn Target> {
    let base = &plan.manifest.directory;
    let Some(command) = &utp.start else {
        return match utp.openapi.as_ref().and_then(|own| own.log.as_ref()) {
            Some(log) => Box::new(Logged::new(base.join(log))),
            None => Box::new(Running),
        };
    };
    let directory = utp.working_dir.as_ref().map_or_else(|| base.clone(), |own| base.join(own));
    let log = super::log(plan, plan.log.clone());
    log.hide(made_up.iter().cloned());
    let launch = Launch {
        command: command.clone(),
        directory,
        environment: utp.env.clone(),
        removed: Vec::new(),
        log,
    };
    Box::new(Process::new(launch))
}

/// What stands around a target on a bench.
#[derive(Default)]
pub struct Bystanders {
    /// What it is told.
    pub environment: BTreeMap<String, String>,
    /// What stands behind an OpenAPI executor.
    pub upstream: Option<Arc<Upstream>>,
}

/// A ground for one mutant: the target stands there already, behind this wire.
pub async fn crooked(
    table: &UtpTable,
    nats_url: String,
    wire: Arc<dyn Wire>,
    seed: u64,
    target: Box<dyn Target>,
    around: Bystanders,
) -> Result<Arc<Ground>, SessionError> {
    Ground::lay(GroundPlan {
        nats_url,
        version: table.protocol_version.clone(),
        platform: table.platform,
        wire,
        seed,
        target,
        environment: around.environment,
        upstream: around.upstream,
    })
    .await
}
