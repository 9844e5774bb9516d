//! The session of a run with an agent that writes invocations: the parties around it, and what was found out before the
//! first scenario.

mod calibrate;
mod diagnose;
mod start;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::JoinSet;

use super::driver::{Driver, Way};
use super::manifest::CrumbAgentTable;
use super::model::Model;
use super::scenario_state::{ScenarioState, ScenarioStates};
use super::task::Task;
use super::tools::{Around, attend};
use crate::engine::diagnosis::Check;
use crate::engine::digest::hash;
use crate::engine::judge::Cause;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established, with_prefix};
use crate::engine::target;
use crate::engine::target::{Handing, OpenContext, SharedProcess};
use crate::engine::timing::Timeouts;
use crate::families::breadcrumb::crumb::USER_MESSAGE;
use crate::families::breadcrumb::router::ScenarioRouter;
use crate::families::breadcrumb::runner::call::filled;
use crate::families::breadcrumb::store::Store;
use crate::net::http_server::HttpServer;
use crate::net::outbound::Outbound;
use crate::net::wire::PassthroughWire;
use crate::transcript::Transcript;

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrumbAgentError {
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// The suite's own servers.
    #[error("the suite's breadcrumb store or its model cannot listen: {0}")]
    Listen(String),
    /// The agent cannot be started.
    #[error("the agent cannot be started: {0}")]
    Start(String),
    /// It cannot be reached.
    #[error("the agent cannot be reached: {0}")]
    Reach(String),
    /// No answer.
    #[error("the agent says nothing to its user within {seconds} s; it {what}{ended}")]
    Silent {
        /// The deadline.
        seconds: u64,
        /// What was seen of it.
        what: &'static str,
        /// How its process ended, if it did.
        ended: String,
    },
}

impl CrumbAgentError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Config(_) | Self::Listen(_) | Self::Start(_) => Cause::Config,
            Self::Reach(_) => Cause::Reachability,
            Self::Silent { .. } => Cause::Implementation,
        }
    }
}

/// An open session.
pub struct CrumbAgentSession {
    /// The manifest's table.
    pub table: CrumbAgentTable,
    /// Waiting times.
    pub timeouts: Timeouts,
    pub(super) around: Arc<Around>,
    pub(super) states: Arc<ScenarioStates>,
    /// Names of tools that the manifest's fixtures add to the catalog.
    pub(super) further_tools: BTreeSet<String>,
    works: bool,
    process: SharedProcess,
    nonce: String,
    outbound: Arc<Outbound>,
    seed: u64,
    // These end with the session.
    _model: Option<HttpServer>,
    _listening: JoinSet<()>,
}

impl std::fmt::Debug for CrumbAgentSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CrumbAgentSession").field("works", &self.works).finish_non_exhaustive()
    }
}

/// What was found out about an agent before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrumbAgentSnapshot {
    timeouts: Timeouts,
    by_store: bool,
    further_tools: BTreeSet<String>,
    works: bool,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
}

impl CrumbAgentSession {
    /// Id of its family.
    pub const FAMILY: &'static str = "breadcrumb.agent";

    /// What was found out.
    pub fn to_snapshot(&self) -> CrumbAgentSnapshot {
        CrumbAgentSnapshot {
            timeouts: self.timeouts,
            by_store: self.around.driver.is_store(),
            further_tools: self.further_tools.clone(),
            works: self.works,
            nonce: self.nonce.clone(),
            prefix: self.around.prefix.clone(),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(table: CrumbAgentTable, snapshot: CrumbAgentSnapshot, seed: u64) -> Arc<Self> {
        let router = Arc::new(ScenarioRouter::new(Arc::new(PassthroughWire)));
        let states = Arc::new(ScenarioStates::default());
        let model = Model::new(&router, &states);
        let driver = Driver { store: Store::closed(), way: Way::Offline { is_store: snapshot.by_store } };
        Arc::new(Self {
            table,
            timeouts: snapshot.timeouts,
            around: Arc::new(Around { router, driver, model, prefix: snapshot.prefix }),
            states,
            further_tools: snapshot.further_tools,
            works: snapshot.works,
            process: SharedProcess::default(),
            nonce: snapshot.nonce,
            outbound: Arc::default(),
            seed,
            _model: None,
            _listening: JoinSet::new(),
        })
    }

    /// Opens the parties, starts the agent, and learns whether it works and how fast it is.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub fn open(
        plan: OpenContext<CrumbAgentTable>,
    ) -> BoxFuture<'static, Result<Arc<Self>, CrumbAgentError>> {
        Box::pin(Self::open_inner(plan))
    }

    async fn open_inner(plan: OpenContext<CrumbAgentTable>) -> Result<Arc<Self>, CrumbAgentError> {
        target::opened(|handing| Self::open_on(plan.clone(), handing), ToString::to_string).await
    }

