//! The state behind the platform that the suite plays, one project a scenario.
//!
//! It accepts whatever can be taken in and judges nothing. Its answers are those of `docs/bindings.md`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use callmark_reports::record::Direction;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::judge::seen;
use crate::transcript::{Kind, Message, Transcript, lock};
use crate::utp::trace::Traceparent;
use crate::wire::Wire;

/// Largest number of cards or Inbox records of one project; more are answered as errors.
const MAX_ROWS: usize = 20_000;

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
            Self::Report { .. } => Kind::Report,
            Self::StateWrite => Kind::StateWrite,
            Self::Unknown => Kind::Unknown,
        }
    }
}

/// The platform's answer.
pub type Reply = Result<Value, Refusal>;

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status, also used as `Nats-Service-Error-Code`.
    pub status: u16,
    /// Machine-readable code.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

impl Refusal {
    /// The body `{"error": {…}}`.
    pub fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}

/// All projects, and the wire that their messages cross.
pub struct Desk {
    version: String,
    wire: Arc<dyn Wire>,
    projects: Mutex<HashMap<String, Arc<Project>>>,
    wakeups: tokio::sync::mpsc::UnboundedSender<Message>,
}

impl Desk {
    /// A desk for subjects of this protocol version. Wakeups to publish come out of the receiver.
    pub fn new(
        version: &str,
        wire: Arc<dyn Wire>,
    ) -> (Arc<Self>, tokio::sync::mpsc::UnboundedReceiver<Message>) {
        let (wakeups, receiver) = tokio::sync::mpsc::unbounded_channel();
        let desk = Self { version: version.to_owned(), wire, projects: Mutex::default(), wakeups };
        (Arc::new(desk), receiver)
    }

    /// The wire that all messages cross.
    pub fn wire(&self) -> &dyn Wire {
        &*self.wire
    }

    /// Opens a project for one scenario.
    pub fn open(&self, name: ProjectName) -> Arc<Project> {
        let project = Arc::new(Project::new(name));
        lock(&self.projects).insert(project.id.clone(), Arc::clone(&project));
        project
    }

    /// All projects, by id.
    pub fn projects(&self) -> Vec<Arc<Project>> {
        let mut projects: Vec<_> = lock(&self.projects).values().cloned().collect();
        projects.sort_by(|left, right| left.id.cmp(&right.id));
        projects
    }

    /// The project with this id, when a scenario has opened it.
    pub fn project(&self, project_id: &str) -> Option<Arc<Project>> {
        lock(&self.projects).get(project_id).cloned()
    }

