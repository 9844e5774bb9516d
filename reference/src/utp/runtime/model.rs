//! The model: one request to an OpenAI-compatible API, `POST {model_url}/chat/completions`.
//!
//! Neighbour: `completion` reads the answer.
//! Deliberately absent: streaming, and a second attempt, since the turn's caller decides what a failed turn is worth.

use std::time::Duration;

use reqwest::{Client, redirect};
use serde_json::{Value, json};

use crate::completion::ModelReply;
use crate::secret::Secret;
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
    pub(super) async fn ask(&self, messages: &[Value], tools: &[Value]) -> Result<ModelReply, String> {
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
        ModelReply::read(&answer, MAX_CALLS, || new_id("call")).map_err(str::to_owned)
    }
}
