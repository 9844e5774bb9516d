//! What is asked of a Hub: whose requests, with which inputs, and how a customer's limit is waited out.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::HubSession;
use crate::engine::digest::hash;
use crate::families::hub::contract;
use crate::families::hub::contract::{EXECUTE, PEOPLE, SCHEME, STATUS_BASE, Subjects};
use crate::families::hub::manifest::Customer;
use crate::families::hub::server::client::{REQUEST_ID, Request};
use crate::families::hub::server::reply::Reply;
use crate::net::http_client::Caller;
use crate::transcript;

/// The agent that the suite is, where the manifest names no other.
const AGENT_ID: &str = "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60";
/// A customer that a stub Hub has to take as it comes.
const ANYBODY: &str = "b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7";
/// Between two tries of a request that was refused by a limit, where the Hub does not say how long.
const RETRY: Duration = Duration::from_secs(1);
/// So long a limit is waited out, where the manifest does not say how long its window is.
const LIMIT_PATIENCE: Duration = Duration::from_secs(65);
/// Longest window of a limit that is waited out.
const LONGEST_WINDOW: Duration = Duration::from_secs(600);
/// Beyond a declared window.
const LIMIT_SLACK: Duration = Duration::from_secs(3);
/// After so many limits in a row that were waited out, and were still there, no other is waited out in the run.
const MAX_IN_VAIN: u32 = 3;

impl HubSession {
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
            mark: format!("{}{mark}", self.prefix),
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
                "tool": tool, "agent_id": self.agent_id(), "customer_id": id,
                "user_id": format!("{}u-17", self.prefix), "inputs": inputs,
                "context": {"conversation_id": format!("{}conv-88", self.prefix), "request_id": REQUEST_ID},
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
        self.sentinel_of(tool, customer)
    }

    /// A harmless request for a tool that only reads.
    pub fn sentinel_of(&self, tool: &str, customer: Customer) -> Request {
        self.request(tool, customer, &contract::full_inputs(tool, &Subjects::default()))
    }

    /// Makes an exchange, and keeps in mind what it made at the Hub. A customer that is not served for its limit is given the
    /// time that the limit asks for; one scenario after the other, so that each gets its turn.
    pub async fn exchange(&self, agent: &Caller, request: &Request) -> u64 {
        let call = self.served(agent, request).await;
        agent.transcript.with(|frames| {
            if let Some(reply) = Reply::of(frames, call) {
                self.made.note(request, &reply);
            }
        });
        call
    }

    async fn served(&self, agent: &Caller, request: &Request) -> u64 {
        let call = self.client.send(agent, request, self.timeouts.answer).await;
        let Some(first) = self.wait_for_limit(agent, request, call) else { return call };
        let refused = Instant::now();
        let _turn = self.limited.lock().await;
        // Much of the wait may have passed while others had their turn.
        let first = first.saturating_sub(refused.elapsed());
        let began = Instant::now();
        let window = self.table.rate_limit.map(|limit| seconds(limit.window_seconds));
        let patience = window.map_or(LIMIT_PATIENCE, |window| window + LIMIT_SLACK);
        let (mut wait, mut call) = (first, call);
        while began.elapsed() + wait <= patience && self.in_vain.load(Ordering::Relaxed) < MAX_IN_VAIN {
            transcript::sleep_unless_replaying(wait).await;
            call = self.client.send(agent, request, self.timeouts.answer).await;
            match self.wait_for_limit(agent, request, call) {
                None => {
                    self.in_vain.store(0, Ordering::Relaxed);
                    break;
                }
                Some(next) if began.elapsed() + next <= patience => wait = next,
                Some(_) => {
                    self.in_vain.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
        call
    }

    /// How long to wait, where an exchange was refused for a limit that is not under test.
    fn wait_for_limit(&self, agent: &Caller, request: &Request, call: u64) -> Option<Duration> {
        agent.transcript.with(|frames| {
            let reply = Reply::of(frames, call)?;
            let asked = reply.retry_after().map(seconds);
            let may_wait = reply.is_limited()
                && request.customer != Customer::Limited.name()
                && (self.works || asked.is_some());
            may_wait.then(|| asked.unwrap_or(RETRY).clamp(RETRY / 4, LIMIT_PATIENCE))
        })
    }
}

/// A time that somebody else wrote down, bounded.
fn seconds(text: f64) -> Duration {
    Duration::try_from_secs_f64(text).unwrap_or(LONGEST_WINDOW).min(LONGEST_WINDOW)
}
