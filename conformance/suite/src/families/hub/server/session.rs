//! The session of a run with a Hub: how it is started, and what was found out before the first scenario.

mod calibrate;
mod diagnose;
mod error;
mod unopened;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::client::{Client, REQUEST_ID, Request};
use super::provider::Provider;
use super::reply::Reply;
use crate::engine::diagnosis::Check;
use crate::engine::digest::{hash, nonce};
use crate::engine::protocol;
use crate::engine::session::{Session, established};
use crate::engine::target;
use crate::engine::target::{Handing, Launch, OpenContext, Pipes, Port, SharedProcess};
use crate::engine::timing::Timeouts;
use crate::families::hub::contract;
use crate::families::hub::contract::{
    EXECUTE, HALVES, PEOPLE, SCHEME, STATUS_BASE, Subjects, TOOL_NOT_FOUND,
};
use crate::families::hub::manifest::{Customer, FixturesTable, HubTable};
use crate::net::address::elsewhere;
use crate::net::http_client::Caller;
use crate::net::outbound::Outbound;
use crate::transcript;

pub use error::HubError;

/// The agent that the suite is, where the manifest names no other.
const AGENT_ID: &str = "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60";
/// A customer that a stub Hub has to take as it comes.
const ANYBODY: &str = "b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7";
/// The secret of a Hub that the suite starts, where the manifest names no other. It protects nothing, and so it is shown.
pub const MADE_UP_SECRET: &str = "callmark-made-up-service-secret";
/// Between two tries of a request that was refused by a limit, where the Hub does not say how long.
const RETRY: Duration = Duration::from_secs(1);
/// So long a limit is waited out, where the manifest does not say how long its window is.
const LIMIT_PATIENCE: Duration = Duration::from_secs(65);
/// Longest window of a limit that is waited out.
const LONGEST_WINDOW: Duration = Duration::from_secs(600);
/// Beyond a declared window.
const LIMIT_SLACK: Duration = Duration::from_secs(3);

/// An open session.
pub struct HubSession {
    /// The manifest's table.
    pub table: HubTable,
    /// Waiting times.
    pub timeouts: Timeouts,
    /// The way to the Hub.
    pub client: Client,
    /// The calendar and mail provider, where the suite plays it.
    pub provider: Option<Arc<Provider>>,
    /// What is in the mailbox.
    pub fixtures: FixturesTable,
    secret: String,
    base: String,
    works: bool,
    /// Whether the expired token was reported as expired before the first scenario.
    reports_expiry: bool,
    /// Tools of the contract that the Hub does not know.
    missing: BTreeSet<String>,
    /// Held by the scenario that waits for a limit.
    limited: AsyncMutex<()>,
    process: SharedProcess,
    seed: u64,
    nonce: String,
}

/// What was found out about a Hub before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSnapshot {
    timeouts: Timeouts,
    has_provider: bool,
    fixtures: FixturesTable,
    secret: String,
    base: String,
    works: bool,
    #[serde(rename = "expiry_told")]
    reports_expiry: bool,
    #[serde(default)]
    missing: BTreeSet<String>,
    nonce: String,
}

impl HubSnapshot {
    /// What of it cannot have been found out about the target of this table.
    pub(crate) fn contradiction(&self, table: &HubTable) -> Option<String> {
        let base = table.base_url.as_deref().unwrap_or("http://{listen}");
        let provider = || {
            let says = |is_there: bool| if is_there { "has" } else { "has not" };
            let declared = table.provider.is_some();
            (self.has_provider != declared).then(|| {
                format!(
                    "its Hub {} the provider of the suite, and that of the manifest {}",
                    says(self.has_provider),
                    says(declared)
                )
            })
        };
        elsewhere("hub.base_url", base, &self.base).or_else(provider)
    }
}

impl HubSession {
    /// Id of its family.
    pub const FAMILY: &'static str = "hub.server";

    /// What was found out.
    pub fn to_snapshot(&self) -> HubSnapshot {
        HubSnapshot {
            timeouts: self.timeouts,
            has_provider: self.provider.is_some(),
            fixtures: self.fixtures.clone(),
            secret: self.secret.clone(),
            base: self.base.clone(),
            works: self.works,
            reports_expiry: self.reports_expiry,
            missing: self.missing.clone(),
            nonce: self.nonce.clone(),
        }
    }

