//! The platform behind all bindings: records each request and has its project answer it.
//!
//! It accepts whatever can be taken in and judges nothing. Its answers are those of `docs/bindings.md`.
//! What a project holds is in `project`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use super::children::{Child, Order, WORK};
use super::project::{Project, Stored};
use super::reply::{PlatformReply, Refusal, bad_request};
use crate::families::utp::message;
use crate::families::utp::project_name::ProjectName;
use crate::families::utp::revision::Revision;
use crate::net::outbound::open_calls::OpenCalls;
use crate::net::wire::Wire;
use crate::transcript::{Kind, Message, Transcript, lock};

/// Name under which the transcript keeps which call a wakeup of ours is for; it is not sent.
pub const CORRELATION: &str = "correlation-id";

/// An operation of the platform, whatever it travelled on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read cards: body `{"card_ids": […]}`.
    CardsGet,
    /// Save a card: body `{"card": {…}}`.
    CardSave,
    /// Read a `resource.tools` row: body `{"tool_name": "…"}`.
    ToolsGet,
    /// Read all `resource.tools` rows.
    ToolsList,
    /// Read a roster row: body `{"agent_id": "…"}`.
    RosterGet,
    /// Save a roster row: body `{"agent": {…}}`.
    RosterSave,
    /// Start a turn of an agent in this channel.
    TurnStart {
        /// `<channel_id>` of the turn.
        channel_id: String,
    },
    /// Report a callback in this channel.
    Report {
        /// `<channel_id>` of the report.
        channel_id: String,
    },
    /// A write to `state.*`, which a Tool Service must not attempt.
    StateWrite,
    /// Something the platform does not offer.
    Unknown,
}

impl Operation {
    fn kind(&self) -> Kind {
        match self {
            Self::CardsGet => Kind::CardsGet,
            Self::CardSave => Kind::CardSave,
            Self::ToolsGet => Kind::ToolsGet,
            Self::ToolsList => Kind::ToolsList,
            Self::RosterGet => Kind::RosterGet,
            Self::RosterSave => Kind::RosterSave,
            Self::TurnStart { .. } => Kind::TurnStart,
            Self::Report { .. } => Kind::Report,
            Self::StateWrite => Kind::StateWrite,
            Self::Unknown => Kind::Unknown,
        }
    }
}

/// How many names of projects are remembered that are none of ours, and how much of each.
const MAX_STRAYS: usize = 4;
const LONGEST_STRAY: usize = 64;

/// All projects, and the wire that their messages cross.
pub struct PlatformService {
    version: String,
    revision: Revision,
    wire: Arc<dyn Wire>,
    projects: Mutex<HashMap<String, Arc<Project>>>,
    /// Projects that were spoken of and are none of ours, the first few.
    strays: Mutex<BTreeSet<String>>,
    /// The commands that are open at the target, by project and call.
    pub(in crate::families::utp) open_calls: Arc<OpenCalls>,
    /// Bytes of the cards that all projects hold whole.
    stored: Arc<Stored>,
    /// Wakeups and the ends of children, to be published.
    wakeups: tokio::sync::mpsc::UnboundedSender<Message>,
}

/// What an open command is known by.
pub(in crate::families::utp) fn open_call(project_id: &str, tool_call_id: &str) -> String {
    format!("{project_id}/{tool_call_id}")
}

impl PlatformService {
    /// A platform for subjects of this protocol version. Wakeups and ends of children to publish come out of the
    /// receiver.
    pub fn new(
        version: &str,
        wire: Arc<dyn Wire>,
    ) -> (Arc<Self>, tokio::sync::mpsc::UnboundedReceiver<Message>) {
        let (wakeups, receiver) = tokio::sync::mpsc::unbounded_channel();
        let platform_service = Self {
            version: version.to_owned(),
            revision: Revision::of(version),
            wire,
            projects: Mutex::default(),
            open_calls: Arc::default(),
            strays: Mutex::default(),
            stored: Arc::default(),
            wakeups,
        };
        (Arc::new(platform_service), receiver)
    }

    /// Whether this is the version token of its subjects.
    pub(super) fn speaks(&self, version: &str) -> bool {
        self.version == version
    }

