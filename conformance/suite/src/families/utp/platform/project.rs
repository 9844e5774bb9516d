//! One project: the world of one scenario as its target sees it. Cards, tool rows, roster, Inbox, transcript.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::children::{ChildOutcome, Children, is_token};
use super::reply::{PlatformReply, Refusal, bad_request};
use crate::families::utp::message;
use crate::families::utp::project_name::ProjectName;
use crate::families::utp::revision::Revision;
use crate::families::utp::tool::Role;
use crate::families::utp::trace::Traceparent;
use crate::families::utp::upstream::Script;
use crate::transcript::bounds;
use crate::transcript::{Message, Transcript, lock};

/// Largest number of cards or Inbox records of one project; more are answered as errors.
const MAX_ROWS: usize = 2_000;
/// Bytes of saved cards that all projects together hold whole; beyond, a card is kept in outline.
const MAX_STORED: usize = 24 * 1024 * 1024;
/// A card up to this size is always kept whole.
const SMALL_CARD: usize = 4 * 1024;

/// Bytes of a name or an id of the target's that are kept.
const MAX_NAME: usize = 2 * 1024;

/// Bytes of the cards that all projects of a run hold whole.
pub(super) type Stored = AtomicUsize;

/// The world of one scenario as its target sees it.
#[derive(Debug)]
pub struct Project {
    /// `<project_id>`, different in every run: a target that remembers must not answer from the last one.
    pub id: String,
    /// What makes it unique, and what stands for that in reports.
    pub name: ProjectName,
    /// Every message of the project.
    pub transcript: Arc<Transcript>,
    /// How the upstream answers the project's calls.
    pub upstream: Script,
    /// The turns that were started in it.
    pub(super) children: Children,
    rows: Mutex<Rows>,
    /// Which role of the target is tried here.
    role: OnceLock<Role>,
    /// Whether the target is the one that sends commands here.
    calling: AtomicBool,
    /// The card that the store holds back, if any.
    held: watch::Sender<Option<String>>,
}

#[derive(Debug, Default)]
struct Rows {
    /// As JSON text, which takes up much less than the value does.
    cards: HashMap<String, Card>,
    tools: BTreeMap<String, Row>,
    roster: BTreeMap<String, Row>,
    records: usize,
    anchors: HashMap<(String, String), String>,
}

/// A row as JSON text.
#[derive(Debug)]
struct Row(Box<str>);

impl Row {
    fn of(value: &Value) -> Self {
        Self(value.to_string().into_boxed_str())
    }

    fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// A card as JSON text.
#[derive(Debug)]
struct Card {
    text: Box<str>,
    /// Where its size is counted, when the target saved it and it is large.
    counted: Option<Arc<Stored>>,
}

impl Card {
    fn seeded(card: &Value) -> Self {
        Self { text: card.to_string().into(), counted: None }
    }

    /// A card that the target saved: whole while there is room, else in outline.
    fn saved(card: &Value, stored: &Arc<Stored>) -> Self {
        let text = card.to_string().into_boxed_str();
        if text.len() <= SMALL_CARD {
            return Self { text, counted: None };
        }
        if stored.fetch_add(text.len(), Ordering::Relaxed) + text.len() <= MAX_STORED {
            return Self { text, counted: Some(Arc::clone(stored)) };
        }
        stored.fetch_sub(text.len(), Ordering::Relaxed);
        Self { text: outline(card), counted: None }
    }

    fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        if let Some(stored) = &self.counted {
            stored.fetch_sub(self.text.len(), Ordering::Relaxed);
        }
    }
}

fn outline(card: &Value) -> Box<str> {
    bounds::bounded(card, SMALL_CARD).to_string().into()
}

/// What became of a report.
pub(super) struct Entry {
    pub inbox_id: String,
    pub duplicate: bool,
    pub correlation_id: String,
    /// The agent to wake, and its worker target.
    pub wake: Option<(String, String)>,
    pub traceparent: Option<String>,
    /// Headers that say whom the wakeup is for, in a revision that has them.
    pub identity: BTreeMap<String, String>,
}

impl Project {
    pub(super) fn new(name: ProjectName, transcript: Arc<Transcript>) -> Self {
        Self {
            id: name.id(),
            name,
            transcript,
            upstream: Script::default(),
            children: Children::default(),
            rows: Mutex::default(),
            role: OnceLock::new(),
            calling: AtomicBool::new(false),
            held: watch::Sender::new(None),
        }
    }

    /// Says which role of the target is tried here.
    pub fn try_role(&self, role: Role) {
        // A scenario has one target, so a second word is the same.
        let _ = self.role.set(role);
    }

    /// Which role of the target is tried here.
    pub fn role(&self) -> Option<Role> {
        self.role.get().copied()
    }

    /// From now on the target is the one that sends commands here, takes reports and runs turns.
    pub fn let_target_call(&self) {
        self.calling.store(true, Ordering::Relaxed);
    }

    /// Whether the target is the one that sends commands here.
    pub(super) fn target_calls(&self) -> bool {
        self.calling.load(Ordering::Relaxed)
    }

