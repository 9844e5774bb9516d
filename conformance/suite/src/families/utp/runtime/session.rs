//! A session with an agent runtime, and what was found out about it before the first scenario: that a tool call of the
//! model comes out as a command, how fast that is, and what follows a plain `suspend` and a plain `terminate`.

mod calibrate;
mod diagnose;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::model::Model;
use super::reach::Reach;
use super::seen::Behaviour;
use crate::engine::diagnosis::Check;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session};
use crate::engine::target::SharedProcess;
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::utp::error::SessionError;
use crate::families::utp::manifest::UtpTable;
use crate::families::utp::revision::Revision;
use crate::families::utp::test_environment::TestEnvironment;
use crate::net::outbound::Outbound;
use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a runtime's workers listen unless the manifest says otherwise.
const WORKER_TARGET: &str = "worker_generic";

/// What a session is opened with.
pub struct RuntimePlan {
    /// Broker, platform and target.
    pub test_environment: Arc<TestEnvironment>,
    /// The model.
    pub model: Arc<Model>,
    /// The manifest's table.
    pub table: UtpTable,
    /// Base URL of a runtime that is reached over HTTP.
    pub url: Option<String>,
    /// Value of the environment variable `CALLMARK_PARAM_KEY`, where the suite knows it.
    pub secret: Option<String>,
    /// The way to the addresses of the target.
    pub outbound: Arc<Outbound>,
    /// Limits of all waiting.
    pub limits: TimeoutLimits,
    /// How long the target may take until it answers.
    pub ready_within: Duration,
}

/// An open session.
pub struct RuntimeSession {
    /// Broker, platform and target.
    pub test_environment: Arc<TestEnvironment>,
    /// The model.
    pub model: Arc<Model>,
    /// Waiting times.
    pub timeouts: Timeouts,
    /// Where its workers listen.
    pub worker_target: String,
    /// Value of the environment variable `CALLMARK_PARAM_KEY`, where the suite knows it.
    pub secret: Option<String>,
    /// After how long it reports a timeout, where it does.
    pub deadline: Option<Duration>,
    /// Further members of `options` in the rows of its tools.
    pub(super) tool_options: Map<String, Value>,
    pub(super) reach: Reach,
    capabilities: BTreeSet<String>,
    /// How it behaves where the documents leave that open.
    pub baseline: Baseline,
    /// How long it may take until it answers.
    ready_within: Duration,
    works: bool,
    /// How it refused the last that it was asked for before the first scenario, if it did.
    refusal: Option<String>,
}

/// What was found out about a runtime's own ways.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// What follows a plain `suspend`.
    pub suspend: Behaviour,
    /// What follows a plain `terminate`.
    pub terminate: Behaviour,
    /// What follows a plain call of both kinds that did not end well, for each such status: a turn may go on or stop by what
    /// its callback says (UTP §3.1).
    #[serde(default = "not_found_out")]
    pub after_failure: [[Behaviour; 4]; 2],
    /// How often it asks the model again after a plain `suspend`.
    pub asks: usize,
    /// Whether two calls of one answer of the model are under way together; none where that was not seen.
    pub parallel: Option<bool>,
    /// Whether the Inbox still shows a record that a turn has gone on with.
    pub keeps_consumed: bool,
}

/// The statuses of calls that did not end well.
pub(super) const STATUSES: [&str; 4] = ["failed", "canceled", "timeout", "partial"];

/// As long as nothing is known of what follows a failure.
fn not_found_out() -> [[Behaviour; 4]; 2] {
    [[Behaviour::Stays; 4]; 2]
}

impl std::fmt::Debug for RuntimeSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RuntimeSession").field("works", &self.works).finish_non_exhaustive()
    }
}

/// What was found out about a runtime before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeSnapshot {
    timeouts: Timeouts,
    worker_target: String,
    secret: Option<String>,
    deadline: Option<Duration>,
    is_http: bool,
    capabilities: BTreeSet<String>,
    baseline: Baseline,
    works: bool,
}

