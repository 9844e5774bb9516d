//! The language model tools `openrouter`, `venice` and `ollama_local` (Standard, "Output field access").
//!
//! The first two speak OpenAI's chat completions, the third the API of Ollama. Read in this order: `request` for what
//! a provider is asked, `exchange` for the one HTTP request, `answer` for what becomes of its answer.
//! Neighbour: [`tool`](super::tool) says what a tool is; the agent's own model uses `exchange` too.
//!
//! What a call says comes before what its configuration says, and that before the defaults.
//! Deliberately absent: streaming, functions, and a second attempt, which is the caller's decision.

mod answer;
pub(crate) mod exchange;
mod provider;
mod request;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use self::exchange::{Exchange, http_url};
pub use self::provider::{Price, Provider};
use super::tool::{Tool, ToolCall, ToolDefinition, ToolFailure};
use crate::environment::Environment;
use crate::secret::Secret;

/// How long a provider may think.
const DEADLINE: Duration = Duration::from_secs(55);

/// Where the providers are, and what is known of them.
#[derive(Debug, Clone)]
pub struct LlmConfig {
    /// Base URL of OpenRouter's API, up to and with its version.
    pub openrouter_url: String,
    /// Base URL of Venice's API, up to and with its version.
    pub venice_url: String,
    /// The host of Ollama, without a path.
    pub ollama_url: String,
    /// Where `OPENROUTER_API_KEY` and `VENICE_API_KEY` are looked up, for calls without a `config_id`.
    pub environment: Environment,
    /// For one answer of a provider, which must be shorter than what the runner allows a call.
    pub deadline: Duration,
    /// What a model costs, by its name, where the provider does not say it. Others cost nothing.
    pub prices: BTreeMap<String, Price>,
}

impl Default for LlmConfig {
    fn default() -> Self {
        Self {
            openrouter_url: "https://openrouter.ai/api/v1".to_owned(),
            venice_url: "https://api.venice.ai/api/v1".to_owned(),
            ollama_url: "http://127.0.0.1:11434".to_owned(),
            environment: Environment::default(),
            deadline: DEADLINE,
            prices: BTreeMap::new(),
        }
    }
}

/// Why the tools cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// The base URL of a provider. It is not shown: it may hold credentials.
    #[error("the base URL of `{tool}` cannot be used: {reason}")]
    Url {
        /// Which tool.
        tool: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// The three tools, in the Standard's order.
///
/// # Errors
///
/// When a base URL is not absolute, or neither `http` nor `https`.
pub fn tools(config: &LlmConfig) -> Result<Vec<Arc<dyn Tool>>, LlmError> {
    let tools = [Provider::OpenRouter, Provider::Venice, Provider::Ollama]
        .map(|provider| LanguageModel::new(provider, config).map(|tool| Arc::new(tool) as Arc<dyn Tool>));
    tools.into_iter().collect()
}

/// One of the three tools.
#[derive(Debug)]
pub struct LanguageModel {
    provider: Provider,
    definition: ToolDefinition,
    url: Url,
    exchange: Exchange,
    environment: Environment,
    prices: BTreeMap<String, Price>,
}

impl LanguageModel {
    /// The tool of this provider.
    ///
    /// # Errors
    ///
    /// When the base URL is not absolute, or neither `http` nor `https`.
    pub fn new(provider: Provider, config: &LlmConfig) -> Result<Self, LlmError> {
        let (base, path) = match provider {
            Provider::OpenRouter => (&config.openrouter_url, "/chat/completions"),
            Provider::Venice => (&config.venice_url, "/chat/completions"),
            Provider::Ollama => (&config.ollama_url, "/api/chat"),
        };
        let url = http_url(base, path).map_err(|reason| LlmError::Url { tool: provider.tool(), reason })?;
        Ok(Self {
            provider,
            definition: definition(provider),
            url,
            exchange: Exchange::new(config.deadline),
            environment: config.environment.clone(),
            prices: config.prices.clone(),
        })
    }

    async fn ask(&self, call: ToolCall) -> Result<Value, ToolFailure> {
        let tool = self.provider.tool();
        if let Some(other) =
            call.config.as_ref().and_then(|config| config.tool.as_deref()).filter(|name| *name != tool)
        {
            // Its key belongs to another provider, who alone may see it.
            return Err(ToolFailure::new(format!(
                "the configuration named is for `{other}`, not for `{tool}`"
            )));
        }
        let key = self.key(&call)?;
        let model = request::model(&call, self.provider);
        let body = request::body(&call, self.provider, &model)?;
        let answer = self
            .exchange
            .post_json(&self.url, key.as_ref(), &body)
            .await
            .map_err(|fault| ToolFailure::new(format!("`{tool}`: {fault}")))?;
        answer::output(self.provider, &answer, &model, key.as_ref(), &self.prices)
    }

    fn key(&self, call: &ToolCall) -> Result<Option<Secret>, ToolFailure> {
        let tool = self.provider.tool();
        match (&call.config, self.provider.key_variable()) {
            (Some(config), None) => Ok(config.key.clone()),
            (None, None) => Ok(None),
            (Some(config), Some(_)) => match &config.key {
                Some(key) => Ok(Some(key.clone())),
                None => Err(ToolFailure::new(format!(
                    "the configuration named for `{tool}` has no API key: its `tool.config.v1` must name one"
                ))),
            },
            (None, Some(variable)) => match self.environment.get(variable) {
                Some(key) => Ok(Some(key)),
                None => Err(ToolFailure::new(format!(
                    "`{tool}` needs an API key: name a `tool.config.v1` by `config_id`, or set `{variable}`"
                ))),
            },
        }
    }
}

impl Tool for LanguageModel {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(self.ask(call))
    }
}

fn definition(provider: Provider) -> ToolDefinition {
    let tokens = json!({"type": "integer", "minimum": 0});
    ToolDefinition {
        name: provider.tool().to_owned(),
        description: provider.description().to_owned(),
        category: "llm".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "messages": {
                    "type": "array",
                    "minItems": 1,
                    "description": "The conversation, oldest message first.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "role": {"type": "string", "description": "`system`, `user` or `assistant`."},
                            "content": {"type": ["string", "array"], "description": "What was said."}
                        },
                        "required": ["role", "content"]
                    }
                },
                "model": {"type": "string", "minLength": 1, "description": "Which model is asked."},
                "temperature": {"type": "number", "minimum": 0},
                "max_tokens": {"type": "integer", "minimum": 1, "description": "How much it may say."}
            },
            "required": ["messages"]
        }),
        output_schema: json!({
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "What the model said."},
                "model": {"type": "string", "description": "Which model said it."},
                "usage": {
                    "type": "object",
                    "properties": {
                        "prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": tokens
                    },
                    "required": ["total_tokens"]
                },
                "cost_estimate": {"type": "number", "minimum": 0, "description": "In USD."}
            },
            "required": ["content", "model", "usage", "cost_estimate"]
        }),
    }
}
