//! A session with one UTP role under test, and what was found out about it before the first scenario (`readiness` finds
//! it out). The connection, the platform and the target's process are the `test_environment` below it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;

use super::error::SessionError;
use super::test_environment::TestEnvironment;
use super::tool::{Role, Tool, ToolTable};
use super::upstream::Upstream;
use crate::engine::timing::{TimeoutLimits, Timeouts};

/// What a session is opened with.
pub struct SessionPlan {
    /// Broker, platform and target.
    pub test_environment: Arc<TestEnvironment>,
    /// Which role of the target.
    pub role: Role,
    /// What can be called.
    pub tools: BTreeMap<Tool, ToolTable>,
    /// An environment variable that commands need and that is not set.
    pub missing_variable: Option<String>,
    /// Limits of all waiting.
    pub limits: TimeoutLimits,
    /// How long the target may take until it answers.
    pub ready_within: Duration,
}

/// What the target showed before the first scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Liveness {
    /// It did the work of an echo call and reported it.
    Answers,
    /// It did the work of an echo call, but no report came.
    Works,
    /// It sends something, but never did the work: nothing that it does counts as a pass.
    Responsive,
}

/// How the counter of the count probe behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counter {
    /// One for each project, key or call: scenarios do not disturb each other.
    Isolated,
    /// One for all: scenarios that count take turns.
    Shared,
}

/// An open session.
pub struct UtpSession {
    /// Broker, platform and target.
    pub test_environment: Arc<TestEnvironment>,
    /// Which role of the target.
    pub role: Role,
    /// What can be called.
    pub tools: BTreeMap<Tool, ToolTable>,
    /// Waiting times.
    pub timeouts: Timeouts,
    /// How long the target may take until it answers.
    pub(super) ready_within: Duration,
    /// What the target showed.
    pub liveness: Liveness,
    /// How its counter behaves.
    pub counter: Counter,
    /// Held by the one scenario that counts, where the counter is shared.
    pub counting: Arc<Mutex<()>>,
    counter_failed: AtomicBool,
    counter_is_silent: AtomicBool,
}

impl std::fmt::Debug for UtpSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("UtpSession").field("role", &self.role).finish_non_exhaustive()
    }
}

/// What was found out about a role before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtpSnapshot {
    timeouts: Timeouts,
    liveness: Liveness,
    counter: Counter,
    /// What the `work` probe gave for its two argument objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<[Value; 2]>,
}

impl UtpSnapshot {
    /// Of a session that nobody opened.
    pub(super) fn unopened() -> Self {
        Self {
            timeouts: Timeouts::unopened(),
            liveness: Liveness::Answers,
            counter: Counter::Shared,
            work: None,
        }
    }
}

impl UtpSession {
    /// What was found out.
    pub fn to_snapshot(&self) -> UtpSnapshot {
        let work = self.tools.get(&Tool::Echo).and_then(|table| table.work.as_ref());
        UtpSnapshot {
            timeouts: self.timeouts,
            liveness: self.liveness,
            counter: self.counter,
            work: work.and_then(|work| work.results.clone()),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(
        role: Role,
        mut tools: BTreeMap<Tool, ToolTable>,
        test_environment: &Arc<TestEnvironment>,
        snapshot: &UtpSnapshot,
    ) -> Arc<Self> {
        if let Some(work) = tools.get_mut(&Tool::Echo).and_then(|table| table.work.as_mut()) {
            work.results.clone_from(&snapshot.work);
        }
        Arc::new(Self {
            test_environment: Arc::clone(test_environment),
            role,
            tools,
            timeouts: snapshot.timeouts,
            ready_within: Duration::ZERO,
            liveness: snapshot.liveness,
            counter: snapshot.counter,
            counting: Arc::clone(&test_environment.counting),
            counter_failed: AtomicBool::new(false),
            counter_is_silent: AtomicBool::new(false),
        })
    }

    /// Waits for the role and calibrates.
    pub fn open(plan: SessionPlan) -> BoxFuture<'static, Result<Arc<Self>, SessionError>> {
        Box::pin(Self::open_inner(plan))
    }

    async fn open_inner(plan: SessionPlan) -> Result<Arc<Self>, SessionError> {
        if plan.role.sentinel(&plan.tools).is_none() {
            return Err(match plan.role {
                Role::Pmo => SessionError::NoBuiltin,
                Role::ToolService | Role::OpenApi => SessionError::NoEcho,
            });
        }
        if let Some(name) = plan.missing_variable {
            return Err(SessionError::Config(format!(
                "the environment variable `{name}`, which `utp.command.headers` names, is not set"
            )));
        }
        let mut session = Self {
            counting: Arc::clone(&plan.test_environment.counting),
            test_environment: plan.test_environment,
            role: plan.role,
            tools: plan.tools,
            // Until it is calibrated; a target that never does its work keeps this one.
            timeouts: Timeouts::calibrated(Duration::ZERO, &plan.limits),
            ready_within: plan.ready_within,
            liveness: Liveness::Responsive,
            counter: Counter::Shared,
            counter_failed: AtomicBool::new(false),
            counter_is_silent: AtomicBool::new(false),
        };
        session.learn_work(plan.ready_within).await?;
        let ready = session.await_target(plan.ready_within).await?;
        session.liveness = ready.liveness;
        session.timeouts = Timeouts::calibrated(ready.latency, &plan.limits);
        if session.liveness != Liveness::Responsive {
            session.timeouts = session.calibrate(&plan.limits, plan.ready_within, ready.latency).await?;
            session.counter = session.observe_counter().await;
        }
        session.test_environment.platform_service.projects().iter().for_each(|project| project.retire());
        Ok(Arc::new(session))
    }

    /// The tool by which the role shows that it is alive.
    pub fn sentinel(&self) -> Tool {
        // It is there: a session without one cannot be opened.
        self.role.sentinel(&self.tools).unwrap_or(Tool::Echo)
    }

    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> impl Iterator<Item = String> {
        let own = self.tools.keys().map(|tool| tool.capability().to_owned());
        own.chain(self.upstream().into_iter().flat_map(Upstream::capabilities))
    }

    /// What stands behind an OpenAPI executor.
    pub fn upstream(&self) -> Option<&Upstream> {
        self.test_environment.upstream.as_deref().filter(|_| self.role == Role::OpenApi)
    }

    /// Whether the target declares a tool.
    pub fn declares(&self, tool: Tool) -> bool {
        self.tools.contains_key(&tool)
    }

    /// Whether the count probe has been found to give no number.
    pub fn counter_fails(&self) -> bool {
        self.counter_failed.load(Ordering::Relaxed)
    }

    /// Whether it gave none since it was not answered in time.
    pub fn counter_is_silent(&self) -> bool {
        self.counter_is_silent.load(Ordering::Relaxed)
    }

    /// The count probe gives no number, or no answer; nobody waits for one again but alone.
    pub fn give_up_counter(&self, is_silent: bool) {
        self.counter_is_silent.store(is_silent, Ordering::Relaxed);
        self.counter_failed.store(true, Ordering::Relaxed);
    }
}
