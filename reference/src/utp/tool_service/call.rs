//! One call from command to report (Guide §2): read, claim, run, record, save, report.
//!
//! `command` validates, `result` builds the answer, `ledger` makes sure that there is one; this module puts them in order.
//! The order is the point: the outcome is recorded before the card is saved, and the card is saved before it is reported
//! (UTP §4.2), so that after a crash at any point a repetition finds the same answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Message;
use futures::FutureExt;
use serde_json::{Map, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::call_card::{CallCard, belongs_to, read_call_card};
use super::command::{self, CallKey, Command, CommandRefusal, ParsedCommand};
use super::failure::ToolFailure;
use super::ledger::{Entry, Ledger, RunningCall};
use super::result::{CallResponse, Outcome, ResponseContext};
use super::tool::{Call, Executor, ToolOutput};
use crate::log::Log;
use crate::utp::error::ReferenceError;
use crate::utp::message::ErrorCode;
use crate::utp::platform::{Platform, attempt};
use crate::utp::revision::{Revision, UnknownRevision, headers, report};
use crate::utp::subject::{ChannelId, CommandSubject, ProjectId};
use crate::utp::trace::{TraceHeaders, nats_header};

/// A command is routing and pointers; a longer one is nothing that we have to read.
const MAX_COMMAND: usize = 1024 * 1024;

/// By this header a stream drops a message that it has already.
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// One try to handle a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// Whether a stream keeps the command until it is acknowledged.
    pub(crate) is_kept: bool,
    /// Whether its call was found to be carried out elsewhere before.
    pub(crate) has_looked: bool,
    /// Whether the command was there before its call had an outcome, so that an answer which is delivered serves it.
    pub(crate) has_waited: bool,
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handled {
    /// It is answered, or will never be.
    Settled,
    /// Its call is being carried out, which has come to an outcome or not: to be looked at again.
    Elsewhere { is_recorded: bool },
    /// It is not answered, but may be another time.
    Failed,
}

/// Why a command is not answered.
enum Unanswered {
    /// It cannot be.
    Never(String),
    /// Something that it needs is not there.
    NotNow(String),
}

/// Where a call takes place, and by what it is known.
struct Place<'a> {
    revision: Revision,
    subject: &'a CommandSubject,
    key: CallKey,
}

/// What all calls of a service share.
pub(crate) struct CommandHandler {
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) ledger: Ledger,
    pub(crate) tool_time_limit: Duration,
    /// For all attempts of one platform operation together.
    pub(crate) delivery_deadline: Duration,
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) log: Log,
}

impl CommandHandler {
    /// Handles a message on a subject of the executor; every way out that is not a report is logged.
    pub(crate) async fn handle(
        &self,
        executor: &dyn Executor,
        message: &Message,
        attempt: Attempt,
    ) -> Handled {
        let (reason, handled) = match self.answer(executor, message, attempt).await {
            Ok(handled) => return handled,
            Err(Unanswered::Never(reason)) => (reason, Handled::Settled),
            Err(Unanswered::NotNow(reason)) => (reason, Handled::Failed),
        };
        (self.log)(&format!("command on `{}` not answered: {reason}", message.subject));
        handled
    }

    async fn answer(
        &self,
        executor: &dyn Executor,
        message: &Message,
        attempt: Attempt,
    ) -> Result<Handled, Unanswered> {
        if message.payload.len() > MAX_COMMAND {
            return Err(Unanswered::Never(format!("{} bytes are too many", message.payload.len())));
        }
        let never = |error: &dyn std::fmt::Display| Unanswered::Never(error.to_string());
        let subject = CommandSubject::parse(&message.subject).map_err(|error| never(&error))?;
        let revision: Revision = subject.version.parse().map_err(|error: UnknownRevision| never(&error))?;
        let headers = TraceHeaders::child_of_nats(message.headers.as_ref());
        let lookup = |name: &str| nats_header(message.headers.as_ref(), name);
        let mut reading = command::read(revision, &subject, &message.payload, lookup, executor.form());
        if let ParsedCommand::Incomplete(refusal) = reading {
            let completed = self.completed(&subject, refusal).await.map_err(Unanswered::Never)?;
            reading = ParsedCommand::Refuse(completed);
        }
        let identity = match &reading {
            ParsedCommand::Run(command) => &command.identity,
            ParsedCommand::Refuse(refusal) | ParsedCommand::Incomplete(refusal) => &refusal.identity,
            ParsedCommand::Drop(reason) => return Err(Unanswered::Never(reason.clone())),
        };
        let key = CallKey {
            project_id: subject.project_id.to_string(),
            agent_turn_id: identity.agent_turn_id.clone(),
            tool_call_id: identity.tool_call_id.clone(),
        };
        let failed = |error| Unanswered::NotNow(explained(error));
        if attempt.has_looked && self.ledger.is_taken(&key).await.map_err(failed)? {
            return Ok(Handled::Elsewhere { is_recorded: true });
        }
        let (call, answer) = match self.ledger.claim(&key).await.map_err(failed)? {
            // What a stream keeps is acknowledged when its call is answered, not before. An answer that is recorded may
            // have been sent before this command was, and then does not serve it.
            Entry::Running { is_recorded } if attempt.is_kept || is_recorded => {
                return Ok(Handled::Elsewhere { is_recorded });
            }
            Entry::Running { .. } => return Ok(Handled::Settled),
            Entry::Elsewhere { is_recorded } => return Ok(Handled::Elsewhere { is_recorded }),
            Entry::Done { call, delivered: true, .. } if attempt.has_waited => {
                self.ledger.mark_delivered(&call).await.map_err(failed)?;
                return Ok(Handled::Settled);
            }
            Entry::Done { call, answer, .. } => (call, answer),
            Entry::New(call) => {
                let place = Place { revision, subject: &subject, key };
                let settled = match reading {
                    ParsedCommand::Run(command) => self.run(executor, place, command, headers.clone()).await,
                    ParsedCommand::Refuse(refusal) | ParsedCommand::Incomplete(refusal) => {
                        self.refuse(executor, place, refusal, headers.clone()).await
                    }
                    ParsedCommand::Drop(reason) => return Err(Unanswered::Never(reason)),
                };
                let answer = self.record(&call, settled).await.map_err(failed)?;
                (call, answer)
            }
        };
        self.deliver(&call, &answer, &headers).await.map_err(Unanswered::NotNow)?;
        Ok(Handled::Settled)
    }

