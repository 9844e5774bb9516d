//! The target of a load: started as `certify` starts it.

use std::sync::Arc;

use callmark_reports::record::TargetInfo;
use callmark_suite::engine::load::Caller;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::{self, OpenPlan};
use callmark_suite::engine::session::Session;
use callmark_suite::engine::setup as opening;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families;
use callmark_suite::guard;
use callmark_suite::net::inbound::Inbound;
use callmark_suite::net::outbound::Outbound;
use tempfile::TempDir;

use super::progress::Shown;
use crate::args::LoadArguments;
use crate::broker::{self, RunningBroker};
use crate::bundled::{self, InThisProcess};
use crate::exit::{self, Failure};
use crate::{descriptors, setup};

/// Everything that was started.
pub(super) struct Opened {
    /// The target.
    pub(super) manifest: Manifest,
    /// Who makes the calls.
    pub(super) caller: Arc<dyn Caller>,
    session: Arc<dyn Session>,
    sessions: open::Opened,
    in_process: Option<InThisProcess>,
    broker: Option<RunningBroker>,
    /// The way of the target to the suite, which ends with it.
    _inbound: Arc<Inbound>,
    /// Where it logs, unless the reports have a directory.
    _logs: TempDir,
}

impl Opened {
    /// Starts the target and opens the session of a role.
    ///
    /// # Errors
    /// The target cannot be reached, or never does its work.
    pub(super) async fn start(
        arguments: &LoadArguments,
        manifest: &Manifest,
        profile: &str,
        shown: &Shown,
    ) -> Result<Self, Failure> {
        // Each open call of a Hub is a connection.
        descriptors::raise();
        let profiles = [profile.to_owned()];
        let family = families::ALL.of(profile).ok_or_else(|| Failure::internal("a profile of no family"))?;
        let logs = guard::directory("load-").map_err(Failure::incomplete)?;
        let broker_logs = arguments.out.as_deref().unwrap_or_else(|| logs.path());
        let broker = match family.protocol().broker(manifest) {
            Some(named) => {
                let choice = setup::choose_broker(arguments.broker.as_ref(), named)?;
                shown.say(&format!("broker: {choice}"));
                let broker = broker::start_for(&choice, manifest, broker_logs).await;
                Some(broker.map_err(|error| setup::no_broker(&error))?)
            }
            None => None,
        };
        let mut manifest = manifest.clone();
        let in_process = if arguments.target.is_none() {
            bundled::keep_files_in_memory();
            let started = InThisProcess::start(&mut manifest, &profiles).await;
            Some(started.map_err(Failure::incomplete)?)
        } else {
            None
        };
        shown.say(&format!("target: {} {} ({profile})", manifest.target.name, manifest.target.version));
        let inbound = Inbound::of(&manifest);
        let opened = opening::open(
            families::ALL,
            OpenPlan {
                manifest: &manifest,
                profiles: families::ALL.select(&profiles),
                broker_url: broker.as_ref().map_or("", |broker| broker.urls()),
                broker_nodes: broker.as_ref().and_then(RunningBroker::nodes),
                limits: limits(arguments),
                outbound: Outbound::of(&manifest),
                inbound: Arc::clone(&inbound),
                seed: 1,
                logs: arguments.out.clone().unwrap_or_else(|| logs.path().to_owned()),
                in_process: in_process.as_ref().map(InThisProcess::roles),
            },
        );
        let opened = tokio::select! {
            // Signals are waited for before anything is started.
            biased;
            () = exit::until_signal() => return Err(Failure::incomplete("interrupted before the first call")),
            opened = opened => opened,
        };
        let usable = usable(&opened, family.id(), profile);
        let (session, caller) = match usable {
            Ok(usable) => usable,
            Err(why) => {
                opened.close().await;
                return Err(why);
            }
        };
        Ok(Self {
            manifest,
            caller,
            session,
            sessions: opened,
            in_process,
            broker,
            _inbound: inbound,
            _logs: logs,
        })
    }

    /// For the report.
    pub(super) fn info(&self) -> TargetInfo {
        let target = &self.manifest.target;
        TargetInfo { name: target.name.clone(), version: target.version.clone() }
    }

    /// What there is to say where the target's process ended by itself.
    pub(super) fn ended(&self) -> Option<String> {
        self.session.process()?.ended()
    }

    /// Ends what was started.
    pub(super) async fn stop(self) {
        self.sessions.close().await;
        if let Some(in_process) = self.in_process {
            in_process.stop().await;
        }
        if let Some(broker) = self.broker {
            broker.stop().await;
        }
    }
}

/// The session of a role, and who makes its calls.
type Usable = (Arc<dyn Session>, Arc<dyn Caller>);

/// The session of a role, where its target does its work.
fn usable(opened: &open::Opened, family: &str, profile: &str) -> Result<Usable, Failure> {
    if let Some((cause, message)) = opened.blocked.get(profile) {
        return Err(Failure::incomplete(format!(
            "`{profile}` cannot be called ({}): {message}",
            cause.name()
        ))
        .hint("`callmark doctor` looks at the target step by step"));
    }
    let session = opened.sessions.iter().find(|session| session.family() == family);
    let session = session.ok_or_else(|| Failure::internal("a session that was opened is missing"))?;
    if let Some(why) = session.idle(profile) {
        return Err(Failure::incomplete(why).hint("`callmark doctor` looks at the target step by step"));
    }
    let caller = Arc::clone(session).caller(profile);
    let caller = caller.ok_or_else(|| Failure::internal("a role that can be loaded has no caller"))?;
    Ok((Arc::clone(session), caller))
}

/// Limits of all waiting while the target is started.
pub(super) fn limits(arguments: &LoadArguments) -> TimeoutLimits {
    if arguments.target.is_none() { bundled::limits(1.0) } else { TimeoutLimits::default() }
}
