//! The smallest caller: one agent that calls tools and receives the answers (UTP §4.1, §4.2).
//!
//! It writes the `tool.call` card, publishes the command, wakes up, takes the Inbox record, and follows the pointer.
//! There is no model and no turn here: what a worker does with a result is the worker's matter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use futures::StreamExt;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::connection::{connect, round_trip};
use super::error::ReferenceError;
use super::ident::{new_id, random_hex, timestamp};
use super::l0::L0Handle;
use super::message::{Callback, InboxRecord, RosterRow, ToolRow};
use super::platform::{NatsPlatform, Platform, REQUEST_DEADLINE};
use super::revision::command::Identity;
use super::revision::{Headers, Revision, command, report};
use super::subject::{ChannelId, CommandSubject, ProjectId, WorkerTarget, expand, wakeup};
use super::trace::TraceHeaders;
use crate::sync::locked;

/// How long an answer is waited for unless the caller says otherwise.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// An agent that calls tools.
pub struct Caller {
    client: Client,
    platform: NatsPlatform,
    project_id: ProjectId,
    channel_id: ChannelId,
    agent_id: String,
    agent_turn_id: String,
    deadline: Duration,
    waiting: Waiting,
    listener: JoinHandle<()>,
}

/// Who waits for the answer to which call.
type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<InboxRecord>>>>;

/// A call whose card is written and whose command is not published yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedCall {
    /// Where the command goes.
    pub subject: String,
    /// The call that its answer will be about.
    pub tool_call_id: String,
    /// The command's payload.
    pub command: Value,
    /// The trace that it begins.
    pub headers: TraceHeaders,
    /// The command's headers, those of the trace among them.
    pub sent: Headers,
}

/// How a call ended, as the caller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The callback from the Inbox.
    pub callback: Callback,
    /// The Inbox record that held it.
    pub record: InboxRecord,
    /// The `tool.result` card that it points to.
    pub card: Value,
}

impl Caller {
    /// Enters the agent into the roster and listens for its wakeups.
    ///
    /// # Errors
    /// When the broker does not answer, a name is no subject token, or the roster cannot be written.
    pub async fn connect(
        nats_url: &str,
        revision: Revision,
        l0: L0Handle,
        project_id: &str,
        channel_id: &str,
    ) -> Result<Self, ReferenceError> {
        let client = connect(nats_url, "caller").await?;
        let project_id = ProjectId::new(project_id)?;
        let channel_id = ChannelId::new(channel_id)?;
        let agent_id = new_id("ag");
        let target = WorkerTarget::new(new_id("pool"))?;
        let subject = wakeup(revision, &project_id, &channel_id, &target);
        let mut wakeups = client
            .subscribe(subject.clone())
            .await
            .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
        round_trip(&client).await?;
        l0.put_roster(RosterRow::new(project_id.as_str(), &agent_id, target.as_str())).await?;
        let waiting = Waiting::default();
        let listener = tokio::spawn({
            let (waiting, project, agent) = (Arc::clone(&waiting), project_id.clone(), agent_id.clone());
            async move {
                while wakeups.next().await.is_some() {
                    // One wakeup may stand for several records, and several wakeups for one: the Inbox decides.
                    let records = l0.take_inbox(project.as_str(), &agent).await.unwrap_or_default();
                    for record in records {
                        if let Some(waiter) = locked(&waiting).remove(&record.correlation_id) {
                            let _ = waiter.send(record);
                        }
                    }
                }
            }
        });
        Ok(Self {
            platform: NatsPlatform::new(client.clone(), REQUEST_DEADLINE),
            client,
            project_id,
            channel_id,
            agent_id,
            agent_turn_id: new_id("turn"),
            deadline: ANSWER_DEADLINE,
            waiting,
            listener,
        })
    }