    /// Takes from the card what the command does not name, or says that the card does not name it either.
    async fn completed(
        &self,
        subject: &CommandSubject,
        mut refusal: CommandRefusal,
    ) -> Result<CommandRefusal, String> {
        let missing = refusal.identity.lacks().unwrap_or_default();
        let card_id = refusal.tool_call_card_id.as_deref();
        let card_id = card_id.ok_or_else(|| format!("`{missing}` is missing, and there is no card"))?;
        let card = self.call_card(&subject.project_id, card_id).await;
        let turn = card.agent_turn_id();
        let identity = &mut refusal.identity;
        for (id, named) in
            [(&mut identity.tool_call_id, card.tool_call_id), (&mut identity.agent_turn_id, turn)]
        {
            if id.is_empty() {
                *id = named.filter(|named| headers::is_value(named)).unwrap_or_default();
            }
        }
        match identity.lacks() {
            None => Ok(refusal),
            Some(missing) => Err(format!("`{missing}` is missing, and the card does not say it")),
        }
    }

    /// Sends what the crash of another instance kept from being sent.
    pub(crate) async fn recover_orphaned(&self) {
        match self.ledger.orphaned().await {
            Ok(answers) => {
                for answer in answers {
                    self.recover(answer).await;
                }
            }
            Err(error) => (self.log)(&format!("not looked for what others left: {}", explained(error))),
        }
    }

    /// Sends what a crash kept from being sent.
    pub(crate) async fn recover(&self, answer: Arc<CallResponse>) {
        let key = CallKey {
            project_id: answer.project_id.clone(),
            agent_turn_id: answer.callback.agent_turn_id.clone(),
            tool_call_id: answer.callback.tool_call_id.clone(),
        };
        let headers = answer.trace();
        let outcome = match self.ledger.claim(&key).await {
            // Another instance was first.
            Ok(Entry::Done { call, delivered: true, .. }) => {
                self.ledger.mark_delivered(&call).await.map_err(explained)
            }
            Ok(Entry::Done { call, answer, .. }) => self.deliver(&call, &answer, &headers).await,
            Ok(_) => Ok(()),
            Err(error) => Err(explained(error)),
        };
        if let Err(reason) = outcome {
            (self.log)(&format!("call `{}` not answered: {reason}", key.tool_call_id));
        }
    }

    async fn run(
        &self,
        executor: &dyn Executor,
        Place { revision, subject, key }: Place<'_>,
        command: Command,
        headers: TraceHeaders,
    ) -> (ResponseContext, Outcome) {
        let card = self.call_card(&subject.project_id, &command.tool_call_card_id).await;
        let tool_name = command.tool_name.clone().unwrap_or_else(|| executor.tool_name(subject));
        let context = ResponseContext {
            revision,
            key,
            channel_id: subject.channel_id.to_string(),
            author: executor.author(),
            tool_name: tool_name.clone(),
            headers: headers.clone(),
            identity: command.identity.clone(),
            after_execution: command.after_execution,
            call_metadata: card.metadata.clone(),
        };
        let outcome = match card.arguments {
            Ok(arguments) => {
                let (subject, metadata) = (subject.clone(), card.metadata);
                let call = Call { revision, subject, command, tool_name, arguments, metadata, headers };
                self.execute(executor, call).await
            }
            Err(failure) => Outcome::Failure(failure),
        };
        (context, outcome)
    }

