//! The session of a run with an agent: the parties around it, how it is driven, and what was found out before the first
//! scenario.

mod calibrate;
mod diagnose;
mod start;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::call;
use super::call::{Call, Choice, any_hub_tool};
use super::driver::{Driver, OfflineDriver};
use super::judge::request::Expected;
use super::judge::{CallRecord, Made};
use super::manifest::AgentTable;
use super::router::{ScenarioChannel, ScenarioRouter};
use crate::engine::diagnosis::Check;
use crate::engine::digest::hash;
use crate::engine::judge::Cause;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established, with_prefix};
use crate::engine::target;
use crate::engine::target::{Handing, OpenContext};
use crate::engine::timing::Timeouts;
use crate::net::http_server::HttpServer;
use crate::net::outbound::Outbound;
use crate::net::wire::{CALL, PassthroughWire};
use crate::transcript::{Frame, Kind, lock};

pub use start::{Around, Embedded, StartAgent};

/// What the ids of end users begin with that the suite makes up.
const USER: &str = "u-";

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// The suite's own servers.
    #[error("the suite's Hub cannot listen: {0}")]
    Listen(String),
    /// The agent cannot be started.
    #[error("the agent cannot be started: {0}")]
    Start(String),
    /// It cannot be reached.
    #[error("the agent cannot be driven: {0}")]
    Reach(String),
    /// No answer.
    #[error("the agent does not answer a call of `{tool}` within {seconds} s")]
    Silent {
        /// The tool.
        tool: String,
        /// The deadline.
        seconds: u64,
    },
}

impl AgentError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Config(_) | Self::Start(_) | Self::Listen(_) => Cause::Config,
            Self::Reach(_) => Cause::Reachability,
            Self::Silent { .. } => Cause::Implementation,
        }
    }
}

/// What the first calls showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Liveness {
    /// No request to the Hub.
    #[default]
    Idle,
    /// Requests to the Hub, and nothing of what it answered.
    Responsive,
    /// The Hub's result came back.
    Works,
}

/// An open session.
pub struct AgentSession {
    /// The manifest's table.
    pub table: AgentTable,
    /// Waiting times.
    pub timeouts: Timeouts,
    pub(super) driver: Driver,
    pub(super) router: Arc<ScenarioRouter>,
    secret: String,
    agent_id: Option<String>,
    customer_id: String,
    liveness: Liveness,
    turn: Arc<Semaphore>,
    running: Mutex<start::Running>,
    nonce: String,
    prefix: String,
    pub(super) outbound: Arc<Outbound>,
    seed: u64,
    hub_url: String,
    model_url: String,
    // These end with the session.
    _parties: Vec<HttpServer>,
}

impl std::fmt::Debug for AgentSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AgentSession").field("liveness", &self.liveness).finish_non_exhaustive()
    }
}

/// What was found out about an agent before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSnapshot {
    timeouts: Timeouts,
    driver: OfflineDriver,
    secret: String,
    agent_id: Option<String>,
    customer_id: String,
    liveness: Liveness,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
    hub_url: String,
    model_url: String,
}

impl AgentSnapshot {
    /// Of a session that nobody opened.
    pub(crate) fn unopened(table: &AgentTable) -> Self {
        Self {
            timeouts: Timeouts::unopened(),
            driver: OfflineDriver::default(),
            secret: String::new(),
            agent_id: None,
            customer_id: table.customer_id.clone().unwrap_or_default(),
            liveness: Liveness::Works,
            nonce: String::new(),
            prefix: String::new(),
            hub_url: String::new(),
            model_url: String::new(),
        }
    }
}

impl AgentSession {
    /// Id of its family.
    pub const FAMILY: &'static str = "hub.agent";

