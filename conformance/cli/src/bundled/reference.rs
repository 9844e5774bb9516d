//! The reference's UTP roles as one target, and its management API.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callmark_reference::environment::Environment;
use callmark_reference::utp::{
    L0, L0Config, OpenApi, OpenApiConfig, PlatformConfig, Pmo, PmoConfig, ReferenceError,
    Revision as ServedRevision, Runtime, RuntimeConfig, ToolService, ToolServiceConfig, Upstream,
};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::families::utp::binding::PlatformKind;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::revision::Revision;
use callmark_suite::families::utp::target::{LaunchEnv, Target};
use callmark_suite::families::utp::upstream::Variable;
use callmark_suite::spec::revision::split;
use futures::future::BoxFuture;

use crate::broker::{self, BrokerChoice, RunningBroker};

/// Nothing of a run that has been judged is worth waiting for.
const SHUTDOWN: Duration = Duration::from_secs(1);
/// After how long the executor gives up an upstream: as long as the bundled manifest says.
const UPSTREAM_DEADLINE: Duration = Duration::from_millis(600);

/// The reference's UTP roles.
#[derive(Default)]
pub struct Reference {
    profiles: Vec<String>,
    service: Option<ToolService>,
    executor: Option<OpenApi>,
    pmo: Option<Pmo>,
    runtime: Option<Runtime>,
    log: Lines,
}

/// What the target logs.
#[derive(Clone, Default)]
pub(super) struct Lines(Arc<Mutex<String>>);

impl Lines {
    pub(super) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, line: &str) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(line);
        text.push('\n');
    }
}

impl Reference {
    /// The roles that these profiles are about in one revision.
    pub fn of(revision: Revision, profiles: &[String]) -> Self {
        let own = profiles.iter().filter(|profile| Revision::of_profile(profile) == revision);
        let profiles = own.map(|profile| split(profile).0.to_owned()).collect();
        Self { profiles, ..Self::default() }
    }

    /// The roles that these profiles are about in any revision.
    pub fn both(profiles: &[String]) -> Self {
        let profiles = profiles.iter().map(|profile| split(profile).0.to_owned()).collect();
        Self { profiles, ..Self::default() }
    }

    fn plays(&self, profiles: &[&str]) -> bool {
        self.profiles.iter().any(|own| profiles.contains(&own.as_str()))
    }

    async fn start_all(&mut self, around: &LaunchEnv) -> Result<(), String> {
        let revisions = served(&around.version)?;
        self.start_roles(around, revisions).await.map_err(|error| error.to_string())
    }

    async fn start_roles(
        &mut self,
        around: &LaunchEnv,
        revisions: Vec<ServedRevision>,
    ) -> Result<(), ReferenceError> {
        let platform = match around.platform {
            PlatformKind::Http => PlatformConfig::Http { base_url: around.platform_url.clone() },
            PlatformKind::Nats => PlatformConfig::Nats,
        };
        let variable = |name: &str| around.environment.get(name).cloned();
        if self.plays(&["utp.tool-service"]) {
            let mut config = ToolServiceConfig::new(&around.nats_url);
            config.revisions.clone_from(&revisions);
            config.platform = platform.clone();
            config.shutdown_deadline = SHUTDOWN;
            self.service = Some(ToolService::start(config).await?);
        }
        if let (true, Some(upstream)) = (self.plays(&["utp.openapi"]), variable("CALLMARK_UPSTREAM_URL")) {
            let mut config = executor(&around.nats_url, &around.environment, &upstream, &self.log);
            config.revisions.clone_from(&revisions);
            config.platform = platform.clone();
            self.executor = Some(OpenApi::start(config).await?);
        }
        if self.plays(&["utp.pmo"]) {
            let mut config = PmoConfig::new(&around.nats_url);
            config.revisions.clone_from(&revisions);
            config.platform = platform.clone();
            config.shutdown_deadline = SHUTDOWN;
            self.pmo = Some(Pmo::start(config).await?);
        }
        if self.plays(&["utp.worker", "utp.execution"]) {
            let model = variable("CALLMARK_MODEL_URL").unwrap_or_default();
            let mut config = RuntimeConfig::new(&around.nats_url, model);
            config.revisions.clone_from(&revisions);
            config.platform = platform;
            // Below `l0.v1` the suite is the platform of the other roles.
            config.below = revisions.iter().map(|own| below(*own).to_owned()).collect();
            config.listen = variable("CALLMARK_LISTEN").and_then(|address| address.parse().ok());
            config.environment = around.environment.clone().into_iter().collect();
            self.runtime = Some(Runtime::start(config).await?);
        }
        Ok(())
    }
}

/// Where the suite asks a runtime (`docs/bindings.md`).
fn below(revision: ServedRevision) -> &'static str {
    match revision {
        ServedRevision::V1r3 => "runtime.v1",
        ServedRevision::V1r4 => "runtime.v1r4",
    }
}

/// The reference's names for the revisions of version tokens, which commas separate.
pub(super) fn served(versions: &str) -> Result<Vec<ServedRevision>, String> {
    versions.split(',').map(|version| version.parse().map_err(|error| format!("{error}"))).collect()
}

/// An executor before the suite's upstream, with the keys of `environment`.
pub(super) fn executor(
    nats_url: &str,
    environment: &BTreeMap<String, String>,
    upstream_url: &str,
    log: &Lines,
) -> OpenApiConfig {
    let mut config = OpenApiConfig::new(nats_url);
    config.upstream = Upstream::Through(upstream_url.to_owned());
    config.environment = Environment::Map(environment.clone());
    config.env_overrides = [("api_key".to_owned(), Variable::Service.name().to_owned())].into();
    config.upstream_deadline = UPSTREAM_DEADLINE;
    config.shutdown_deadline = SHUTDOWN;
    let log = log.clone();
    config.log = Arc::new(move |line: &str| log.push(line));
    config
}

impl Target for Reference {
    fn start<'a>(&'a mut self, around: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.start_all(around))
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { Some(self.log.text()) })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(service) = self.service.take() {
                service.shutdown().await;
            }
            if let Some(executor) = self.executor.take() {
                executor.shutdown().await;
            }
            if let Some(pmo) = self.pmo.take() {
                pmo.shutdown().await;
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
        if let Some(utp) = manifest.get::<UtpTable>() {
            config.revisions = served(&utp.protocol_version.all().join(","))?;
        }
        let l0 = L0::start(config).await.map_err(|error| error.to_string())?;
        if let Some(table) = manifest.get_mut::<UtpTable>().and_then(|utp| utp.registry.as_mut()) {
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