    /// A card of the store, as it is now.
    pub fn card(&self, card_id: &str) -> Option<Value> {
        lock(&self.rows).cards.get(card_id).map(Card::value)
    }

    /// Puts a card into the store.
    pub fn seed_card(&self, card: &Value) {
        if let Some(id) = card.get("card_id").and_then(Value::as_str).map(str::to_owned) {
            lock(&self.rows).cards.insert(id, Card::seeded(card));
        }
    }

    /// Its scenario is over: of large cards the outline is enough.
    pub fn retire(&self) {
        for card in lock(&self.rows).cards.values_mut().filter(|card| card.counted.is_some()) {
            *card = Card { text: outline(&card.value()), counted: None };
        }
    }

    /// Puts a row into `resource.tools`.
    pub fn seed_tool(&self, row: &Value) {
        if let Some(name) = row.get("tool_name").and_then(Value::as_str) {
            lock(&self.rows).tools.insert(name.to_owned(), Row::of(row));
        }
    }

    /// The row of a tool that a scenario put into `resource.tools`.
    pub(in crate::families::utp) fn tool(&self, tool_name: &str) -> Option<Value> {
        lock(&self.rows).tools.get(tool_name).map(Row::value)
    }

    /// Says in the roster which worker target serves an agent from now on.
    pub fn assign(&self, agent_id: &str, worker_target: &str) {
        let row = Row::of(&self.roster_row(agent_id, worker_target));
        lock(&self.rows).roster.insert(agent_id.to_owned(), row);
    }

    /// Enters an agent into the roster that is not there yet.
    pub fn assign_unless_known(&self, agent_id: &str, worker_target: &str) {
        let row = Row::of(&self.roster_row(agent_id, worker_target));
        lock(&self.rows).roster.entry(agent_id.to_owned()).or_insert(row);
    }

    /// Removes a card from the store.
    pub fn remove_card(&self, card_id: &str) {
        lock(&self.rows).cards.remove(card_id);
    }

    /// Keeps the card store from answering requests for this card until [`Project::release`].
    pub fn hold(&self, card_id: &str) {
        self.held.send_replace(Some(card_id.to_owned()));
    }

    /// Lets the card store answer again.
    pub fn release(&self) {
        self.held.send_replace(None);
    }

    /// Says what becomes of the children of the call with this token.
    pub fn decide_children(&self, token: &str, child_outcome: ChildOutcome) {
        self.children.decide(token, child_outcome);
    }

    /// What becomes of the children of the call with one token becomes of those of the call with another.
    pub fn decide_children_alike(&self, earlier: &str, token: &str) {
        self.children.decide_alike(earlier, token);
    }

    /// Whether a child waits for the scenario to end it.
    pub fn child_waits(&self) -> bool {
        self.children.one_waits()
    }

    pub(super) async fn held(&self, request: &Value) {
        let mut held = self.held.subscribe();
        // The sender lives in `self`, so this ends only when nothing that is asked for is held.
        let _ =
            held.wait_for(|held| held.as_ref().is_none_or(|card| !message::mentions(request, card))).await;
    }

    pub(super) fn cards_get(&self, body: &Value) -> PlatformReply {
        let ids = body
            .get("card_ids")
            .and_then(Value::as_array)
            .ok_or_else(|| bad_request("`card_ids` is a list of card ids"))?;
        let rows = lock(&self.rows);
        let (mut cards, mut missing) = (Vec::new(), Vec::new());
        for id in ids {
            match id.as_str().and_then(|id| rows.cards.get(id)) {
                Some(card) => cards.push(card.value()),
                None => missing.push(id.clone()),
            }
        }
        Ok(json!({"cards": cards, "missing_card_ids": missing}))
    }

