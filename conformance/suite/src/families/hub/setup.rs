//! How the sessions of a Hub and of its agent are opened, and restored when the run is judged again.

use std::sync::Arc;

use futures::future::{FutureExt as _, LocalBoxFuture};
use gherkin::StepType;
use serde_json::Value;

use super::agent::session::{AgentSession, AgentSnapshot};
use super::manifest::HubTable;
use super::observer::RequestObserver;
use super::reason::{Alternative, Undeclared};
use super::server::chaos::HubFleet;
use super::server::session::{HubSession, HubSnapshot};
use crate::engine::chaos::Fleet;
use crate::engine::effect::{Effect, calls};
use crate::engine::judge::Reasons;
use crate::engine::manifest::{Manifest, ManifestTable, Section, section};
use crate::engine::open::{Blocked, OpenPlan, Opened, lacks};
use crate::engine::protocol::{Protocol, Restore, Scope, table};
use crate::engine::recording::observer::Observer;
use crate::engine::session::Sessions;
use crate::spec::catalog::Case;

/// The Tool Execution Contract: a Hub over HTTP, and its agent.
#[derive(Debug)]
pub(crate) struct Hub;

/// Logs of the Hub and of the agent.
const LOG: &str = "hub.log";
const AGENT_LOG: &str = "agent.log";

impl ManifestTable for Hub {
    fn name(&self) -> &'static str {
        "hub"
    }

    fn section(&self, table: Value) -> Result<Box<dyn Section>, serde_json::Error> {
        section::<HubTable>(table)
    }
}

impl Protocol for Hub {
    fn logs(&self) -> &'static [&'static str] {
        &[LOG, AGENT_LOG]
    }

    fn reasons(&self) -> Reasons {
        Reasons { undeclared: Undeclared::ALL, alternatives: Alternative::ALL }
    }

    fn open<'a>(&'a self, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Opened> {
        async move {
            let (mut opened, agent) = futures::join!(
                plan.session(HubSession::FAMILY, open(plan)),
                plan.session(AgentSession::FAMILY, open_agent(plan))
            );
            opened.extend(agent);
            opened
        }
        .boxed_local()
    }

    fn restore(&self, restore: &mut Restore<'_>) -> Result<Sessions, String> {
        let mut sessions = Sessions::default();
        let hub = restore.manifest.get::<HubTable>();
        if let Some(found) = restore.take::<HubSnapshot>(HubSession::FAMILY)? {
            let table = table(hub.cloned(), "hub")?;
            if let Some(why) = found.contradiction(&table) {
                return Err(why);
            }
            sessions.insert(HubSession::restore(table, found, restore.seed));
        }
        if let Some(found) = restore.take::<AgentSnapshot>(AgentSession::FAMILY)? {
            let table = table(hub.and_then(|hub| hub.agent.clone()), "hub.agent")?;
            sessions.insert(AgentSession::restore(table, found, restore.seed));
        }
        Ok(sessions)
    }

    fn fleet(&self, sessions: &Sessions, family: &str, _: &str) -> Option<Arc<dyn Fleet>> {
        let session = sessions.of_type::<HubSession>(family)?;
        Some(Arc::new(HubFleet::new(&session)?))
    }

    fn effects(&self, manifest: &Manifest, case: &Case) -> Vec<Effect> {
        let Some(hub) = manifest.get::<HubTable>().filter(|hub| !hub.stub && case.profile == "hub.server")
        else {
            return Vec::new();
        };
        let steps = &case.scenario().steps;
        let asks = |words: &[&str]| {
            let mut asked = steps.iter().filter(|step| step.ty != StepType::Then);
            asked.any(|step| words.iter().any(|word| step.value.contains(word)))
        };
        let mail = asks(&["email_send", "a new message", "a mail that is there"]);
        let event = asks(&["calendar_create_event", "calendar_update_event", "calendar_delete_event"]);
        let of = |what, reaches_people| Effect { what, count: calls(case), reaches_people };
        // A Hub that the suite starts is set up for tests; the suite's own provider sends nothing on.
        let is_real = hub.provider.is_none() && !hub.launch.is_started();
        let mails = mail.then(|| of("mails sent", is_real));
        mails.into_iter().chain(event.then(|| of("events created", false))).collect()
    }

    fn observer(&self, manifest: &Manifest) -> Option<Box<dyn Observer>> {
        let table = manifest.get::<HubTable>()?;
        Some(Box::new(RequestObserver::new(table)))
    }

    fn unopened(&self, manifest: &Manifest, scope: Scope) -> Sessions {
        let mut sessions = Sessions::default();
        let Some(table) = manifest.get::<HubTable>() else { return sessions };
        if let (Some(agent), Scope::AllParties) = (&table.agent, scope) {
            sessions.insert(AgentSession::restore(agent.clone(), AgentSnapshot::unopened(agent), 0));
        }
        let mut table = table.clone();
        if scope == Scope::Callers {
            // What the Hub asks its provider passes elsewhere.
            table.provider = None;
        }
        let found = HubSnapshot::unopened(&table);
        sessions.insert(HubSession::restore(table, found, 0));
        sessions
    }
}

/// Opens a session with the Hub of a manifest.
async fn open(plan: &OpenPlan<'_>) -> Result<Arc<HubSession>, Blocked> {
    let Some(table) = plan.manifest.get::<HubTable>().cloned() else {
        return Err(lacks("has no table `[hub]`"));
    };
    let plan = plan.context(table, LOG);
    HubSession::open(plan).await.map_err(|error| (error.cause(), error.to_string()))
}

/// Opens a session with the agent of a manifest.
async fn open_agent(plan: &OpenPlan<'_>) -> Result<Arc<AgentSession>, Blocked> {
    let Some(table) = plan.manifest.get::<HubTable>().and_then(|hub| hub.agent.clone()) else {
        return Err(lacks("has no table `[hub.agent]`"));
    };
    let plan = plan.context(table, AGENT_LOG);
    AgentSession::open(plan, None).await.map_err(|error| (error.cause(), error.to_string()))
}