    /// The wire that all messages cross.
    pub fn wire(&self) -> &dyn Wire {
        &*self.wire
    }

    /// Opens a project for one scenario.
    pub fn open(&self, name: ProjectName, transcript: Arc<Transcript>) -> Arc<Project> {
        let project = Arc::new(Project::new(name, transcript));
        lock(&self.projects).insert(project.id.clone(), Arc::clone(&project));
        project
    }

    /// Forgets a project: what names it from now on belongs to nobody.
    pub fn close(&self, project_id: &str) {
        lock(&self.projects).remove(project_id);
    }

    /// All projects, by id.
    pub fn projects(&self) -> Vec<Arc<Project>> {
        let mut projects: Vec<_> = lock(&self.projects).values().cloned().collect();
        projects.sort_by(|left, right| left.id.cmp(&right.id));
        projects
    }

    /// What `look` finds in the projects, by their ids. A run has thousands, and most have nothing: they are neither copied
    /// nor sorted.
    pub fn find<T>(&self, look: impl Fn(&Project) -> Option<T>) -> Vec<(Arc<Project>, T)> {
        let projects = lock(&self.projects);
        let found = projects.values().filter_map(|project| Some((look(project)?, project)));
        let mut found: Vec<_> = found.map(|(found, project)| (Arc::clone(project), found)).collect();
        drop(projects);
        found.sort_by(|(left, _), (right, _)| left.id.cmp(&right.id));
        found
    }

    /// The project with this id, when a scenario has opened it.
    pub fn project(&self, project_id: &str) -> Option<Arc<Project>> {
        lock(&self.projects).get(project_id).cloned()
    }

    /// A project that somebody on the bus or the platform spoke of, and that is not of this run.
    pub fn stray(&self) -> Option<String> {
        lock(&self.strays).first().cloned()
    }

    /// Remembers the name of such a project.
    pub(super) fn strays_to(&self, project_id: &str) {
        let mut strays = lock(&self.strays);
        if strays.len() < MAX_STRAYS {
            strays.insert(project_id.chars().take(LONGEST_STRAY).collect());
        }
    }

    /// Takes a request of the target, records it, and answers.
    pub async fn request(
        &self,
        project_id: &str,
        operation: Operation,
        channel: String,
        headers: BTreeMap<String, String>,
        body: Value,
    ) -> PlatformReply {
        let Some(project) = self.project(project_id) else {
            self.strays_to(project_id);
            return Err(Refusal {
                status: 404,
                code: "not_found",
                message: format!("project `{project_id}` is not one of this run"),
            });
        };
        let kind = match operation.kind() {
            Kind::CardSave if is_state(&body) => Kind::StateWrite,
            kind => kind,
        };
        let message = Message { direction: Direction::FromTarget, kind, channel, headers, body };
        let as_if = as_if_taken(&message);
        let wanted = if kind == Kind::CardsGet { message.body.clone() } else { Value::Null };
        let mut reply = None;
        for message in self.wire.incoming(message) {
            let own = message.kind == kind;
            let answer = self.take(&project, &operation, message);
            if own && reply.is_none() {
                reply = Some(answer);
            }
        }
        if operation == Operation::CardsGet {
            project.held(&wanted).await;
        }
        let reply = reply.unwrap_or(Ok(as_if));
        if let Err(refusal) = &reply {
            record_refusal(&project, refusal);
        }
        let body = reply?;
        Ok(match operation {
            Operation::CardsGet => self.arriving(&project, Kind::CardsReply, "cards", body),
            Operation::TurnStart { .. } => self.arriving(&project, Kind::TurnReply, "turns", body),
            Operation::ToolsGet => self.arriving(&project, Kind::ToolsReply, "rows", body),
            _ => body,
        })
    }