    async fn refuse(
        &self,
        executor: &dyn Executor,
        Place { revision, subject, key }: Place<'_>,
        refusal: CommandRefusal,
        headers: TraceHeaders,
    ) -> (ResponseContext, Outcome) {
        // A refused command may still point to a card, and the answer's lineage comes from there.
        let call_metadata = match &refusal.tool_call_card_id {
            Some(card_id) => self.call_card(&subject.project_id, card_id).await.metadata,
            None => Map::new(),
        };
        let context = ResponseContext {
            revision,
            key,
            channel_id: subject.channel_id.to_string(),
            author: executor.author(),
            tool_name: refusal.tool_name.unwrap_or_else(|| executor.tool_name(subject)),
            headers,
            identity: refusal.identity,
            after_execution: refusal.after_execution,
            call_metadata,
        };
        (context, Outcome::Failure(refusal.failure))
    }

    /// Runs the tool until it ends, its time is over, or the service is.
    async fn execute(&self, executor: &dyn Executor, call: Call) -> Outcome {
        let mut closing = self.closing.clone();
        let run = AssertUnwindSafe(async move { executor.run(call).await }).catch_unwind();
        let finished = tokio::select! {
            biased;
            // An error means that the service was dropped, which is a shutdown too.
            _ = closing.wait_for(|closing| *closing) => {
                let failure = ToolFailure::new(ErrorCode::Canceled, "the service is shutting down");
                return Outcome::CalledOff(failure);
            }
            finished = timeout(self.tool_time_limit, run) => finished,
        };
        match finished {
            Ok(Ok(Ok(output))) => Outcome::Output(output),
            Ok(Ok(Err(failure))) => Outcome::of_failure(failure),
            Ok(Err(_panic)) => {
                Outcome::Failure(ToolFailure::new(ErrorCode::InternalError, "the tool panicked"))
            }
            Err(_elapsed) => {
                let milliseconds = self.tool_time_limit.as_millis();
                let limit = u64::try_from(milliseconds).unwrap_or(u64::MAX);
                let message = format!("the tool did not end within {limit} ms");
                Outcome::TimedOut(
                    ToolFailure::new(ErrorCode::ToolTimeout, message)
                        .with_detail(json!({"limit_milliseconds": limit})),
                )
            }
        }
    }

    async fn record(
        &self,
        call: &RunningCall,
        (context, outcome): (ResponseContext, Outcome),
    ) -> Result<Arc<CallResponse>, ReferenceError> {
        let counter = match &outcome {
            Outcome::Output(ToolOutput::Counted { counter }) => Some(counter.clone()),
            _ => None,
        };
        self.ledger.record(call, counter, context.answer(outcome)).await
    }

    /// Reads the `tool.call` card; the arguments come from there and from nowhere else (Guide §1).
    async fn call_card(&self, project_id: &ProjectId, card_id: &str) -> CallCard {
        let wanted = [card_id.to_owned()];
        match attempt(self.delivery_deadline, || self.platform.cards(project_id, &wanted)).await {
            Ok(batch) => {
                let card = batch.cards.into_iter().find(|card| card["card_id"] == card_id);
                match card.filter(|card| belongs_to(card, project_id)) {
                    Some(card) => read_call_card(card),
                    None => CallCard::unread(
                        ToolFailure::new(ErrorCode::BadRequest, "the tool.call card is not there")
                            .with_detail(json!({"tool_call_card_id": card_id})),
                    ),
                }
            }
            Err(error) => CallCard::unread(ToolFailure::new(
                ErrorCode::UpstreamUnavailable,
                format!("the tool.call card cannot be read: {error}"),
            )),
        }
    }

    /// Saves the card, then reports it.
    async fn deliver(
        &self,
        call: &RunningCall,
        answer: &CallResponse,
        headers: &TraceHeaders,
    ) -> Result<(), String> {
        let project_id = ProjectId::new(&answer.project_id).map_err(|error| error.to_string())?;
        let channel_id = ChannelId::new(&answer.channel_id).map_err(|error| error.to_string())?;
        // A repetition saves the identical card again: only this way it is there whenever its pointer is reported.
        attempt(self.delivery_deadline, || self.platform.save_card(&project_id, &answer.card))
            .await
            .map_err(|error| format!("the result card is not saved: {error}"))?;
        let place = (project_id.as_str(), channel_id.as_str());
        let (report, mut headers) =
            report::written(answer.revision, place, &answer.source_agent_id, &answer.callback, headers);
        if self.ledger.is_shared() {
            // A stream that keeps reports keeps one of each call, whichever instance sent it how often.
            headers.set(MESSAGE_ID, answer.callback.tool_result_card_id.as_str());
        }
        attempt(self.delivery_deadline, || self.platform.report(&project_id, &channel_id, &report, &headers))
            .await
            .map_err(|error| format!("the result is not reported: {error}"))?;
        self.ledger.mark_delivered(call).await.map_err(explained)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` takes")]
fn explained(error: ReferenceError) -> String {
    match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
