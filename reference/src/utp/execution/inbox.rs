//! Where Inbox records are kept: [`MemoryInbox`] here, a file in `l0::store_file`; one test checks both.
//!
//! A store is synchronous: callers on an async thread check [`InboxStore::waits_for_disk`] first.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;

use crate::cause::Cause;
use crate::sync::locked;
use crate::utp::message::InboxRecord;

/// The status of a record that its agent has not taken yet.
pub(crate) const PENDING: &str = "pending";
/// The status of a record that its agent has taken.
pub(crate) const CONSUMED: &str = "consumed";

/// What becomes of a new Inbox record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// It is written.
    New,
    /// There was one for the same report: its inbox id.
    Duplicate(String),
}

/// What makes two reports one: project, message type, correlation id, and the turn in which the call was made.
///
/// The turn belongs to it because the same call id in another turn is another call (UTP §3.2).
pub(crate) type ReportKey = (String, String, String, String);

/// The key of a record's report.
pub(crate) fn report_key(record: &InboxRecord) -> ReportKey {
    let turn = match &record.context {
        Some(context) => &context.agent_turn_id,
        None => record.payload.get("agent_turn_id").and_then(Value::as_str).unwrap_or_default(),
    };
    (record.project_id.clone(), record.message_type.clone(), record.correlation_id.clone(), turn.to_owned())
}

/// The Inboxes of all agents.
pub(crate) trait InboxStore: Send + Sync {
    /// Writes a record unless there is one for the same report.
    fn insert(&self, record: &InboxRecord) -> Result<Insertion, Cause>;
    /// All records of an agent, oldest first.
    fn records(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause>;
    /// The pending records of an agent, oldest first, which become consumed.
    fn take(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause>;
    /// Whether the operations wait for a disk.
    fn waits_for_disk(&self) -> bool;
}

/// Inboxes that end with the process.
#[derive(Default)]
pub(crate) struct MemoryInbox {
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    /// By project and agent.
    inboxes: HashMap<(String, String), Inbox>,
    /// Inbox id by report.
    reports: HashMap<ReportKey, String>,
}

#[derive(Default)]
struct Inbox {
    records: Vec<InboxRecord>,
    /// How many of them are consumed; the pending ones follow.
    consumed: usize,
}

impl InboxStore for MemoryInbox {
    fn insert(&self, record: &InboxRecord) -> Result<Insertion, Cause> {
        let tables = &mut *locked(&self.tables);
        let report = report_key(record);
        if let Some(inbox_id) = tables.reports.get(&report) {
            return Ok(Insertion::Duplicate(inbox_id.clone()));
        }
        tables.reports.insert(report, record.inbox_id.clone());
        let agent = (record.project_id.clone(), record.agent_id.clone());
        tables.inboxes.entry(agent).or_default().records.push(record.clone());
        Ok(Insertion::New)
    }

    fn records(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        let tables = locked(&self.tables);
        let inbox = tables.inboxes.get(&(project_id.to_owned(), agent_id.to_owned()));
        Ok(inbox.map(|inbox| inbox.records.clone()).unwrap_or_default())
    }

    fn take(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        let mut tables = locked(&self.tables);
        let Some(inbox) = tables.inboxes.get_mut(&(project_id.to_owned(), agent_id.to_owned())) else {
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

    use super::{CONSUMED, InboxStore, Insertion, MemoryInbox, PENDING};
    use crate::utp::message::InboxRecord;

    pub(crate) fn record(inbox_id: &str, turn: &str, correlation_id: &str) -> InboxRecord {
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
            payload: json!({"turn_epoch": 6, "agent_turn_id": turn}),
            context: None,
            status: PENDING.to_owned(),
            created_at: String::new(),
        }
    }

    /// What every Inbox must do.
    pub(crate) fn check_inbox(inbox: &dyn InboxStore) {
        let insert =
            |id: &str, turn: &str, call: &str| inbox.insert(&record(id, turn, call)).expect("no error");
        assert_eq!(insert("i1", "turn", "call_1"), Insertion::New);
        assert_eq!(insert("i2", "turn", "call_1"), Insertion::Duplicate("i1".to_owned()));
        assert_eq!(insert("i3", "turn", "call_2"), Insertion::New);
        assert_eq!(insert("i4", "other_turn", "call_1"), Insertion::New);
        let ids = |records: Vec<InboxRecord>| -> Vec<String> {
            records.into_iter().map(|record| record.inbox_id).collect()
        };
        assert_eq!(ids(inbox.take("prj", "ag").expect("no error")), ["i1", "i3", "i4"]);
        assert_eq!(inbox.take("prj", "ag").expect("no error"), []);
        let all = inbox.records("prj", "ag").expect("no error");
        assert!(all.iter().all(|record| record.status == CONSUMED));
        assert_eq!(ids(all), ["i1", "i3", "i4"]);
        assert_eq!(inbox.records("other", "ag").expect("no error"), []);
    }

    #[test]
    fn the_memory_does_what_an_inbox_must() {
        check_inbox(&MemoryInbox::default());
    }
}
