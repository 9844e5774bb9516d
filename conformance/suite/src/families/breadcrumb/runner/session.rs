//! The session of a run with a tool runner: the parties around it, how it is reached, and what was found out before the
//! first scenario.

mod calibrate;
mod diagnose;
mod start;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::answer::Answer;
use super::call::{Call, filled, product};
use super::error::RunnerError;
use super::pages::Pages;
use super::upstream::Upstream;
use super::value::holds;
use crate::engine::diagnosis::Check;
use crate::engine::digest::hash;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established};
use crate::engine::target;
use crate::engine::target::{Handing, OpenContext, SharedProcess};
use crate::engine::timing::Timeouts;
use crate::families::breadcrumb::crumb::SESSION;
use crate::families::breadcrumb::manifest::{BreadcrumbTable, LANGUAGE_MODELS, RunnerTable, ToolsTable};
use crate::families::breadcrumb::router::ScenarioRouter;
use crate::families::breadcrumb::store::Store;
use crate::families::breadcrumb::store_access::StoreAccess;
use crate::net::outbound::Outbound;
use crate::net::wire::PassthroughWire;

/// From this deadline on those of the manifest hold.
const PATIENT: Duration = Duration::from_secs(2);
/// For a browser to begin, however fast the rest is.
const BROWSER: Duration = Duration::from_secs(20);
/// For a language model's tool beside a browser that begins.
const BESIDE_BROWSER: Duration = Duration::from_secs(4);
/// Of which tools a harmless call is made, the first that there is; `astral` navigates.
const HARMLESS: [&str; 10] = [
    "echo",
    "calculator",
    "random",
    "breadcrumb-search",
    "breadcrumb-create",
    "ollama_local",
    "openrouter",
    "venice",
    "astral",
    "timer",
];
/// Products of harmless calls begin after those of the calls that are judged.
const FIRST_PRODUCT: usize = 100;
/// Tools that need nothing and no time: a harmless call is of one of these rather than of a further tool.
const FREE: [&str; 3] = ["echo", "calculator", "random"];

/// An open session.
pub struct RunnerSession {
    /// The manifest's table.
    pub table: BreadcrumbTable,
    /// `[breadcrumb.runner]`, or what holds without it.
    pub runner: RunnerTable,
    /// `[breadcrumb.tools]`, or what holds without it.
    pub tools: ToolsTable,
    /// Waiting times.
    pub timeouts: Timeouts,
    pub(in crate::families::breadcrumb) store_access: StoreAccess,
    pub(in crate::families::breadcrumb) router: Arc<ScenarioRouter>,
    /// The language models.
    pub(in crate::families::breadcrumb) upstream: Option<Upstream>,
    /// The pages for a browser.
    pub(in crate::families::breadcrumb) pages: Option<Pages>,
    /// The keys of all configurations, made up for the run.
    pub(in crate::families::breadcrumb) keys: Vec<String>,
    /// Where the runner runs.
    pub(in crate::families::breadcrumb) directory: PathBuf,
    works: bool,
    process: SharedProcess,
    nonce: String,
    prefix: String,
    pub(in crate::families::breadcrumb) outbound: Arc<Outbound>,
    seed: u64,
    // Ends with the session.
    _listening: JoinSet<()>,
}

impl std::fmt::Debug for RunnerSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunnerSession").field("works", &self.works).finish_non_exhaustive()
    }
}

/// What was found out about a runner before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerSnapshot {
    timeouts: Timeouts,
    has_shelf: bool,
    has_upstream: bool,
    pages: Option<SocketAddr>,
    keys: Vec<String>,
    works: bool,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
}

impl RunnerSnapshot {
    /// Of a session that nobody opened.
    pub(crate) fn unopened() -> Self {
        Self {
            timeouts: Timeouts::unopened(),
            has_shelf: false,
            has_upstream: false,
            pages: None,
            keys: Vec::new(),
            works: true,
            nonce: String::new(),
            prefix: String::new(),
        }
    }
}

impl RunnerSession {
    /// Id of its family.
    pub const FAMILY: &'static str = "breadcrumb.runner";

