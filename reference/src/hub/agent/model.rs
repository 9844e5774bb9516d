//! The model: one request to an OpenAI-compatible API, `POST {model_url}/chat/completions`.
//!
//! Neighbour: `completion` reads the answer. Deliberately absent: streaming, an API key.

use std::time::Duration;

use reqwest::{Client, redirect};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::config::base_url;
use super::error::{AgentError, ChatError};
use super::fetch::{client, fetch};
use super::ids::new_id;
use super::tool::{AgentTool, TOOLS};
use crate::completion::ModelReply;

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

impl Model {
    pub(super) fn new(model_url: &str, name: String, deadline: Duration) -> Result<Self, AgentError> {
        Ok(Self {
            client: client("model_url", redirect::Policy::none())?,
            url: base_url("model_url", model_url)? + "/chat/completions",
            name,
            deadline,
            tools: TOOLS.iter().map(AgentTool::definition).collect(),
        })
    }

    /// Asks for the next message of a conversation.
    pub(super) async fn ask(&self, messages: &[Value]) -> Result<ModelReply, ChatError> {
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
        let reply = ModelReply::read(&answer.body, usize::MAX, || new_id("call"));
        reply.map(ModelReply::without_blanks).map_err(|reason| failed(reason.to_owned()))
    }
}
