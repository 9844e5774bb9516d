//! Benches for the saboteur: a correct target behind a mutating wire, one session after another.
//!
//! What can stand on a bench for all mutants is started once; an agent runtime is started anew for each, since its model
//! is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callmark_reference::utp::{OpenApi, Pmo, PmoConfig, ToolService, ToolServiceConfig};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::pace::TimeoutLimits;
use callmark_suite::engine::session::Sessions;
use callmark_suite::engine::setup;
use callmark_suite::engine::target::{OpenContext, guard};
use callmark_suite::families;
use callmark_suite::families::breadcrumb::agent::session::CrumbAgentSession;
use callmark_suite::families::breadcrumb::manifest::BreadcrumbTable;
use callmark_suite::families::breadcrumb::runner::session::RunnerSession;
use callmark_suite::families::hub::agent::session::AgentSession;
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::families::hub::server::session::HubSession;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::toolbus::session::ToolbusSession;
use callmark_suite::families::utp;
use callmark_suite::families::utp::capture::Capture;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::registry::session::{ManagementPlan, ManagementSession};
use callmark_suite::families::utp::runtime::model::Model;
use callmark_suite::families::utp::runtime::session::RuntimeSession;
use callmark_suite::families::utp::services::Services;
use callmark_suite::families::utp::session::{SessionPlan, UtpSession};
use callmark_suite::families::utp::setup::{InProcess, MockServices};
use callmark_suite::families::utp::target::{LaunchEnv, Target};
use callmark_suite::families::utp::tool::Role;
use callmark_suite::families::utp::upstream::Upstream;
use callmark_suite::mutation::{Patience, TargetFactory, TargetInstance};
use callmark_suite::net::wire::Wire;
use futures::future::{BoxFuture, LocalBoxFuture};

use super::reference::{Lines, Reference, Registry, executor};
use super::{Tour, limits, manifest};
use crate::broker::{self, BrokerChoice, RunningBroker};

/// What a mutant of the worker finds in `CALLMARK_PARAM_KEY`.
const SECRET: &str = "callmark-param-of-a-bench";

/// As [`limits`], and for short patience less.
fn sabotage_limits(patience: Patience) -> TimeoutLimits {
    match patience {
        Patience::Full => limits(1.0),
        Patience::Short => TimeoutLimits {
            answer_floor: Duration::from_millis(500),
            // A hundred times as long as a call of the calibration took: on a busy machine that is for ever.
            answer_ceiling: Duration::from_secs(2),
            late_floor: Duration::ZERO,
            ..limits(1.0)
        },
    }
}

/// Sets up benches for the saboteur: an embedded broker and the reference on it, or the reference's MCP server.
pub struct ReferenceFactory {
    /// The `callmark` binary.
    pub program: PathBuf,
}

struct ReferenceInstance {
    manifest: Manifest,
    broker: Option<RunningBroker>,
    service: Option<ToolService>,
    executor: Option<BenchExecutor>,
    pmo: Option<Pmo>,
    registry: Option<Registry>,
    capture: Option<Arc<Capture>>,
    stages: u64,
    /// Of the stage that is set just now.
    limits: TimeoutLimits,
}

/// An executor that stands on a bench, and what stands behind it.
struct BenchExecutor {
    upstream: Arc<Upstream>,
    log: Lines,
    // Ends with the bench.
    _running: OpenApi,
}

/// What stands on a bench: it runs already, and its log can be read.
struct Standing {
    log: Option<Lines>,
}

impl Target for Standing {
    fn start<'a>(&'a mut self, _: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.log.as_ref().map(Lines::text) })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl TargetFactory for ReferenceFactory {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn TargetInstance>, String>> {
        Box::pin(async {
            let manifest = manifest(&self.program).map_err(|error| error.to_string())?;
            let bench = ReferenceInstance {
                manifest,
                broker: None,
                service: None,
                executor: None,
                pmo: None,
                registry: None,
                capture: None,
                stages: 0,
                limits: sabotage_limits(Patience::Full),
            };
            Ok(Box::new(bench) as Box<dyn TargetInstance>)
        })
    }
}

