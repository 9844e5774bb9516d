//! The model: one request to an OpenAI-compatible API, `POST {model_url}/chat/completions`.
//!
//! Read leniently, since servers differ: arguments may be text or already an object, ids may be missing.
//! Deliberately absent: streaming, an API key.

use std::time::Duration;

use reqwest::{Client, redirect};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::chat::ChatError;
use super::config::{AgentError, base_url};
use super::fetch::{client, fetch};
use super::ids::new_id;
use super::tool::{TOOLS, Tool};

/// How much a model may answer.
const ANSWER_BYTES: usize = 2 * 1024 * 1024;

/// The agent's line to its model.
pub(super) struct Model {
    client: Client,
    url: String,
    name: String,
    deadline: Duration,
    tools: Vec<Value>,
}

/// What the model said.
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
    pub(super) fn new(model_url: &str, name: String, deadline: Duration) -> Result<Self, AgentError> {
        Ok(Self {
            client: client("model_url", redirect::Policy::none())?,
            url: base_url("model_url", model_url)? + "/chat/completions",
            name,
            deadline,
            tools: TOOLS.iter().map(Tool::definition).collect(),
        })
    }

    /// Asks for the next message of a conversation.
    pub(super) async fn ask(&self, messages: &[Value]) -> Result<Said, ChatError> {
        let failed = |reason: String| ChatError::Model { reason };
        let body = json!({"model": self.name, "messages": messages, "tools": self.tools, "stream": false});
        let request = self.client.post(&self.url).json(&body);
        let answer = fetch(request, ANSWER_BYTES, Instant::now() + self.deadline)
            .await
            .map_err(|fault| failed(fault.into_reason(self.deadline)))?;
        if !answer.is_success() {
            return Err(failed(format!("status {}", answer.status)));
        }
        if answer.cut {
            return Err(failed(format!("the answer is larger than {ANSWER_BYTES} bytes")));
        }
        let completion: Completion = serde_json::from_slice(&answer.body)
            .map_err(|_| failed("the answer is no chat completion".to_owned()))?;
        let choice = completion.choices.into_iter().next();
        choice
            .map(|choice| choice.message.into())
            .ok_or_else(|| failed("there is no choice in it".to_owned()))
    }
}

impl From<Message> for Said {
    fn from(message: Message) -> Self {
        let content = message.content.as_ref().and_then(Value::as_str);
        let calls = message.tool_calls.unwrap_or_default().into_iter().map(|call| Called {
            id: call.id.filter(|id| !id.is_empty()).unwrap_or_else(|| new_id("call")),
            name: call.function.name,
            arguments: match call.function.arguments {
                Value::String(text) => text,
                // Left out by servers whose models call a tool that takes nothing.
                Value::Null => String::new(),
                object => object.to_string(),
            },
        });
        Self {
            content: content.filter(|text| !text.trim().is_empty()).map(str::to_owned),
            calls: calls.collect(),
        }
    }
}

impl Said {
    /// As a message of the conversation that goes on.
    pub(super) fn as_message(&self) -> Value {
        let calls: Vec<_> = self
            .calls
            .iter()
            .map(|call| {
                json!({"id": call.id, "type": "function",
                       "function": {"name": call.name, "arguments": call.arguments}})
            })
            .collect();
        json!({"role": "assistant", "content": self.content, "tool_calls": calls})
    }
}