    /// What was found out.
    pub fn to_snapshot(&self) -> AgentSnapshot {
        AgentSnapshot {
            timeouts: self.timeouts,
            driver: self.driver.offline(),
            secret: self.secret.clone(),
            agent_id: self.agent_id.clone(),
            customer_id: self.customer_id.clone(),
            liveness: self.liveness,
            nonce: self.nonce.clone(),
            prefix: self.prefix.clone(),
            hub_url: self.hub_url.clone(),
            model_url: self.model_url.clone(),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(table: AgentTable, snapshot: AgentSnapshot, seed: u64) -> Arc<Self> {
        let unattributed = ScenarioChannel::new(String::new(), String::new());
        let router = ScenarioRouter::new(
            Arc::new(PassthroughWire),
            table.drive.model.unwrap_or_default(),
            unattributed,
        );
        Arc::new(Self {
            table,
            timeouts: snapshot.timeouts,
            driver: Driver::Offline(snapshot.driver),
            router: Arc::new(router),
            secret: snapshot.secret,
            agent_id: snapshot.agent_id,
            customer_id: snapshot.customer_id,
            liveness: snapshot.liveness,
            turn: Arc::new(Semaphore::new(1)),
            running: Mutex::default(),
            nonce: snapshot.nonce,
            prefix: snapshot.prefix,
            outbound: Arc::default(),
            seed,
            hub_url: snapshot.hub_url,
            model_url: snapshot.model_url,
            _parties: Vec::new(),
        })
    }

    /// Opens the parties, starts the agent (the one that is given, in place of the manifest's), and learns whether it
    /// works and how fast it is.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub fn open(
        plan: OpenContext<AgentTable>,
        agent: Option<StartAgent>,
    ) -> BoxFuture<'static, Result<Arc<Self>, AgentError>> {
        Box::pin(Self::open_inner(plan, agent))
    }

    async fn open_inner(
        plan: OpenContext<AgentTable>,
        agent: Option<StartAgent>,
    ) -> Result<Arc<Self>, AgentError> {
        if agent.is_some() {
            return Self::open_on(plan, agent, Handing::Free).await;
        }
        let why = |error: &AgentError| match error {
            AgentError::Start(why) | AgentError::Reach(why) => why.clone(),
            _ => String::new(),
        };
        target::opened(|handing| Self::open_on(plan.clone(), None, handing), why).await
    }

    async fn open_on(
        plan: OpenContext<AgentTable>,
        agent: Option<StartAgent>,
        handing: Handing,
    ) -> Result<Arc<Self>, AgentError> {
        let limits = plan.limits;
        let within = limits.scaled(plan.table.launch.start_timeout());
        let mut session = start::set_up(plan, agent, handing).await?;
        let calibrated = session.calibrate(&limits, within).await;
        established(session, calibrated).await
    }

    /// Whether the agent asked the Hub, and reported what the Hub answered.
    pub fn works(&self) -> bool {
        self.liveness == Liveness::Works
    }

    /// Whether it asked the Hub at all.
    pub(super) fn is_responsive(&self) -> bool {
        self.liveness >= Liveness::Responsive
    }

    /// What the agent answered to the last call before the first scenario, in a sentence.
    pub fn summary(&self) -> String {
        let frames = self.early();
        let last = frames.iter().rev().find(|frame| frame.kind == Kind::Drive);
        let number = last.and_then(|frame| frame.headers.get(CALL)?.parse().ok()).unwrap_or(1);
        let made = self.first_call(number);
        CallRecord { made: &made, frames: &frames }.summary()
    }

    /// The tool that serves where any Hub tool does.
    pub fn hub_tool(&self) -> &str {
        any_hub_tool(&self.table)
    }

    /// The Hub's secret: the manifest's, or one that is made up.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The agent's secret; nothing in a session that nobody opened.
    fn known_secret(&self) -> Option<String> {
        Some(self.secret.clone()).filter(|secret| !secret.is_empty())
    }

    /// What requests of a scenario are expected to say.
    pub(super) fn expected(&self, made: &Made) -> Expected {
        Expected {
            secret: self.known_secret(),
            agent_id: self.agent_id.clone(),
            customer_id: Some(made.customer_id.clone()),
            tool: Some(made.call.tool.clone()),
            // A chat of one customer is given no end user.
            user_id: made
                .call
                .user_id
                .clone()
                .filter(|_| !self.driver.is_chat() || self.table.customer_id.is_none()),
            // What an agent remembers of the user of a conversation is its own affair.
            other_users: Some(self.named(USER)).filter(|_| !self.driver.is_chat()),
        }
    }

    /// What came before the first scenario, and between scenarios.
    pub(super) fn early(&self) -> Vec<Frame> {
        self.router.unattributed.transcript.frames()
    }

    /// The base of the addresses at the suite's Hub.
    pub(super) fn hub_url(&self) -> &str {
        &self.hub_url
    }

    /// `host:port` of the suite's Hub.
    pub(super) fn address(&self) -> String {
        bare(&self.hub_url)
    }