impl TargetInstance for ReferenceInstance {
    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        wire: Arc<dyn Wire>,
        patience: Patience,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        Box::pin(async move {
            self.stages += 1;
            self.limits = sabotage_limits(patience);
            match profile {
                "utp.schema" => {
                    let capture = Arc::new(self.capture().await?.through(&*wire));
                    let services = Services::captured(capture);
                    Ok(Sessions::one(Arc::new(services)))
                }
                "toolbus.server" | "toolbus.artifacts" => Ok(Sessions::one(self.toolbus(wire).await?)),
                "hub.server" => Ok(Sessions::one(self.hub(wire).await?)),
                "hub.agent" => Ok(Sessions::one(self.agent(wire).await?)),
                "breadcrumb.runner" | "breadcrumb.tools" | "breadcrumb.workflow" => {
                    Ok(Sessions::one(self.runner(wire).await?))
                }
                "breadcrumb.agent" => Ok(Sessions::one(self.crumb_agent(wire).await?)),
                "utp.worker" | "utp.execution" => self.runtime(profile, wire).await,
                "utp.registry" => Ok(Sessions::one(self.management(wire).await?)),
                _ => match Role::of(profile) {
                    Some(role) => self.utp(role, wire).await,
                    None => Err(format!("there is no bench for `{profile}`")),
                },
            }
        })
    }
}

/// Where the output of started servers goes. Mutants make them say much that nobody reads.
fn log_file() -> PathBuf {
    let name = format!("callmark-sabotage-{}.log", std::process::id());
    guard::home().map_or_else(|_| std::env::temp_dir(), Path::to_owned).join(name)
}

impl ReferenceInstance {
    /// For targets that work on files.
    fn longer(&self) -> TimeoutLimits {
        TimeoutLimits { answer_floor: self.limits.answer_floor.max(Duration::from_secs(2)), ..self.limits }
    }

    async fn broker_url(&mut self) -> Result<String, String> {
        if self.broker.is_none() {
            let broker = broker::start(&BrokerChoice::Embedded).await.map_err(|error| error.to_string())?;
            self.broker = Some(broker);
        }
        Ok(self.broker.as_ref().map(|broker| broker.url().to_owned()).unwrap_or_default())
    }

    fn opening<T>(&self, table: T, limits: TimeoutLimits, wire: Arc<dyn Wire>) -> OpenContext<T> {
        OpenContext {
            table,
            directory: PathBuf::from("."),
            log: log_file().into(),
            limits,
            wire,
            seed: self.stages,
        }
    }

