//! The reference's UTP roles: in this process during a run, and one session after another for the saboteur.
//!
//! What can serve all mutants is started once; an agent runtime is started anew for each, since its model is.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callmark_reference::utp::revision::UnknownRevision;
use callmark_reference::utp::{
    OpenApi, Pmo, PmoConfig, Revision as ServedRevision, ToolService, ToolServiceConfig, tour,
};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::session::Sessions;
use callmark_suite::engine::setup::open as open_sessions;
use callmark_suite::families;
use callmark_suite::families::utp::capture::{Capture, Exercise, Exercised};
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::registry::session::{ManagementPlan, ManagementSession, SubjectVersions};
use callmark_suite::families::utp::revision::Revision;
use callmark_suite::families::utp::runtime::model::Model;
use callmark_suite::families::utp::runtime::session::RuntimeSession;
use callmark_suite::families::utp::services::Services;
use callmark_suite::families::utp::session::{SessionPlan, UtpSession};
use callmark_suite::families::utp::setup;
use callmark_suite::families::utp::setup::{InProcess, MockServices};
use callmark_suite::families::utp::target::{LaunchEnv, Target};
use callmark_suite::families::utp::tool::Role;
use callmark_suite::families::utp::upstream::{Upstream, UpstreamPlan, Variable};
use callmark_suite::spec::revision::split;
use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};

use super::reference::{Lines, Reference, Registry, executor, served};
use super::setting::{Bundled, Setting, lacks, limits};
use crate::broker::{self, BrokerChoice, RunningBroker};

/// What a mutant of the worker finds in `CALLMARK_PARAM_KEY`.
const SECRET: &str = "callmark-param-of-a-bench";
/// The project of the tour.
const TOUR_PROJECT: &str = "prj_tour";

/// All roles.
#[derive(Default)]
pub(super) struct UtpReference {
    broker: Option<RunningBroker>,
    services: BTreeMap<Revision, ToolService>,
    executors: BTreeMap<Revision, BenchExecutor>,
    pmos: BTreeMap<Revision, Pmo>,
    registry: Option<Registry>,
    captures: BTreeMap<Revision, Arc<Capture>>,
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

impl Bundled for UtpReference {
    fn protocol(&self) -> &'static str {
        "utp"
    }

    fn complete(&self, manifest: &mut Manifest, _: &dyn Fn(&[&str]) -> Vec<String>) {
        if let Some(executor) = manifest.get_mut::<UtpTable>().and_then(|utp| utp.openapi.as_mut()) {
            // Keys that the user has set are the executor's; the others are made up for the run.
            let set = Variable::ALL.into_iter().map(Variable::name);
            let set = set.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
            executor.environment.extend(set.filter(|(_, value)| !value.is_empty()));
        }
    }

    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        setting: Setting<'a>,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        async move {
            match split(profile).0 {
                "utp.schema" => {
                    let revision = Revision::of_profile(profile);
                    let capture = self.capture(revision, setting.manifest).await?;
                    let services = Services::captured(revision, Arc::new(capture.through(&*setting.wire)));
                    Ok(Sessions::one(Arc::new(services)))
                }
                _ if matches!(split(profile).0, "utp.worker" | "utp.execution") => {
                    self.runtime(profile, setting).await
                }
                _ if split(profile).0 == "utp.registry" => {
                    self.management(Revision::of_profile(profile), setting).await
                }
                _ => match Role::of(split(profile).0) {
                    Some(role) => self.role(role, Revision::of_profile(profile), setting).await,
                    None => Err(format!("the reference does not play `{profile}`")),
                },
            }
        }
        .boxed_local()
    }
}

impl UtpReference {
    async fn broker_url(&mut self) -> Result<String, String> {
        if self.broker.is_none() {
            let broker = broker::start(&BrokerChoice::Embedded).await.map_err(|error| error.to_string())?;
            self.broker = Some(broker);
        }
        Ok(self.broker.as_ref().map(|broker| broker.url().to_owned()).unwrap_or_default())
    }

