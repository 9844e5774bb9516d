//! What is found out before the first scenario: whether the Hub answers, whether it distinguishes requests, how fast
//! it is, and which tokens it sends to the provider for which customer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{HubError, HubSession, RECOVERY, RETRY};
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::hub::contract;
use crate::families::hub::contract::{EXTERNAL_API_ERROR, Subjects};
use crate::families::hub::manifest::Customer;
use crate::families::hub::server::client::Request;
use crate::families::hub::server::judge::envelope;
use crate::families::hub::server::provider::{self, Failing, Provider, ProviderFault};
use crate::families::hub::server::reply::Reply;
use crate::net::http_client::Caller;
use crate::net::inbound::Inbound;
use crate::transcript;

/// Between two looks at a Hub that does not answer yet.
const LOOK: Duration = Duration::from_millis(10);
/// Before each try to see the Hub distinguish requests.
const WARM_UP: [Duration; 3] = [Duration::ZERO, Duration::from_millis(300), Duration::from_millis(1200)];
/// A Hub that takes so long is up.
const SLOW: Duration = Duration::from_millis(500);
/// For the calls of the calibration together.
const CALIBRATION: Duration = Duration::from_secs(300);
/// Who takes this long to report that the provider fails has asked it again.
const RETRYING: Duration = Duration::from_millis(500);
/// How long a Hub's index may be behind the mailbox.
const LATE_SEARCH: Duration = Duration::from_secs(10);
/// For an answer of a Hub that does.
const RETRIES: Duration = Duration::from_secs(60);

/// The tool whose call leads to a request of a new kind at the provider.
const CREATE_EVENT: &str = "calendar_create_event";

/// What distinguishes one answer from another.
type Signature = (Option<u16>, bool, Option<String>, BTreeSet<String>);

impl HubSession {
    pub(super) async fn calibrate(
        &mut self,
        limits: &TimeoutLimits,
        inbound: &Inbound,
    ) -> Result<(), HubError> {
        let agent = Caller { scenario: "calibration".to_owned(), transcript: Arc::default() };
        self.wait_for_it(&agent, limits.scaled(self.table.launch.start_timeout())).await?;
        let began = Instant::now();
        let mut slowest = Duration::ZERO;
        let mut signatures = Vec::new();
        let connected = Customer::Connected;
        if let Some(provider) = &self.provider {
            provider.learn(Some(connected));
        }
        for wait in WARM_UP {
            tokio::time::sleep(wait).await;
            signatures.clear();
            slowest = Duration::ZERO;
            self.missing = self.find_missing(&agent).await;
            let [calendar, mail] = self.known();
            for tool in [calendar, mail, "no_such_tool"] {
                let call_began = Instant::now();
                let request = self.plain(tool, connected);
                let call = self.exchange(&agent, &request).await;
                slowest = slowest.max(call_began.elapsed());
                signatures.push(agent.transcript.with(|frames| Reply::of(frames, call).map(signature)));
            }
            // A Hub that gives the same answer to everything does nothing, or does not do anything yet.
            if signatures.windows(2).any(|pair| pair[0] != pair[1]) || slowest > SLOW {
                break;
            }
        }
        let shown = agent.transcript.with(|frames| self.refuses_us(frames));
        if let Some(why) = shown {
            return Err(HubError::Secret(why));
        }
        self.check_manifest(&signatures, inbound)?;
        self.works = signatures.windows(2).any(|pair| pair[0] != pair[1]);
        self.timeouts = Timeouts::calibrated(slowest, limits);
        self.reports_expiry = self.learn_token_owners(&agent, began).await;
        self.allow_for_retries(&agent, limits).await;
        self.wait_for_recovery(&agent).await;
        self.find_fixtures(&agent).await;
        self.lacking = self.provider.as_ref().and_then(|provider| provider.discovery());
        Ok(())
    }

    /// A Hub that asks its provider again before it reports that this fails takes longer then, and at random: Google's
    /// clients wait up to eight seconds between two of several tries.
    async fn allow_for_retries(&mut self, agent: &Caller, limits: &TimeoutLimits) {
        let Some(provider) = self.provider.clone().filter(|_| self.works) else { return };
        let word = format!("retry{}", self.nonce);
        let requests: Vec<Request> = if self.table.customers.contains_key(&Customer::UpstreamDown) {
            self.known().map(|tool| self.plain(tool, Customer::UpstreamDown)).into()
        } else if self.missing.contains("email_search") {
            Vec::new()
        } else {
            let inputs = json!({"query": &word, "max_results": 1, "include_body": false});
            provider.fail(&word, Failing::Every, ProviderFault::Status(503));
            vec![self.request("email_search", Customer::Connected, &inputs)]
        };
        let deadline = limits.scaled(RETRIES);
        for request in requests {
            let began = Instant::now();
            let call = self.client.send(agent, &request, deadline).await;
            let is_answered = agent
                .transcript
                .with(|frames| Reply::of(frames, call).is_some_and(|reply| reply.answer.is_some()));
            if is_answered && began.elapsed() >= RETRYING {
                self.timeouts.answer = self.timeouts.answer.max(deadline);
                break;
            }
        }
        provider.forget(&word);
    }

