//! One session, without input and output: input goes in, the next action comes out.
//!
//! A turn begins with a message of the user and ends with a message of the agent that calls nothing, or with calls
//! whose results are all for the user. In between the model is asked, its calls are said in one invocation, and the
//! answers are paired with them by `request_id`, in whatever order they come.
//!
//! Where one call of a message has a fault, none of them is made: the model is shown the fault and calls again, so
//! that nothing happens twice and every input leads to one utterance at most.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::check::{Wanted, check};
use super::ids::IdGenerator;
use super::knowledge::Known;
use super::offer::instructions;
use super::utterance::{Request, Utterance};
use crate::breadcrumb::client::Breadcrumb;
use crate::completion::ModelReply;

/// How often the model is asked in one turn.
const ROUNDS: usize = 16;
/// How many turns are remembered.
const TURNS: usize = 24;
/// How much of one answer the model gets to see.
const ANSWER_CHARS: usize = 64 * 1024;

/// What is to be done next.
#[derive(Debug, PartialEq)]
pub(super) enum Act {
    /// Ask the model [`Conversation::question`].
    Ask,
    /// Send this; then wait for input.
    Send(Utterance),
    /// Nothing until the next input.
    Wait,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Response {
    pub(super) request_id: String,
    pub(super) outcome: Result<Value, String>,
}

/// A session's state.
#[derive(Debug)]
pub(super) struct Conversation {
    session: String,
    /// Each with its messages, oldest first; whole turns are forgotten, so that no answer loses its call.
    turns: VecDeque<Vec<Value>>,
    phase: Phase,
    /// How often the model was asked in this turn.
    rounds: usize,
}

#[derive(Debug, PartialEq)]
enum Phase {
    Idle,
    Thinking,
    /// In the order of the model's calls.
    Waiting(Vec<Open>),
}

/// A call of the model that was made.
#[derive(Debug, PartialEq)]
struct Open {
    call_id: String,
    request_id: String,
    tool: String,
    /// What is sent to the model about it, once that is known.
    result: Option<Value>,
}

impl Response {
    /// Reads a `tool.response.v1`; nothing where it answers no request.
    ///
    /// The status comes first: what an error has in `output` is not looked at.
    pub(super) fn read(breadcrumb: &Breadcrumb) -> Option<Self> {
        let context = &breadcrumb.context;
        let text = |name: &str| context.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let outcome = match text("status") {
            Some("success") => Ok(context.get("output").cloned().unwrap_or_default()),
            Some("error") => Err(text("error").unwrap_or("the tool failed and does not say why").to_owned()),
            _ => Err("the answer says neither success nor error".to_owned()),
        };
        Some(Self { request_id: text("request_id")?.to_owned(), outcome })
    }
}

impl Conversation {
    pub(super) fn new(session: impl Into<String>) -> Self {
        Self { session: session.into(), turns: VecDeque::new(), phase: Phase::Idle, rounds: 0 }
    }