    /// What was found out.
    pub fn to_snapshot(&self) -> RunnerSnapshot {
        RunnerSnapshot {
            timeouts: self.timeouts,
            has_shelf: self.store_access.contents().is_some(),
            has_upstream: self.upstream.is_some(),
            pages: self.pages.as_ref().map(Pages::address),
            keys: self.keys.clone(),
            works: self.works,
            nonce: self.nonce.clone(),
            prefix: self.prefix.clone(),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(table: BreadcrumbTable, snapshot: RunnerSnapshot, seed: u64) -> Arc<Self> {
        let router = Arc::new(ScenarioRouter::new(Arc::new(PassthroughWire)));
        Arc::new(Self {
            runner: table.runner.clone().unwrap_or_default(),
            tools: table.tools.clone().unwrap_or_default(),
            table,
            timeouts: snapshot.timeouts,
            store_access: if snapshot.has_shelf {
                StoreAccess::Store(Store::closed())
            } else {
                StoreAccess::Offline
            },
            upstream: snapshot.has_upstream.then(|| Upstream::offline(&router)),
            router,
            pages: snapshot.pages.map(Pages::offline),
            keys: snapshot.keys,
            directory: PathBuf::new(),
            works: snapshot.works,
            process: SharedProcess::default(),
            nonce: snapshot.nonce,
            prefix: snapshot.prefix,
            outbound: Arc::default(),
            seed,
            _listening: JoinSet::new(),
        })
    }

    /// Opens the parties, starts the runner, and learns whether it works and how fast it is.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub fn open(plan: OpenContext<BreadcrumbTable>) -> BoxFuture<'static, Result<Arc<Self>, RunnerError>> {
        Box::pin(Self::open_inner(plan))
    }

    async fn open_inner(plan: OpenContext<BreadcrumbTable>) -> Result<Arc<Self>, RunnerError> {
        target::opened(|handing| Self::open_on(plan.clone(), handing), ToString::to_string).await
    }

    async fn open_on(plan: OpenContext<BreadcrumbTable>, handing: Handing) -> Result<Arc<Self>, RunnerError> {
        let (limits, seed, table) = (plan.limits, plan.seed, plan.table.clone());
        let within = limits.scaled(table.launch.start_timeout());
        let outbound = Arc::clone(&plan.outbound);
        let parties = start::set_up(plan, handing).await?;
        let mut session = Self {
            runner: table.runner.clone().unwrap_or_default(),
            tools: table.tools.clone().unwrap_or_default(),
            table,
            timeouts: Timeouts::calibrated(Duration::from_secs(1), &limits),
            store_access: parties.store_access,
            router: parties.router,
            upstream: parties.upstream,
            pages: parties.pages,
            keys: parties.keys,
            directory: parties.directory,
            works: false,
            process: SharedProcess::new(parties.process),
            nonce: parties.nonce,
            prefix: outbound.prefix().to_owned(),
            outbound,
            seed,
            _listening: parties.listening,
        };
        let calibrated = session.calibrate(&limits, within).await;
        established(session, calibrated).await
    }

    /// Whether a configuration can have a key: as a secret of the suite's store, or as it is.
    pub(in crate::families::breadcrumb) fn can_configure(&self) -> bool {
        self.store_access.contents().is_some()
            || self.tools.config.template().to_string().contains("{api_key}")
    }

    /// Something that the suite makes up: an id, a title or a tag with the run's prefix.
    pub(in crate::families::breadcrumb) fn named(&self, text: &str) -> String {
        format!("{}{text}", self.prefix)
    }

    /// The tag of what is stored for the scenario with this mark.
    pub(in crate::families::breadcrumb) fn tag(&self, unique: &str) -> String {
        self.named(&format!("tag-{unique}"))
    }

    /// The tag of the conversation of the scenario with this mark.
    pub(in crate::families::breadcrumb) fn session_tag(&self, unique: &str) -> String {
        format!("{SESSION}{}", self.named(&format!("sess-{unique}")))
    }

    /// Whether the sentinel's tool did its work.
    pub fn works(&self) -> bool {
        self.works
    }

    /// What makes the ids of a scenario unlike those of any other, in this run and in all others.
    pub fn unique(&self, scenario: &str) -> String {
        hash(&[&self.seed.to_string(), scenario, &self.nonce])[..12].to_owned()
    }

    /// How long the answer to a call may take.
    pub fn deadline(&self, call: &Call) -> Duration {
        let steps =
            call.input.as_ref().and_then(|input| input.get("steps")?.as_array()).into_iter().flatten();
        let mut tools = steps.clone().filter_map(|step| step.get("tool")?.as_str()).chain([call.tool()]);
        let is_browser = tools.clone().any(|tool| tool == "astral");
        let is_slow = is_browser || tools.any(|tool| LANGUAGE_MODELS.contains(&tool));
        let declared = if is_slow { self.table.slow_deadline() } else { self.table.deadline() };
        let inputs = steps.filter_map(|step| step.get("input")).chain(call.input.as_ref());
        let own: f64 = inputs.filter_map(|input| input.get("seconds")?.as_f64()).sum();
        let own = Duration::try_from_secs_f64(own).unwrap_or_default();
        let least = match (self.is_patient(), is_browser) {
            (true, _) => declared,
            (false, true) => declared.min(BROWSER),
            (false, false) if is_slow => declared.min(BESIDE_BROWSER),
            (false, false) => Duration::ZERO,
        };
        self.timeouts.answer.max(least) + own
    }

    /// Whether deadlines of the manifest hold. Behind a mutating wire, most of what is silent is silent for good.
    pub(in crate::families::breadcrumb) fn is_patient(&self) -> bool {
        self.timeouts.answer >= PATIENT
    }

    /// A harmless call which shows that the runner is alive, with a sign of its own.
    pub fn sentinel(&self, unique: &str, word: &str) -> Call {
        let id = |tool: &str| self.named(&format!("{tool}-{word}-{unique}"));
        let has = |tool: &&str| self.table.catalog.contains(*tool);
        let usual = HARMLESS.into_iter().find(has);
        let other = self.table.extra.iter().next().filter(|_| usual.is_none_or(|tool| !FREE.contains(&tool)));
        if let Some((tool, extra)) = other {
            return Call::new(tool, extra.input.clone(), id(tool));
        }
        let tool = usual.or_else(|| self.table.catalog.first().map(String::as_str)).unwrap_or_default();
        let request_id = id(tool);
        let message = format!("{word}-{unique}");
        let number = usize::from_str_radix(&hash(&[unique, word])[..2], 16).unwrap_or_default();
        let (expression, value) = product(FIRST_PRODUCT + number);
        let sign = match tool {
            "echo" => Some(Value::from(message.clone())),
            "calculator" => Some(value),
            _ => None,
        };
        let action = Some("navigate").filter(|_| tool == "astral");
        let page = self.pages.as_ref().map(|pages| pages.url(unique));
        let words = [
            ("message", Value::from(message.clone())),
            ("expression", Value::from(expression)),
            ("seconds", self.seconds()),
            ("steps", self.steps(&message)),
            ("limit", json!(10)),
            ("tag", Value::from(self.tag(unique))),
            ("schema_name", json!("note.v1")),
            ("title", Value::from(self.named(&message))),
            ("tags", json!(["note", self.tag(unique)])),
            ("context", json!({"text": message})),
            ("messages", super::fixtures::messages(&request_id)),
            ("model", json!(super::upstream::SOME_MODEL)),
            ("url", Value::from(page)),
        ];
        let input = filled(&self.table.inputs.template(tool, action), &words);
        Call { sign, ..Call::new(tool, input, request_id) }
    }

    /// Whether an answer shows that the sentinel's tool did its work.
    pub fn is_own_work(call: &Call, answer: &Answer<'_>) -> bool {
        let Some(output) = answer.output().filter(|_| answer.succeeded()) else { return false };
        match &call.sign {
            Some(Value::String(word)) => output.to_string().contains(word.as_str()),
            Some(number) => holds(output, number),
            None => output.is_object(),
        }
    }

    /// The runner's process, where the suite started it and it ended by itself.
    pub fn ended(&self) -> Option<String> {
        self.process.ended()
    }
}

impl Session for RunnerSession {
    fn family(&self) -> &'static str {
        Self::FAMILY
    }