    async fn open_on(
        plan: OpenContext<CrumbAgentTable>,
        handing: Handing,
    ) -> Result<Arc<Self>, CrumbAgentError> {
        let limits = plan.limits;
        let within = limits.scaled(plan.table.launch.start_timeout());
        let mut session = start::set_up(plan, handing).await?;
        let calibrated = session.calibrate(&limits, within).await;
        established(session, calibrated).await
    }

    /// Whether the agent called the tools that it was asked to use.
    pub fn works(&self) -> bool {
        self.works
    }

    /// What makes the ids of a scenario unlike those of any other, in this run and in all others.
    pub(super) fn unique(&self, scenario: &str) -> String {
        hash(&[&self.seed.to_string(), scenario, &self.nonce])[..12].to_owned()
    }

    /// A conversation of the scenario with this mark, as tags name it.
    pub(super) fn conversation(&self, whose: &str, unique: &str) -> String {
        format!("{}{whose}-{unique}", self.around.prefix)
    }

    /// How long the agent's next word may take.
    pub(super) fn deadline(&self) -> Duration {
        // Behind a mutating wire, most of what is silent is silent for good.
        let is_patient = self.timeouts.answer >= Duration::from_secs(5);
        self.timeouts.answer.max(if is_patient { self.table.deadline() } else { Duration::ZERO })
    }

    /// A scenario comes in, and its tools are attended to.
    pub(super) fn enter(
        &self,
        unique: &str,
        transcript: Arc<Transcript>,
    ) -> (Arc<ScenarioState>, JoinSet<()>) {
        let state = ScenarioState::new(self.around.router.enter_with(unique, transcript));
        self.states.add(&state);
        let mut attending = JoinSet::new();
        if !matches!(self.around.driver.way, Way::Offline { .. }) {
            attending.spawn(attend(Arc::clone(&self.around), Arc::clone(&state), self.moment()));
        }
        (state, attending)
    }

    /// How long an agent may take over what belongs together but comes in several messages.
    pub(super) fn moment(&self) -> Duration {
        (self.deadline() / 4).min(Duration::from_secs(2))
    }

    /// The user asks for a task.
    ///
    /// # Errors
    /// Why that does not get to the agent.
    pub(super) async fn say(&self, state: &ScenarioState, task: Task) -> Result<(), String> {
        // Whatever is posted has a turn of its own.
        if !matches!(self.around.driver.way, Way::Http(_)) {
            let turn = self.outbound.turn().await;
            self.around.router.open_calls.hold(vec![task.mark.clone()], turn, self.deadline());
        }
        let template = self.table.say.clone().unwrap_or_else(|| {
            let title = format!("{}Message", self.around.prefix);
            json!({"schema_name": USER_MESSAGE, "title": title, "tags": ["user:message", "session:{session}"],
                   "context": {"message": "{text}", "content": "{text}"}})
        });
        let words =
            [("text", Value::from(task.words.clone())), ("session", Value::from(task.session.clone()))];
        let body = filled(&template, &words);
        for (number, _) in task.names() {
            self.around.router.know_by(number, &state.scenario_channel);
        }
        state.add(task);
        self.around.driver.deliver(&self.around.router, &state.scenario_channel, body)
    }

    /// The schema of a breadcrumb in the store.
    pub(super) fn schema_of(&self, id: &str) -> Option<String> {
        let crumb = self.around.driver.store.contents.find(id)?;
        crumb.schema_name().map(str::to_owned)
    }

    /// The agent's process, where the suite started it and it ended by itself.
    pub(super) fn ended(&self) -> Option<String> {
        self.process.ended()
    }
}

impl Session for CrumbAgentSession {
    fn family(&self) -> &'static str {
        Self::FAMILY
    }

    fn capabilities(&self) -> BTreeSet<String> {
        let facts = [("agent.envelope", self.table.shows_envelopes()), ("agent.config", self.table.config)];
        facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name.to_owned()).collect()
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works()).then_some(
            "the agent never called the tool that it was asked to use, so nothing counts as a pass",
        )
    }

    fn snapshot(&self) -> Value {
        protocol::snapshot(&self.to_snapshot())
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move { self.checks() }.boxed_local()
    }

    fn process(&self) -> Option<&SharedProcess> {
        Some(&self.process)
    }

    fn answers_again(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            let within = self.timeouts.scaled(self.table.launch.start_timeout());
            self.first_word(&format!("restart {}", self.process.restarts()), within)
                .await
                .map(|_| ())
                .map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        let drive = self.table.drive.as_ref();
        let is_started = self.table.launch.is_started() || drive.is_some_and(|drive| drive.command.is_some());
        let left = (!is_started).then(|| {
            let ids = with_prefix("ids", &self.around.prefix);
            format!(
                "what the agent keeps of its sessions{ids}: the store that holds the rest is the suite's own"
            )
        });
        std::future::ready(CleanedUp::left(left)).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.process.stop().boxed()
    }
}