    /// Whether a message of the user would begin a turn.
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether answers of tools are to come.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting(_))
    }

    /// What the model is asked: all that was said, the instructions first.
    pub(super) fn question(&self, known: &Known) -> Vec<Value> {
        std::iter::once(instructions(known)).chain(self.turns.iter().flatten().cloned()).collect()
    }

    /// The user said something, in an idle conversation.
    pub(super) fn message(&mut self, text: &str) -> Act {
        if self.turns.len() >= TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back(vec![json!({"role": "user", "content": text})]);
        self.rounds = 0;
        self.think()
    }

    /// The model said something, or failed.
    pub(super) fn model_replied(
        &mut self,
        reply: Result<ModelReply, String>,
        known: &Known,
        ids: &IdGenerator,
    ) -> Act {
        let reply = match reply {
            Ok(reply) => reply,
            Err(reason) => {
                return self.end(format!("I cannot answer this: my language model failed ({reason})."));
            }
        };
        if reply.calls.is_empty() {
            return self.end(reply.content.unwrap_or_else(|| "I have no answer to this.".to_owned()));
        }
        if self.rounds >= ROUNDS {
            return self.end(format!("I gave this up: after {ROUNDS} rounds I still had no answer."));
        }
        let checked: Vec<_> = reply.calls.iter().map(|called| check(called, known)).collect();
        self.remember(reply.as_message());
        if checked.iter().any(Result::is_err) {
            for (called, outcome) in reply.calls.iter().zip(checked) {
                let fault = outcome.err().unwrap_or_else(|| {
                    "not called, since another call of the same message cannot be made".to_owned()
                });
                let result = json!({"status": "error", "tool": called.name, "error": fault});
                self.remember(tool_message(&called.id, &result));
            }
            return self.think();
        }
        let wanted: Vec<Wanted> = checked.into_iter().filter_map(Result::ok).collect();
        let message = meanwhile(&reply, &wanted);
        let requests: Vec<_> = wanted.into_iter().map(|wanted| request(wanted, ids)).collect();
        let open = reply.calls.iter().zip(&requests).map(|(called, request)| Open {
            call_id: called.id.clone(),
            request_id: request.request_id.clone(),
            tool: request.tool.clone(),
            result: (!request.return_to_llm).then(|| {
                json!({"status": "sent", "tool": request.tool, "note": "the result goes to the user directly"})
            }),
        });
        self.phase = Phase::Waiting(open.collect());
        if requests.iter().all(|request| !request.return_to_llm) {
            // Their results are not shown to the model; the turn is over when they are sent.
            self.close();
        }
        Act::Send(Utterance { session: self.session.clone(), message, requests })
    }

    /// A tool answered. An answer to no open call does nothing.
    pub(super) fn answered(&mut self, response: Response) -> Act {
        let Phase::Waiting(open) = &mut self.phase else { return Act::Wait };
        let call =
            open.iter_mut().find(|call| call.request_id == response.request_id && call.result.is_none());
        let Some(call) = call else { return Act::Wait };
        call.result = Some(match response.outcome {
            Ok(output) => json!({"status": "success", "tool": call.tool, "output": output}),
            Err(error) => json!({"status": "error", "tool": call.tool, "error": error}),
        });
        self.ask_when_complete()
    }

    /// No further answer is waited for.
    pub(super) fn timed_out(&mut self, reason: &str) -> Act {
        let Phase::Waiting(open) = &mut self.phase else { return Act::Wait };
        for call in open.iter_mut().filter(|call| call.result.is_none()) {
            call.result = Some(json!({"status": "error", "tool": call.tool, "error": reason}));
        }
        self.ask_when_complete()
    }

    /// What was to be said could not be; the turn is as if it had not been.
    pub(super) fn abandon(&mut self) {
        self.turns.pop_back();
        self.phase = Phase::Idle;
    }

    fn think(&mut self) -> Act {
        self.rounds += 1;
        self.phase = Phase::Thinking;
        Act::Ask
    }

    fn ask_when_complete(&mut self) -> Act {
        match &self.phase {
            Phase::Waiting(open) if open.iter().all(|call| call.result.is_some()) => {
                self.close();
                self.think()
            }
            _ => Act::Wait,
        }
    }

    /// Sends the model the outcomes of its calls, in their order.
    fn close(&mut self) {
        if let Phase::Waiting(open) = std::mem::replace(&mut self.phase, Phase::Idle) {
            for call in open {
                self.remember(tool_message(&call.call_id, &call.result.unwrap_or_default()));
            }
        }
    }

    fn end(&mut self, message: String) -> Act {
        self.remember(json!({"role": "assistant", "content": message}));
        self.phase = Phase::Idle;
        Act::Send(Utterance { session: self.session.clone(), message, requests: Vec::new() })
    }

    fn remember(&mut self, message: Value) {
        if let Some(turn) = self.turns.back_mut() {
            turn.push(message);
        }
    }
}

fn request(wanted: Wanted, ids: &IdGenerator) -> Request {
    Request {
        request_id: ids.id(&wanted.tool),
        tool: wanted.tool,
        input: wanted.input,
        return_to_llm: wanted.return_to_llm,
        config_id: wanted.config_id,
    }
}

/// What the user reads while tools work: the model's words, those in its calls, or ours.
fn meanwhile(reply: &ModelReply, wanted: &[Wanted]) -> String {
    if let Some(content) = &reply.content {
        return content.clone();
    }
    let mut messages: Vec<&str> = wanted.iter().filter_map(|wanted| wanted.message.as_deref()).collect();
    messages.dedup();
    if messages.is_empty() {
        let tools: Vec<_> = wanted.iter().map(|wanted| wanted.tool.as_str()).collect();
        format!("One moment, I am using {}.", tools.join(", "))
    } else {
        messages.join(" ")
    }
}

fn tool_message(call_id: &str, result: &Value) -> Value {
    let mut content = result.to_string();
    if let Some((end, _)) = content.char_indices().nth(ANSWER_CHARS) {
        content.truncate(end);
        content.push_str("… (the rest is left out)");
    }
    json!({"role": "tool", "tool_call_id": call_id, "content": content})
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