    fn capabilities(&self) -> BTreeSet<String> {
        let table = &self.table;
        let mut all: BTreeSet<String> = table.catalog.iter().map(|tool| format!("tool.{tool}")).collect();
        let has_model = table.catalog.iter().any(|tool| LANGUAGE_MODELS.contains(&tool.as_str()));
        let facts = [
            ("runner.routing", self.runner.routes()),
            ("runner.store", self.store_access.contents().is_some()),
            (
                "runner.invocations",
                self.runner.dispatch == crate::families::breadcrumb::manifest::Dispatch::Agent,
            ),
            ("tool.extra", !table.extra.is_empty()),
            ("tool.language_model", has_model),
            ("tool.config", has_model && self.can_configure()),
            ("shared_files", self.tools.shared_files),
        ];
        all.extend(facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name.to_owned()));
        all
    }

    fn secrets(&self) -> Vec<String> {
        self.keys.clone()
    }

    fn faults_of_the_machine(&self) -> &[String] {
        &self.table.faults_of_the_machine
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works()).then_some(
            "the runner answers calls without doing the work of their tools, so nothing counts as a pass",
        )
    }

    fn snapshot(&self) -> Value {
        protocol::snapshot(&self.to_snapshot())
    }

    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>> {
        async move { self.checks().await }.boxed_local()
    }

    fn process(&self) -> Option<&SharedProcess> {
        Some(&self.process)
    }

    fn answers_again(&self) -> BoxFuture<'_, Result<(), String>> {
        self.wait_for_it(self.timeouts.scaled(self.table.launch.start_timeout())).boxed()
    }

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        self.store_access.clean_up().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.process.stop().boxed()
    }
}
