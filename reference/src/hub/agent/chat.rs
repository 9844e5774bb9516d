//! One turn: the user says something, the model calls tools until it has an answer.
//!
//! The outcome of a call is sent to the model in a `tool` message, failures too: only the model can put them
//! into the user's terms. One thing is not left to it: a setup link reaches the user in any case.

use futures::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ChatError;
use super::failure::CallFailure;
use super::inputs::shown;
use super::model::Model;
use super::tool::AgentTool;
use super::{Agent, AgentCall, Outcome};
use crate::completion::ModelCall;

/// How often the model is asked in one turn.
const ROUNDS: usize = 8;
/// How many tools it may call at once.
const CALLS: usize = 16;
/// How much of a result the model is shown, in characters of JSON.
const RESULT_CHARACTERS: usize = 256 * 1024;

const INSTRUCTIONS: &str = "You are an assistant that works with tools. Call a tool when it is needed, with \
    exactly the inputs that it names. When a tool fails, say so plainly, pass on any setup link, and never \
    make up a result.";

/// What the user said, and who they are; also the body of `POST /v1/chat`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Turn {
    /// The user's words.
    pub message: String,
    /// The conversation that this is part of. Earlier turns are not remembered.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// Whose integrations are used; without one the customer of the configuration.
    #[serde(default)]
    pub customer_id: Option<String>,
    /// The end user within the customer's system.
    #[serde(default)]
    pub user_id: Option<String>,
}

impl Agent {
    /// Takes one turn: asks the model, calls the tools that it wants, and returns its reply.
    ///
    /// # Errors
    /// When there is no model, or none that answers with words in the rounds and the time there are.
    pub async fn chat(&self, turn: Turn) -> Result<String, ChatError> {
        let model = self.model.as_ref().ok_or(ChatError::NoModel)?;
        let after = self.turn_deadline;
        tokio::time::timeout(after, self.take_turn(model, &turn))
            .await
            .unwrap_or(Err(ChatError::Deadline { after }))
    }

    async fn take_turn(&self, model: &Model, turn: &Turn) -> Result<String, ChatError> {
        let mut messages = vec![
            json!({"role": "system", "content": INSTRUCTIONS}),
            json!({"role": "user", "content": turn.message}),
        ];
        let mut links = Vec::new();
        let mut last = None;
        for round in 1..=ROUNDS {
            let reply = model.ask(&messages).await?;
            last = reply.content.clone().or(last);
            // Calls of the last round are not made: their results would not be sent to the model.
            if reply.calls.is_empty() || round == ROUNDS {
                break;
            }
            messages.push(reply.as_message());
            let outcomes = join_all(reply.calls.iter().enumerate().map(|(at, called)| async move {
                if at < CALLS { self.call_for_model(turn, called).await } else { Err(too_many(called)) }
            }));
            for (called, outcome) in reply.calls.iter().zip(outcomes.await) {
                links.extend(outcome.as_ref().err().and_then(CallFailure::setup_url).map(str::to_owned));
                let content = tool_content(&outcome);
                messages.push(json!({"role": "tool", "tool_call_id": called.id, "content": content}));
            }
        }
        let reply = last.or_else(|| (!links.is_empty()).then(String::new)).ok_or(ChatError::Silent)?;
        Ok(with_links(reply, &links))
    }

    async fn call_for_model(&self, turn: &Turn, called: &ModelCall) -> Result<Outcome, CallFailure> {
        AgentTool::known(&called.name)?;
        let inputs = arguments(&called.arguments).map_err(|error| CallFailure::Inputs {
            tool: called.name.clone(),
            reason: format!("the arguments are no JSON: {error}"),
        })?;
        self.call(AgentCall {
            tool: called.name.clone(),
            inputs,
            customer_id: turn.customer_id.clone(),
            user_id: turn.user_id.clone(),
            conversation_id: turn.conversation_id.clone(),
        })
        .await
    }
}

fn too_many(called: &ModelCall) -> CallFailure {
    let reason = format!("there may be {CALLS} calls at once");
    CallFailure::Inputs { tool: shown(&called.name), reason }
}

/// The arguments as JSON; models write nothing at all where a tool takes nothing.
fn arguments(text: &str) -> Result<Value, serde_json::Error> {
    if text.trim().is_empty() { Ok(json!({})) } else { serde_json::from_str(text) }
}

/// What is sent to the model about a call.
fn tool_content(outcome: &Result<Outcome, CallFailure>) -> String {
    match outcome {
        Ok(outcome) => {
            let text = outcome.result.to_string();
            match text.char_indices().nth(RESULT_CHARACTERS) {
                None => text,
                Some((end, _)) => json!({"truncated": true, "beginning": text[..end]}).to_string(),
            }
        }
        Err(failure) => {
            let mut error = failure_document(failure);
            error["what_to_do"] = json!(failure.advice());
            json!({"error": error}).to_string()
        }
    }
}

/// A failure as the model and the drive hook receive it.
pub(super) fn failure_document(failure: &CallFailure) -> Value {
    let mut document = json!({"code": failure.code(), "message": failure.message()});
    if let Some(link) = failure.setup_url() {
        document["setup_url"] = json!(link);
    }
    document
}

/// The reply, and the links that the model left out.
fn with_links(mut reply: String, links: &[String]) -> String {
    for link in links {
        if !reply.contains(link) {
            if !reply.is_empty() {
                reply.push_str("\n\n");
            }
            reply.push_str("Set up the integration: ");
            reply.push_str(link);
        }
    }
    reply
}