    /// After the answer to a request has gone out: children that were started begin to work.
    pub(super) fn answered(self: &Arc<Self>, project_id: &str) {
        let Some(project) = self.project(project_id) else { return };
        // A response may be dropped when everything ends.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for child in project.children.take_due() {
            let (platform_service, project) = (Arc::clone(self), Arc::clone(&project));
            runtime.spawn(async move {
                tokio::time::sleep(WORK).await;
                platform_service.end(&project, &child);
            });
        }
    }

    /// Ends a child that waits. `false` when none does.
    pub fn end_child(&self, project: &Project, order: Order) -> bool {
        let child = project.children.take_waiting(order);
        child.inspect(|child| self.end(project, child)).is_some()
    }

    /// A child delivers what it has, and its runtime says that it is over.
    fn end(&self, project: &Project, child: &Child) {
        let deliverable = child.deliverable(&project.id);
        if let Some(card) = &deliverable {
            project.seed_card(card);
        }
        let Child { agent_id, channel_id, .. } = child;
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::Task,
            channel: format!("cg.{}.{}.{channel_id}.evt.agent.{agent_id}.task", self.version, project.id),
            headers: child.task_headers(self.revision, &project.id),
            body: child.task_event(deliverable.as_ref()),
        };
        project.transcript.record(message.clone());
        for message in self.wire.outgoing(message) {
            // The receiver lives as long as the connection; without one there is nobody to send it to.
            let _ = self.wakeups.send(message);
        }
    }

    /// Records that a request was refused before it was read.
    pub(super) fn refused(&self, project_id: &str, refusal: &Refusal) {
        if let Some(project) = self.project(project_id) {
            record_refusal(&project, refusal);
        }
    }

    /// Has a message of the suite to the target pass the wire; it is recorded as it was meant.
    pub fn outgoing(&self, project: &Project, message: Message) -> Vec<Message> {
        project.transcript.record(message.clone());
        self.wire.outgoing(message)
    }

    /// Has a message of the target pass the wire, and records what arrives.
    pub fn incoming(&self, project: &Project, message: Message) -> Vec<Message> {
        let arrived = self.wire.incoming(message);
        for message in &arrived {
            project.transcript.record(message.clone());
        }
        arrived
    }

    /// Records something seen on the bus.
    pub fn observe(
        &self,
        project_id: &str,
        kind: Kind,
        channel: String,
        headers: BTreeMap<String, String>,
        body: Value,
    ) {
        if let Some(project) = self.project(project_id) {
            let kind = match kind {
                Kind::Bus if project.target_calls() && is_command(&channel) => Kind::Command,
                Kind::StateWrite if project.target_calls() => Kind::Bus,
                kind => kind,
            };
            let message = Message { direction: Direction::FromTarget, kind, channel, headers, body };
            for message in self.wire.incoming(message) {
                project.transcript.record(message);
            }
        } else {
            self.strays_to(project_id);
        }
    }

    /// Records something seen on the bus that names no project, in each that is open.
    pub fn observe_everywhere(
        &self,
        kind: Kind,
        channel: &str,
        headers: &BTreeMap<String, String>,
        body: &Value,
    ) {
        for project in self.projects() {
            let (channel, headers, body) = (channel.to_owned(), headers.clone(), body.clone());
            project.transcript.record(Message {
                direction: Direction::FromTarget,
                kind,
                channel,
                headers,
                body,
            });
        }
    }

    /// One request after the wire. The wire may have turned it into another kind of message.
    ///
    /// Bodies may be large, so they are looked at before they are handed to the transcript, not copied.
    fn take(&self, project: &Project, operation: &Operation, message: Message) -> PlatformReply {
        let body = &message.body;
        let reply = match message.kind {
            Kind::Report => return self.report(project, operation, message),
            Kind::CardsGet => project.cards_get(body),
            Kind::CardSave => project.card_save(body, &self.stored),
            Kind::ToolsGet => project.tools_get(body),
            Kind::ToolsList => Ok(project.tools_list()),
            Kind::RosterGet => project.roster_get(body),
            Kind::RosterSave => project.children.obstacle(body).unwrap_or_else(|| project.roster_save(body)),
            Kind::TurnStart => {
                let channel_id = channel_of(operation, &message);
                let request = (&message.headers, body);
                let start = || project.children.start(self.revision, request, &channel_id, &project.name);
                project.children.obstacle(body).unwrap_or_else(start)
            }
            Kind::StateWrite => Err(state_refused()),
            Kind::Unknown => Err(Refusal {
                status: 404,
                code: "not_found",
                message: "the platform has no such operation".to_owned(),
            }),
            _ => Ok(json!({})),
        };
        project.transcript.record(message);
        reply
    }

    /// An answer of the platform, as it arrives at the target.
    fn arriving(&self, project: &Project, kind: Kind, what: &str, body: Value) -> Value {
        let message = Message {
            direction: Direction::ToTarget,
            kind,
            channel: format!("{what} of {}", project.id),
            headers: BTreeMap::new(),
            body: body.clone(),
        };
        project.transcript.record(message.clone());
        self.wire.outgoing(message).into_iter().next().map_or(body, |message| message.body)
    }

    fn report(&self, project: &Project, operation: &Operation, message: Message) -> PlatformReply {
        let channel_id = channel_of(operation, &message);
        if let Some(id) = self.revision.reported_in(&message.headers, &message.body, "tool_call_id") {
            self.open_calls.answered(&open_call(&project.id, id));
        }
        if self.revision.reported_in(&message.headers, &message.body, "status") == Some("timeout") {
            project.transcript.note_timeout();
        }
        let entry = if message.body.is_object() {
            project.enqueue(self.revision, &message)
        } else {
            Err(bad_request("a report is a JSON object"))
        };
        project.transcript.record(message);
        let entry = entry?;
        if !entry.duplicate
            && let Some((agent_id, target)) = entry.wake
        {
            let mut headers = entry.identity;
            if let Some(trace) = entry.traceparent {
                headers.insert("traceparent".to_owned(), trace);
            }
            let message = Message {
                direction: Direction::Observed,
                kind: Kind::Wakeup,
                channel: format!("cg.{}.{}.{channel_id}.cmd.agent.{target}.wakeup", self.version, project.id),
                headers,
                body: json!({"agent_id": agent_id}),
            };
            let mut kept = message.clone();
            kept.headers.insert(CORRELATION.to_owned(), entry.correlation_id);
            project.transcript.record(kept);
            // The receiver lives as long as the connection; without one there is nobody to wake.
            let _ = self.wakeups.send(message);
        }
        Ok(json!({"inbox_id": entry.inbox_id, "duplicate": entry.duplicate}))
    }
}

