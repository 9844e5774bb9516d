//! The bundled target: the reference implementation, started here and reached over sockets like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callmark_reference::utp::{
    self, L0, L0Config, PlatformConfig, ReferenceError, Runtime, RuntimeConfig, ToolService,
    ToolServiceConfig,
};
use callmark_suite::hub::agent::session::{AgentPlan, AgentSession};
use callmark_suite::hub::session::{HubPlan, HubSession};
use callmark_suite::management::session::{ManagementPlan, ManagementSession};
use callmark_suite::manifest::{Manifest, ManifestError, PlatformKind};
use callmark_suite::pace::PaceLimits;
use callmark_suite::runtime::model::Model;
use callmark_suite::runtime::session::RuntimeSession;
use callmark_suite::saboteur::{Bench, Workshop};
use callmark_suite::stage::{self, StagePlan};
use callmark_suite::target::{Running, Surroundings, Target};
use callmark_suite::toolbus::session::{ToolbusPlan, ToolbusSession};
use callmark_suite::utp::capture::{Capture, Exercise, Exercised};
use callmark_suite::utp::session::{SessionPlan, UtpSession};
use callmark_suite::utp::tool::Role;
use callmark_suite::wire::Wire;
use callmark_suite::world::Stage;
use futures::future::{BoxFuture, LocalBoxFuture};

use crate::broker::{self, BrokerChoice, RunningBroker};

/// The project of the tour.
const TOUR_PROJECT: &str = "prj_tour";

/// The bundled target's manifest. `program` is the `callmark` binary, which serves the tool bus when it is told to.
pub fn manifest(program: &Path) -> Result<Manifest, ManifestError> {
    let mut manifest = Manifest::parse("bundled.toml", include_str!("bundled.toml"), Path::new("."))?;
    let serve = |words: &[&str]| -> Vec<String> {
        let words = ["serve"].iter().chain(words).map(|word| (*word).to_owned());
        std::iter::once(program.display().to_string()).chain(words).collect()
    };
    if let Some(toolbus) = &mut manifest.toolbus {
        toolbus.start = Some(serve(&["toolbus"]));
        toolbus.command = Some(serve(&["toolbus", "--stdio"]));
    }
    if let Some(hub) = &mut manifest.hub {
        hub.start = Some(serve(&["hub"]));
        if let Some(agent) = &mut hub.agent {
            agent.start = Some(serve(&["hub", "--agent"]));
        }
    }
    Ok(manifest)
}

/// Limits of waiting: everything is in this process, so nothing takes long.
pub fn limits(scale: f64) -> PaceLimits {
    PaceLimits {
        answer_floor: Duration::from_secs(3),
        late_floor: Duration::from_millis(200),
        scale,
        ..PaceLimits::default()
    }
}

/// As [`limits`], for mutants: most of those that are killed by silence are silent for good.
fn sabotage_limits() -> PaceLimits {
    PaceLimits { answer_floor: Duration::from_millis(500), late_floor: Duration::ZERO, ..limits(1.0) }
}

/// The reference's UTP roles.
#[derive(Default)]
pub struct Reference {
    profiles: Vec<String>,
    service: Option<ToolService>,
    runtime: Option<Runtime>,
}

impl Reference {
    /// The roles that these profiles are about.
    pub fn of(profiles: &[String]) -> Self {
        Self { profiles: profiles.to_vec(), ..Self::default() }
    }

    fn plays(&self, profiles: &[&str]) -> bool {
        self.profiles.iter().any(|own| profiles.contains(&own.as_str()))
    }

    async fn start_all(&mut self, around: &Surroundings) -> Result<(), ReferenceError> {
        let platform = match around.platform {
            PlatformKind::Http => PlatformConfig::Http { base_url: around.platform_url.clone() },
            PlatformKind::Nats => PlatformConfig::Nats,
        };
        if self.plays(&["utp.tool-service"]) {
            let mut config = ToolServiceConfig::new(&around.nats_url);
            around.version.clone_into(&mut config.protocol_version);
            config.platform = platform.clone();
            // Nothing of a run that has been judged is worth waiting for.
            config.shutdown_deadline = Duration::from_secs(1);
            self.service = Some(ToolService::start(config).await?);
        }
        if self.plays(&["utp.worker", "utp.execution"]) {
            let told = |name: &str| around.environment.get(name).cloned();
            let mut config =
                RuntimeConfig::new(&around.nats_url, told("CALLMARK_MODEL_URL").unwrap_or_default());
            around.version.clone_into(&mut config.protocol_version);
            config.platform = platform;
            config.listen = told("CALLMARK_LISTEN").and_then(|address| address.parse().ok());
            config.environment = around.environment.clone().into_iter().collect();
            self.runtime = Some(Runtime::start(config).await?);
        }
        Ok(())
    }
}

