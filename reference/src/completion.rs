//! What a language model answers, `POST …/chat/completions` of an OpenAI-compatible API, as the three agents read it.
//!
//! Read leniently, since servers differ: arguments may be text or already an object, ids may be missing.
//! Deliberately absent: the request, in which the agents differ.

use serde::Deserialize;
use serde_json::{Value, json};

/// A reply of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelReply {
    pub(crate) content: Option<String>,
    pub(crate) calls: Vec<ModelCall>,
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelCall {
    pub(crate) id: String,
    pub(crate) name: String,
    /// As the model wrote them; often JSON.
    pub(crate) arguments: String,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: ChoiceMessage,
}

#[derive(Deserialize)]
struct ChoiceMessage {
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

impl ModelReply {
    /// Reads a completion, of which `most` calls are looked at; `new_id` names a call that has no id.
    pub(crate) fn read(body: &[u8], most: usize, new_id: impl Fn() -> String) -> Result<Self, &'static str> {
        let completion: Completion =
            serde_json::from_slice(body).map_err(|_| "the answer is no chat completion")?;
        let choice = completion.choices.into_iter().next().ok_or("there is no choice in the answer")?;
        let calls = choice.message.tool_calls.unwrap_or_default().into_iter().take(most);
        let calls = calls.map(|call| ModelCall {
            id: call.id.filter(|id| !id.trim().is_empty()).unwrap_or_else(&new_id),
            name: call.function.name,
            arguments: arguments(&call.function.arguments),
        });
        let content = choice.message.content.as_ref().and_then(Value::as_str);
        Ok(Self { content: content.map(str::to_owned), calls: calls.collect() })
    }

    /// Without a text that shows nothing.
    pub(crate) fn without_blanks(mut self) -> Self {
        self.content = self.content.filter(|text| !text.trim().is_empty());
        self
    }

    /// As a message of the conversation that goes on.
    pub(crate) fn as_message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        // An empty array is refused by some servers.
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

/// The arguments of a call as text.
pub(crate) fn arguments(given: &Value) -> String {
    match given {
        Value::String(text) => text.clone(),
        // Left out by servers whose models call a tool that takes nothing.
        Value::Null => String::new(),
        object => object.to_string(),
    }
}
