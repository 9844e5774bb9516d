//! The one request of the contract: `POST /api/internal/tools/execute/` (Hub-Proxied Tool API).
//!
//! A call is one request. Only a Hub that limits us and says when to come back, soon, is asked a second time:
//! it has done nothing yet. After anything else a second request could do the same thing twice.
//! Neighbours: `answer` reads what comes back, `status` asks what a customer has connected.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::{Client, redirect};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::answer::HubResponse;
use super::config::{AgentConfig, ServiceSecret, base_url};
use super::effect::Effect;
use super::error::AgentError;
use super::failure::{CallFailure, HubCode};
use super::fetch::{FetchFault, client, fetch};
use super::ids::{Uuid, new_id};

const EXECUTE: &str = "/api/internal/tools/execute/";
/// How much of an answer is read.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// A Hub that wants us to wait longer has refused the call.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A call that goes through the Hub.
pub(super) struct Execution<'a> {
    pub(super) tool: &'static str,
    pub(super) effect: Effect,
    pub(super) customer: &'a Uuid,
    pub(super) user_id: Option<&'a str>,
    pub(super) conversation_id: Option<&'a str>,
    pub(super) inputs: &'a Map<String, Value>,
}

impl Execution<'_> {
    /// The body of the request (Request Schema).
    fn body(&self, agent_id: &Uuid) -> Value {
        let mut context = json!({"request_id": new_id("req")});
        if let Some(conversation_id) = self.conversation_id {
            context["conversation_id"] = json!(conversation_id);
        }
        json!({
            "tool": self.tool,
            "agent_id": agent_id.as_str(),
            "customer_id": self.customer.as_str(),
            // Null and not absent: the schema lists null among its values.
            "user_id": self.user_id,
            "inputs": self.inputs,
            "context": context,
        })
    }
}

/// The agent's line to its Hub.
pub(super) struct HubClient {
    pub(super) client: Client,
    pub(super) base: String,
    secret: ServiceSecret,
    pub(super) authorization: HeaderValue,
    agent_id: Uuid,
    pub(super) deadline: Duration,
}

impl HubClient {
    pub(super) fn new(config: &AgentConfig) -> Result<Self, AgentError> {
        let mut authorization = HeaderValue::from_str(&config.hub_secret.authorization())
            .map_err(|_| AgentError::invalid("hub_secret", "it has characters that no header may hold"))?;
        authorization.set_sensitive(true);
        Ok(Self {
            // A Hub has one address, and the secret must not travel to another.
            client: client("hub_url", redirect::Policy::none())?,
            base: base_url("hub_url", &config.hub_url)?,
            secret: config.hub_secret.clone(),
            authorization,
            agent_id: Uuid::parse(&config.agent_id)
                .ok_or_else(|| AgentError::invalid("agent_id", "it is no UUID"))?,
            deadline: config.deadlines.hub,
        })
    }

    /// Has the Hub execute a tool; at most two requests are made.
    pub(super) async fn execute(&self, execution: &Execution<'_>) -> Result<Value, CallFailure> {
        let until = Instant::now() + self.deadline;
        let body = execution.body(&self.agent_id);
        let first = self.request(execution, &body, until).await;
        let wait = match &first {
            Err(CallFailure::Refused(refusal)) if refusal.code == HubCode::RateLimited => refusal.retry_after,
            _ => None,
        };
        match wait {
            Some(wait) if wait <= LONGEST_WAIT && Instant::now() + wait < until => {
                tokio::time::sleep(wait).await;
                self.request(execution, &body, until).await
            }
            _ => first,
        }
    }

    async fn request(
        &self,
        execution: &Execution<'_>,
        body: &Value,
        until: Instant,
    ) -> Result<Value, CallFailure> {
        let effect = execution.effect;
        let url = format!("{}{EXECUTE}", self.base);
        let request = self.client.post(url).header(AUTHORIZATION, &self.authorization).json(body);
        let answer = fetch(request, ANSWER_BYTES, until).await.map_err(|fault| match fault {
            FetchFault::Unreachable(reason) => CallFailure::Unreachable { reason },
            FetchFault::Broken(reason) => {
                CallFailure::Answer { reason: format!("the connection broke: {reason}"), effect }
            }
            FetchFault::Deadline => CallFailure::Deadline { after: self.deadline, effect },
        })?;
        if answer.cut {
            return Err(CallFailure::AnswerTooLarge { limit: ANSWER_BYTES, effect });
        }
        let retry_after = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        HubResponse {
            tool: execution.tool,
            effect,
            status: answer.status,
            retry_after: retry_after.map(Duration::from_secs),
            body: &answer.body,
        }
        .read(&self.secret)
    }
}