impl Target for Reference {
    fn start<'a>(&'a mut self, around: &'a Surroundings) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.start_all(around).await.map_err(|error| error.to_string()) })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(service) = self.service.take() {
                service.shutdown().await;
            }
            if let Some(runtime) = self.runtime.take() {
                runtime.shutdown().await;
            }
        })
    }
}

/// The reference's management API, which L0 serves over HTTP.
///
/// It has a broker of its own: on that of a run the suite is the platform.
pub struct Registry {
    l0: L0,
    broker: RunningBroker,
}

impl Registry {
    /// Starts it, and says in the manifest where it is.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub async fn start(manifest: &mut Manifest) -> Result<Self, String> {
        let broker = broker::start(&BrokerChoice::Embedded).await.map_err(|error| error.to_string())?;
        let mut config = L0Config::new(broker.url());
        config.http = Some(([127, 0, 0, 1], 0).into());
        let l0 = L0::start(config).await.map_err(|error| error.to_string())?;
        if let Some(table) = manifest.utp.as_mut().and_then(|utp| utp.registry.as_mut()) {
            table.base_url = l0.http_url();
        }
        Ok(Self { l0, broker })
    }

    /// Ends it.
    pub async fn stop(self) {
        self.l0.shutdown().await;
        self.broker.stop().await;
    }
}

/// One call of each kind through the reference's own L0.
pub struct Tour;

impl Exercise for Tour {
    fn run<'a>(&'a self, nats_url: &'a str, version: &'a str) -> BoxFuture<'a, Result<Exercised, String>> {
        Box::pin(async move {
            let tour = utp::tour(nats_url, version, TOUR_PROJECT).await.map_err(|error| error.to_string())?;
            Ok(Exercised { project_id: TOUR_PROJECT.to_owned(), end: Box::pin(tour.end()) })
        })
    }
}

/// Sets up benches for the saboteur: an embedded broker and the reference on it, or the reference's MCP server.
pub struct ReferenceWorkshop {
    /// The `callmark` binary.
    pub program: PathBuf,
}

struct ReferenceBench {
    manifest: Manifest,
    broker: Option<RunningBroker>,
    service: Option<ToolService>,
    registry: Option<Registry>,
    capture: Option<Arc<Capture>>,
    stages: u64,
}

impl Workshop for ReferenceWorkshop {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Bench>, String>> {
        Box::pin(async {
            let manifest = manifest(&self.program).map_err(|error| error.to_string())?;
            let bench = ReferenceBench {
                manifest,
                broker: None,
                service: None,
                registry: None,
                capture: None,
                stages: 0,
            };
            Ok(Box::new(bench) as Box<dyn Bench>)
        })
    }
}