impl RuntimeSnapshot {
    /// Of a session that nobody opened. What follows a result is not judged, since what a runtime does after a plain one
    /// would have to be found out.
    pub(crate) fn unopened(table: &UtpTable) -> Self {
        let mut capabilities = capabilities(table, false);
        capabilities.remove(RESUME);
        let stays = Behaviour::Stays;
        Self {
            timeouts: Timeouts::unopened(),
            worker_target: table.runtime.worker_target.clone().unwrap_or_else(|| WORKER_TARGET.to_owned()),
            secret: None,
            deadline: None,
            is_http: false,
            capabilities,
            baseline: Baseline {
                suspend: stays,
                terminate: stays,
                after_failure: not_found_out(),
                asks: 0,
                parallel: None,
                keeps_consumed: false,
            },
            works: true,
        }
    }

    /// What of it cannot have been found out about the target of this table.
    pub(crate) fn contradiction(&self, table: &UtpTable) -> Option<String> {
        let declared = capabilities(table, self.secret.is_some());
        let differs = self.capabilities.symmetric_difference(&declared).next()?;
        let has =
            |own: &BTreeSet<String>| if own.contains(differs) { "declares" } else { "does not declare" };
        Some(format!(
            "its target {} the capability `{differs}`, and that of the manifest {} it",
            has(&self.capabilities),
            has(&declared)
        ))
    }
}

impl RuntimeSession {
    /// Id of the family whose session it is.
    pub const fn family_of(revision: Revision) -> &'static str {
        match revision {
            Revision::V1r3 => "utp.runtime",
            Revision::V1r4 => "utp.runtime@v1r4",
        }
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.test_environment.revision()
    }

    /// What was found out.
    pub fn to_snapshot(&self) -> RuntimeSnapshot {
        RuntimeSnapshot {
            timeouts: self.timeouts,
            worker_target: self.worker_target.clone(),
            secret: self.secret.clone(),
            deadline: self.deadline,
            is_http: self.reach.is_http(),
            capabilities: self.capabilities.clone(),
            baseline: self.baseline,
            works: self.works,
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(test_environment: &Arc<TestEnvironment>, snapshot: RuntimeSnapshot) -> Arc<Self> {
        Arc::new(Self {
            test_environment: Arc::clone(test_environment),
            model: Arc::new(Model::offline()),
            timeouts: snapshot.timeouts,
            worker_target: snapshot.worker_target,
            secret: snapshot.secret,
            deadline: snapshot.deadline,
            tool_options: Map::new(),
            reach: Reach::Nowhere { is_http: snapshot.is_http },
            capabilities: snapshot.capabilities,
            baseline: snapshot.baseline,
            ready_within: Duration::ZERO,
            works: snapshot.works,
            refusal: None,
        })
    }

    /// Waits for the runtime and learns how it behaves.
    pub fn open(plan: RuntimePlan) -> BoxFuture<'static, Result<Arc<Self>, SessionError>> {
        Box::pin(Self::open_inner(plan))
    }

    async fn open_inner(plan: RuntimePlan) -> Result<Arc<Self>, SessionError> {
        let execution = plan.table.execution.as_ref();
        let deadline = execution.and_then(|own| own.deadline_seconds);
        let mut session = Self {
            capabilities: capabilities(&plan.table, plan.secret.is_some()),
            worker_target: plan.table.runtime.worker_target.unwrap_or_else(|| WORKER_TARGET.to_owned()),
            deadline: deadline.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            tool_options: plan.table.tool_options,
            reach: match (plan.url, plan.test_environment.client()) {
                (Some(url), _) => Reach::http(&url, &plan.outbound).map_err(SessionError::Config)?,
                (None, Some(client)) => {
                    Reach::Nats { client: client.clone(), outbound: Arc::clone(&plan.outbound) }
                }
                (None, None) => Reach::Nowhere { is_http: false },
            },
            // Until it is calibrated; a target that never does its work keeps this one.
            timeouts: Timeouts::calibrated(Duration::ZERO, &plan.limits),
            test_environment: plan.test_environment,
            secret: plan.secret,
            model: plan.model,
            baseline: Baseline {
                suspend: Behaviour::Stays,
                terminate: Behaviour::Stays,
                after_failure: not_found_out(),
                asks: 1,
                parallel: None,
                keeps_consumed: true,
            },
            ready_within: plan.ready_within,
            works: false,
            refusal: None,
        };
        if session.resumes() || session.calls() {
            let latency;
            (latency, session.refusal) = session.await_command(plan.ready_within).await?;
            session.works = latency.is_some();
            session.timeouts = Timeouts::calibrated(latency.unwrap_or_default(), &plan.limits);
        } else {
            // An execution service alone: its Inbox is what shows that it is alive.
            (session.works, session.refusal) = session.takes_a_report(plan.ready_within).await?;
        }
        if session.works && session.resumes() {
            Box::pin(session.calibrate(&plan.limits)).await;
        } else if session.works && session.calls() {
            session.baseline.parallel = session.side_by_side().await;
        }
        Ok(Arc::new(session))
    }

    /// Whether a tool call of the model came out as a command.
    pub fn works(&self) -> bool {
        self.works
    }

    /// How the target refused what it was asked for before the first scenario, with the status.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Of a target that shows nothing: what it does in a project that nobody named, to be said after what is missing.
    pub fn elsewhere(&self) -> Option<String> {
        let stray = self.test_environment.platform_service.stray().filter(|_| !self.works)?;
        Some(format!("; something was sent in the project `{stray}`, which is not that of any turn"))
    }

    /// Whether the target resumes turns itself.
    pub fn resumes(&self) -> bool {
        self.capabilities.contains(RESUME)
    }

    /// Whether the target keeps an Inbox.
    pub fn has_inbox(&self) -> bool {
        self.capabilities.contains("inbox")
    }

    /// Whether the target is a worker.
    pub fn calls(&self) -> bool {
        self.capabilities.contains("worker")
    }

    /// What follows a plain call of this kind that ended with this status. One that nothing follows is no baseline.
    pub fn baseline_after(&self, after_execution: &str, status: &str) -> Behaviour {
        let place = STATUSES.iter().position(|own| *own == status);
        let of_kind = &self.baseline.after_failure[usize::from(after_execution == "terminate")];
        let own = place.map(|place| of_kind[place]).filter(|own| *own != Behaviour::Stays);
        own.unwrap_or_else(|| self.baseline(after_execution))
    }

    /// What follows a plain call of this kind that ended well.
    pub fn baseline(&self, after_execution: &str) -> Behaviour {
        if after_execution == "terminate" { self.baseline.terminate } else { self.baseline.suspend }
    }
}

