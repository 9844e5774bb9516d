//! How the sessions of a tool runner and of its agent are opened, and restored when the run is judged again.

use std::sync::Arc;

use futures::future::{FutureExt as _, LocalBoxFuture};
use serde_json::Value;

use super::agent::session::{CrumbAgentSession, CrumbAgentSnapshot};
use super::manifest::BreadcrumbTable;
use super::observer::CrumbObserver;
use super::reason::{Alternative, Undeclared};
use super::runner::session::{RunnerSession, RunnerSnapshot};
use crate::engine::effect::{Effect, calls};
use crate::engine::judge::Reasons;
use crate::engine::manifest::{Manifest, ManifestTable, Section, section};
use crate::engine::open::{Blocked, OpenPlan, Opened, lacks};
use crate::engine::protocol::{Protocol, Restore, Scope, table};
use crate::engine::recording::observer::Observer;
use crate::engine::session::Sessions;
use crate::spec::catalog::Case;

/// Tool requests as breadcrumbs: a tool runner at a store, and the agent that asks it.
#[derive(Debug)]
pub(crate) struct Breadcrumb;

/// Logs of the tool runner and of the agent.
const LOG: &str = "runner.log";
const AGENT_LOG: &str = "crumb-agent.log";

impl ManifestTable for Breadcrumb {
    fn name(&self) -> &'static str {
        "breadcrumb"
    }

    fn section(&self, table: Value) -> Result<Box<dyn Section>, serde_json::Error> {
        section::<BreadcrumbTable>(table)
    }
}

impl Protocol for Breadcrumb {
    fn logs(&self) -> &'static [&'static str] {
        &[LOG, AGENT_LOG]
    }

    fn reasons(&self) -> Reasons {
        Reasons { undeclared: Undeclared::ALL, alternatives: Alternative::ALL }
    }

    fn open<'a>(&'a self, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Opened> {
        async move {
            let (mut opened, agent) = futures::join!(
                plan.session(RunnerSession::FAMILY, open(plan)),
                plan.session(CrumbAgentSession::FAMILY, open_agent(plan))
            );
            opened.extend(agent);
            opened
        }
        .boxed_local()
    }

    fn restore(&self, restore: &mut Restore<'_>) -> Result<Sessions, String> {
        let mut sessions = Sessions::default();
        let own = restore.manifest.get::<BreadcrumbTable>();
        if let Some(found) = restore.take::<RunnerSnapshot>(RunnerSession::FAMILY)? {
            let table = table(own.cloned(), "breadcrumb")?;
            sessions.insert(RunnerSession::restore(table, found, restore.seed));
        }
        if let Some(found) = restore.take::<CrumbAgentSnapshot>(CrumbAgentSession::FAMILY)? {
            let table = table(own.and_then(|own| own.agent.clone()), "breadcrumb.agent")?;
            sessions.insert(CrumbAgentSession::restore(table, found, restore.seed));
        }
        Ok(sessions)
    }

    /// The agent's catalog is found out in its store, so nothing can be said of it without a session.
    fn effects(&self, manifest: &Manifest, case: &Case) -> Vec<Effect> {
        let has_its_own = manifest.get::<BreadcrumbTable>().is_some_and(|table| table.store.is_some());
        let count = calls(case);
        let stored =
            has_its_own.then_some(Effect { what: "breadcrumbs stored", count, reaches_people: false });
        stored.into_iter().collect()
    }

    fn observer(&self, manifest: &Manifest) -> Option<Box<dyn Observer>> {
        let runner = manifest.get::<BreadcrumbTable>()?.runner.as_ref()?;
        Some(Box::new(CrumbObserver::new(runner)))
    }

    fn unopened(&self, manifest: &Manifest, _: Scope) -> Sessions {
        let runner = manifest.get::<BreadcrumbTable>().filter(|own| own.has_runner());
        let Some(table) = runner else { return Sessions::default() };
        Sessions::one(RunnerSession::restore(table.clone(), RunnerSnapshot::unopened(), 0))
    }
}

/// Opens a session with the tool runner of a manifest.
async fn open(plan: &OpenPlan<'_>) -> Result<Arc<RunnerSession>, Blocked> {
    let Some(table) = plan.manifest.get::<BreadcrumbTable>().cloned().filter(BreadcrumbTable::has_runner)
    else {
        return Err(lacks("describes no tool runner (`[breadcrumb.runner]`)"));
    };
    let plan = plan.context(table, LOG);
    RunnerSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the agent of a manifest that writes invocations.
async fn open_agent(plan: &OpenPlan<'_>) -> Result<Arc<CrumbAgentSession>, Blocked> {
    let Some(table) = plan.manifest.get::<BreadcrumbTable>().and_then(|own| own.agent.clone()) else {
        return Err(lacks("has no table `[breadcrumb.agent]`"));
    };
    let plan = plan.context(table, AGENT_LOG);
    CrumbAgentSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}