impl Bench for ReferenceBench {
    fn stage<'a>(
        &'a mut self,
        profile: &'a str,
        wire: Arc<dyn Wire>,
    ) -> LocalBoxFuture<'a, Result<Stage, String>> {
        Box::pin(async move {
            self.stages += 1;
            match profile {
                "utp.schema" => {
                    let capture = Arc::new(self.capture().await?.through(&*wire));
                    Ok(Stage { capture: Some(capture), ..Stage::default() })
                }
                "toolbus.server" | "toolbus.artifacts" => {
                    Ok(Stage { toolbus: Some(self.toolbus(wire).await?), ..Stage::default() })
                }
                "hub.server" => Ok(Stage { hub: Some(self.hub(wire).await?), ..Stage::default() }),
                "hub.agent" => Ok(Stage { agent: Some(self.agent(wire).await?), ..Stage::default() }),
                "utp.worker" | "utp.execution" => self.runtime(profile, wire).await,
                "utp.registry" => {
                    Ok(Stage { management: Some(self.management(wire).await?), ..Stage::default() })
                }
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
    std::env::temp_dir().join(format!("callmark-sabotage-{}.log", std::process::id()))
}

impl ReferenceBench {
    async fn broker_url(&mut self) -> Result<String, String> {
        if self.broker.is_none() {
            let broker = broker::start(&BrokerChoice::Embedded).await.map_err(|error| error.to_string())?;
            self.broker = Some(broker);
        }
        Ok(self.broker.as_ref().map(|broker| broker.url().to_owned()).unwrap_or_default())
    }

    async fn hub(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<HubSession>, String> {
        let plan = HubPlan {
            table: self.manifest.hub.clone().ok_or("the bundled manifest has no `[hub]`")?,
            directory: PathBuf::from("."),
            log: log_file(),
            limits: sabotage_limits(),
            wire,
            seed: self.stages,
        };
        HubSession::open(plan).await.map_err(|error| error.to_string())
    }

    async fn agent(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<AgentSession>, String> {
        let table = self.manifest.hub.clone().and_then(|hub| hub.agent);
        let plan = AgentPlan {
            table: table.ok_or("the bundled manifest has no `[hub.agent]`")?,
            directory: PathBuf::from("."),
            log: log_file(),
            limits: sabotage_limits(),
            wire,
            seed: self.stages,
            agent: None,
        };
        AgentSession::open(plan).await.map_err(|error| error.to_string())
    }

    /// One registry serves all mutants: each has projects of its own.
    async fn management(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<ManagementSession>, String> {
        if self.registry.is_none() {
            self.registry = Some(Registry::start(&mut self.manifest).await?);
        }
        let utp = self.manifest.utp.clone().ok_or("the bundled manifest has no `[utp]`")?;
        let plan = ManagementPlan {
            version: utp.protocol_version,
            table: utp.registry.ok_or("the bundled manifest has no `[utp.registry]`")?,
            directory: PathBuf::from("."),
            log: log_file(),
            nats_url: String::new(),
            limits: PaceLimits { answer_floor: Duration::from_secs(2), ..sabotage_limits() },
            wire,
            seed: self.stages,
        };
        ManagementSession::open(plan).await.map_err(|error| error.to_string())
    }

    async fn toolbus(&mut self, wire: Arc<dyn Wire>) -> Result<Arc<ToolbusSession>, String> {
        let table = self.manifest.toolbus.clone().ok_or("the bundled manifest has no `[toolbus]`")?;
        let plan = ToolbusPlan {
            table,
            directory: PathBuf::from("."),
            log: log_file(),
            limits: PaceLimits { answer_floor: Duration::from_secs(2), ..sabotage_limits() },
            wire,
            seed: self.stages,
        };
        ToolbusSession::open(plan).await.map_err(|error| error.to_string())
    }

    /// One capture serves all mutants: each sees it through its own wire.
    async fn capture(&mut self) -> Result<Arc<Capture>, String> {
        if let Some(capture) = &self.capture {
            return Ok(Arc::clone(capture));
        }
        let url = self.broker_url().await?;
        let set = stage::set(StagePlan {
            manifest: &self.manifest,
            profiles: &["utp.schema".to_owned()],
            nats_url: &url,
            limits: limits(1.0),
            seed: 1,
            log: std::path::PathBuf::new(),
            target: None,
            exercise: Some(&Tour),
        })
        .await;
        let capture = set.stage.capture.ok_or_else(|| {
            set.blocked.into_values().map(|(_, message)| message).collect::<Vec<_>>().join("; ")
        })?;
        self.capture = Some(Arc::clone(&capture));
        Ok(capture)
    }

    async fn runtime(&mut self, profile: &str, wire: Arc<dyn Wire>) -> Result<Stage, String> {
        let url = self.broker_url().await?;
        let mut table = self.manifest.utp.clone().ok_or("the bundled manifest has no `[utp]`")?;
        // The other half of the runtime has mutants of its own.
        if profile == "utp.worker" {
            table.execution = None;
        }
        let model = Arc::new(Model::start(None).await?);
        let secret = Some("callmark-param-of-a-bench".to_owned());
        let told = [("CALLMARK_MODEL_URL", Some(model.url())), ("CALLMARK_PARAM_KEY", secret.clone())];
        let environment =
            told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        let target = Box::new(Reference::of(&[profile.to_owned()]));
        let ground = stage::utp::crooked(&table, url, wire, self.stages, target, environment)
            .await
            .map_err(|error| error.to_string())?;
        let plan = stage::utp::runtime_plan(&table, &ground, model, (None, secret), sabotage_limits());
        let session = RuntimeSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Stage { ground: Some(ground), runtime: Some(session), ..Stage::default() })
    }

    async fn utp(&mut self, role: Role, wire: Arc<dyn Wire>) -> Result<Stage, String> {
        let url = self.broker_url().await?;
        if self.service.is_none() {
            let config = ToolServiceConfig::new(&url);
            self.service = Some(ToolService::start(config).await.map_err(|error| error.to_string())?);
        }
        let table = self.manifest.utp.clone().ok_or("the bundled manifest has no `[utp]`")?;
        let target = Box::new(Running);
        let ground =
            stage::utp::crooked(&table, url, wire, self.stages, target, std::collections::BTreeMap::new())
                .await
                .map_err(|error| error.to_string())?;
        let plan = SessionPlan {
            ready_within: Duration::from_secs(3),
            ..stage::utp::session_plan(role, &table, &ground, sabotage_limits())
        };
        let session = UtpSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Stage { ground: Some(ground), utp: [(role, session)].into(), ..Stage::default() })
    }
}
