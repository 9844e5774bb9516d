//! The calls of one answer of the model: made, waited for, consumed (UTP §3.1, §4.1, §4.2).
//!
//! Card before command, and every call is waited for before its command is out.
//! A callback counts once: `turns` hands on the first and no other.

use std::mem;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::dispatch::{Prepared, prepare};
use super::ending::TurnEnding;
use super::resume::{ToolResult, failed_message, pointer, read_card};
use super::turns::{CallKey, EPOCH, Waiting};
use super::worker::{Turn, Worker};
use crate::completion::ModelCall;
use crate::utp::ident::{hex, new_id, timestamp};
use crate::utp::message::{AfterExecution, Callback, InboxRecord, Status, ToolRow};
use crate::utp::platform::attempt;
use crate::utp::revision::{command, report};
use crate::utp::subject::ProjectId;
use crate::utp::trace::Traceparent;

/// How often a card that a callback points to is looked for, and the wait before the second look; it doubles.
const CARD_LOOKS: u32 = 4;
const CARD_BACKOFF: Duration = Duration::from_millis(50);

/// What became of the calls.
pub(super) enum Round {
    /// All have an answer for the model, in the order of the calls.
    Answered(Vec<String>),
    /// One of them ended the turn.
    Ended(TurnEnding),
}

/// A call whose command is out.
struct Outstanding {
    /// Its place in the model's answer.
    index: usize,
    key: CallKey,
    prepared: Prepared,
    /// Counts from when the commands of the round are out.
    deadline: Instant,
}

/// Stops waiting when the round is over, however it ends.
struct Expecting<'a> {
    waiting: &'a Waiting,
    calls: Vec<Outstanding>,
}

impl Drop for Expecting<'_> {
    fn drop(&mut self) {
        for call in &self.calls {
            self.waiting.remove(&call.key);
        }
    }
}

