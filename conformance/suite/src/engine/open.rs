//! What a protocol opens its sessions with, and what came of it.
//!
//! Neighbours: `protocol` is who opens; `setup` opens those of all protocols.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;

use crate::engine::environment;
use crate::engine::judge::Cause;
use crate::engine::manifest::Manifest;
use crate::engine::session::{Session, Sessions};
use crate::engine::target::{Log, OpenContext, SharedProcess};
use crate::engine::timing::TimeoutLimits;
use crate::net::inbound::Inbound;
use crate::net::outbound::Outbound;
use crate::net::wire::PassthroughWire;

/// What the sessions of a run are opened with.
pub struct OpenPlan<'a> {
    /// The target.
    pub manifest: &'a Manifest,
    /// The selected profiles.
    pub profiles: SelectedProfiles,
    /// The broker; empty where the run needs none.
    pub broker_url: &'a str,
    /// The processes of the broker's nodes in the order of the manifest, where it says how the suite starts them.
    pub broker_nodes: Option<Arc<SharedProcess>>,
    /// Limits of all waiting.
    pub limits: TimeoutLimits,
    /// The way to the addresses of the target.
    pub outbound: Arc<Outbound>,
    /// The way of what is started to the suite.
    pub inbound: Arc<Inbound>,
    /// Seed of all ids.
    pub seed: u64,
    /// The directory of the logs of what is started.
    pub logs: PathBuf,
    /// What a protocol takes in place of what the manifest would start. Each protocol knows its own type.
    pub in_process: Option<&'a dyn Any>,
}

impl OpenPlan<'_> {
    /// Whether a profile is to run.
    pub fn selects(&self, profile: &str) -> bool {
        self.profiles.has(profile)
    }

    /// The log of what is started, in this file, without the secrets of the manifest.
    pub fn log(&self, file: &str) -> Log {
        let log = Log::from(self.logs.join(file));
        log.hide(self.manifest.secrets());
        log
    }

    /// What a session is opened with; what it starts logs to a file of its own.
    pub fn context<T>(&self, table: T, log: &str) -> OpenContext<T> {
        OpenContext {
            table,
            directory: self.manifest.directory.clone(),
            log: self.log(log),
            limits: self.limits,
            wire: Arc::new(PassthroughWire),
            seed: self.seed,
            outbound: Arc::clone(&self.outbound),
            inbound: Arc::clone(&self.inbound),
        }
    }

    /// Opens the session of the family with this id, unless none of its profiles is to run.
    pub async fn session<S: Session>(
        &self,
        family: &str,
        open: impl Future<Output = Result<Arc<S>, Blocked>>,
    ) -> Opened {
        let mut opened = Opened::default();
        let Some(profiles) = self.profiles.of(family) else { return opened };
        match Box::pin(open).await {
            Ok(session) => opened.sessions.insert(session),
            Err(why) => profiles.iter().for_each(|profile| opened.block(profile, why.clone())),
        }
        opened
    }
}

/// The profiles that are to run, by the id of their family.
#[derive(Clone, Debug, Default)]
pub struct SelectedProfiles(BTreeMap<&'static str, Vec<&'static str>>);

impl SelectedProfiles {
    /// Whether a profile is to run.
    pub fn has(&self, profile: &str) -> bool {
        self.0.values().flatten().any(|own| *own == profile)
    }

    /// Those of the family with this id; nothing where none of them is to run.
    pub fn of(&self, family: &str) -> Option<&[&'static str]> {
        self.0.get(family).map(Vec::as_slice)
    }
}

impl FromIterator<(&'static str, &'static str)> for SelectedProfiles {
    /// Of pairs of a family and one of its profiles.
    fn from_iter<I: IntoIterator<Item = (&'static str, &'static str)>>(pairs: I) -> Self {
        let mut all = Self::default();
        pairs.into_iter().for_each(|(family, profile)| all.0.entry(family).or_default().push(profile));
        all
    }
}

/// Why a profile cannot run.
pub type Blocked = (Cause, String);

/// Of a manifest that lacks what a session needs, for example `has no table …`.
pub fn lacks(what: &str) -> Blocked {
    (Cause::Config, format!("the manifest {what}"))
}

/// The sessions of a run, and the profiles that have none.
#[derive(Default)]
pub struct Opened {
    /// For the run.
    pub sessions: Sessions,
    /// Causes, by profile.
    pub blocked: BTreeMap<String, Blocked>,
}

impl Opened {
    /// Says why a profile cannot run.
    pub fn block(&mut self, profile: &str, why: Blocked) {
        self.blocked.insert(profile.to_owned(), why);
    }

    /// Adds what else was opened.
    pub fn extend(&mut self, other: Self) {
        self.sessions.extend(other.sessions);
        self.blocked.extend(other.blocked);
    }

    /// What could not be opened while this machine lacked something says nothing about the target.
    pub(super) fn excused(mut self, began: Instant) -> Self {
        if let Some(lack) = environment::lacked_since(began) {
            for (cause, message) in self.blocked.values_mut() {
                *cause = Cause::Environment;
                *message = format!("{lack}; {message}");
            }
        }
        self
    }

    /// Ends what was started.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.sessions.close())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use nix::errno::Errno;

    use super::*;

    #[test]
    fn what_cannot_be_opened_for_want_of_the_machine_is_not_the_targets_fault() {
        let check = |error: Errno, expect: Cause| {
            let began = Instant::now();
            environment::note(&io::Error::from_raw_os_error(error as i32));
            let mut opened = Opened::default();
            opened.block("hub.server", (Cause::Config, "the Hub cannot be started".to_owned()));
            let (cause, message) = &opened.excused(began).blocked["hub.server"];
            assert_eq!(*cause, expect, "{message}");
            assert!(message.ends_with("the Hub cannot be started"), "{message}");
        };
        // First what is no lack, since lacks are kept for the whole process.
        check(Errno::ECONNREFUSED, Cause::Config);
        for error in [Errno::EMFILE, Errno::ENOSPC, Errno::EAGAIN] {
            check(error, Cause::Environment);
        }
    }
}