    /// Waits so long for each answer.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Calls a tool and waits for its answer.
    ///
    /// # Errors
    /// When the answer does not come in time; a failed tool is an outcome and no error.
    pub async fn call(&self, row: &ToolRow, arguments: &Value) -> Result<CallOutcome, ReferenceError> {
        let call = self.prepare(row, arguments).await?;
        self.send(&call).await
    }

    /// Writes the `tool.call` card of a new call and builds its command.
    pub async fn prepare(&self, row: &ToolRow, arguments: &Value) -> Result<PreparedCall, ReferenceError> {
        let tool_call_id = new_id("call");
        let card_id = new_id("card_tc");
        let headers = TraceHeaders { recursion_depth: Some("1".to_owned()), ..TraceHeaders::fresh() };
        let subject = expand(&row.target_subject, &self.project_id, &self.channel_id)?;
        let step_id = format!("step_{}", random_hex(1));
        let card = json!({
            "card_id": card_id,
            "project_id": self.project_id.as_str(),
            "type": "tool.call",
            "author_id": self.agent_id,
            "created_at": timestamp(),
            "tool_call_id": tool_call_id,
            "content": {
                "__type__": "ToolCallContent",
                "tool_name": row.tool_name,
                "arguments": arguments,
                "status": "called",
                "target_subject": subject,
            },
            "metadata": {
                "agent_turn_id": self.agent_turn_id,
                "tool_call_id": tool_call_id,
                "trace_id": headers.traceparent.trace_id(),
                "parent_step_id": "step_root",
                "step_id": step_id,
            },
        });
        self.platform.save_card(&self.project_id, &card).await?;
        let identity = Identity {
            tool_call_id: tool_call_id.clone(),
            agent_turn_id: self.agent_turn_id.clone(),
            turn_epoch: json!(1),
            agent_id: self.agent_id.clone(),
            step_id: Some(step_id),
        };
        let business = Map::from_iter([
            ("tool_call_card_id".to_owned(), json!(card_id)),
            ("after_execution".to_owned(), json!(row.after_execution)),
            ("tool_name".to_owned(), json!(row.tool_name)),
        ]);
        let place = (self.project_id.as_str(), self.channel_id.as_str());
        let revision = CommandSubject::parse(&subject)?.version.parse().unwrap_or_default();
        let (command, sent) = command::written(revision, place, &identity, business, &headers);
        Ok(PreparedCall { subject, tool_call_id, command, headers, sent })
    }

    /// Publishes a command and waits for the answer to its call.
    pub async fn send(&self, call: &PreparedCall) -> Result<CallOutcome, ReferenceError> {
        let tool_call_id = call.tool_call_id.clone();
        let (sender, answer) = oneshot::channel();
        locked(&self.waiting).insert(tool_call_id.clone(), sender);
        self.publish(call).await?;
        let Ok(Ok(record)) = tokio::time::timeout(self.deadline, answer).await else {
            locked(&self.waiting).remove(&tool_call_id);
            let what = format!("answer to call `{tool_call_id}`");
            return Err(ReferenceError::Deadline { what, after: self.deadline });
        };
        let callback = report::callback(&record)
            .map_err(|reason| ReferenceError::Unexpected { what: "callback", reason })?;
        let pointer = [callback.tool_result_card_id.clone()];
        let batch = self.platform.cards(&self.project_id, &pointer).await?;
        let card = batch.cards.into_iter().next().ok_or_else(|| ReferenceError::Unexpected {
            what: "callback",
            reason: format!("it points to no card: `{}`", callback.tool_result_card_id),
        })?;
        Ok(CallOutcome { callback, record, card })
    }

    /// Publishes a command without waiting for anything but the broker.
    pub async fn publish(&self, call: &PreparedCall) -> Result<(), ReferenceError> {
        let payload = call.command.to_string().into();
        self.client.publish_with_headers(call.subject.clone(), call.sent.to_nats(), payload).await.map_err(
            |source| ReferenceError::Publish { subject: call.subject.clone(), source: source.into() },
        )
    }

    /// The agent that calls.
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
