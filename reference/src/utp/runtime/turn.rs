//! One turn: the model is asked, its calls are made, their results go back to it, until the turn ends (UTP §3.1).
//!
//! A turn is one task. `worker` holds what it is about, `round` makes the calls of one answer and waits for them, `ending` writes down what is left.
//! A call that fails is reported to the model; a model that fails ends the turn.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::ending::TurnEnding;
use super::offer::{SUBMIT_RESULT, specifications};
use super::round::Round;
use super::worker::{Turn, Worker};
use crate::completion::ModelCall;
use crate::utp::platform::attempt;

/// How often the model is asked in one turn.
const MAX_ROUNDS: usize = 16;

const INSTRUCTIONS: &str = "You are an agent that works with tools. Call a tool when it is needed. When a tool \
    fails, say so plainly. When you are done, answer, or hand over your result with submit_result.";

impl Worker {
    /// Takes a turn to its end.
    pub(super) async fn run(&self, mut turn: Turn) {
        let mut closing = self.closing.clone();
        let ending = tokio::select! {
            biased;
            // An error means that the runtime was dropped.
            _ = closing.wait_for(|closing| *closing) => TurnEnding::canceled(),
            ending = self.work(&mut turn) => ending,
        };
        self.end(&turn, ending).await;
    }

    async fn work(&self, turn: &mut Turn) -> TurnEnding {
        let rows = match attempt(self.delivery_deadline, || self.platform.tools_list(&turn.project)).await {
            Ok(rows) => rows,
            Err(error) => return TurnEnding::failed("upstream_unavailable", &format!("no tools: {error}")),
        };
        let mut messages = vec![
            json!({"role": "system", "content": INSTRUCTIONS}),
            json!({"role": "user", "content": turn.instruction}),
        ];
        let mut used = HashSet::new();
        for _ in 0..MAX_ROUNDS {
            // Not kept while the turn waits for its calls: thousands of turns may wait.
            let asked = self.model.ask(&messages, &specifications(&rows)).await;
            let mut reply = match asked {
                Ok(reply) => reply,
                Err(reason) => {
                    return TurnEnding::failed(
                        "upstream_unavailable",
                        &format!("the model failed: {reason}"),
                    );
                }
            };
            make_unique(&mut reply.calls, &mut used);
            if let Some(submission) = reply.calls.iter().find(|call| call.name == SUBMIT_RESULT) {
                return TurnEnding::submitted(&submission.arguments);
            }
            if reply.calls.is_empty() {
                return TurnEnding::replied(reply.content);
            }
            messages.push(reply.as_message());
            match self.round(turn, &rows, &reply.calls).await {
                Round::Ended(ending) => return ending,
                Round::Answered(answers) => messages.extend(tool_messages(&reply.calls, answers)),
            }
        }
        TurnEnding::failed("too_many_rounds", &format!("the model called tools {MAX_ROUNDS} times"))
    }
}

/// Gives a call another id where the turn has used it before: ids are what callbacks are known by (UTP §3.2).
fn make_unique(calls: &mut [ModelCall], used: &mut HashSet<String>) {
    for call in calls {
        let base = call.id.clone();
        let mut number = 2;
        while !used.insert(call.id.clone()) {
            call.id = format!("{base}_{number}");
            number += 1;
        }
    }
}

fn tool_messages(calls: &[ModelCall], answers: Vec<String>) -> impl Iterator<Item = Value> {
    calls.iter().zip(answers).map(|(call, answer)| {
        json!({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": answer})
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::make_unique;
    use crate::completion::ModelCall;

    #[test]
    fn no_id_is_used_twice_in_a_turn() {
        let mut used = HashSet::new();
        let mut ids = |ids: &[&str]| -> Vec<String> {
            let called = |id: &&str| ModelCall {
                id: (*id).to_owned(),
                name: "t".to_owned(),
                arguments: String::new(),
            };
            let mut calls: Vec<ModelCall> = ids.iter().map(called).collect();
            make_unique(&mut calls, &mut used);
            calls.into_iter().map(|call| call.id).collect()
        };
        assert_eq!(ids(&["a", "b", "a"]), ["a", "b", "a_2"]);
        assert_eq!(ids(&["a", "c"]), ["a_3", "c"]);
    }
}
