//! How the sessions of a UTP target are opened: its platform and broker, what is played around it, and a session for
//! each executor; and how they are restored when the run is judged again.

mod captured;
mod described;
mod executors;
mod parties;
mod plans;

use std::collections::BTreeMap;
use std::slice;
use std::sync::{Arc, Mutex};

use self::plans::is_not_spoken;
pub use self::plans::{runtime_plan, session_plan};
use futures::future::{FutureExt as _, LocalBoxFuture, join_all};
use serde_json::Value;

use super::broker_nodes;
use super::capture::{Capture, Exercise};
use super::chaos::UtpFleet;
use super::error::SessionError;
use super::manifest::UtpTable;
use super::nats_access::NatsAccess;
use super::observer::BusObserver;
use super::reason::{Alternative, Undeclared};
use super::registry::session::{ManagementPlan, ManagementSession, ManagementSnapshot, SubjectVersions};
use super::revision::Revision;
use super::runtime::session::{RuntimeSession, RuntimeSnapshot};
use super::services::{Services, ServicesSnapshot};
use super::target::Target;
use super::test_environment::{TestEnvironment, TestEnvironmentPlan};
use super::tool::{Role, Tool};
use super::upstream::Upstream;
use crate::engine::chaos::Fleet;
use crate::engine::effect::{Effect, calls};
use crate::engine::judge::Reasons;
use crate::engine::manifest::{Manifest, ManifestTable, Section, section};
use crate::engine::open::{Blocked, OpenPlan, Opened, lacks};
use crate::engine::protocol::{Protocol, Restore, Scope, table};
use crate::engine::recording::observer::Observer;
use crate::engine::session::Sessions;
use crate::net::wire::Wire;
use crate::spec::catalog::Case;
use crate::spec::revision::split;
use crate::transcript::lock;

/// UTP: executors, runtimes and registries.
#[derive(Debug)]
pub struct Utp;

/// The profile of captured messages.
const SCHEMA: &str = "utp.schema";
/// Log of a registry that is started beside the target.
const REGISTRY_LOG: &str = "registry.log";
/// Log of a registry that is started for `v1r4`.
const V1R4_REGISTRY_LOG: &str = "registry@v1r4.log";

/// All logs.
const LOGS: [&str; 13] = {
    let [n1, n2, n3, n4, n5, n6, n7, n8, n9] = broker_nodes::LOGS;
    let [target, later] = [described::LOG, described::V1R4_LOG];
    [target, REGISTRY_LOG, later, V1R4_REGISTRY_LOG, n1, n2, n3, n4, n5, n6, n7, n8, n9]
};

/// What runs inside this process instead of being started or captured.
#[derive(Default)]
pub struct InProcess {
    /// In place of the manifest's `start`, one for each revision.
    pub targets: Mutex<BTreeMap<Revision, Box<dyn Target>>>,
    /// What makes the messages that `utp.schema` captures.
    pub exercise: Option<&'static dyn Exercise>,
}

impl ManifestTable for Utp {
    fn name(&self) -> &'static str {
        "utp"
    }

    fn section(&self, table: Value) -> Result<Box<dyn Section>, serde_json::Error> {
        section::<UtpTable>(table)
    }

    // What was meant by a text that names no broker.
    fn explains(&self, pointer: &str, table: &Value) -> bool {
        let nats = &table["nats"];
        let are_urls = |all: &Vec<Value>| {
            !all.is_empty() && all.iter().all(|url| url.as_str().is_some_and(|url| url.contains("://")))
        };
        pointer.starts_with("/utp/nats") && (nats.is_string() || nats.as_array().is_some_and(are_urls))
    }
}