    pub(super) fn card_save(&self, body: &Value, stored: &Arc<Stored>) -> PlatformReply {
        let card = body.get("card").filter(|card| card.is_object()).unwrap_or(body);
        let id = card
            .get("card_id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
            .ok_or_else(|| bad_request("`card.card_id` is a non-empty string"))?;
        let kept = Card::saved(card, stored);
        let mut rows = lock(&self.rows);
        if rows.cards.len() >= MAX_ROWS {
            return Err(Refusal { status: 507, code: "full", message: "the card store is full".to_owned() });
        }
        rows.cards.insert(id.to_owned(), kept);
        Ok(json!({"card_id": id}))
    }

    pub(super) fn tools_get(&self, body: &Value) -> PlatformReply {
        let name = body.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        lock(&self.rows).tools.get(name).map(|row| json!({"tool": row.value()})).ok_or_else(|| Refusal {
            status: 404,
            code: "not_found",
            message: "no tool of this name is registered in the project".to_owned(),
        })
    }

    pub(super) fn tools_list(&self) -> Value {
        let tools: Vec<Value> = lock(&self.rows).tools.values().map(Row::value).collect();
        json!({"tools": tools})
    }

    pub(super) fn roster_get(&self, body: &Value) -> PlatformReply {
        let agent = body.get("agent_id").and_then(Value::as_str).unwrap_or_default();
        lock(&self.rows).roster.get(agent).map(|row| json!({"agent": row.value()})).ok_or_else(|| Refusal {
            status: 404,
            code: "not_found",
            message: "no agent of this id is in the roster of the project".to_owned(),
        })
    }

    pub(super) fn roster_save(&self, body: &Value) -> PlatformReply {
        let row = body.get("agent").filter(|row| row.is_object()).unwrap_or(body);
        let id = row
            .get("agent_id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
            .ok_or_else(|| bad_request("`agent.agent_id` is a non-empty string"))?;
        let mut row = row.clone();
        bounds::bound(&mut row, SMALL_CARD);
        let mut rows = lock(&self.rows);
        if rows.roster.len() >= MAX_ROWS {
            return Err(Refusal { status: 507, code: "full", message: "the roster is full".to_owned() });
        }
        rows.roster.insert(id.to_owned(), Row::of(&row));
        Ok(json!({"agent_id": id}))
    }

    /// The row of an agent as the suite enters it into the roster.
    pub(in crate::families::utp) fn roster_row(&self, agent_id: &str, worker_target: &str) -> Value {
        json!({
            "project_id": self.id, "agent_id": agent_id, "worker_target": worker_target,
            "display_name": agent_id, "profile": "general", "owner_agent_id": null, "status": "active",
            "metadata": {},
        })
    }

    pub(super) fn enqueue(&self, revision: Revision, report: &Message) -> Result<Entry, Refusal> {
        let (headers, body) = (&report.headers, &report.body);
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let identity = |member: &str| revision.reported_in(headers, body, member);
        let kept = |text: Option<&str>| bounds::cut(text.unwrap_or_default(), MAX_NAME);
        let anchor =
            (kept(text("/message_type")), kept(text("/correlation_id").or_else(|| identity("tool_call_id"))));
        let mut rows = lock(&self.rows);
        if rows.records >= MAX_ROWS {
            return Err(Refusal { status: 507, code: "full", message: "the inbox is full".to_owned() });
        }
        if let Some(inbox_id) = rows.anchors.get(&anchor) {
            let inbox_id = inbox_id.clone();
            let correlation_id = anchor.1;
            let (wake, traceparent, identity) = (None, None, BTreeMap::new());
            return Ok(Entry { inbox_id, duplicate: true, correlation_id, wake, traceparent, identity });
        }
        rows.records += 1;
        let inbox_id = format!("{}inbox_{}", self.name.prefix, rows.records);
        let agent_id = identity("agent_id");
        let reported = headers.get("traceparent").and_then(|text| Traceparent::parse(text));
        let traceparent = reported.map(|trace| trace.child(&inbox_id).to_string());
        let wake = agent_id.and_then(|agent| {
            let row = rows.roster.get(agent)?.value();
            let target = row["worker_target"].as_str()?;
            // A row may be the target's own; what is no token would spoil the subject.
            is_token(target).then(|| (agent.to_owned(), target.to_owned()))
        });
        let correlation_id = anchor.1.clone();
        rows.anchors.insert(anchor, inbox_id.clone());
        // Only what names the agent and its turn: a wakeup belongs to no call (NATS §5.1).
        let named = ["project_id", "channel_id", "agent_id", "agent_turn_id", "turn_epoch"].into_iter();
        let named = named
            .filter_map(|member| Some((revision.header(member)?.to_owned(), kept(Some(identity(member)?)))));
        let identity = named.collect();
        Ok(Entry { inbox_id, duplicate: false, correlation_id, wake, traceparent, identity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        let name = ProjectName {
            prefix: String::new(),
            unique: "u".to_owned(),
            stable: "s".to_owned(),
            suffix: String::new(),
        };
        Project::new(name, Arc::default())
    }

    fn save(project: &Project, stored: &Arc<Stored>, id: usize, size: usize) -> PlatformReply {
        let result = "x".repeat(size);
        project
            .card_save(&json!({"card": {"card_id": format!("c{id}"), "content": {"result": result}}}), stored)
    }

    #[test]
    fn a_large_card_is_held_whole_until_its_scenario_is_over() {
        let (project, stored) = (project(), Arc::default());
        save(&project, &stored, 1, 1_000_000).expect("room");
        let read = |project: &Project| {
            let reply = project.cards_get(&json!({"card_ids": ["c1"]})).expect("a reply");
            reply["cards"][0]["content"]["result"].as_str().map(str::len)
        };
        assert_eq!(read(&project), Some(1_000_000));
        assert!(stored.load(Ordering::Relaxed) > 1_000_000);
        project.retire();
        assert!(read(&project).is_some_and(|size| size < 10_000));
        assert_eq!(stored.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn cards_of_all_projects_together_are_bounded() {
        let stored = Arc::default();
        let projects: Vec<Project> = (0..3).map(|_| project()).collect();
        for id in 0..35 {
            for project in &projects {
                save(project, &stored, id, 1_000_000).expect("a card is never refused for its size");
            }
        }
        assert!(stored.load(Ordering::Relaxed) <= MAX_STORED);
    }
}
