//! What is found out before the first scenario: whether the Hub answers, whether it tells requests apart, how fast
//! it is, and which tokens it sends to the provider for which customer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{HubError, HubSession};
use crate::hub::client::{Agent, Request};
use crate::hub::contract::{self, Subjects};
use crate::hub::reply::Reply;
use crate::manifest::Customer;
use crate::pace::{Pace, PaceLimits};

/// Between two looks at a Hub that does not answer yet.
const LOOK: Duration = Duration::from_millis(10);
/// For the calls of the calibration together.
const CALIBRATION: Duration = Duration::from_secs(30);

/// What tells one answer from another.
type Signature = (Option<u16>, bool, Option<String>, BTreeSet<String>);

impl HubSession {
    pub(super) async fn learn(&mut self, limits: &PaceLimits) -> Result<(), HubError> {
        let agent = Agent { scenario: "calibration".to_owned(), transcript: Arc::default() };
        self.wait_for_it(&agent, limits).await?;
        let began = Instant::now();
        let mut slowest = Duration::ZERO;
        let mut signatures = Vec::new();
        let connected = Customer::Connected;
        if let Some(provider) = &self.provider {
            provider.learn(Some(connected));
        }
        for tool in ["calendar_get_availability", "email_search", "no_such_tool"] {
            let call_began = Instant::now();
            let request = self.plain(tool, connected);
            let call = self.exchange(&agent, &request).await;
            slowest = slowest.max(call_began.elapsed());
            signatures.push(agent.transcript.with(|frames| Reply::of(frames, call).map(signature)));
        }
        let shown = agent.transcript.with(|frames| self.refuses_us(frames));
        if let Some(why) = shown {
            return Err(HubError::Secret(why));
        }
        // A Hub that gives the same answer to everything does nothing.
        self.works = signatures.windows(2).any(|pair| pair[0] != pair[1]);
        self.pace = Pace::calibrated(slowest, limits);
        self.meet_the_others(&agent, began).await;
        Ok(())
    }

    /// Tries whether a customer is what the manifest says, and tells what came.
    ///
    /// # Errors
    /// What came in place of what was expected.
    pub async fn try_customer(&self, customer: Customer) -> Result<String, String> {
        let agent = Agent { scenario: "doctor".to_owned(), transcript: Arc::default() };
        let tool = if customer == Customer::ReadOnly {
            "calendar_create_event"
        } else {
            "calendar_get_availability"
        };
        let call = self.client.send(&agent, &self.plain(tool, customer), self.pace.answer).await;
        agent.transcript.with(|frames| {
            let Some(reply) = Reply::of(frames, call) else { return Err("it was not asked".to_owned()) };
            let told = format!("`{tool}`: {}", reply.told());
            let expected = match customer {
                Customer::Connected | Customer::Refreshable | Customer::Other => None,
                Customer::NotConnected => Some("INTEGRATION_NOT_CONNECTED"),
                Customer::Expired => Some("INTEGRATION_EXPIRED"),
                Customer::ReadOnly => Some("INTEGRATION_PERMISSION_DENIED"),
                Customer::UpstreamDown => Some("EXTERNAL_API_ERROR"),
                // It may have some calls left.
                Customer::Limited => return Ok(told),
            };
            match expected {
                None if reply.is_executed() => Ok(told),
                Some(code) if reply.code() == Some(code) => Ok(told),
                None => Err(format!("{told}, and it should be executed")),
                Some(code) => Err(format!("{told}, and it should be `{code}`")),
            }
        })
    }

    fn plain(&self, tool: &str, customer: Customer) -> Request {
        self.request(tool, customer, &contract::full_inputs(tool, &Subjects::default()))
    }

    /// Waits until something answers over HTTP.
    async fn wait_for_it(&self, agent: &Agent, limits: &PaceLimits) -> Result<(), HubError> {
        let deadline = self.table.start_timeout().mul_f64(limits.scale.clamp(0.01, 1000.0));
        let began = Instant::now();
        let mut wait = LOOK;
        loop {
            let request = self.status_request(Customer::Connected);
            let call = self.client.send(agent, &request, deadline).await;
            let (status, told) = agent.transcript.with(|frames| {
                let reply = Reply::of(frames, call);
                (reply.and_then(|reply| reply.status()), reply.map(|reply| reply.told()))
            });
            let is_warming_up = matches!(status, Some(502..=504));
            if status.is_some() && !is_warming_up {
                return Ok(());
            }
            if let Some(ended) = self.ended() {
                return Err(HubError::Start(ended));
            }
            if began.elapsed() >= deadline {
                // One that is there and fails all the time is judged.
                return if is_warming_up {
                    Ok(())
                } else {
                    Err(HubError::Silent { seconds: deadline.as_secs(), why: told.unwrap_or_default() })
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
            .map(|frame| frame.headers.get(crate::wire::STATUS).and_then(|status| status.parse().ok()))
            .collect();
        let codes = frames.iter().any(|frame| {
            frame
                .body
                .pointer("/error/code")
                .is_some_and(|code| code.as_str().is_some_and(|code| contract::status_of(code).is_some()))
        });
        let refused = !statuses.is_empty() && statuses.iter().all(|status| matches!(status, Some(401 | 403)));
        (refused && !codes && self.table.start.is_none())
            .then(|| format!("every request is answered {}", statuses[0].unwrap_or_default()))
    }

    /// Lets the provider see which tokens belong to which customer.
    async fn meet_the_others(&self, agent: &Agent, began: Instant) {
        let Some(provider) = &self.provider else { return };
        for customer in Customer::ALL {
            let is_known = self.table.customers.contains_key(&customer);
            // The calls of a limited customer are few; the first ones belong to the scenarios.
            if !is_known
                || matches!(customer, Customer::Connected | Customer::Limited | Customer::NotConnected)
            {
                continue;
            }
            provider.learn(Some(customer));
            for tool in ["calendar_get_availability", "email_search"] {
                if began.elapsed() < CALIBRATION {
                    let request = self.plain(tool, customer);
                    self.client.send(agent, &request, self.pace.answer).await;
                }
            }
        }
        provider.learn(None);
    }
}

fn signature(reply: Reply<'_>) -> Signature {
    let body = reply.body();
    let keys = |value: Option<&Value>| -> BTreeSet<String> {
        value.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    (reply.status(), reply.is_executed(), reply.code().map(str::to_owned), keys(body.get("result")))
}