/// What a runtime declares that goes on with a turn after a result.
const RESUME: &str = "resume";

fn capabilities(table: &UtpTable, has_secret: bool) -> BTreeSet<String> {
    let worker = table.worker.as_ref();
    let execution = table.execution.as_ref();
    let declared = [
        ("worker", worker.is_some()),
        ("worker.builtins", worker.is_some_and(|own| own.builtins.unwrap_or(true))),
        (RESUME, execution.is_some_and(|own| own.resume.unwrap_or(true))),
        ("inbox", execution.is_some_and(|own| own.inbox.unwrap_or(true))),
        ("environment", has_secret),
        ("deadline", execution.is_some_and(|own| own.deadline_seconds.is_some())),
    ];
    declared.into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_owned()).collect()
}

impl Session for RuntimeSession {
    fn family(&self) -> &'static str {
        Self::family_of(self.revision())
    }

    fn capabilities(&self) -> BTreeSet<String> {
        self.capabilities.clone()
    }

    fn secrets(&self) -> Vec<String> {
        self.secret.clone().into_iter().collect()
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works())
            .then_some("no tool call of the model came out as a command, so nothing counts as a pass")
    }

    fn snapshot(&self) -> Value {
        protocol::snapshot(&self.to_snapshot())
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move { self.checks() }.boxed_local()
    }

    fn process(&self) -> Option<&SharedProcess> {
        Some(&self.test_environment.process)
    }

    fn shares_target_of(&self) -> Option<&'static str> {
        self.test_environment.shares
    }

    fn answers_again(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            let within = self.ready_within;
            let answers = if self.resumes() || self.calls() {
                self.await_command(within).await.map(|_| ())
            } else {
                self.takes_a_report(within).await.map(|_| ())
            };
            answers.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        std::future::ready(CleanedUp::left(self.test_environment.remains())).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.test_environment.close().boxed()
    }
}