/// The channel that a request is about. A wire may have turned the message into one of another kind.
fn channel_of(operation: &Operation, message: &Message) -> String {
    match operation {
        Operation::Report { channel_id } | Operation::TurnStart { channel_id } => channel_id.clone(),
        _ => message.channel.split('.').nth(3).unwrap_or_default().to_owned(),
    }
}

fn record_refusal(project: &Project, refusal: &Refusal) {
    project.transcript.record(Message {
        direction: Direction::ToTarget,
        kind: Kind::Refused,
        channel: "platform".to_owned(),
        headers: BTreeMap::new(),
        body: refusal.body(),
    });
}

/// Whether a subject is that of a command to a tool or to the PMO (UTP §4.1).
fn is_command(subject: &str) -> bool {
    let tokens: Vec<&str> = subject.split('.').collect();
    tokens.iter().skip(2).any(|token| *token == "cmd") && !tokens.contains(&"agent")
}

/// Whether a card is in truth a row of a state table.
fn is_state(body: &Value) -> bool {
    let card = body.get("card").unwrap_or(body);
    message::card_type(card).is_some_and(|kind| kind.starts_with("state."))
}

fn state_refused() -> Refusal {
    let message = "a tool service must not write `state.*`".to_owned();
    Refusal { status: 403, code: "forbidden", message }
}

/// What is answered to a peer whose request got lost on the wire.
fn as_if_taken(message: &Message) -> Value {
    match message.kind {
        Kind::CardSave => json!({"card_id": message.body.pointer("/card/card_id")}),
        Kind::Report => json!({"inbox_id": "inbox_0", "duplicate": false}),
        Kind::RosterSave => json!({"agent_id": message.body.pointer("/agent/agent_id")}),
        Kind::TurnStart => {
            let turn = message.body.get("agent_turn_id").cloned().unwrap_or_else(|| json!("turn_0"));
            json!({"agent_id": message.body.get("agent_id"), "agent_turn_id": turn, "turn_epoch": 1})
        }
        _ => json!({}),
    }
}
