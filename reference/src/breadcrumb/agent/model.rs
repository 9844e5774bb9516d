//! The language model: one request to an OpenAI-compatible API, `POST {model_url}/chat/completions`.
//!
//! Read even more leniently than by `completion`: what of a call is missing is the call's affair, not the answer's.
//! Deliberately absent: streaming and a second attempt.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use super::config::AgentError;
use crate::breadcrumb::llm::exchange::{Exchange, http_url};
use crate::completion::{ModelCall, ModelReply, arguments};
use crate::secret::Secret;

/// How many calls of one answer are looked at.
const MAX_CALLS: usize = 32;

/// A model that decides; the conversation does not depend on which.
pub(super) trait ModelClient: Send + Sync {
    /// The next message of a conversation, or in a few words why there is none.
    fn ask(&self, messages: Vec<Value>, functions: Vec<Value>) -> BoxFuture<'_, Result<ModelReply, String>>;
}

/// A model behind HTTP.
pub(super) struct HttpModel {
    url: Url,
    name: String,
    key: Option<Secret>,
    exchange: Exchange,
}

impl HttpModel {
    pub(super) fn new(
        base: &str,
        name: String,
        key: Option<Secret>,
        deadline: Duration,
    ) -> Result<Self, AgentError> {
        let url = http_url(base, "/chat/completions")
            .map_err(|reason| AgentError::Config { what: "model_url", reason })?;
        Ok(Self { url, name, key, exchange: Exchange::new(deadline) })
    }

    async fn complete(&self, messages: Vec<Value>, functions: Vec<Value>) -> Result<ModelReply, String> {
        let mut body = json!({"model": self.name, "messages": messages, "stream": false});
        // An empty array is refused by some servers.
        if !functions.is_empty() {
            body["tools"] = Value::Array(functions);
        }
        let answer = self.exchange.post_json(&self.url, self.key.as_ref(), &body).await;
        let answer = answer.map_err(|fault| fault.to_string())?;
        if !(200..300).contains(&answer.status) {
            return Err(format!("it answered with status {}", answer.status));
        }
        let message = answer.body.as_ref().and_then(|body| body.pointer("/choices/0/message"));
        message.and_then(read).ok_or_else(|| "its answer is no chat completion".to_owned())
    }
}

impl ModelClient for HttpModel {
    fn ask(&self, messages: Vec<Value>, functions: Vec<Value>) -> BoxFuture<'_, Result<ModelReply, String>> {
        Box::pin(self.complete(messages, functions))
    }
}

/// A message, in which a call without an id is named by its place.
fn read(message: &Value) -> Option<ModelReply> {
    let message = message.as_object()?;
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let calls = calls.take(MAX_CALLS).enumerate().map(|(at, call)| ModelCall {
        id: match call["id"].as_str() {
            Some(id) if !id.trim().is_empty() => id.to_owned(),
            _ => format!("call_{}", at + 1),
        },
        name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
        arguments: arguments(&call["function"]["arguments"]),
    });
    let content = message.get("content").and_then(Value::as_str).map(str::to_owned);
    Some(ModelReply { content, calls: calls.collect() }.without_blanks())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;

    #[test]
    fn messages_are_read_as_servers_write_them() {
        fn check(message: &Value, content: Option<&str>, calls: &[(&str, &str, &str)]) {
            let reply = read(message).expect("a message");
            let read = reply.calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments));
            assert_eq!((reply.content.as_deref(), read.collect::<Vec<_>>().as_slice()), (content, calls));
        }
        check(&json!({"content": "42"}), Some("42"), &[]);
        check(&json!({"content": " ", "tool_calls": null}), None, &[]);
        let calls = json!([
            {"id": "c7", "function": {"name": "echo", "arguments": "{}"}},
            {"function": {"name": "random", "arguments": {"input": {}}}},
            {"id": "", "function": {"name": "random"}}
        ]);
        let expect =
            [("c7", "echo", "{}"), ("call_2", "random", r#"{"input":{}}"#), ("call_3", "random", "")];
        check(&json!({"content": null, "tool_calls": calls}), None, &expect);
        assert_eq!(read(&json!("42")), None);
    }
}