    /// The session of a run that is judged again.
    pub fn restore(table: HubTable, snapshot: HubSnapshot, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            table,
            timeouts: snapshot.timeouts,
            client: Client::offline(),
            provider: snapshot.has_provider.then(Provider::offline),
            fixtures: snapshot.fixtures,
            secret: snapshot.secret,
            base: snapshot.base,
            works: snapshot.works,
            reports_expiry: snapshot.reports_expiry,
            missing: snapshot.missing,
            limited: AsyncMutex::default(),
            process: SharedProcess::default(),
            seed,
            nonce: snapshot.nonce,
        })
    }

    /// Starts the Hub where that is the suite's business, and learns what it needs to know.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub fn open(plan: OpenContext<HubTable>) -> BoxFuture<'static, Result<Arc<Self>, HubError>> {
        Box::pin(Self::open_inner(plan))
    }

    async fn open_inner(plan: OpenContext<HubTable>) -> Result<Arc<Self>, HubError> {
        let why = |error: &HubError| match error {
            HubError::Start(why) => why.clone(),
            _ => String::new(),
        };
        target::opened(|handing| Self::open_on(plan.clone(), handing), why).await
    }

    async fn open_on(plan: OpenContext<HubTable>, handing: Handing) -> Result<Arc<Self>, HubError> {
        let table = plan.table;
        if !table.has_server() {
            return Err(HubError::NoHub);
        }
        let secret = secret(&table, &plan.outbound)?;
        let provider = match &table.provider {
            Some(own) => {
                let started = Provider::start(own.listen.as_deref(), Arc::clone(&plan.wire)).await;
                Some(started.map_err(HubError::Provider)?)
            }
            None => None,
        };
        let mut base = table.base_url.clone().unwrap_or_else(|| "http://{listen}".to_owned());
        let mut process = None;
        if let Some(command) = &table.launch.start {
            plan.log.hide(table.secret());
            plan.log.clear();
            let port = Port::take(handing).map_err(HubError::Start)?;
            let listen = port.address();
            base = base.replace("{listen}", &listen);
            let provider_url = provider.as_ref().map(|provider| provider.url()).unwrap_or_default();
            let words = [("provider_url", &*provider_url), ("listen", &listen), ("secret", &secret)];
            let launch = Launch::of(&table.launch, command, &plan.directory, &plan.log, &words);
            let mut around = vec![("CALLMARK_LISTEN", listen.as_str()), ("CALLMARK_HUB_SECRET", &secret)];
            if provider.is_some() {
                around.push(("CALLMARK_PROVIDER_URL", &provider_url));
            }
            process = Some(launch.spawn(&around, Pipes::None).map_err(HubError::Start)?.on(port));
        }
        let fixtures = match &provider {
            Some(provider) => provider.fixtures(),
            None => table.fixtures.clone(),
        };
        let mut session = Self {
            timeouts: Timeouts::calibrated(Duration::from_secs(1), &plan.limits),
            client: Client::new(&base, &plan.outbound, plan.wire).map_err(HubError::Config)?,
            provider,
            fixtures,
            secret,
            base,
            works: false,
            reports_expiry: false,
            missing: BTreeSet::new(),
            limited: AsyncMutex::new(()),
            process: SharedProcess::new(process),
            seed: plan.seed,
            nonce: nonce(),
            table,
        };
        let calibrated = session.calibrate(&plan.limits).await;
        established(session, calibrated).await
    }

    /// Whether the Hub distinguishes requests.
    pub fn works(&self) -> bool {
        self.works
    }

    /// Whether the Hub reported before that the token has expired, so that it may have thrown it away since.
    pub fn has_reported_expiry(&self) -> bool {
        self.reports_expiry
    }

    /// Tools of the contract that the Hub does not know, by its own word.
    pub fn missing(&self) -> &BTreeSet<String> {
        &self.missing
    }

    /// Whether a reply says no more than that the Hub lacks the tool, which is judged once.
    pub(in crate::families::hub) fn lacks(&self, reply: &Reply<'_>) -> bool {
        reply.code() == Some(TOOL_NOT_FOUND) && self.missing.contains(reply.tool())
    }

    /// Of each half of the contract a tool that the Hub knows, one that changes nothing where there is one. The first of
    /// a half that the Hub lacks altogether.
    pub(in crate::families::hub) fn known(&self) -> [&'static str; 2] {
        HALVES.map(|half| {
            let is_there = |tool: &&&str| !self.missing.contains(**tool);
            half.iter().find(is_there).copied().unwrap_or(half[0])
        })
    }

    /// Says why the Hub is gone, where the suite started it.
    pub fn ended(&self) -> Option<String> {
        self.process.ended()
    }

    /// Id of a customer. A Hub without declared customers has to take one that it does not know.
    pub fn customer(&self, customer: Customer) -> String {
        let named = |customer| self.table.customers.get(&customer).cloned();
        // Where every customer has a limit, the second one can be brought to it.
        let second = || if customer == Customer::Limited { named(Customer::Other) } else { None };
        named(customer).or_else(second).unwrap_or_else(|| ANYBODY.to_owned())
    }

    /// `Authorization` with the right secret.
    pub fn authorization(&self) -> String {
        format!("{SCHEME} {}", self.secret)
    }

    /// The service secret.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The agent that the suite is.
    pub fn agent_id(&self) -> &str {
        self.table.agent_id.as_deref().unwrap_or(AGENT_ID)
    }

    /// The slug of the integration behind a tool.
    pub fn integration(&self, tool: &str) -> &str {
        let slugs = &self.table.integrations;
        if tool.starts_with("calendar_") { &slugs.calendar } else { &slugs.email }
    }

    /// What the inputs of calls refer to, for a scenario with this mark.
    pub fn subjects(&self, mark: &str, scenario: &str) -> Subjects {
        let people = self.fixtures.people.clone().unwrap_or_else(|| PEOPLE.map(str::to_owned));
        let query = format!("from:{}", self.fixtures.sender.as_deref().unwrap_or(&people[0]));
        let plain = Subjects::default();
        Subjects {
            mark: mark.to_owned(),
            day: self.day(scenario),
            event_id: self.fixtures.event_id.clone().unwrap_or(plain.event_id),
            message_id: self.fixtures.message_id.clone().unwrap_or(plain.message_id),
            thread_id: self.fixtures.thread_id.clone().unwrap_or(plain.thread_id),
            people,
            query,
        }
    }

    /// A day that belongs to one scenario, so that events of others do not stand in its way.
    fn day(&self, scenario: &str) -> String {
        let hash = hash(&[&self.seed.to_string(), scenario]);
        let number = u16::from_str_radix(&hash[..4], 16).unwrap_or_default();
        // Far from the days of the availability requests, and each month has them.
        format!("20{}-{:02}-{:02}", 32 + number % 8, 1 + number / 8 % 12, 1 + number / 96 % 28)
    }

    /// What makes the words of a scenario unlike those of any other, in this run and in all others.
    pub fn unique(&self, scenario: &str) -> String {
        hash(&[&self.seed.to_string(), scenario, &self.nonce])[..12].to_owned()
    }

    /// An execute request with the right secret and all members.
    pub fn request(&self, tool: &str, customer: Customer, inputs: &Value) -> Request {
        let id = self.customer(customer);
        Request {
            method: "POST".to_owned(),
            path: EXECUTE.to_owned(),
            authorization: Some(self.authorization()),
            body: json!({
                "tool": tool, "agent_id": self.agent_id(), "customer_id": id, "user_id": "u-17",
                "inputs": inputs, "context": {"conversation_id": "conv-88", "request_id": REQUEST_ID},
            }),
            tool: tool.to_owned(),
            customer: customer.name().to_owned(),
        }
    }

    /// A status request with the right secret.
    pub fn status_request(&self, customer: Customer) -> Request {
        Request {
            method: "GET".to_owned(),
            path: format!("{STATUS_BASE}{}/", self.customer(customer)),
            authorization: Some(self.authorization()),
            body: Value::Null,
            tool: String::new(),
            customer: customer.name().to_owned(),
        }
    }

    /// A harmless request, which shows that the Hub is alive.
    pub fn sentinel(&self, customer: Customer) -> Request {
        let [calendar, mail] = self.known();
        let tool = if self.missing.contains(calendar) { mail } else { calendar };
        self.request(tool, customer, &contract::full_inputs(tool, &Subjects::default()))
    }

    /// Makes an exchange. A customer that is not served for its limit is given the time that the limit asks for; one
    /// scenario after the other, so that each gets its turn.
    pub async fn exchange(&self, agent: &Caller, request: &Request) -> u64 {
        let call = self.client.send(agent, request, self.timeouts.answer).await;
        let Some(first) = self.wait_for_limit(agent, request, call) else { return call };
        let refused = Instant::now();
        let _turn = self.limited.lock().await;
        // Much of the wait may have passed while others had their turn.
        let first = first.saturating_sub(refused.elapsed());
        let began = Instant::now();
        let window = self.table.rate_limit.map(|limit| seconds(limit.window_seconds));
        let patience = window.map_or(LIMIT_PATIENCE, |window| window + LIMIT_SLACK);
        let mut wait = first;
        loop {
            if began.elapsed() + wait > patience {
                return call;
            }
            transcript::sleep_unless_replaying(wait).await;
            let call = self.client.send(agent, request, self.timeouts.answer).await;
            match self.wait_for_limit(agent, request, call) {
                Some(next) if began.elapsed() < patience => wait = next,
                _ => return call,
            }
        }
    }

    /// How long to wait, where an exchange was refused for a limit that is not under test.
    fn wait_for_limit(&self, agent: &Caller, request: &Request, call: u64) -> Option<Duration> {
        agent.transcript.with(|frames| {
            let reply = Reply::of(frames, call)?;
            let wanted = reply.retry_after().map(seconds);
            let may_wait = reply.is_limited()
                && request.customer != Customer::Limited.name()
                && (self.works || wanted.is_some());
            may_wait.then(|| wanted.unwrap_or(RETRY).clamp(RETRY / 4, LIMIT_PATIENCE))
        })
    }

    /// The address in reports: the real one is gone when they are read.
    pub fn shown_base(&self) -> &str {
        if self.table.launch.is_started() { "http://127.0.0.1:8080" } else { &self.base }
    }
}