    /// A Hub that asks a failing provider nothing for a while (a circuit breaker) has met one just now: it is waited for, so
    /// that no scenario is judged by that.
    async fn wait_for_recovery(&self, agent: &Caller) {
        if !self.works || self.provider.is_none() {
            return;
        }
        let began = Instant::now();
        let [calendar, mail] = self.known();
        for tool in [calendar, mail] {
            loop {
                let call = self.exchange(agent, &self.plain(tool, Customer::Connected)).await;
                let fails = agent.transcript.with(|frames| {
                    Reply::of(frames, call).is_some_and(|reply| reply.code() == Some(EXTERNAL_API_ERROR))
                });
                if !fails || began.elapsed() >= RECOVERY {
                    break;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Reports what is rather a fault of the manifest than of the Hub.
    fn check_manifest(&self, signatures: &[Option<Signature>], inbound: &Inbound) -> Result<(), HubError> {
        let [Some(calendar), Some(mail), ..] = signatures else { return Ok(()) };
        let is_declared = self.table.customers.contains_key(&Customer::Connected) && !self.table.stub;
        if let (Some("INTEGRATION_NOT_CONNECTED"), Some(code)) = (calendar.2.as_deref(), mail.2.as_deref())
            && is_declared
            && calendar.2 == mail.2
        {
            return Err(HubError::Customer(code.to_owned()));
        }
        if !is_declared || self.provider.as_ref().is_none_or(|provider| provider.was_asked()) {
            return Ok(());
        }
        inbound.note_unasked(provider::WORLD_HOST);
        let fails = |signature: &Signature| signature.2.as_deref() == Some(EXTERNAL_API_ERROR);
        match inbound.distrust() {
            Some(why) => Err(HubError::Distrust(why)),
            None if calendar.1 && mail.1 && calendar != mail => Err(HubError::Unasked),
            None if fails(calendar) && fails(mail) => Err(HubError::Unreached),
            None => Ok(()),
        }
    }

    /// Asks for each tool without inputs, so that nothing is done: a tool that is there refuses its inputs.
    async fn find_missing(&self, agent: &Caller) -> BTreeSet<String> {
        let mut missing = BTreeSet::new();
        for tool in contract::TOOLS {
            let request = self.request(tool, Customer::Connected, &json!({}));
            let call = self.exchange(agent, &request).await;
            let code = |frames: &[crate::transcript::Frame]| {
                Reply::of(frames, call).and_then(|reply| reply.code().map(str::to_owned))
            };
            if agent.transcript.with(code).as_deref() == Some(contract::TOOL_NOT_FOUND) {
                missing.insert(tool.to_owned());
            }
        }
        missing
    }

    /// Asks the Hub for its own ids of what is in the provider's mailbox: it may have others than the provider.
    async fn find_fixtures(&mut self, agent: &Caller) {
        let Some(provider) = self.provider.clone() else { return };
        let subjects = provider.subjects();
        let began = Instant::now();
        let found = loop {
            let found = futures::future::join_all([
                self.find(agent, subjects.message),
                self.find(agent, subjects.message_with_attachment),
                self.find(agent, subjects.thread),
                self.find(agent, subjects.thread_without_replies),
                self.find(agent, subjects.other_thread),
            ])
            .await;
            let has_searched = self.works && !self.missing.contains("email_search");
            if !has_searched || found.iter().any(Option::is_some) || began.elapsed() >= LATE_SEARCH {
                break found;
            }
            // Its index may be behind the mailbox.
            tokio::time::sleep(RETRY).await;
        };
        self.finds_mails = found.iter().any(Option::is_some);
        let [message, attachment, thread, quiet, other] = &found[..] else { return };
        let fixtures = &mut self.fixtures;
        let places = [
            (&mut fixtures.message_id, message, 0),
            (&mut fixtures.message_with_attachment_id, attachment, 0),
            (&mut fixtures.thread_id, thread, 1),
            (&mut fixtures.thread_without_replies_id, quiet, 1),
            (&mut fixtures.other_thread_id, other, 1),
        ];
        for (place, found, index) in places {
            if let Some(found) = found {
                *place = Some(found[index].clone());
            }
        }
    }

    /// Ids of a message with these words in its subject and of its thread, as the Hub's own search gives them.
    pub(in crate::families::hub) async fn find(&self, agent: &Caller, subject: &str) -> Option<[String; 2]> {
        let inputs =
            json!({"query": format!("subject:\"{subject}\""), "max_results": 5, "include_body": false});
        let request = self.request("email_search", Customer::Connected, &inputs);
        let call = self.client.send(agent, &request, self.timeouts.answer).await;
        agent.transcript.with(|frames| {
            let reply = Reply::of(frames, call)?;
            let messages = reply.result().ok()?.get("messages")?.as_array()?;
            let is_it = |message: &&Value| {
                message.get("subject").and_then(Value::as_str).is_some_and(|own| own.contains(subject))
            };
            let message = messages.iter().find(is_it)?;
            let id = |name: &str| message.get(name).and_then(Value::as_str).map(str::to_owned);
            Some([id("message_id")?, id("thread_id")?])
        })
    }

    /// As [`Self::find`], for what has come just now: an index may be a few seconds behind the mailbox. A Hub that finds
    /// nothing at all is not waited for.
    pub(in crate::families::hub) async fn find_soon(
        &self,
        agent: &Caller,
        subject: &str,
    ) -> Option<[String; 2]> {
        let began = Instant::now();
        loop {
            let found = self.find(agent, subject).await;
            let may_come = || found.is_none() && self.finds_mails && began.elapsed() < LATE_SEARCH;
            if !agent.transcript.record_external("may be found", may_come) {
                return found;
            }
            transcript::sleep_unless_replaying(RETRY).await;
        }
    }

    /// Tries whether a customer is what the manifest says, and returns what came.
    ///
    /// # Errors
    /// What came in place of what was expected.
    pub async fn try_customer(&self, customer: Customer) -> Result<String, String> {
        let agent = Caller { scenario: "doctor".to_owned(), transcript: Arc::default() };
        let tool = if customer == Customer::ReadOnly {
            "calendar_create_event"
        } else {
            let [calendar, mail] = self.known();
            if self.missing.contains(calendar) { mail } else { calendar }
        };
        let call = self.client.send(&agent, &self.plain(tool, customer), self.timeouts.answer).await;
        agent.transcript.with(|frames| {
            let Some(reply) = Reply::of(frames, call) else { return Err("it was not asked".to_owned()) };
            let outcome = format!("`{tool}`: {}", reply.summary());
            let expected = match customer {
                Customer::Connected | Customer::Refreshable | Customer::Other => None,
                Customer::NotConnected => Some("INTEGRATION_NOT_CONNECTED"),
                Customer::Expired => Some("INTEGRATION_EXPIRED"),
                Customer::ReadOnly => Some("INTEGRATION_PERMISSION_DENIED"),
                Customer::UpstreamDown => Some(EXTERNAL_API_ERROR),
                // It may have some calls left.
                Customer::Limited => return Ok(outcome),
            };
            match expected {
                None if reply.is_executed() => Ok(outcome),
                Some(code) if reply.code() == Some(code) => Ok(outcome),
                None => Err(format!("{outcome}, and it should be executed")),
                Some(code) => Err(format!("{outcome}, and it should be `{code}`")),
            }
        })
    }

    fn plain(&self, tool: &str, customer: Customer) -> Request {
        self.request(tool, customer, &contract::full_inputs(tool, &Subjects::default()))
    }

    /// Waits until something answers over HTTP; of several replicas, each of them.
    pub(super) async fn wait_for_it(&self, agent: &Caller, deadline: Duration) -> Result<(), HubError> {
        let began = Instant::now();
        let mut wait = LOOK;
        let mut answered = BTreeSet::new();
        loop {
            let request = self.status_request(Customer::Connected);
            let call = self.client.send(agent, &request, deadline).await;
            let (status, summary) = agent.transcript.with(|frames| {
                let reply = Reply::of(frames, call);
                (reply.and_then(|reply| reply.status()), reply.map(|reply| reply.summary()))
            });
            let is_warming_up = matches!(status, Some(502..=504));
            if status.is_some() && !is_warming_up {
                answered.insert(self.client.replica_of(call));
                if answered.len() >= self.client.replicas() {
                    return Ok(());
                }
                // The next one is asked at once; who never gets there is out of time below.
                if began.elapsed() < deadline {
                    continue;
                }
            }
            if let Some(ended) = self.ended() {
                return Err(HubError::Start(ended));
            }
            if let Some(why) = self.client.trouble() {
                return Err(HubError::Reach { base: self.base.clone(), why });
            }
            if began.elapsed() >= deadline {
                // One that is there and fails all the time is judged.
                return if is_warming_up {
                    Ok(())
                } else {
                    let (base, seconds) = (self.base.clone(), deadline.as_secs());
                    Err(HubError::Silent { base, seconds, why: summary.unwrap_or_default() })
                };
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_millis(500));
        }
    }

    /// Why nothing of ours will ever be executed: the right secret is refused on both paths.
    fn refuses_us(&self, frames: &[crate::transcript::Frame]) -> Option<String> {
        let statuses: Vec<Option<u16>> = frames
            .iter()
            .filter(|frame| frame.kind == crate::transcript::Kind::HubResponse)
            .map(|frame| frame.headers.get(crate::net::wire::STATUS).and_then(|status| status.parse().ok()))
            .collect();
        let codes = frames.iter().any(|frame| {
            frame
                .body
                .pointer("/error/code")
                .is_some_and(|code| code.as_str().is_some_and(|code| contract::status_of(code).is_some()))
        });
        let refused = !statuses.is_empty() && statuses.iter().all(|status| matches!(status, Some(401 | 403)));
        (refused && !codes && !self.table.launch.is_started())
            .then(|| format!("every request is answered {}", statuses[0].unwrap_or_default()))
    }

    /// Lets the provider see which tokens belong to which customer, and returns whether the expired one was reported
    /// as such: a Hub may throw away a token that cannot be refreshed, and its customer is not connected from then on.
    async fn learn_token_owners(&self, agent: &Caller, began: Instant) -> bool {
        // The one whose provider is down comes last: a Hub may then ask nothing for a while, for whomever.
        let is_down = |customer: &Customer| *customer == Customer::UpstreamDown;
        let (down, others): (Vec<Customer>, Vec<Customer>) = Customer::ALL.into_iter().partition(is_down);
        let is_reported = self.learn_owners_of(agent, &others, began).await;
        self.learn_owners_of(agent, &down, began).await;
        is_reported
    }

    async fn learn_owners_of(&self, agent: &Caller, customers: &[Customer], began: Instant) -> bool {
        let mut is_reported = false;
        for customer in customers.iter().copied() {
            let is_known = self.table.customers.contains_key(&customer);
            // The calls of a limited customer are few; the first ones belong to the scenarios.
            if !is_known
                || matches!(customer, Customer::Connected | Customer::Limited | Customer::NotConnected)
                || (self.provider.is_none() && customer != Customer::Expired)
            {
                continue;
            }
            if let Some(provider) = &self.provider {
                provider.learn(Some(customer));
            }
            for tool in self.known() {
                if began.elapsed() < CALIBRATION {
                    let request = self.plain(tool, customer);
                    let call = self.client.send(agent, &request, self.timeouts.answer).await;
                    is_reported |= customer == Customer::Expired
                        && agent.transcript.with(|frames| {
                            Reply::of(frames, call).is_some_and(|reply| {
                                envelope::is_error(&reply, "INTEGRATION_EXPIRED").is_ok()
                            })
                        });
                }
            }
        }
        if let Some(provider) = &self.provider {
            provider.learn(None);
            self.search_for_signs(agent, provider, customers, began).await;
        }
        is_reported
    }

    /// Has the Hub search each mailbox for a word of its own. A Hub that also looks into mailboxes by itself has shown
    /// their tokens at any time.
    async fn search_for_signs(
        &self,
        agent: &Caller,
        provider: &Provider,
        customers: &[Customer],
        began: Instant,
    ) {
        let is_asked = |customer: &Customer| {
            self.table.customers.contains_key(customer)
                && !matches!(customer, Customer::Limited | Customer::NotConnected)
        };
        for customer in customers.iter().copied().filter(is_asked) {
            if self.missing.contains("email_search") || began.elapsed() > CALIBRATION {
                break;
            }
            let word = format!("sign{}{}", customer as u8, &self.nonce);
            let inputs = json!({"query": &word, "max_results": 1, "include_body": false});
            provider.expect(Some((word.clone(), customer)));
            let request = self.request("email_search", customer, &inputs);
            self.client.send(agent, &request, self.timeouts.answer).await;
            // A Hub that searches a mirror of its own asks the provider nothing then, and passes on what is new.
            if !provider.has_seen_sign() && !self.missing.contains(CREATE_EVENT) {
                let mut inputs = contract::full_inputs(CREATE_EVENT, &Subjects::default());
                inputs["title"] = Value::from(word);
                let request = self.request(CREATE_EVENT, customer, &inputs);
                self.exchange(agent, &request).await;
            }
        }
        provider.expect(None);
    }
}

fn signature(reply: Reply<'_>) -> Signature {
    let body = reply.body();
    let keys = |value: Option<&Value>| -> BTreeSet<String> {
        value.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    (reply.status(), reply.is_executed(), reply.code().map(str::to_owned), keys(body.get("result")))
}
