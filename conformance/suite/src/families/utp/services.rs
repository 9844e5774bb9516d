//! What a run shares of the executors of a UTP target: where they are reached, a session for each role, and the
//! messages that were captured of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::callable::tools;
use super::capture::Capture;
use super::diagnose;
use super::judge::late;
use super::judge::late::DeferredCheck;
use super::load::UtpCaller;
use super::manifest::UtpTable;
use super::revision::Revision;
use super::session::{Liveness, UtpSession, UtpSnapshot};
use super::test_environment::{TestEnvironment, TestEnvironmentSnapshot};
use super::tool::Role;
use super::upstream::UpstreamPlan;
use crate::engine::diagnosis::Check;
use crate::engine::load::Caller;
use crate::engine::protocol;
use crate::engine::protocol::table;
use crate::engine::session::{CleanedUp, Recheck, Session};
use crate::engine::target::SharedProcess;
use crate::spec::revision::split;
use crate::transcript::lock;

/// The executors under test.
#[derive(Debug, Default)]
pub struct Services {
    /// The revision that is spoken.
    pub revision: Revision,
    /// Broker, platform and process of the target; none where captured messages alone are judged.
    pub test_environment: Option<Arc<TestEnvironment>>,
    /// What of it answers commands.
    pub roles: BTreeMap<Role, Arc<UtpSession>>,
    /// Captured messages under test.
    pub capture: Option<Arc<Capture>>,
    /// What is judged again at the end, by the scenario's id and attempt.
    pub(super) late: Mutex<BTreeMap<(String, u32), Vec<DeferredCheck>>>,
}

/// What was found out about the executors before the first scenario.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServicesSnapshot {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test_environment: Option<TestEnvironmentSnapshot>,
    /// By profile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    roles: BTreeMap<String, UtpSnapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capture: Option<Capture>,
}

impl Services {
    /// Of sessions that nobody opened.
    pub(super) fn unopened(utp: &UtpTable) -> Self {
        let upstream = utp.openapi.as_ref().map(|own| UpstreamPlan::of(own, utp.launch.is_started()));
        let found = TestEnvironmentSnapshot::unopened(utp.version(), upstream);
        let test_environment = TestEnvironment::restore(found, 0);
        let session = |role| {
            let session =
                UtpSession::restore(role, tools(role, utp), &test_environment, &UtpSnapshot::unopened());
            (role, session)
        };
        let roles = [Role::ToolService, Role::Pmo, Role::OpenApi].map(session).into();
        let revision = Revision::of(&test_environment.version);
        Self { revision, test_environment: Some(test_environment), roles, ..Self::default() }
    }

    /// Id of the family whose session it is.
    pub const fn family_of(revision: Revision) -> &'static str {
        match revision {
            Revision::V1r3 => "utp.service",
            Revision::V1r4 => "utp.service@v1r4",
        }
    }

    /// What a run had that is judged again.
    ///
    /// # Errors
    /// What cannot have been found out about the target of this table.
    pub(super) fn restore(
        revision: Revision,
        snapshot: ServicesSnapshot,
        utp: Option<&UtpTable>,
        seed: u64,
    ) -> Result<Self, String> {
        let mut services = Self { capture: snapshot.capture.map(Arc::new), ..Self::of(revision) };
        let Some(test_environment) = snapshot.test_environment else { return Ok(services) };
        let utp = table(utp, "utp")?;
        if let Some(why) = test_environment.contradiction(utp) {
            return Err(why);
        }
        let test_environment = TestEnvironment::restore(test_environment, seed);
        for (profile, found) in &snapshot.roles {
            let role = Role::of(profile).ok_or_else(|| format!("`{profile}` answers no commands"))?;
            let session = UtpSession::restore(role, tools(role, utp), &test_environment, found);
            services.roles.insert(role, session);
        }
        services.test_environment = Some(test_environment);
        Ok(services)
    }

    /// Nothing yet, in this revision.
    pub(super) fn of(revision: Revision) -> Self {
        Self { revision, ..Self::default() }
    }

    /// Captured messages alone.
    pub fn captured(revision: Revision, capture: Arc<Capture>) -> Self {
        Self { capture: Some(capture), ..Self::of(revision) }
    }

    /// The session of the Tool Service that has this profile, and the profile.
    pub(super) fn tool_service(&self, profile: &str) -> Option<(&Arc<UtpSession>, &'static str)> {
        let session = self.roles.get(&Role::of(split(profile).0)?)?;
        let own = match (session.role, self.revision) {
            (Role::ToolService, Revision::V1r3) => "utp.tool-service",
            (Role::ToolService, Revision::V1r4) => "utp.tool-service@v1r4",
            _ => return None,
        };
        Some((session, own))
    }

    /// A single executor.
    pub fn one(test_environment: Arc<TestEnvironment>, session: Arc<UtpSession>) -> Self {
        Self {
            revision: Revision::of(&test_environment.version),
            test_environment: Some(test_environment),
            roles: [(session.role, session)].into(),
            ..Self::default()
        }
    }
}

