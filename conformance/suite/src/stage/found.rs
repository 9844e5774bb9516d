//! What the sessions of a run found out, and the sessions that are made of it when the run is judged again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::utp::tools;
use crate::breadcrumb::agent::session::{CrumbAgentFound, CrumbAgentSession};
use crate::breadcrumb::session::{RunnerFound, RunnerSession};
use crate::engine::session::Sessions;
use crate::hub::agent::session::{AgentFound, AgentSession};
use crate::hub::session::{HubFound, HubSession};
use crate::management::session::{ManagementFound, ManagementSession};
use crate::manifest::Manifest;
use crate::runtime::session::{RuntimeFound, RuntimeSession};
use crate::toolbus::session::{ToolbusFound, ToolbusSession};
use crate::utp::capture::Capture;
use crate::utp::ground::{Ground, GroundFound};
use crate::utp::services::Services;
use crate::utp::session::{UtpFound, UtpSession};
use crate::utp::tool::Role;

/// What was found out before the first scenario, by session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ground: Option<GroundFound>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    utp: BTreeMap<String, UtpFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runtime: Option<RuntimeFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    management: Option<ManagementFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capture: Option<Capture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    toolbus: Option<ToolbusFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hub: Option<HubFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<AgentFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runner: Option<RunnerFound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crumb_agent: Option<CrumbAgentFound>,
}

impl Found {
    /// Of the sessions of a run.
    pub fn of(sessions: &Sessions) -> Self {
        let services = sessions.get::<Services>();
        let ground = services.as_ref().and_then(|services| services.ground.clone());
        let runtime = sessions.get::<RuntimeSession>();
        let ground = ground.or_else(|| Some(Arc::clone(&runtime.as_ref()?.ground)));
        let roles = services.iter().flat_map(|services| &services.roles);
        Self {
            ground: ground.map(|ground| ground.found()),
            utp: roles.map(|(role, session)| (role.profile().to_owned(), session.found())).collect(),
            runtime: runtime.map(|session| session.found()),
            management: sessions.get::<ManagementSession>().map(|session| session.found()),
            capture: services.as_ref().and_then(|services| services.capture.as_deref().cloned()),
            toolbus: sessions.get::<ToolbusSession>().map(|session| session.found()),
            hub: sessions.get::<HubSession>().map(|session| session.found()),
            agent: sessions.get::<AgentSession>().map(|session| session.found()),
            runner: sessions.get::<RunnerSession>().map(|session| session.found()),
            crumb_agent: sessions.get::<CrumbAgentSession>().map(|session| session.found()),
        }
    }

    /// What of it cannot have been found out about the target of this manifest.
    pub fn contradiction(&self, manifest: &Manifest) -> Option<String> {
        let utp = manifest.utp.as_ref();
        let ground = self.ground.as_ref().zip(utp).and_then(|(found, utp)| found.contradiction(utp));
        let runtime = self.runtime.as_ref().zip(utp).and_then(|(found, utp)| found.contradiction(utp));
        let registry = utp.and_then(|utp| utp.registry.as_ref());
        let management =
            self.management.as_ref().zip(registry).and_then(|(found, table)| found.contradiction(table));
        let toolbus = self.toolbus.as_ref().zip(manifest.toolbus.as_ref());
        let toolbus = toolbus.and_then(|(found, table)| found.contradiction(table));
        let hub = self.hub.as_ref().zip(manifest.hub.as_ref());
        let hub = hub.and_then(|(found, table)| found.contradiction(table));
        ground.or(runtime).or(management).or(toolbus).or(hub)
    }

    /// The sessions of a run that is judged again: they know what they found out, and reach nobody.
    ///
    /// # Errors
    /// The table of the manifest that a session needs and that is not there.
    pub fn sessions(self, manifest: &Manifest, seed: u64) -> Result<Sessions, String> {
        let no = |table: &str| format!("the manifest has no table `[{table}]`");
        let hub = manifest.hub.as_ref();
        let crumbs = manifest.breadcrumb.as_ref();
        let mut sessions = Sessions::default();
        let mut services = Services::default();
        services.capture = self.capture.map(Arc::new);
        if let Some(found) = self.ground {
            let table = manifest.utp.as_ref().ok_or_else(|| no("utp"))?;
            let ground = Ground::again(found, seed);
            for (profile, found) in &self.utp {
                let role = Role::of(profile).ok_or_else(|| format!("`{profile}` answers no commands"))?;
                let session = UtpSession::again(role, tools(role, table), &ground, found);
                services.roles.insert(role, session);
            }
            if let Some(found) = self.runtime {
                sessions.insert(&crate::runtime::Runtime, RuntimeSession::again(&ground, found));
            }
            services.ground = Some(ground);
        }
        if services.ground.is_some() || services.capture.is_some() {
            sessions.insert(&crate::utp::Service, Arc::new(services));
        }
        if let Some(found) = self.management {
            let utp = manifest.utp.as_ref().ok_or_else(|| no("utp"))?;
            let table = utp.registry.clone().ok_or_else(|| no("utp.registry"))?;
            let session = ManagementSession::again(table, utp.protocol_version.clone(), found, seed);
            sessions.insert(&crate::management::Registry, session);
        }
        if let Some(found) = self.toolbus {
            let table = manifest.toolbus.clone().ok_or_else(|| no("toolbus"))?;
            sessions.insert(&crate::toolbus::Server, ToolbusSession::again(table, found, seed));
        }
        if let Some(found) = self.hub {
            let table = hub.cloned().ok_or_else(|| no("hub"))?;
            sessions.insert(&crate::hub::Server, HubSession::again(table, found, seed));
        }
        if let Some(found) = self.agent {
            let table = hub.and_then(|hub| hub.agent.clone()).ok_or_else(|| no("hub.agent"))?;
            sessions.insert(&crate::hub::agent::Agent, AgentSession::again(table, found, seed));
        }
        if let Some(found) = self.runner {
            let table = crumbs.cloned().ok_or_else(|| no("breadcrumb"))?;
            sessions.insert(&crate::breadcrumb::Runner, RunnerSession::again(table, found, seed));
        }
        if let Some(found) = self.crumb_agent {
            let table = crumbs.and_then(|own| own.agent.clone()).ok_or_else(|| no("breadcrumb.agent"))?;
            sessions.insert(&crate::breadcrumb::agent::Agent, CrumbAgentSession::again(table, found, seed));
        }
        Ok(sessions)
    }
}
