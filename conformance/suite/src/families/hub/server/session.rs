//! The session of a run with a Hub: how it is started, and what was found out before the first scenario.

mod calibrate;
mod diagnose;
mod error;
mod made;
mod replicas;
mod requests;
mod secret;
mod start;
mod unopened;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;

use super::client::Client;
use super::load::HubCaller;
use super::provider::Provider;
use super::reply::Reply;
use crate::engine::chaos::Relay;
use crate::engine::diagnosis::Check;
use crate::engine::digest::nonce;
use crate::engine::load;
use crate::engine::protocol;
use crate::engine::session::{CleanedUp, Session, established};
use crate::engine::target;
use crate::engine::target::{Handing, OpenContext, SharedProcess};
use crate::engine::timing::Timeouts;
use crate::families::hub::contract::{HALVES, TOOL_NOT_FOUND};
use crate::families::hub::manifest::{Customer, FixturesTable, HubTable};
use crate::net::address::elsewhere;
use crate::net::http_client::Caller;

pub use error::HubError;
use made::Made;
use replicas::Replicas;
pub use secret::MADE_UP_SECRET;
use secret::secret;

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
    /// Whether a search gave a mail that was in the mailbox.
    finds_mails: bool,
    /// Tools of the contract that the Hub does not know.
    missing: BTreeSet<String>,
    /// What the Hub asked the provider for before the first scenario, can do nothing without, and did not get.
    lacking: Option<String>,
    /// Held by the scenario that waits for a limit.
    limited: AsyncMutex<()>,
    /// How many limits in a row were still there after they had been waited out.
    in_vain: AtomicU32,
    process: SharedProcess,
    /// Where its replicas listen, where the suite started several.
    replicas: Option<Replicas>,
    seed: u64,
    nonce: String,
    /// What titles and subjects begin with that the suite makes up.
    prefix: String,
    /// What the suite made at the Hub.
    made: Made,
}

/// A Hub whose provider failed may ask it nothing for a while: for so long it is given time.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);
/// Between two tries of what may succeed a moment later.
pub(super) const RETRY: Duration = Duration::from_secs(1);

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lacking: Option<String>,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
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
            lacking: self.lacking.clone(),
            nonce: self.nonce.clone(),
            prefix: self.prefix.clone(),
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
            finds_mails: false,
            missing: snapshot.missing,
            lacking: snapshot.lacking,
            limited: AsyncMutex::default(),
            in_vain: AtomicU32::default(),
            process: SharedProcess::default(),
            replicas: None,
            seed,
            nonce: snapshot.nonce,
            prefix: snapshot.prefix,
            made: Made::default(),
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
        let table = plan.table.clone();
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
        let base = table.base_url.clone().unwrap_or_else(|| "http://{listen}".to_owned());
        let (mut bases, mut processes, mut replicas) = (vec![base.clone()], Vec::new(), None);
        if let Some(command) = &table.launch.start {
            let party = (provider.as_deref(), &*secret);
            let started = start::start_all(&plan, command, party, handing).await?;
            bases = started.iter().map(|(_, listen)| base.replace("{listen}", listen)).collect();
            replicas = (started.len() > 1).then(|| Replicas {
                listen: started.iter().map(|(_, listen)| listen.clone()).collect(),
                base,
                outbound: Arc::clone(&plan.outbound),
                wire: Arc::clone(&plan.wire),
            });
            processes = started.into_iter().map(|(process, _)| process).collect();
        }
        let fixtures = match &provider {
            Some(provider) => provider.fixtures(),
            None => table.fixtures.clone(),
        };
        let mut session = Self {
            timeouts: Timeouts::calibrated(Duration::from_secs(1), &plan.limits),
            client: Client::new(&bases, &plan.outbound, &plan.wire).map_err(HubError::Config)?,
            provider,
            fixtures,
            secret,
            base: bases.swap_remove(0),
            works: false,
            reports_expiry: false,
            finds_mails: false,
            missing: BTreeSet::new(),
            lacking: None,
            limited: AsyncMutex::new(()),
            in_vain: AtomicU32::default(),
            process: SharedProcess::new(processes),
            replicas,
            seed: plan.seed,
            nonce: nonce(),
            prefix: plan.outbound.prefix().to_owned(),
            made: Made::default(),
            table,
        };
        let calibrated = session.calibrate(&plan.limits, &plan.inbound).await;
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

    /// What the Hub asked the provider for before the first scenario, can do nothing without, and did not get.
    pub fn lacking(&self) -> Option<&str> {
        self.lacking.as_deref()
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

    /// How many replicas the suite started; none where there are not several.
    pub(super) fn replicas_count(&self) -> usize {
        self.replicas.as_ref().map_or(0, |own| own.listen.len())
    }

    /// Their processes.
    pub(super) fn processes(&self) -> &SharedProcess {
        &self.process
    }

    /// A way to each replica that can be cut, and a client of the replicas that takes these ways.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn behind_relays(&self) -> Result<(Vec<Relay>, Client), String> {
        match &self.replicas {
            Some(replicas) => replicas.behind_relays().await,
            None => Err("the suite did not start several replicas".to_owned()),
        }
    }

    /// The address in reports: the real one is gone when they are read.
    pub fn shown_base(&self) -> &str {
        if self.table.launch.is_started() { "http://127.0.0.1:8080" } else { &self.base }
    }
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

    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        self.delete_made().boxed()
    }

    fn caller(self: Arc<Self>, _: &str) -> Option<Arc<dyn load::Caller>> {
        Some(Arc::new(HubCaller::new(self)))
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
