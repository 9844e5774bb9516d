//! Where L0 keeps cards, tools and rosters; the Inboxes are `execution::inbox`.
//!
//! [`MemoryStore`] is here, the file in `store_file`; both do the same, and one test checks both.
//! A store is synchronous: callers on an async thread check [`Store::waits_for_disk`] first.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;

use crate::cause::Cause;
use crate::sync::locked;
use crate::utp::message::{RosterRow, ToolRow};

/// The tables of L0.
pub(crate) trait Store: Send + Sync {
    fn card(&self, project_id: &str, card_id: &str) -> Result<Option<Value>, Cause>;
    fn put_card(&self, project_id: &str, card_id: &str, card: &Value) -> Result<(), Cause>;
    fn tool(&self, project_id: &str, tool_name: &str) -> Result<Option<ToolRow>, Cause>;
    fn put_tool(&self, row: &ToolRow) -> Result<(), Cause>;
    /// All tools of a project, by name.
    fn tools(&self, project_id: &str) -> Result<Vec<ToolRow>, Cause>;
    /// Whether there was one to remove.
    fn remove_tool(&self, project_id: &str, tool_name: &str) -> Result<bool, Cause>;
    fn roster(&self, project_id: &str, agent_id: &str) -> Result<Option<RosterRow>, Cause>;
    fn put_roster(&self, row: &RosterRow) -> Result<(), Cause>;
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

    fn tools(&self, project_id: &str) -> Result<Vec<ToolRow>, Cause> {
        let tables = locked(&self.tables);
        let rows = tables.tools.values().filter(|row| row.project_id == project_id);
        let mut rows: Vec<_> = rows.cloned().collect();
        rows.sort_by(|one, other| one.tool_name.cmp(&other.tool_name));
        Ok(rows)
    }

    fn remove_tool(&self, project_id: &str, tool_name: &str) -> Result<bool, Cause> {
        Ok(locked(&self.tables).tools.remove(&pair(project_id, tool_name)).is_some())
    }

    fn roster(&self, project_id: &str, agent_id: &str) -> Result<Option<RosterRow>, Cause> {
        Ok(locked(&self.tables).rosters.get(&pair(project_id, agent_id)).cloned())
    }

    fn put_roster(&self, row: &RosterRow) -> Result<(), Cause> {
        locked(&self.tables).rosters.insert(pair(&row.project_id, &row.agent_id), row.clone());
        Ok(())
    }

    fn waits_for_disk(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::{MemoryStore, Store};
    use crate::utp::message::{AfterExecution, RosterRow, ToolRow};

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
        assert_eq!(store.tool("prj", "t").expect("no error"), Some(row.clone()));
        assert_eq!(store.tool("prj", "u").expect("no error"), None);

        let other = ToolRow { tool_name: "a".to_owned(), ..row.clone() };
        store.put_tool(&other).expect("no error");
        assert_eq!(store.tools("prj").expect("no error"), [other, row]);
        assert_eq!(store.tools("other").expect("no error"), []);
        assert!(store.remove_tool("prj", "a").expect("no error"));
        assert!(!store.remove_tool("prj", "a").expect("no error"));
        assert_eq!(store.tools("prj").expect("no error").len(), 1);

        for worker_target in ["pool_blue", "pool_red"] {
            let row =
                RosterRow { metadata: Some(json!({"k": 1})), ..RosterRow::new("prj", "ag", worker_target) };
            store.put_roster(&row).expect("no error");
            assert_eq!(store.roster("prj", "ag").expect("no error"), Some(row));
        }
    }

    #[test]
    fn the_memory_does_what_a_store_must() {
        check_store(&MemoryStore::default());
    }
}
