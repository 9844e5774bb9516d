//! One project: the world of one scenario as its target sees it. Cards, tool rows, roster, Inbox, transcript.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::reply::{Refusal, Reply, bad_request};
use crate::transcript::{Transcript, lock};
use crate::utp::judge::seen;
use crate::utp::trace::Traceparent;

/// Largest number of cards or Inbox records of one project; more are answered as errors.
const MAX_ROWS: usize = 20_000;

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
    pub transcript: Arc<Transcript>,
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

/// What became of a report.
pub(super) struct Entry {
    pub inbox_id: String,
    pub duplicate: bool,
    pub correlation_id: String,
    /// The agent to wake, and its worker target.
    pub wake: Option<(String, String)>,
    pub traceparent: Option<String>,
}

impl Project {
    pub(super) fn new(name: ProjectName) -> Self {
        Self {
            id: name.id(),
            name,
            transcript: Arc::default(),
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

    pub(super) async fn held(&self, request: &Value) {
        let mut held = self.held.subscribe();
        // The sender lives in `self`, so this ends only when nothing that is asked for is held.
        let _ = held.wait_for(|held| held.as_ref().is_none_or(|card| !seen::mentions(request, card))).await;
    }

    pub(super) fn cards_get(&self, body: &Value) -> Reply {
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

    pub(super) fn card_save(&self, body: &Value) -> Reply {
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

    pub(super) fn tools_get(&self, body: &Value) -> Reply {
        let name = body.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        lock(&self.rows).tools.get(name).map(|row| json!({"tool": row})).ok_or_else(|| Refusal {
            status: 404,
            code: "not_found",
            message: "no tool of this name is registered in the project".to_owned(),
        })
    }

    pub(super) fn enqueue(
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
