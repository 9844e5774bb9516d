//! The bundled target: the reference implementation, started here and reached over sockets like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callmark_reference::utp::{self, PlatformConfig, Pmo, PmoConfig, ToolService, ToolServiceConfig};
use callmark_suite::hub::agent::session::{AgentPlan, AgentSession};
use callmark_suite::hub::session::{HubPlan, HubSession};
use callmark_suite::manifest::{Manifest, ManifestError, PlatformKind};
use callmark_suite::pace::PaceLimits;
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
    service: Option<ToolService>,
    pmo: Option<Pmo>,
}

impl Target for Reference {
    fn start<'a>(&'a mut self, around: &'a Surroundings) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let platform = match around.platform {
                PlatformKind::Nats => PlatformConfig::Nats,
                PlatformKind::Http => PlatformConfig::Http { base_url: around.platform_url.clone() },
            };
            let mut config = ToolServiceConfig::new(&around.nats_url);
            around.version.clone_into(&mut config.protocol_version);
            // Nothing of a run that has been judged is worth waiting for.
            config.shutdown_deadline = Duration::from_secs(1);
            config.platform = platform.clone();
            self.service = Some(ToolService::start(config).await.map_err(|error| error.to_string())?);
            let mut config = PmoConfig::new(&around.nats_url);
            around.version.clone_into(&mut config.protocol_version);
            config.shutdown_deadline = Duration::from_secs(1);
            config.platform = platform;
            self.pmo = Some(Pmo::start(config).await.map_err(|error| error.to_string())?);
            Ok(())
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(service) = self.service.take() {
                service.shutdown().await;
            }
            if let Some(pmo) = self.pmo.take() {
                pmo.shutdown().await;
            }
        })
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
    pmo: Option<Pmo>,
    capture: Option<Arc<Capture>>,
    stages: u64,
}

impl Workshop for ReferenceWorkshop {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Bench>, String>> {
        Box::pin(async {
            let manifest = manifest(&self.program).map_err(|error| error.to_string())?;
            let bench =
                ReferenceBench { manifest, broker: None, service: None, pmo: None, capture: None, stages: 0 };
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

    async fn utp(&mut self, role: Role, wire: Arc<dyn Wire>) -> Result<Stage, String> {
        let url = self.broker_url().await?;
        if role == Role::Pmo && self.pmo.is_none() {
            let pmo = Pmo::start(PmoConfig::new(&url)).await;
            self.pmo = Some(pmo.map_err(|error| error.to_string())?);
        }
        if role == Role::ToolService && self.service.is_none() {
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