    /// Takes a request of the target, records it, and answers.
    pub async fn request(
        &self,
        project_id: &str,
        operation: Operation,
        channel: String,
        headers: BTreeMap<String, String>,
        body: Value,
    ) -> Reply {
        let Some(project) = self.project(project_id) else {
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
        let asked = message.body.clone();
        let mut reply = None;
        for message in self.wire.incoming(message) {
            let own = message.kind == kind;
            let answer = self.take(&project, &operation, message);
            if own && reply.is_none() {
                reply = Some(answer);
            }
        }
        if operation == Operation::CardsGet {
            project.held(&asked).await;
        }
        let reply = reply.unwrap_or(Ok(as_if));
        if let Err(refusal) = &reply {
            project.transcript.record(Message {
                direction: Direction::ToTarget,
                kind: Kind::Refused,
                channel: "platform".to_owned(),
                headers: BTreeMap::new(),
                body: refusal.body(),
            });
        }
        let body = reply?;
        Ok(if operation == Operation::CardsGet { self.cards_reply(&project, body) } else { body })
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
            let message = Message { direction: Direction::FromTarget, kind, channel, headers, body };
            for message in self.wire.incoming(message) {
                project.transcript.record(message);
            }
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
    fn take(&self, project: &Project, operation: &Operation, message: Message) -> Reply {
        let body = message.body.clone();
        let headers = message.headers.clone();
        let kind = message.kind;
        let channel = message.channel.clone();
        project.transcript.record(message);
        match kind {
            Kind::CardsGet => project.cards_get(&body),
            Kind::CardSave => project.card_save(&body),
            Kind::ToolsGet => project.tools_get(&body),
            Kind::Report => {
                let channel_id = match operation {
                    Operation::Report { channel_id } => channel_id.clone(),
                    _ => channel.split('.').nth(3).unwrap_or_default().to_owned(),
                };
                self.report(project, &channel_id, &headers, &body)
            }
            Kind::StateWrite => Err(state_refused()),
            Kind::Unknown => Err(Refusal {
                status: 404,
                code: "not_found",
                message: "the platform has no such operation".to_owned(),
            }),
            _ => Ok(json!({})),
        }
    }

    /// The card store's answer, as it arrives at the target.
    fn cards_reply(&self, project: &Project, body: Value) -> Value {
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::CardsReply,
            channel: format!("cards of {}", project.id),
            headers: BTreeMap::new(),
            body: body.clone(),
        };
        project.transcript.record(message.clone());
        self.wire.outgoing(message).into_iter().next().map_or(body, |message| message.body)
    }

    fn report(
        &self,
        project: &Project,
        channel_id: &str,
        headers: &BTreeMap<String, String>,
        body: &Value,
    ) -> Reply {
        if !body.is_object() {
            return Err(bad_request("a report is a JSON object"));
        }
        let entry = project.enqueue(channel_id, headers, body)?;
        if !entry.duplicate
            && let Some((agent_id, target)) = entry.wake
        {
            let mut headers = BTreeMap::new();
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

/// What the ids of one scenario are made of.
///
/// A target that remembers calls must not take one for another, not from scenario to scenario nor from run
/// to run; reports must be the same in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectName {
    /// Part of every id that the suite makes in the project; different in every run.
    pub unique: String,
    /// Stands for `unique` in reports; the same in every run.
    pub stable: String,
    /// End of the project's id.
    pub suffix: String,
}

impl ProjectName {
    fn id(&self) -> String {
        format!("prj_{}{}", self.unique, self.suffix)
    }
}

/// The world of one scenario as its target sees it.
#[derive(Debug)]
pub struct Project {
    /// `<project_id>`, different in every run: a target that remembers must not answer from the last one.
    pub id: String,
    /// What makes it unique, and what stands for that in reports.
    pub name: ProjectName,
    /// Every message of the project.
    pub transcript: Transcript,
    rows: Mutex<Rows>,
    /// The card that the store holds back, if any.
    held: watch::Sender<Option<String>>,
}

#[derive(Debug, Default)]
struct Rows {
    cards: HashMap<String, Value>,
    tools: HashMap<String, Value>,
    roster: HashMap<String, String>,
    inbox: Vec<Value>,
    anchors: HashMap<(String, String), String>,
}

struct Entry {
    inbox_id: String,
    duplicate: bool,
    correlation_id: String,
    wake: Option<(String, String)>,
    traceparent: Option<String>,
}

impl Project {
    fn new(name: ProjectName) -> Self {
        Self {
            id: name.id(),
            name,
            transcript: Transcript::default(),
            rows: Mutex::default(),
            held: watch::Sender::new(None),
        }
    }

    /// Puts a card into the store.
    pub fn seed_card(&self, card: Value) {
        if let Some(id) = card.get("card_id").and_then(Value::as_str).map(str::to_owned) {
            lock(&self.rows).cards.insert(id, card);
        }
    }

    /// Puts a row into `resource.tools`.
    pub fn seed_tool(&self, row: Value) {
        if let Some(name) = row.get("tool_name").and_then(Value::as_str).map(str::to_owned) {
            lock(&self.rows).tools.insert(name, row);
        }
    }

    /// Says in the roster which worker target serves an agent from now on.
    pub fn assign(&self, agent_id: &str, worker_target: &str) {
        lock(&self.rows).roster.insert(agent_id.to_owned(), worker_target.to_owned());
    }

    /// Enters an agent into the roster that is not there yet.
    pub fn assign_unless_known(&self, agent_id: &str, worker_target: &str) {
        lock(&self.rows).roster.entry(agent_id.to_owned()).or_insert_with(|| worker_target.to_owned());
    }

    /// Removes a card from the store.
    pub fn remove_card(&self, card_id: &str) {
        lock(&self.rows).cards.remove(card_id);
    }

    /// The card with this id, the target's last version of it.
    pub fn card(&self, card_id: &str) -> Option<Value> {
        lock(&self.rows).cards.get(card_id).cloned()
    }

    /// The Inbox, oldest record first.
    pub fn inbox(&self) -> Vec<Value> {
        lock(&self.rows).inbox.clone()
    }

    /// Keeps the card store from answering requests for this card until [`Project::release`].
    pub fn hold(&self, card_id: &str) {
        self.held.send_replace(Some(card_id.to_owned()));
    }

    /// Lets the card store answer again.
    pub fn release(&self) {
        self.held.send_replace(None);
    }

    async fn held(&self, request: &Value) {
        let mut held = self.held.subscribe();
        // The sender lives in `self`, so this ends only when nothing that is asked for is held.
        let _ = held.wait_for(|held| held.as_ref().is_none_or(|card| !seen::mentions(request, card))).await;
    }

    fn cards_get(&self, body: &Value) -> Reply {
        let ids = body
            .get("card_ids")
            .and_then(Value::as_array)
            .ok_or_else(|| bad_request("`card_ids` is a list of card ids"))?;
        let rows = lock(&self.rows);
        let (mut cards, mut missing) = (Vec::new(), Vec::new());
        for id in ids {
            match id.as_str().and_then(|id| rows.cards.get(id)) {
                Some(card) => cards.push(card.clone()),
                None => missing.push(id.clone()),
            }
        }
        Ok(json!({"cards": cards, "missing_card_ids": missing}))
    }

    fn card_save(&self, body: &Value) -> Reply {
        let card = body.get("card").filter(|card| card.is_object()).unwrap_or(body);
        let id = card
            .get("card_id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
            .ok_or_else(|| bad_request("`card.card_id` is a non-empty string"))?;
        let mut rows = lock(&self.rows);
        if rows.cards.len() >= MAX_ROWS {
            return Err(Refusal { status: 507, code: "full", message: "the card store is full".to_owned() });
        }
        rows.cards.insert(id.to_owned(), card.clone());
        Ok(json!({"card_id": id}))
    }

    fn tools_get(&self, body: &Value) -> Reply {
        let name = body.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        lock(&self.rows).tools.get(name).map(|row| json!({"tool": row})).ok_or_else(|| Refusal {
            status: 404,
            code: "not_found",
            message: "no tool of this name is registered in the project".to_owned(),
        })
    }

    fn enqueue(
        &self,
        channel_id: &str,
        headers: &BTreeMap<String, String>,
        body: &Value,
    ) -> Result<Entry, Refusal> {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let anchor = (
            text("/message_type").unwrap_or_default().to_owned(),
            text("/correlation_id").or_else(|| text("/payload/tool_call_id")).unwrap_or_default().to_owned(),
        );
        let mut rows = lock(&self.rows);
        if rows.inbox.len() >= MAX_ROWS {
            return Err(Refusal { status: 507, code: "full", message: "the inbox is full".to_owned() });
        }
        if let Some(inbox_id) = rows.anchors.get(&anchor) {
            let inbox_id = inbox_id.clone();
            let correlation_id = anchor.1;
            return Ok(Entry { inbox_id, duplicate: true, correlation_id, wake: None, traceparent: None });
        }
        let inbox_id = format!("inbox_{}", rows.inbox.len() + 1);
        let agent_id = text("/payload/agent_id");
        let reported = headers.get("traceparent").and_then(|text| Traceparent::parse(text));
        let traceparent = reported.map(|trace| trace.child(&inbox_id).to_string());
        rows.inbox.push(json!({
            "inbox_id": inbox_id, "project_id": self.id, "channel_id": channel_id, "agent_id": agent_id,
            "message_type": body.get("message_type"), "correlation_id": body.get("correlation_id"),
            "source_agent_id": body.get("source_agent_id"), "traceparent": traceparent,
            "payload": body.get("payload"), "status": "pending",
        }));
        let wake = agent_id
            .and_then(|agent| rows.roster.get(agent).map(|target| (agent.to_owned(), target.clone())));
        let correlation_id = anchor.1.clone();
        rows.anchors.insert(anchor, inbox_id.clone());
        Ok(Entry { inbox_id, duplicate: false, correlation_id, wake, traceparent })
    }
}

/// Whether a card is in truth a row of a state table.
fn is_state(body: &Value) -> bool {
    let card = body.get("card").unwrap_or(body);
    seen::card_type(card).is_some_and(|kind| kind.starts_with("state."))
}

fn state_refused() -> Refusal {
    let message = "a tool service must not write `state.*`".to_owned();
    Refusal { status: 403, code: "forbidden", message }
}

/// What a peer is told whose request got lost on the wire.
fn as_if_taken(message: &Message) -> Value {
    match message.kind {
        Kind::CardSave => json!({"card_id": message.body.pointer("/card/card_id")}),
        Kind::Report => json!({"inbox_id": "inbox_0", "duplicate": false}),
        _ => json!({}),
    }
}

fn bad_request(message: &str) -> Refusal {
    Refusal { status: 400, code: "bad_request", message: message.to_owned() }
}