impl Protocol for Utp {
    fn logs(&self) -> &'static [&'static str] {
        &LOGS
    }

    fn first_revisions(&self) -> &'static [&'static str] {
        &["v1r3"]
    }

    fn broker<'m>(&self, manifest: &'m Manifest) -> Option<&'m str> {
        manifest.get::<UtpTable>().map(|utp| utp.nats.as_str())
    }

    // A registry is reached over HTTP alone.
    fn is_on_bus(&self, profile: &str) -> bool {
        executors::PROFILES.contains(&split(profile).0)
    }

    fn reasons(&self) -> Reasons {
        Reasons { undeclared: Undeclared::ALL, alternatives: Alternative::ALL }
    }

    fn open<'a>(&'a self, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Opened> {
        async move {
            let utp = plan.manifest.get::<UtpTable>();
            let is_shared = utp.is_some_and(UtpTable::is_both_at_once);
            // Boxed, because what the executors keep across their waits is large.
            let targets = async {
                if is_shared {
                    return vec![Box::pin(open_target(&Revision::ALL, plan)).await];
                }
                join_all(Revision::ALL.iter().map(|own| Box::pin(open_target(slice::from_ref(own), plan))))
                    .await
            };
            let (targets, registries) = futures::join!(targets, open_registries(is_shared, plan));
            let mut opened = Opened::default();
            for own in targets.into_iter().chain(registries) {
                opened.extend(own);
            }
            opened
        }
        .boxed_local()
    }

    fn restore(&self, restore: &mut Restore<'_>) -> Result<Sessions, String> {
        let mut sessions = Sessions::default();
        let utp = restore.manifest.get::<UtpTable>();
        for revision in Revision::ALL {
            // Captured messages need no table of their revision.
            let own = utp.and_then(|utp| utp.in_revision(revision));
            let services = restore.take::<ServicesSnapshot>(Services::family_of(revision))?;
            let services =
                services.map(|found| Services::restore(revision, found, own.as_ref(), restore.seed));
            let services = services.transpose()?;
            if let Some(found) = restore.take::<RuntimeSnapshot>(RuntimeSession::family_of(revision))? {
                let utp = table(own.as_ref(), "utp")?;
                let test_environment =
                    services.as_ref().and_then(|services| services.test_environment.as_ref());
                let test_environment = test_environment.ok_or("it has a runtime and no broker")?;
                if let Some(why) = found.contradiction(utp) {
                    return Err(why);
                }
                sessions.insert(RuntimeSession::restore(test_environment, found));
            }
            if let Some(services) = services {
                sessions.insert(Arc::new(services));
            }
            if let Some(found) = restore.take::<ManagementSnapshot>(ManagementSession::family_of(revision))? {
                let own = table(own.as_ref(), "utp")?;
                let registry = table(own.registry.clone(), "utp.registry")?;
                if let Some(why) = found.contradiction(&registry) {
                    return Err(why);
                }
                let versions = versions(utp, own);
                sessions.insert(ManagementSession::restore(registry, versions, found, restore.seed));
            }
        }
        Ok(sessions)
    }

    // Only a Tool Service has a probe that counts what is done.
    fn fleet(&self, sessions: &Sessions, family: &str, profile: &str) -> Option<Arc<dyn Fleet>> {
        let services = sessions.of_type::<Services>(family)?;
        let (session, own) = services.tool_service(profile)?;
        let can_be_disturbed = session.test_environment.replicas_count > 1 && session.declares(Tool::Count);
        can_be_disturbed.then(|| Arc::new(UtpFleet::new(session, own)) as Arc<dyn Fleet>)
    }

    fn effects(&self, manifest: &Manifest, case: &Case) -> Vec<Effect> {
        let count = calls(case);
        let registry = manifest.get::<UtpTable>().and_then(|utp| utp.registry.as_ref());
        let is_own = registry.is_some_and(|registry| !registry.launch.is_started());
        let rows = (is_own && split(&case.profile).0 == "utp.registry").then_some("rows uploaded");
        rows.map(|what| Effect { what, count, reaches_people: false }).into_iter().collect()
    }

    fn observer(&self, manifest: &Manifest) -> Option<Box<dyn Observer>> {
        let table = manifest.get::<UtpTable>()?;
        Some(Box::new(BusObserver::new(table)))
    }

    /// A bus does not show who writes to state: it may be the worker.
    fn unseen_by_callers(&self) -> &'static [&'static str] {
        &["TDG-1-01"]
    }

    fn unopened(&self, manifest: &Manifest, scope: Scope) -> Sessions {
        let mut sessions = Sessions::default();
        let Some(utp) = manifest.get::<UtpTable>() else { return sessions };
        for own in Revision::ALL.into_iter().filter_map(|revision| utp.in_revision(revision)) {
            let services = Services::unopened(&own);
            if let (Some(test_environment), true) =
                (&services.test_environment, own.worker.is_some() || own.execution.is_some())
            {
                sessions.insert(RuntimeSession::restore(test_environment, RuntimeSnapshot::unopened(&own)));
            }
            sessions.insert(Arc::new(services));
            if let (Some(registry), Scope::AllParties) = (&own.registry, scope) {
                let found = ManagementSnapshot::unopened();
                sessions.insert(ManagementSession::restore(registry.clone(), versions(None, &own), found, 0));
            }
        }
        sessions
    }
}

/// The version of a table in one revision, and all that the target serves.
fn versions(all: Option<&UtpTable>, own: &UtpTable) -> SubjectVersions {
    SubjectVersions { own: own.version().to_owned(), served: all.unwrap_or(own).protocol_version.all() }
}

/// Opens a session with the management API of a manifest in each revision. Where it is shared, the first starts it.
async fn open_registries(is_shared: bool, plan: &OpenPlan<'_>) -> Vec<Opened> {
    let [old, new] = Revision::ALL;
    let open = |revision: Revision, beside: Option<Arc<ManagementSession>>| {
        plan.session(ManagementSession::family_of(revision), open_registry(revision, plan, beside))
    };
    if !is_shared {
        let (first, second) = futures::join!(open(old, None), open(new, None));
        return vec![first, second];
    }
    let first = open(old, None).await;
    let beside = first.sessions.of_type::<ManagementSession>(ManagementSession::family_of(old));
    let second = open(new, beside).await;
    vec![first, second]
}

