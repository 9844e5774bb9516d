//! Which turns there are, and which calls they wait for.
//!
//! [`TurnStore`] is the interface for what a runtime knows about its turns; [`MemoryTurns`] ends with the process, and
//! so do the turns themselves. A file store is left out: it would also have to restore the conversation with the model.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;

use tokio::sync::mpsc::UnboundedSender;

use crate::sync::locked;
use crate::utp::execution::Commands;
use crate::utp::message::{InboxRecord, TOOL_RESULT, TurnReceipt, text_member};

/// The first epoch of a turn, and here the only one: a turn is never restarted.
pub(super) const EPOCH: u64 = 1;

/// How many turns are remembered; the oldest are forgotten first.
const MAX_REMEMBERED: usize = 65_536;

/// The turns that were started.
pub(super) trait TurnStore: Send + Sync {
    /// The receipt of a turn that was started before.
    fn find(&self, project_id: &str, start: &Start) -> Option<TurnReceipt>;
    /// Notes a turn; answers with the receipt of the one that was there, if there was.
    fn begin(&self, project_id: &str, start: &Start, receipt: &TurnReceipt) -> Option<TurnReceipt>;
}

/// By what the start of a turn is known again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Start {
    /// The id of the turn.
    Turn(String),
    /// What its caller says in `v1r4`: one call may have the id of another turn's call.
    Correlation { parent_agent_turn_id: String, correlation_id: String },
}

/// Turns that are forgotten with the process.
#[derive(Default)]
pub(super) struct MemoryTurns {
    turns: Mutex<Turns>,
}

type TurnKey = (String, Start);

#[derive(Default)]
struct Turns {
    receipts: HashMap<TurnKey, TurnReceipt>,
    order: VecDeque<TurnKey>,
}

impl TurnStore for MemoryTurns {
    fn find(&self, project_id: &str, start: &Start) -> Option<TurnReceipt> {
        locked(&self.turns).receipts.get(&(project_id.to_owned(), start.clone())).cloned()
    }

    fn begin(&self, project_id: &str, start: &Start, receipt: &TurnReceipt) -> Option<TurnReceipt> {
        let key = (project_id.to_owned(), start.clone());
        let turns = &mut *locked(&self.turns);
        if let Some(known) = turns.receipts.get(&key) {
            return Some(known.clone());
        }
        if turns.order.len() == MAX_REMEMBERED
            && let Some(oldest) = turns.order.pop_front()
        {
            turns.receipts.remove(&oldest);
        }
        turns.order.push_back(key.clone());
        turns.receipts.insert(key, receipt.clone());
        None
    }
}

/// Which call a callback answers: the anchor of UTP §3.2, within its project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
pub(super) struct CallKey {
    pub(super) project_id: String,
    pub(super) agent_turn_id: String,
    pub(super) tool_call_id: String,
}

/// The calls that turns wait for. A call leaves with its first callback, so that no second one has an effect.
#[derive(Default)]
pub(super) struct Waiting {
    /// Those of one project stand together.
    calls: Mutex<BTreeMap<CallKey, Waiter>>,
}

struct Waiter {
    agent_id: String,
    depth: u64,
    /// Boxed, since a channel reserves room for dozens of records, and many turns wait.
    turn: UnboundedSender<Box<InboxRecord>>,
}

impl Waiting {
    pub(super) fn add(
        &self,
        key: CallKey,
        (agent_id, depth): (&str, u64),
        turn: UnboundedSender<Box<InboxRecord>>,
    ) {
        locked(&self.calls).insert(key, Waiter { agent_id: agent_id.to_owned(), depth, turn });
    }

    pub(super) fn remove(&self, key: &CallKey) {
        locked(&self.calls).remove(key);
    }

    pub(super) fn contains(&self, key: &CallKey) -> bool {
        locked(&self.calls).contains_key(key)
    }

    /// Whether an agent waits for anything at all.
    pub(super) fn concerns(&self, project_id: &str, agent_id: &str) -> bool {
        let first = CallKey {
            project_id: project_id.to_owned(),
            agent_turn_id: String::new(),
            tool_call_id: String::new(),
        };
        let calls = locked(&self.calls);
        let own = calls.range(first..).take_while(|(key, _)| key.project_id == project_id);
        own.map(|(_, waiter)| waiter).any(|waiter| waiter.agent_id == agent_id)
    }