    async fn hub(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<HubSession>, String> {
        let table = self.manifest.get::<HubTable>().cloned().ok_or("the bundled manifest has no `[hub]`")?;
        let plan = self.opening(table, self.limits, wire);
        HubSession::open(plan).await.map_err(|error| error.to_string())
    }

    async fn agent(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<AgentSession>, String> {
        let table = self.manifest.get::<HubTable>().cloned().and_then(|hub| hub.agent);
        let table = table.ok_or("the bundled manifest has no `[hub.agent]`")?;
        let plan = self.opening(table, self.limits, wire);
        AgentSession::open(plan, None).await.map_err(|error| error.to_string())
    }

    async fn runner(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<RunnerSession>, String> {
        let table = self
            .manifest
            .get::<BreadcrumbTable>()
            .cloned()
            .ok_or("the bundled manifest has no `[breadcrumb]`")?;
        let plan = self.opening(table, self.limits, wire);
        RunnerSession::open(plan).await.map_err(|error| error.to_string())
    }

    async fn crumb_agent(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<CrumbAgentSession>, String> {
        let table = self.manifest.get::<BreadcrumbTable>().and_then(|own| own.agent.clone());
        let table = table.ok_or("the bundled manifest has no `[breadcrumb.agent]`")?;
        let plan = self.opening(table, self.limits, wire);
        CrumbAgentSession::open(plan).await.map_err(|error| error.to_string())
    }

    /// One registry serves all mutants: each has projects of its own.
    async fn management(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<ManagementSession>, String> {
        if self.registry.is_none() {
            self.registry = Some(Registry::start(&mut self.manifest).await?);
        }
        let utp = self.utp_table()?;
        let table = utp.registry.ok_or("the bundled manifest has no `[utp.registry]`")?;
        let plan = ManagementPlan {
            opening: self.opening(table, self.longer(), wire),
            version: utp.protocol_version,
            nats_url: String::new(),
        };
        ManagementSession::open(plan).await.map_err(|error| error.to_string())
    }

    async fn toolbus(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<ToolbusSession>, String> {
        let table =
            self.manifest.get::<ToolbusTable>().cloned().ok_or("the bundled manifest has no `[toolbus]`")?;
        let plan = self.opening(table, self.longer(), wire);
        ToolbusSession::open(plan).await.map_err(|error| error.to_string())
    }

    /// One capture serves all mutants: each sees it through its own wire.
    async fn capture(&mut self) -> Result<Arc<Capture>, String> {
        if let Some(capture) = &self.capture {
            return Ok(Arc::clone(capture));
        }
        let url = self.broker_url().await?;
        let in_process = InProcess { exercise: Some(&Tour), ..InProcess::default() };
        let opened = setup::open(
            families::ALL,
            OpenPlan {
                manifest: &self.manifest,
                profiles: families::ALL.select(&["utp.schema".to_owned()]),
                broker_url: &url,
                limits: limits(1.0),
                seed: 1,
                logs: std::path::PathBuf::new(),
                in_process: Some(&in_process),
            },
        )
        .await;
        let capture = opened.sessions.get::<Services>().and_then(|services| services.capture.clone());
        let capture = capture.ok_or_else(|| {
            opened.blocked.into_values().map(|(_, message)| message).collect::<Vec<_>>().join("; ")
        })?;
        self.capture = Some(Arc::clone(&capture));
        Ok(capture)
    }

    async fn runtime(&mut self, profile: &str, wire: Arc<dyn Wire>) -> Result<Sessions, String> {
        let url = self.broker_url().await?;
        let mut table = self.utp_table()?;
        // The other half of the runtime has mutants of its own.
        if profile == "utp.worker" {
            table.execution = None;
        }
        let model = Arc::new(Model::start(None).await?);
        let told = [("CALLMARK_MODEL_URL", model.url()), ("CALLMARK_PARAM_KEY", SECRET.to_owned())];
        let around = MockServices {
            environment: told.map(|(name, value)| (name.to_owned(), value)).into(),
            ..MockServices::default()
        };
        let target = Box::new(Reference::of(&[profile.to_owned()]));
        let test_environment = utp::setup::behind(&table, url, wire, self.stages, target, around)
            .await
            .map_err(|error| error.to_string())?;
        let secret = Some(SECRET.to_owned());
        let plan = utp::setup::runtime_plan(&table, &test_environment, model, (None, secret), self.limits);
        let session = RuntimeSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Sessions::one(session))
    }

    async fn utp(&mut self, role: Role, wire: Arc<dyn Wire>) -> Result<Sessions, String> {
        let url = self.broker_url().await?;
        let table = self.utp_table()?;
        self.stand(role, &url, &table).await?;
        let own = self.executor.as_ref().filter(|_| role == Role::OpenApi);
        let target = Box::new(Standing { log: own.map(|own| own.log.clone()) });
        let around =
            MockServices { upstream: own.map(|own| Arc::clone(&own.upstream)), ..MockServices::default() };
        let test_environment = utp::setup::behind(&table, url, wire, self.stages, target, around)
            .await
            .map_err(|error| error.to_string())?;
        let plan = SessionPlan {
            ready_within: Duration::from_secs(3),
            ..utp::setup::session_plan(role, &table, &test_environment, self.limits)
        };
        let session = UtpSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Sessions::one(Arc::new(Services::one(test_environment, session))))
    }

    fn utp_table(&self) -> Result<UtpTable, String> {
        self.manifest
            .get::<UtpTable>()
            .cloned()
            .ok_or_else(|| "the bundled manifest has no `[utp]`".to_owned())
    }

    /// Starts the reference's part for a role, unless it stands there already.
    async fn stand(&mut self, role: Role, url: &str, table: &UtpTable) -> Result<(), String> {
        match role {
            Role::OpenApi if self.executor.is_none() => {
                let own = table.openapi.as_ref().ok_or("the bundled manifest has no `[utp.openapi]`")?;
                let upstream = Upstream::start(utp::setup::upstream_plan(own, true));
                let upstream = upstream.await.map_err(|error| error.to_string())?;
                let environment = upstream.plan.keys.environment().collect();
                let log = Lines::default();
                let config = executor(url, &environment, &upstream.url(), &log);
                let running = OpenApi::start(config).await.map_err(|error| error.to_string())?;
                self.executor = Some(BenchExecutor { upstream, log, _running: running });
            }
            Role::ToolService if self.service.is_none() => {
                let config = ToolServiceConfig::new(url);
                self.service = Some(ToolService::start(config).await.map_err(|error| error.to_string())?);
            }
            Role::Pmo if self.pmo.is_none() => {
                let config = PmoConfig::new(url);
                self.pmo = Some(Pmo::start(config).await.map_err(|error| error.to_string())?);
            }
            _ => {}
        }
        Ok(())
    }
}
