//! What an agent needs to know, and why it may not start.
//!
//! The service secret is a type of its own: it can be sent, and it cannot be printed.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value};

use super::error::AgentError;
use crate::log::{Log, no_log};

/// Shorter secrets would be found in ordinary words.
const SHORTEST_SCRUBBED: usize = 8;

/// What an agent is started with.
#[derive(Clone)]
pub struct AgentConfig {
    /// Base URL of the Hub; the path of the endpoint is added to it.
    pub hub_url: String,
    /// What the Hub knows its agents by (`Authorization: ServiceSecret …`).
    pub hub_secret: ServiceSecret,
    /// This agent's instance, a UUID.
    pub agent_id: String,
    /// The customer of calls that name none, a UUID.
    pub customer_id: Option<String>,
    /// Base URL of an OpenAI-compatible API, up to and with `/v1`; without it there is no chat.
    pub model_url: Option<String>,
    /// Which model is asked.
    pub model: String,
    /// A search service that answers in the JSON of SearXNG; without it `research_web_search` fails.
    pub search_url: Option<String>,
    /// Where tasks and documents are kept; without it they end with the agent.
    pub data_dir: Option<PathBuf>,
    /// How long is waited for whom.
    pub deadlines: Deadlines,
    /// Where log lines go: names of tools and codes of failures, never inputs, results or secrets.
    pub log: Log,
}

/// How long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For one call through the Hub, a second try included.
    pub hub: Duration,
    /// For one search.
    pub search: Duration,
    /// For one page, redirects included.
    pub page: Duration,
    /// For one answer of the model.
    pub model: Duration,
    /// For a whole turn.
    pub turn: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            hub: Duration::from_secs(30),
            search: Duration::from_secs(15),
            page: Duration::from_secs(15),
            model: Duration::from_secs(60),
            turn: Duration::from_secs(180),
        }
    }
}

impl AgentConfig {
    /// A configuration with what no agent can do without.
    pub fn new(
        hub_url: impl Into<String>,
        hub_secret: impl Into<ServiceSecret>,
        agent_id: impl Into<String>,
    ) -> Self {
        Self {
            hub_url: hub_url.into(),
            hub_secret: hub_secret.into(),
            agent_id: agent_id.into(),
            customer_id: None,
            model_url: None,
            model: "default".to_owned(),
            search_url: None,
            data_dir: None,
            deadlines: Deadlines::default(),
            log: no_log(),
        }
    }

    /// The configuration that the environment holds: `CALLMARK_HUB_URL`, `CALLMARK_HUB_SECRET` and
    /// `CALLMARK_AGENT_ID`, and where they are set `CALLMARK_CUSTOMER_ID`, `CALLMARK_MODEL_URL` and
    /// `CALLMARK_SEARCH_URL`. An empty value counts as none.
    ///
    /// # Errors
    /// [`AgentError::Missing`] names every variable that is needed and not there.
    pub fn from_env() -> Result<Self, AgentError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// [`Self::from_env`] with the environment passed in.
    pub(super) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, AgentError> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let needed = ["CALLMARK_HUB_URL", "CALLMARK_HUB_SECRET", "CALLMARK_AGENT_ID"];
        let [Some(hub_url), Some(hub_secret), Some(agent_id)] = needed.map(variable) else {
            let missing = needed.into_iter().filter(|name| variable(name).is_none()).collect();
            return Err(AgentError::Missing { variables: missing });
        };
        Ok(Self {
            customer_id: variable("CALLMARK_CUSTOMER_ID"),
            model_url: variable("CALLMARK_MODEL_URL"),
            search_url: variable("CALLMARK_SEARCH_URL"),
            ..Self::new(hub_url, hub_secret, agent_id)
        })
    }
}

impl fmt::Debug for AgentConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AgentConfig")
            .field("agent_id", &self.agent_id)
            .field("customer_id", &self.customer_id)
            .field("data_dir", &self.data_dir)
            .field("deadlines", &self.deadlines)
            .finish_non_exhaustive()
    }
}

/// The service secret. `Debug` does not show it, and there is no `Display`.
#[derive(Clone)]
pub struct ServiceSecret(String);

impl ServiceSecret {
    /// The secret as the Hub knows it.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The value of the header `Authorization`.
    pub(super) fn authorization(&self) -> String {
        format!("ServiceSecret {}", self.0)
    }

    /// Takes the secret out of what a peer says, in case that it says it back.
    pub(super) fn scrub(&self, value: Value) -> Value {
        if self.0.len() < SHORTEST_SCRUBBED {
            return value;
        }
        let text =
            |text: String| if text.contains(&self.0) { text.replace(&self.0, "[secret]") } else { text };
        match value {
            Value::String(value) => Value::String(text(value)),
            Value::Array(items) => items.into_iter().map(|item| self.scrub(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(name, member)| (text(name), self.scrub(member)))
                    .collect::<Map<_, _>>(),
            ),
            other => other,
        }
    }
}

impl fmt::Debug for ServiceSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl From<&str> for ServiceSecret {
    fn from(secret: &str) -> Self {
        Self::new(secret)
    }
}

impl From<String> for ServiceSecret {
    fn from(secret: String) -> Self {
        Self::new(secret)
    }
}

/// Reads a base URL: absolute, `http`, without query, and without the slash at its end.
pub(super) fn base_url(what: &'static str, url: &str) -> Result<String, AgentError> {
    let parsed = http_url(what, url)?;
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(AgentError::invalid(what, "a base URL has neither query nor fragment"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Reads a URL that this agent can speak to.
pub(super) fn http_url(what: &'static str, url: &str) -> Result<Url, AgentError> {
    let parsed = Url::parse(url).map_err(|error| AgentError::invalid(what, format!("{error}")))?;
    match parsed.scheme() {
        "http" => Ok(parsed),
        "https" => Err(AgentError::invalid(what, "`https` needs a proxy in between: there is no TLS here")),
        _ => Err(AgentError::invalid(what, "it does not begin with `http://`")),
    }
}