fn secret(table: &HubTable, outbound: &Outbound) -> Result<String, HubError> {
    if let Some(secret) = table.secret() {
        return Ok(secret);
    }
    match &table.secret_env {
        // The token of the target is sent in its place.
        None if !table.launch.is_started() => outbound.stand_in().map(str::to_owned).ok_or(HubError::NoHub),
        Some(name) if !table.launch.is_started() => Err(HubError::NoSecret(name.clone())),
        _ => Ok(MADE_UP_SECRET.to_owned()),
    }
}

/// A time that somebody else wrote down, bounded.
fn seconds(text: f64) -> Duration {
    Duration::try_from_secs_f64(text).unwrap_or(LONGEST_WINDOW).min(LONGEST_WINDOW)
}

impl Session for HubSession {
    fn family(&self) -> &'static str {
        Self::FAMILY
    }

    fn capabilities(&self) -> BTreeSet<String> {
        let declared = |customer: Customer| self.table.customers.contains_key(&customer);
        let is_stub = self.table.stub;
        // A stub does not look at the customer, so only the form of what it answers counts.
        let mut all: BTreeSet<String> = Customer::ALL
            .into_iter()
            .filter(|customer| if is_stub { *customer == Customer::Connected } else { declared(*customer) })
            .map(|customer| format!("customer.{}", customer.name()))
            .collect();
        let fixtures = &self.fixtures;
        let facts = [
            ("data", !is_stub),
            ("status", declared(Customer::Connected)),
            ("provider", self.provider.is_some() && !is_stub),
            (
                "limit",
                declared(Customer::Limited) || (self.table.rate_limit.is_some() && declared(Customer::Other)),
            ),
            ("upstream", !is_stub && (declared(Customer::UpstreamDown) || self.provider.is_some())),
            ("mailbox", !is_stub && fixtures.sender.is_some()),
            ("mailbox.subject", !is_stub && fixtures.subject_word.is_some()),
            ("mailbox.attachment", fixtures.message_with_attachment_id.is_some()),
            ("mailbox.thread", fixtures.thread_id.is_some()),
            ("mailbox.quiet_thread", fixtures.thread_without_replies_id.is_some()),
            ("mailbox.other_thread", fixtures.other_thread_id.is_some()),
        ];
        all.extend(facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name.to_owned()));
        all
    }

    fn idle(&self, _: &str) -> Option<&'static str> {
        (!self.works()).then_some("the Hub answers different requests alike, so nothing counts as a pass")
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
        async {
            let agent = Caller { scenario: "restart".to_owned(), transcript: Arc::default() };
            let within = self.timeouts.scaled(self.table.launch.start_timeout());
            self.wait_for_it(&agent, within).await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            self.process.stop().await;
            if let Some(provider) = &self.provider {
                provider.close().await;
            }
        }
        .boxed()
    }
}

/// What is said of what a tool would have shown that the Hub lacks.
pub(in crate::families::hub) fn absent(tool: &str) -> String {
    format!("the Hub does not know `{tool}`: see HUB-05")
}
