//! The model: one request to an OpenAI-compatible API, `POST {model_url}/chat/completions`.
//!
//! Read leniently, since servers differ: arguments may be text or already an object, ids may be missing.
//! Deliberately absent: streaming, and a second attempt, since the turn's caller decides what a failed turn is worth.

use std::time::Duration;

use reqwest::{Client, redirect};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::utp::environment::Secret;
use crate::utp::error::ReferenceError;
use crate::utp::ident::new_id;

/// How much a model may answer.
const MAX_COMPLETION: usize = 4 * 1024 * 1024;

/// How many calls of one answer are looked at.
const MAX_CALLS: usize = 64;

/// The worker's line to its model.
pub(super) struct Model {
    client: Client,
    url: String,
    name: String,
    key: Option<Secret>,
    deadline: Duration,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) content: Option<String>,
    pub(super) calls: Vec<Called>,
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    /// As the model wrote them; often JSON.
    pub(super) arguments: String,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    tool_calls: Option<Vec<MessageCall>>,
}

#[derive(Deserialize)]
struct MessageCall {
    #[serde(default)]
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Model {
    pub(super) fn new(
        model_url: &str,
        name: String,
        key: Option<Secret>,
        deadline: Duration,
    ) -> Result<Self, ReferenceError> {
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(deadline)
            .build()
            .map_err(|error| ReferenceError::Unexpected {
                what: "model client",
                reason: error.to_string(),
            })?;
        let url = format!("{}/chat/completions", model_url.trim_end_matches('/'));
        Ok(Self { client, url, name, key, deadline })
    }

    /// Asks for the next message of a conversation, or says why there is none.
    pub(super) async fn ask(&self, messages: &[Value], tools: &[Value]) -> Result<Said, String> {
        let body = json!({"model": self.name, "messages": messages, "tools": tools, "stream": false});
        let mut request = self.client.post(&self.url).json(&body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose());
        }
        let failed = |error: reqwest::Error| {
            if error.is_timeout() {
                format!("no answer within {:?}", self.deadline)
            } else {
                "not reachable".to_owned()
            }
        };
        let mut response = request.send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if answer.len() + chunk.len() > MAX_COMPLETION {
                return Err(format!("the answer is longer than {MAX_COMPLETION} bytes"));
            }
            answer.extend_from_slice(&chunk);
        }
        let completion: Completion =
            serde_json::from_slice(&answer).map_err(|_| "the answer is no chat completion".to_owned())?;
        let choice = completion.choices.into_iter().next();
        choice
            .map(|choice| choice.message.into())
            .ok_or_else(|| "there is no choice in the answer".to_owned())
    }
}

impl From<Message> for Said {
    fn from(message: Message) -> Self {
        let calls = message.tool_calls.unwrap_or_default().into_iter().take(MAX_CALLS);
        let calls = calls.map(|call| Called {
            id: call.id.filter(|id| !id.trim().is_empty()).unwrap_or_else(|| new_id("call")),
            name: call.function.name,
            arguments: match call.function.arguments {
                Value::String(text) => text,
                // Left out by servers whose models call a tool that takes nothing.
                Value::Null => String::new(),
                object => object.to_string(),
            },
        });
        Self {
            content: message.content.as_ref().and_then(Value::as_str).map(str::to_owned),
            calls: calls.collect(),
        }
    }
}

impl Said {
    /// As a message of the conversation that goes on.
    pub(super) fn as_message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|call| {
                json!({"id": call.id, "type": "function",
                       "function": {"name": call.name, "arguments": call.arguments}})
            });
            message["tool_calls"] = calls.collect();
        }
        message
    }
}