    /// One registry serves all mutants: each has projects of its own.
    async fn management(&mut self, revision: Revision, setting: Setting<'_>) -> Result<Sessions, String> {
        if self.registry.is_none() {
            self.registry = Some(Registry::start(setting.manifest).await?);
        }
        let all = setting.table::<UtpTable>("utp")?;
        let utp = in_revision(&all, revision)?;
        let versions = SubjectVersions { own: utp.version().to_owned(), served: all.protocol_version.all() };
        let table = utp.registry.ok_or_else(|| lacks("utp.registry"))?;
        let plan = ManagementPlan {
            context: setting.patient().context(table),
            spoken: versions.own.clone(),
            versions,
            nats_url: String::new(),
            beside: None,
        };
        let session = ManagementSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Sessions::one(session))
    }

    /// One capture serves all mutants of a revision: each sees it through its own wire.
    async fn capture(&mut self, revision: Revision, manifest: &Manifest) -> Result<Arc<Capture>, String> {
        if let Some(capture) = self.captures.get(&revision) {
            return Ok(Arc::clone(capture));
        }
        let url = self.broker_url().await?;
        let in_process = InProcess { exercise: Some(&Tour), ..InProcess::default() };
        let opened = open_sessions(
            families::ALL,
            OpenPlan {
                manifest,
                profiles: families::ALL.select(&[revision.profile("utp.schema")]),
                broker_url: &url,
                broker_nodes: None,
                limits: limits(1.0),
                outbound: Arc::default(),
                inbound: Arc::default(),
                seed: 1,
                logs: PathBuf::new(),
                in_process: Some(&in_process),
            },
        )
        .await;
        let capture = opened.sessions.get::<Services>().and_then(|services| services.capture.clone());
        let capture = capture.ok_or_else(|| {
            opened.blocked.into_values().map(|(_, message)| message).collect::<Vec<_>>().join("; ")
        })?;
        self.captures.insert(revision, Arc::clone(&capture));
        Ok(capture)
    }

    async fn runtime(&mut self, profile: &str, setting: Setting<'_>) -> Result<Sessions, String> {
        let url = self.broker_url().await?;
        let table = in_revision(&setting.table::<UtpTable>("utp")?, Revision::of_profile(profile))?;
        let model = Arc::new(Model::start(None).await?);
        let environment = [("CALLMARK_MODEL_URL", model.url()), ("CALLMARK_PARAM_KEY", SECRET.to_owned())];
        let around = MockServices {
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            ..MockServices::default()
        };
        let target = Box::new(Reference::of(Revision::of_profile(profile), &[profile.to_owned()]));
        let test_environment = setup::behind(&table, url, setting.wire, setting.seed, target, around)
            .await
            .map_err(|error| error.to_string())?;
        let secret = Some(SECRET.to_owned());
        let plan = setup::runtime_plan(
            &table,
            &test_environment,
            model,
            (None, secret),
            (setting.limits, &Arc::default()),
        );
        let session = RuntimeSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Sessions::one(session))
    }

    async fn role(
        &mut self,
        role: Role,
        revision: Revision,
        setting: Setting<'_>,
    ) -> Result<Sessions, String> {
        let url = self.broker_url().await?;
        let table = in_revision(&setting.table::<UtpTable>("utp")?, revision)?;
        self.stand((role, revision), &url, &table).await?;
        let own = self.executors.get(&revision).filter(|_| role == Role::OpenApi);
        let target = Box::new(Standing { log: own.map(|own| own.log.clone()) });
        let around =
            MockServices { upstream: own.map(|own| Arc::clone(&own.upstream)), ..MockServices::default() };
        let test_environment = setup::behind(&table, url, setting.wire, setting.seed, target, around)
            .await
            .map_err(|error| error.to_string())?;
        let plan = SessionPlan {
            ready_within: Duration::from_secs(3),
            ..setup::session_plan(role, &table, &test_environment, setting.limits)
        };
        let session = UtpSession::open(plan).await.map_err(|error| error.to_string())?;
        Ok(Sessions::one(Arc::new(Services::one(test_environment, session))))
    }

    /// Starts the reference's part for a role, unless it stands there already.
    async fn stand(
        &mut self,
        (role, revision): (Role, Revision),
        url: &str,
        table: &UtpTable,
    ) -> Result<(), String> {
        let version = table.version();
        match role {
            Role::OpenApi if !self.executors.contains_key(&revision) => {
                let own = table.openapi.as_ref().ok_or("the bundled manifest has no `[utp.openapi]`")?;
                let upstream = Upstream::start(UpstreamPlan::of(own, true));
                let upstream = upstream.await.map_err(|error| error.to_string())?;
                let environment = upstream.plan.keys.environment().collect();
                let log = Lines::default();
                let mut config = executor(url, &environment, &upstream.url(), &log);
                config.revisions = served(version)?;
                let running = OpenApi::start(config).await.map_err(|error| error.to_string())?;
                self.executors.insert(revision, BenchExecutor { upstream, log, _running: running });
            }
            Role::ToolService if !self.services.contains_key(&revision) => {
                let mut config = ToolServiceConfig::new(url);
                config.revisions = served(version)?;
                let service = ToolService::start(config).await.map_err(|error| error.to_string())?;
                self.services.insert(revision, service);
            }
            Role::Pmo if !self.pmos.contains_key(&revision) => {
                let mut config = PmoConfig::new(url);
                config.revisions = served(version)?;
                let pmo = Pmo::start(config).await.map_err(|error| error.to_string())?;
                self.pmos.insert(revision, pmo);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The bundled table as it describes the target in one revision.
fn in_revision(table: &UtpTable, revision: Revision) -> Result<UtpTable, String> {
    let own = table.in_revision(revision);
    own.ok_or_else(|| format!("the bundled manifest does not name {}", revision.name()))
}

/// The reference's roles in this process, during a run.
pub(crate) struct InThisProcess {
    roles: InProcess,
    registry: Option<Registry>,
}

impl InThisProcess {
    /// Starts what these profiles need, and says in the manifest where it is.
    pub(crate) async fn start(manifest: &mut Manifest, profiles: &[String]) -> Result<Self, String> {
        let registry = if profiles.iter().any(|profile| split(profile).0 == "utp.registry") {
            Some(Registry::start(manifest).await?)
        } else {
            None
        };
        let is_both = manifest.get::<UtpTable>().is_some_and(UtpTable::is_both_at_once);
        let targets = Revision::ALL.map(|revision| {
            let own = if is_both { Reference::both(profiles) } else { Reference::of(revision, profiles) };
            let target: Box<dyn Target> = Box::new(own);
            (revision, target)
        });
        let roles = InProcess { targets: Mutex::new(targets.into()), exercise: Some(&Tour) };
        Ok(Self { roles, registry })
    }

    /// What sessions take in place of what the manifest would start.
    pub(crate) fn roles(&self) -> &dyn Any {
        &self.roles
    }

    /// Ends what the sessions do not end.
    pub(crate) async fn stop(self) {
        if let Some(registry) = self.registry {
            registry.stop().await;
        }
    }
}

/// One call of each kind through the reference's own L0.
struct Tour;

impl Exercise for Tour {
    fn run<'a>(&'a self, nats_url: &'a str, version: &'a str) -> BoxFuture<'a, Result<Exercised, String>> {
        Box::pin(async move {
            let revision = version.parse().map_err(|error: UnknownRevision| error.to_string())?;
            // Both revisions may be on one broker.
            let project_id = match revision {
                ServedRevision::V1r3 => TOUR_PROJECT.to_owned(),
                ServedRevision::V1r4 => format!("{TOUR_PROJECT}_{revision}"),
            };
            let tour = tour(nats_url, revision, &project_id).await.map_err(|error| error.to_string())?;
            Ok(Exercised { project_id, end: Box::pin(tour.end()) })
        })
    }
}