impl Session for Services {
    fn family(&self) -> &'static str {
        Self::family_of(self.revision)
    }

    fn capabilities(&self) -> BTreeSet<String> {
        let mut all: BTreeSet<String> =
            self.roles.values().flat_map(|session| session.capabilities()).collect();
        if let Some(capture) = &self.capture {
            all.extend(capture.kinds.iter().map(|kind| format!("capture.{kind}")));
            all.extend(capture.statuses.iter().map(|status| format!("status.{status}")));
        }
        if self.test_environment.as_ref().is_some_and(|own| own.replicas_count > 1) {
            all.insert("replicas".to_owned());
        }
        all
    }

    fn secrets(&self) -> Vec<String> {
        let upstream =
            self.test_environment.iter().filter_map(|test_environment| test_environment.upstream.as_ref());
        upstream.flat_map(|upstream| upstream.plan.keys.iter().map(|key| key.expose().to_owned())).collect()
    }

    fn idle(&self, profile: &str) -> Option<&'static str> {
        let session = self.roles.get(&Role::of(split(profile).0)?)?;
        (session.liveness == Liveness::Responsive).then(|| session.role.never_worked())
    }

    fn snapshot(&self) -> Value {
        let roles =
            self.roles.iter().map(|(role, session)| (role.profile().to_owned(), session.to_snapshot()));
        protocol::snapshot(&ServicesSnapshot {
            test_environment: self
                .test_environment
                .as_ref()
                .map(|test_environment| test_environment.to_snapshot()),
            roles: roles.collect(),
            capture: self.capture.as_deref().cloned(),
        })
    }

    fn least_jobs(&self) -> usize {
        self.roles.values().map(|session| session.timeouts.jobs).max().unwrap_or(1)
    }

    fn recheck_at(&self) -> Option<Instant> {
        let wait = self.roles.values().map(|session| session.timeouts.late).max()?;
        let last = lock(&self.late).values().flatten().map(DeferredCheck::since).max()?;
        Some(last + wait)
    }

    fn recheck(&self, counts: &BTreeMap<String, u32>) -> BTreeMap<String, Recheck> {
        let late = std::mem::take(&mut *lock(&self.late));
        let (ids, late): (Vec<String>, Vec<DeferredCheck>) = late
            .into_iter()
            .filter(|((id, attempt), _)| counts.get(id) == Some(attempt))
            .flat_map(|((id, _), own)| own.into_iter().map(move |late| (id.clone(), late)))
            .unzip();
        let mut found = BTreeMap::new();
        for (id, fault) in ids.into_iter().zip(late::judge_again(&late)) {
            // The first fault of a scenario is the one that is reported.
            if let Some(fault) = fault {
                found.entry(id).or_insert(fault);
            }
        }
        found
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move {
            let mut checks = Vec::new();
            for session in self.roles.values() {
                checks.extend(diagnose::role(session).await);
            }
            if let Some(capture) = &self.capture {
                checks.push(Check::good("capture", format!("{} messages", capture.len())));
            }
            checks
        }
        .boxed_local()
    }

    fn process(&self) -> Option<&SharedProcess> {
        self.test_environment.as_ref().map(|test_environment| &*test_environment.process)
    }

    fn shares_target_of(&self) -> Option<&'static str> {
        self.test_environment.as_ref().and_then(|test_environment| test_environment.shares)
    }

    fn answers_again(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            for session in self.roles.values() {
                session.await_target(session.ready_within).await.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
        .boxed()
    }

    // What other roles do takes parties that a load does not play.
    fn caller(self: Arc<Self>, profile: &str) -> Option<Arc<dyn Caller>> {
        let (session, own) = self.tool_service(profile)?;
        Some(Arc::new(UtpCaller::new(session, own)))
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        let remains = self.test_environment.as_ref().map(|own| own.remains()).unwrap_or_default();
        std::future::ready(CleanedUp::left(remains)).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(test_environment) = &self.test_environment {
                test_environment.close().await;
            }
        }
        .boxed()
    }
}