impl Worker {
    /// Makes the calls and waits for all of them, or for the one that ends the turn.
    pub(super) async fn round(&self, turn: &mut Turn, rows: &[ToolRow], calls: &[ModelCall]) -> Round {
        let step_id = new_id("step");
        let (sender, mut arrivals) = unbounded_channel();
        let mut answers: Vec<Option<String>> = vec![None; calls.len()];
        let mut expecting = Expecting { waiting: &self.waiting, calls: Vec::new() };
        for (index, called) in calls.iter().enumerate() {
            match prepare(turn, &step_id, rows, called) {
                Ok(prepared) => {
                    let key = call_key(turn, &called.id);
                    expecting.calls.push(Outstanding { index, key, prepared, deadline: Instant::now() });
                }
                Err(reason) => answers[index] = Some(failed_message("bad_request", &reason)),
            }
        }
        let mut unsent = Vec::new();
        for call in &mut expecting.calls {
            if let Err(reason) = self.send(turn, call, &sender).await {
                unsent.push(call.index);
                answers[call.index] = Some(failed_message("upstream_unavailable", &reason));
            }
        }
        expecting.calls.retain(|call| !unsent.contains(&call.index));
        for call in &mut expecting.calls {
            call.deadline = Instant::now() + call.prepared.deadline.unwrap_or(self.call_deadline);
        }
        while let Some(first) = expecting.calls.iter().min_by_key(|call| call.deadline) {
            let record = tokio::select! {
                biased;
                record = arrivals.recv() => record,
                () = sleep_until(first.deadline) => {
                    if let Err(reason) = self.expire(turn, first).await {
                        let index = first.index;
                        (self.log)(&format!("call `{}` has no result: {reason}", first.key.tool_call_id));
                        self.waiting.remove(&first.key);
                        expecting.calls.retain(|call| call.index != index);
                        answers[index] = Some(failed_message("tool_timeout", "no answer in time"));
                    }
                    None
                }
            };
            let Some(record) = record else {
                continue;
            };
            let Some(place) = expecting.calls.iter().position(|call| answered_by(call, &record)) else {
                continue;
            };
            let call = expecting.calls.remove(place);
            continue_trace(turn, &record);
            match self.consume(turn, &call, &record).await {
                Ok(result) if result.after_execution == AfterExecution::Terminate => {
                    return Round::Ended(TurnEnding::by_tool(&result));
                }
                Ok(result) => answers[call.index] = Some(result.message()),
                Err(reason) => {
                    (self.log)(&format!("callback of `{}` not consumed: {reason}", call.key.tool_call_id));
                    answers[call.index] = Some(failed_message("invalid_result", &reason));
                }
            }
        }
        Round::Answered(answers.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Saves the card, then publishes the command that points to it. What the command says is not kept.
    async fn send(
        &self,
        turn: &Turn,
        call: &mut Outstanding,
        arrivals: &UnboundedSender<Box<InboxRecord>>,
    ) -> Result<(), String> {
        let Prepared { subject, revision, card, identity, business, .. } = &mut call.prepared;
        attempt(self.delivery_deadline, || self.platform.save_card(&turn.project, card))
            .await
            .map_err(|error| format!("the tool.call card is not saved: {error}"))?;
        self.waiting.add(call.key.clone(), (&turn.agent_id, turn.depth()), arrivals.clone());
        let trace = turn.headers.child();
        let (command, headers) =
            command::written(*revision, turn.place(), identity, mem::take(business), &trace);
        let payload = command.to_string().into();
        let published = self.client.publish_with_headers(subject.clone(), headers.to_nats(), payload).await;
        published.map_err(|error| {
            self.waiting.remove(&call.key);
            format!("the command is not published: {error}")
        })
    }

    /// Follows the callback's pointer; status, error and result are what the card says.
    async fn consume(
        &self,
        turn: &Turn,
        call: &Outstanding,
        record: &InboxRecord,
    ) -> Result<ToolResult, String> {
        let card_id = report::callback(record).and_then(pointer)?;
        let card = self.card(turn, &card_id).await?;
        let mut result = read_card(&card, &call.key.tool_call_id)?;
        result.card_id = card_id;
        Ok(result)
    }

    /// Looks for a card; one that is not there yet is looked for again, a few times.
    async fn card(&self, turn: &Turn, card_id: &str) -> Result<Value, String> {
        let wanted = [card_id.to_owned()];
        let mut backoff = CARD_BACKOFF;
        for look in 1..=CARD_LOOKS {
            let batch = attempt(self.delivery_deadline, || self.platform.cards(&turn.project, &wanted))
                .await
                .map_err(|error| format!("the result card cannot be read: {error}"))?;
            let of_project =
                |card: &Value| card.get("project_id").is_none_or(|id| id == turn.project.as_str());
            let card = batch.cards.into_iter().find(|card| card["card_id"] == card_id && of_project(card));
            if let Some(card) = card {
                return Ok(card);
            }
            if look < CARD_LOOKS {
                sleep_until(Instant::now() + backoff).await;
                backoff *= 2;
            }
        }
        Err(format!("there is no card `{card_id}`"))
    }

    /// A call's time is over: unless its result has come after all, the runtime answers in the tool's stead.
    async fn expire(&self, turn: &Turn, call: &Outstanding) -> Result<(), String> {
        self.sweep(turn).await?;
        if !self.waiting.contains(&call.key) {
            return Ok(());
        }
        let (card, callback) = timeout_answer(turn, call);
        let trace = turn.headers.child();
        let (report, headers) =
            report::written(call.prepared.revision, turn.place(), &turn.agent_id, &callback, &trace);
        // Our card's id follows from the call, so that a second try writes no second card.
        attempt(self.delivery_deadline, || self.platform.save_card(&turn.project, &card))
            .await
            .map_err(|error| format!("the timeout card is not saved: {error}"))?;
        self.mail.report(&turn.project, &turn.channel, &report, &headers).await?;
        // Not left to the wakeup alone, which may go to another worker or get lost.
        self.sweep(turn).await?;
        if self.waiting.contains(&call.key) { Err("the report did not arrive".to_owned()) } else { Ok(()) }
    }

    async fn sweep(&self, turn: &Turn) -> Result<(), String> {
        self.look_into_inbox(&turn.project, &turn.agent_id).await
    }

    /// Hands the records of an agent's Inbox to the turns that wait for them.
    pub(super) async fn look_into_inbox(&self, project: &ProjectId, agent_id: &str) -> Result<(), String> {
        if !self.waiting.concerns(project.as_str(), agent_id) {
            return Ok(());
        }
        for record in self.mail.records(project, agent_id).await? {
            self.waiting.deliver(project.as_str(), record);
        }
        Ok(())
    }
}

fn call_key(turn: &Turn, tool_call_id: &str) -> CallKey {
    CallKey {
        project_id: turn.project.to_string(),
        agent_turn_id: turn.agent_turn_id.clone(),
        tool_call_id: tool_call_id.to_owned(),
    }
}

fn answered_by(call: &Outstanding, record: &InboxRecord) -> bool {
    match &record.context {
        Some(context) => context.tool_call_id == call.key.tool_call_id,
        None => record.payload["tool_call_id"] == call.key.tool_call_id.as_str(),
    }
}

/// What follows a report is a child of its span, as long as the tool kept the trace.
fn continue_trace(turn: &mut Turn, record: &InboxRecord) {
    if let Some(reported) = Traceparent::parse(&record.traceparent)
        && reported.trace_id() == turn.headers.traceparent.trace_id()
    {
        turn.headers.traceparent = reported;
    }
}

/// The card of a call that was not answered in time, and the callback that points to it.
fn timeout_answer(turn: &Turn, call: &Outstanding) -> (Value, Callback) {
    let CallKey { project_id, agent_turn_id, tool_call_id } = &call.key;
    let mut digest = Sha256::new();
    for part in [project_id, agent_turn_id, tool_call_id] {
        // The length in front keeps ("ab", "c") apart from ("a", "bc").
        digest.update(part.len().to_le_bytes());
        digest.update(part.as_bytes());
    }
    let card_id = format!("card_to_{}", hex(&digest.finalize()[..16]));
    let after_execution = call.prepared.after_execution;
    let called = &call.prepared.card;
    let message = "the tool did not answer in time";
    let card = json!({
        "card_id": card_id,
        "project_id": project_id,
        "type": "tool.result",
        "author_id": turn.agent_id,
        "created_at": timestamp(),
        "tool_call_id": tool_call_id,
        "content": {
            "__type__": "ToolResultContent",
            "status": Status::Timeout,
            "after_execution": after_execution,
            "result": {"error_code": "tool_timeout", "error_message": message},
            "error": {"code": "tool_timeout", "message": message},
        },
        "metadata": {
            "agent_turn_id": agent_turn_id,
            "tool_call_id": tool_call_id,
            "role": "tool",
            "function_name": called["content"]["tool_name"],
            "step_id": called["metadata"]["step_id"],
            "trace_id": called["metadata"]["trace_id"],
            "parent_step_id": called["metadata"]["parent_step_id"],
        },
    });
    let callback = Callback {
        tool_call_id: tool_call_id.clone(),
        agent_turn_id: agent_turn_id.clone(),
        turn_epoch: json!(EPOCH),
        agent_id: turn.agent_id.clone(),
        tool_result_card_id: card_id,
        status: Status::Timeout,
        after_execution,
        step_id: Some(called["metadata"]["step_id"].clone()),
    };
    (card, callback)
}
