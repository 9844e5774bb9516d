//! How deeply calls are nested, from the commands that pass on the bus: a report must have the depth of its command.
//!
//! Only `v1r4` asks for it. A command that was not seen, or is long past, is not known, and its report is not compared.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_nats::{Client, Message};
use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::sync::locked;
use crate::utp::error::ReferenceError;
use crate::utp::execution::Commands;
use crate::utp::projects::Projects;
use crate::utp::revision::Revision;
use crate::utp::revision::command::{depth, identity};
use crate::utp::subject::{CommandSubject, subscription, target_template};
use crate::utp::trace::nats_header;

/// What commands of calls end with.
const TARGETS: [&str; 2] = ["cmd.tool.>", "cmd.sys.>"];

/// How many calls are remembered; the oldest are forgotten first.
const MAX_REMEMBERED: usize = 65_536;

/// The commands that were seen.
#[derive(Default)]
pub(super) struct SeenCommands {
    seen: Mutex<Seen>,
}

/// Project, turn and call.
type CallKey = (String, String, String);

#[derive(Default)]
struct Seen {
    depths: HashMap<CallKey, u64>,
    order: VecDeque<CallKey>,
}

impl SeenCommands {
    /// Subscribes, and notes commands until the closing.
    pub(super) async fn watch(
        self: Arc<Self>,
        client: &Client,
        projects: &Projects,
        mut closing: watch::Receiver<bool>,
    ) -> Result<JoinHandle<()>, ReferenceError> {
        let mut streams: Vec<BoxStream<'static, Message>> = Vec::new();
        for target in TARGETS {
            let template = target_template(Revision::V1r4, target);
            for project in projects.tokens() {
                let subject = subscription(&template, project);
                let subscriber = client
                    .subscribe(subject.clone())
                    .await
                    .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
                streams.push(subscriber.boxed());
            }
        }
        let mut commands = select_all(streams);
        Ok(tokio::spawn(async move {
            loop {
                let command = tokio::select! {
                    biased;
                    // An error means that the component was dropped.
                    _ = closing.wait_for(|closing| *closing) => break,
                    command = commands.next() => command,
                };
                let Some(command) = command else { break };
                self.note(&command);
            }
        }))
    }

    /// Notes a command that names its call; the first one counts.
    fn note(&self, command: &Message) {
        let lookup = |name: &str| nats_header(command.headers.as_ref(), name);
        let Ok(subject) = CommandSubject::parse(&command.subject) else { return };
        let Ok(found) = identity(Revision::V1r4, &subject, &serde_json::Map::new(), lookup) else { return };
        let (None, Ok(depth)) = (found.lacks(), depth(lookup)) else { return };
        let seen = &mut *locked(&self.seen);
        let key = (subject.project_id.to_string(), found.agent_turn_id, found.tool_call_id);
        if seen.depths.contains_key(&key) {
            return;
        }
        if seen.order.len() == MAX_REMEMBERED
            && let Some(oldest) = seen.order.pop_front()
        {
            seen.depths.remove(&oldest);
        }
        seen.order.push_back(key.clone());
        seen.depths.insert(key, depth);
    }
}

impl Commands for SeenCommands {
    fn depth(&self, project_id: &str, agent_turn_id: &str, tool_call_id: &str) -> Option<u64> {
        let key = (project_id.to_owned(), agent_turn_id.to_owned(), tool_call_id.to_owned());
        locked(&self.seen).depths.get(&key).copied()
    }
}
