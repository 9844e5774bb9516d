//! What a run shares of the executors of a UTP target: where they are reached, a session for each role, and the
//! messages that were captured of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::capture::Capture;
use super::ground::Ground;
use super::judge::late::{self, Late};
use super::session::{Liveness, UtpSession};
use super::tool::Role;
use crate::engine::session::{Recheck, Session};
use crate::transcript::lock;

/// The executors under test.
#[derive(Debug, Default)]
pub struct Services {
    /// Broker, platform and process of the target; none where captured messages alone are judged.
    pub ground: Option<Arc<Ground>>,
    /// What of it answers commands.
    pub roles: BTreeMap<Role, Arc<UtpSession>>,
    /// Captured messages under test.
    pub capture: Option<Arc<Capture>>,
    /// What is judged again at the end, by the id of the scenario.
    pub(super) late: Mutex<BTreeMap<String, Vec<Late>>>,
}

impl Services {
    /// Captured messages alone.
    pub fn captured(capture: Arc<Capture>) -> Self {
        Self { capture: Some(capture), ..Self::default() }
    }

    /// A single executor.
    pub fn one(ground: Arc<Ground>, session: Arc<UtpSession>) -> Self {
        Self { ground: Some(ground), roles: [(session.role, session)].into(), ..Self::default() }
    }
}

impl Session for Services {
    fn capabilities(&self) -> BTreeSet<String> {
        let mut all: BTreeSet<String> =
            self.roles.values().flat_map(|session| session.capabilities()).collect();
        if let Some(capture) = &self.capture {
            all.extend(capture.kinds.iter().map(|kind| format!("capture.{kind}")));
            all.extend(capture.statuses.iter().map(|status| format!("status.{status}")));
        }
        all
    }

    fn secrets(&self) -> Vec<String> {
        let upstream = self.ground.iter().filter_map(|ground| ground.upstream.as_ref());
        upstream.flat_map(|upstream| upstream.plan.keys.iter().map(|key| key.expose().to_owned())).collect()
    }

    fn idle(&self, profile: &str) -> Option<&'static str> {
        let session = self.roles.get(&Role::of(profile)?)?;
        (session.liveness == Liveness::Stirs).then(|| session.role.never_worked())
    }

    fn least_jobs(&self) -> usize {
        self.roles.values().map(|session| session.pace.jobs).max().unwrap_or(1)
    }

    fn recheck_at(&self) -> Option<Instant> {
        let wait = self.roles.values().map(|session| session.pace.late).max()?;
        let last = lock(&self.late).values().flatten().map(Late::since).max()?;
        Some(last + wait)
    }

    fn recheck(&self) -> BTreeMap<String, Recheck> {
        let late = std::mem::take(&mut *lock(&self.late));
        let (ids, late): (Vec<String>, Vec<Late>) = late
            .into_iter()
            .flat_map(|(id, own)| own.into_iter().map(move |late| (id.clone(), late)))
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

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(ground) = &self.ground {
                ground.close().await;
            }
        }
        .boxed()
    }
}