    /// `host:port` of the suite's model.
    pub(super) fn model_address(&self) -> String {
        bare(&self.model_url)
    }

    /// What makes the ids of a scenario unlike those of any other, in this run and in all others.
    pub(super) fn unique(&self, scenario: &str) -> String {
        hash(&[&self.seed.to_string(), scenario, &self.nonce])[..12].to_owned()
    }

    /// An id that the suite makes up.
    pub(super) fn named(&self, id: &str) -> String {
        format!("{}{id}", self.prefix)
    }

    /// A call in the scenario with this mark, whose page is there; nothing where the manifest names no tool for it.
    pub(super) fn usual_call(&self, choice: Choice, unique: &str, page: &str) -> Option<Call> {
        let (tool, inputs) = call::chosen(choice, &self.table, (&self.prefix, unique), page)?;
        Some(Call { tool, inputs, user_id: Some(self.named(&format!("{USER}{unique}"))) })
    }

    /// What stands in results that the suite gives.
    pub(super) fn mark(&self, scenario: &str) -> String {
        format!("tok-{}", &hash(&[&self.seed.to_string(), "mark", scenario, &self.nonce])[..12])
    }

    /// The customer of a scenario.
    pub(super) fn customer(&self, unique: &str) -> String {
        match &self.table.customer_id {
            Some(fixed) => fixed.clone(),
            None => uuid(&hash(&["customer", unique])[..20], unique),
        }
    }

    /// A second customer of a scenario.
    pub(super) fn other_customer(unique: &str) -> String {
        uuid(&hash(&["other customer", unique])[..20], unique)
    }

    /// What status requests before the first scenario are expected to say.
    pub(super) fn expected_early(&self) -> Expected {
        let customer_id = self.table.customer_id.clone();
        Expected { secret: self.known_secret(), customer_id, ..Expected::default() }
    }

    /// Waits until no other scenario has its turn.
    pub(super) async fn turn(&self, scenario_channel: &Arc<ScenarioChannel>) -> Option<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok();
        self.router.enter(Arc::clone(scenario_channel));
        turn
    }

    /// What there is to say when the agent that the suite started ended by itself.
    pub(super) fn ended(&self) -> Option<String> {
        match &mut *lock(&self.running) {
            start::Running::Process(process) => process.ended(),
            start::Running::Embedded(_) | start::Running::Elsewhere => None,
        }
    }
}

/// A UUID of 20 hexadecimal digits and 12 more.
fn uuid(head: &str, tail: &str) -> String {
    let (a, b, c, d) = (&head[..8], &head[8..12], &head[13..16], &head[17..20]);
    format!("{a}-{b}-4{c}-8{d}-{tail}")
}

/// `host:port` of a server of the suite.
fn bare(url: &str) -> String {
    url.split_once("://").map_or(url, |(_, address)| address).to_owned()
}

impl Session for AgentSession {
    fn family(&self) -> &'static str {
        Self::FAMILY
    }

    fn capabilities(&self) -> BTreeSet<String> {
        let table = &self.table;
        let mut all: BTreeSet<String> = table.tools.iter().map(|tool| format!("tool.{tool}")).collect();
        let started = table.launch.is_started() || table.drive.command.is_some();
        let facts = [
            ("agent.local.first", !table.local.is_empty()),
            ("agent.local.second", table.local.len() > 1),
            ("agent.fetch_page", table.fetch_page.table().is_some()),
            ("agent.web_search", table.web_search.is_some()),
            ("agent.customers", table.customer_id.is_none()),
            // An agent that runs already does not know where the provider is.
            ("agent.provider", started || table.listen.is_some()),
        ];
        all.extend(facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name.to_owned()));
        all
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works()).then_some("the agent never did what it was asked to, so nothing counts as a pass")
    }

    fn snapshot(&self) -> Value {
        protocol::snapshot(&self.to_snapshot())
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move { self.checks().await }.boxed_local()
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        let is_started = self.table.launch.is_started() || self.table.drive.command.is_some();
        let left = (!is_started).then(|| {
            let ids = with_prefix("ids", &self.prefix);
            format!("what the agent keeps of its conversations{ids}: a hook has no call that deletes them")
        });
        std::future::ready(CleanedUp::left(left)).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            let running = std::mem::take(&mut *lock(&self.running));
            running.end().await;
        }
        .boxed()
    }
}