/// Opens a session with the management API in one revision, which another session may have started.
async fn open_registry(
    revision: Revision,
    plan: &OpenPlan<'_>,
    beside: Option<Arc<ManagementSession>>,
) -> Result<Arc<ManagementSession>, Blocked> {
    let utp = plan.manifest.get::<UtpTable>();
    let Some((utp, table)) = utp.and_then(|utp| Some((utp, utp.registry.clone()?))) else {
        return Err(lacks("has no table `[utp.registry]`"));
    };
    let Some(own) = utp.in_revision(revision) else { return Err(is_not_spoken(revision)) };
    let log = match revision {
        Revision::V1r4 if !utp.is_both_at_once() => V1R4_REGISTRY_LOG,
        _ => REGISTRY_LOG,
    };
    let versions = versions(Some(utp), &own);
    let plan = ManagementPlan {
        context: plan.context(table, log),
        spoken: if utp.is_both_at_once() { versions.served.join(",") } else { versions.own.clone() },
        versions,
        nats_url: plan.broker_url.to_owned(),
        beside,
    };
    ManagementSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens what answers commands and what sends them, with one start of the target for all these revisions, and captures
/// messages.
async fn open_target(revisions: &[Revision], plan: &OpenPlan<'_>) -> Opened {
    let mut opened = Opened::default();
    let in_process = plan.in_process.and_then(|own| own.downcast_ref::<InProcess>());
    let exercise = in_process.and_then(|own| own.exercise);
    let schema = plan.manifest.get::<UtpTable>().map(|utp| utp.schema.as_ref());
    let has_file = schema.flatten().is_some_and(|schema| schema.capture.is_some());
    let is_selected = |revision: Revision| plan.selects(&revision.profile(SCHEMA));
    let captures_itself =
        |revision| is_selected(revision) && exercise.is_none() && schema.is_some() && !has_file;
    let wanted: Vec<_> = revisions.iter().map(|revision| (*revision, captures_itself(*revision))).collect();
    // The exercise comes first: the Tool Service under test serves every project, and would answer its commands too.
    let exercised = wanted.iter().map(async |(revision, captures_itself)| {
        let mut services = Services::of(*revision);
        let mut own = Opened::default();
        if is_selected(*revision) && !captures_itself {
            take(&mut own, &mut services, captured::capture((plan, *revision), exercise, None).await);
        }
        (services, own)
    });
    let mut all = Vec::new();
    for (services, own) in join_all(exercised).await {
        opened.extend(own);
        all.push(services);
    }
    let target = in_process.and_then(|own| lock(&own.targets).remove(revisions.first()?));
    let executors = executors::open(plan, target, &wanted).await;
    for ((mut services, own), (revision, captures_itself)) in all.into_iter().zip(executors).zip(wanted) {
        if captures_itself && let Some(why) = own.opened.blocked.get(&revision.profile("utp.tool-service")) {
            opened.block(&revision.profile(SCHEMA), why.clone());
        }
        opened.extend(own.opened);
        services.test_environment = own.test_environment;
        services.roles = own.roles;
        if captures_itself {
            let session = services.roles.get(&Role::ToolService).cloned();
            let captured = captured::capture((plan, revision), exercise, session.as_deref()).await;
            take(&mut opened, &mut services, captured);
        }
        if services.test_environment.is_some() || services.capture.is_some() {
            opened.sessions.insert(Arc::new(services));
        }
    }
    opened
}

fn take(opened: &mut Opened, services: &mut Services, captured: Result<Capture, Blocked>) {
    match captured {
        Ok(capture) => services.capture = Some(Arc::new(capture)),
        Err(blocked) => {
            opened.blocked.entry(services.revision.profile(SCHEMA)).or_insert(blocked);
        }
    }
}

/// What stands around a target that mutants are tried on.
#[derive(Default)]
pub struct MockServices {
    /// What it is given.
    pub environment: BTreeMap<String, String>,
    /// What stands behind an OpenAPI executor.
    pub upstream: Option<Arc<Upstream>>,
}

/// An environment for one mutant, whose target runs already behind this wire.
pub async fn behind(
    table: &UtpTable,
    nats_url: String,
    wire: Arc<dyn Wire>,
    seed: u64,
    target: Box<dyn Target>,
    around: MockServices,
) -> Result<Arc<TestEnvironment>, SessionError> {
    TestEnvironment::start(TestEnvironmentPlan {
        nats_url,
        broker_nodes: None,
        access: NatsAccess::default(),
        version: table.version().to_owned(),
        spoken: table.version().to_owned(),
        commands: table.commands,
        platform: table.platform,
        wire,
        seed,
        target,
        replicas: Arc::default(),
        environment: around.environment,
        upstream: around.upstream,
        port: None,
        beside: Vec::new(),
        shares: None,
        inbound: Arc::default(),
        outbound: Arc::default(),
    })
    .await
}