    /// Hands a record to the turn that waits for it; a record that no turn waits for is ignored.
    pub(super) fn deliver(&self, project_id: &str, record: InboxRecord) {
        let Some((tool_call_id, agent_turn_id)) = ids(&record) else {
            return;
        };
        let key = CallKey { project_id: project_id.to_owned(), agent_turn_id, tool_call_id };
        let mut calls = locked(&self.calls);
        if calls.get(&key).is_some_and(|waiter| waiter.agent_id == record.agent_id)
            && let Some(waiter) = calls.remove(&key)
        {
            // The turn may just have ended.
            let _ = waiter.turn.send(Box::new(record));
        }
    }
}

impl Commands for Waiting {
    fn depth(&self, project_id: &str, agent_turn_id: &str, tool_call_id: &str) -> Option<u64> {
        let key = CallKey {
            project_id: project_id.to_owned(),
            agent_turn_id: agent_turn_id.to_owned(),
            tool_call_id: tool_call_id.to_owned(),
        };
        locked(&self.calls).get(&key).map(|waiter| waiter.depth)
    }
}

/// The ids of a callback for a turn of ours: one for another epoch is for no turn that is there.
fn ids(record: &InboxRecord) -> Option<(String, String)> {
    if let Some(context) = &record.context {
        let current = record.message_type == TOOL_RESULT && context.turn_epoch == EPOCH;
        return current.then(|| (context.tool_call_id.clone(), context.agent_turn_id.clone()));
    }
    let payload = &record.payload;
    let current = payload.get("turn_epoch").is_none_or(|epoch| epoch.is_null() || *epoch == EPOCH);
    if record.message_type != TOOL_RESULT || !current {
        return None;
    }
    Some((
        text_member(payload, "tool_call_id")?.to_owned(),
        text_member(payload, "agent_turn_id")?.to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::sync::mpsc::unbounded_channel;

    use super::{CallKey, Commands as _, EPOCH, MemoryTurns, Start, TurnStore, Waiting};
    use crate::utp::execution::inbox::tests::record;
    use crate::utp::message::TurnReceipt;

    #[test]
    fn a_turn_begins_once() {
        let receipt = TurnReceipt {
            agent_id: "ag".to_owned(),
            agent_turn_id: "turn".to_owned(),
            turn_epoch: json!(EPOCH),
        };
        let turns = MemoryTurns::default();
        let correlated = |parent: &str| Start::Correlation {
            parent_agent_turn_id: parent.to_owned(),
            correlation_id: "call-1".to_owned(),
        };
        for start in [Start::Turn("turn".to_owned()), correlated("parent"), correlated("another")] {
            assert_eq!(turns.find("prj", &start), None);
            assert_eq!(turns.begin("prj", &start, &receipt), None);
            assert_eq!(turns.begin("prj", &start, &receipt), Some(receipt.clone()));
            assert_eq!(turns.find("prj", &start), Some(receipt.clone()));
            assert_eq!(turns.begin("other", &start, &receipt), None);
        }
    }

    #[test]
    fn only_the_first_callback_of_a_waiting_call_is_delivered() {
        let waiting = Waiting::default();
        let (sender, mut arrivals) = unbounded_channel();
        let key = CallKey {
            project_id: "prj".to_owned(),
            agent_turn_id: "turn".to_owned(),
            tool_call_id: "call".to_owned(),
        };
        waiting.add(key.clone(), ("ag", 3), sender);
        assert_eq!(waiting.depth("prj", "turn", "call"), Some(3));
        assert_eq!(waiting.depth("prj", "other", "call"), None);
        let mut check = |change: Value, agent_id: &str, delivered: bool| {
            let mut record = record("i", "turn", "call");
            record.payload = json!({"tool_call_id": "call", "agent_turn_id": "turn", "turn_epoch": 1});
            for (name, value) in change.as_object().expect("an object") {
                record.payload[name] = value.clone();
            }
            agent_id.clone_into(&mut record.agent_id);
            waiting.deliver("prj", record);
            assert_eq!(arrivals.try_recv().is_ok(), delivered, "{change}");
        };
        check(json!({"tool_call_id": "other"}), "ag", false);
        check(json!({"agent_turn_id": "other"}), "ag", false);
        check(json!({"turn_epoch": 2}), "ag", false);
        check(json!({}), "other", false);
        assert!(waiting.concerns("prj", "ag") && !waiting.concerns("other", "ag"));
        check(json!({}), "ag", true);
        check(json!({}), "ag", false);
        assert!(!waiting.contains(&key));
    }
}
