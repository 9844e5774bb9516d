//! Where L0 keeps cards, tools, rosters and Inboxes.
//!
//! [`MemoryStore`] is here, the file in `store_file`; both do the same, and one test checks both.
//! A store is synchronous: whoever calls it from an async thread asks [`Store::waits_for_disk`] first.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;

use crate::utp::error::Cause;
use crate::utp::message::{InboxRecord, RosterRow, ToolRow};
use crate::utp::tool_service::locked;

/// The status of a record that its agent has not taken yet.
pub(crate) const PENDING: &str = "pending";
/// The status of a record that its agent has taken.
pub(crate) const CONSUMED: &str = "consumed";

/// What becomes of a new Inbox record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// It is written.
    New,
    /// There was one with the same project, message type and correlation id: its inbox id.
    Duplicate(String),
}

/// The tables of L0.
pub(crate) trait Store: Send + Sync {
    fn card(&self, project_id: &str, card_id: &str) -> Result<Option<Value>, Cause>;
    fn put_card(&self, project_id: &str, card_id: &str, card: &Value) -> Result<(), Cause>;
    fn tool(&self, project_id: &str, tool_name: &str) -> Result<Option<ToolRow>, Cause>;
    fn put_tool(&self, row: &ToolRow) -> Result<(), Cause>;
    fn roster(&self, project_id: &str, agent_id: &str) -> Result<Option<RosterRow>, Cause>;
    fn put_roster(&self, row: &RosterRow) -> Result<(), Cause>;
    /// Writes a record unless there is one for the same report.
    fn insert(&self, record: &InboxRecord) -> Result<Insertion, Cause>;
    /// All records of an agent, oldest first.
    fn inbox(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause>;
    /// The pending records of an agent, oldest first, which become consumed.
    fn take_inbox(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause>;
    /// Whether the operations wait for a disk.
    fn waits_for_disk(&self) -> bool;
}

type Pair = (String, String);

/// Tables that end with the process.
#[derive(Default)]
pub(crate) struct MemoryStore {
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    cards: HashMap<Pair, Value>,
    tools: HashMap<Pair, ToolRow>,
    rosters: HashMap<Pair, RosterRow>,
    inboxes: HashMap<Pair, Inbox>,
    /// Inbox id by project, message type and correlation id.
    reports: HashMap<(String, String, String), String>,
}

#[derive(Default)]
struct Inbox {
    records: Vec<InboxRecord>,
    /// How many of them are consumed; the pending ones follow.
    consumed: usize,
}

fn pair(one: &str, other: &str) -> Pair {
    (one.to_owned(), other.to_owned())
}

impl Store for MemoryStore {
    fn card(&self, project_id: &str, card_id: &str) -> Result<Option<Value>, Cause> {
        Ok(locked(&self.tables).cards.get(&pair(project_id, card_id)).cloned())
    }

    fn put_card(&self, project_id: &str, card_id: &str, card: &Value) -> Result<(), Cause> {
        locked(&self.tables).cards.insert(pair(project_id, card_id), card.clone());
        Ok(())
    }

    fn tool(&self, project_id: &str, tool_name: &str) -> Result<Option<ToolRow>, Cause> {
        Ok(locked(&self.tables).tools.get(&pair(project_id, tool_name)).cloned())
    }

    fn put_tool(&self, row: &ToolRow) -> Result<(), Cause> {
        locked(&self.tables).tools.insert(pair(&row.project_id, &row.tool_name), row.clone());
        Ok(())
    }

    fn roster(&self, project_id: &str, agent_id: &str) -> Result<Option<RosterRow>, Cause> {
        Ok(locked(&self.tables).rosters.get(&pair(project_id, agent_id)).cloned())
    }

    fn put_roster(&self, row: &RosterRow) -> Result<(), Cause> {
        locked(&self.tables).rosters.insert(pair(&row.project_id, &row.agent_id), row.clone());
        Ok(())
    }

    fn insert(&self, record: &InboxRecord) -> Result<Insertion, Cause> {
        let tables = &mut *locked(&self.tables);
        let report = (record.project_id.clone(), record.message_type.clone(), record.correlation_id.clone());
        if let Some(inbox_id) = tables.reports.get(&report) {
            return Ok(Insertion::Duplicate(inbox_id.clone()));
        }
        tables.reports.insert(report, record.inbox_id.clone());
        let inbox = tables.inboxes.entry(pair(&record.project_id, &record.agent_id)).or_default();
        inbox.records.push(record.clone());
        Ok(Insertion::New)
    }

    fn inbox(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        let tables = locked(&self.tables);
        let inbox = tables.inboxes.get(&pair(project_id, agent_id));
        Ok(inbox.map(|inbox| inbox.records.clone()).unwrap_or_default())
    }

    fn take_inbox(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        let mut tables = locked(&self.tables);
        let Some(inbox) = tables.inboxes.get_mut(&pair(project_id, agent_id)) else {
            return Ok(Vec::new());
        };
        let pending = inbox.records[inbox.consumed..].to_vec();
        for record in &mut inbox.records[inbox.consumed..] {
            CONSUMED.clone_into(&mut record.status);
        }
        inbox.consumed = inbox.records.len();
        Ok(pending)
    }

    fn waits_for_disk(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::{CONSUMED, Insertion, MemoryStore, PENDING, Store};
    use crate::utp::message::{AfterExecution, InboxRecord, RosterRow, ToolRow};

    fn record(inbox_id: &str, correlation_id: &str) -> InboxRecord {
        InboxRecord {
            inbox_id: inbox_id.to_owned(),
            project_id: "prj".to_owned(),
            channel_id: "ch".to_owned(),
            agent_id: "ag".to_owned(),
            message_type: "tool_result".to_owned(),
            correlation_id: correlation_id.to_owned(),
            source_agent_id: "tool.x".to_owned(),
            traceparent: String::new(),
            tracestate: None,
            payload: json!({"turn_epoch": 6}),
            status: PENDING.to_owned(),
            created_at: String::new(),
        }
    }

    /// What every store must do.
    pub(crate) fn check_store(store: &dyn Store) {
        let card = json!({"card_id": "c", "content": {"k": [1]}});
        store.put_card("prj", "c", &json!({"card_id": "c"})).expect("no error");
        store.put_card("prj", "c", &card).expect("no error");
        assert_eq!(store.card("prj", "c").expect("no error"), Some(card));
        assert_eq!(store.card("other", "c").expect("no error"), None);

        let row = ToolRow {
            project_id: "prj".to_owned(),
            tool_name: "t".to_owned(),
            description: None,
            parameters: json!({}),
            target_subject: "cg.v1r3.{project_id}.{channel_id}.cmd.tool.t".to_owned(),
            after_execution: AfterExecution::Suspend,
            options: json!({}),
        };
        store.put_tool(&row).expect("no error");
        assert_eq!(store.tool("prj", "t").expect("no error"), Some(row));
        assert_eq!(store.tool("prj", "u").expect("no error"), None);

        for worker_target in ["pool_blue", "pool_red"] {
            let row = RosterRow {
                project_id: "prj".to_owned(),
                agent_id: "ag".to_owned(),
                worker_target: worker_target.to_owned(),
            };
            store.put_roster(&row).expect("no error");
            assert_eq!(store.roster("prj", "ag").expect("no error"), Some(row));
        }

        assert_eq!(store.insert(&record("i1", "call_1")).expect("no error"), Insertion::New);
        assert_eq!(
            store.insert(&record("i2", "call_1")).expect("no error"),
            Insertion::Duplicate("i1".to_owned())
        );
        assert_eq!(store.insert(&record("i3", "call_2")).expect("no error"), Insertion::New);
        let ids = |records: Vec<InboxRecord>| -> Vec<String> {
            records.into_iter().map(|record| record.inbox_id).collect()
        };
        assert_eq!(ids(store.take_inbox("prj", "ag").expect("no error")), ["i1", "i3"]);
        assert_eq!(store.take_inbox("prj", "ag").expect("no error"), []);
        let all = store.inbox("prj", "ag").expect("no error");
        assert!(all.iter().all(|record| record.status == CONSUMED));
        assert_eq!(ids(all), ["i1", "i3"]);
        assert_eq!(store.inbox("other", "ag").expect("no error"), []);
    }

    #[test]
    fn the_memory_does_what_a_store_must() {
        check_store(&MemoryStore::default());
    }
}
