//! L0's tables in one SQLite file below the data directory.
//!
//! Rows are kept as the JSON that came, with only the keys as columns: L0 hands on what it was given.

use std::path::Path;
use std::sync::Mutex;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::store::Store;
use crate::cause::Cause;
use crate::sync::locked;
use crate::utp::error::ReferenceError;
use crate::utp::execution::inbox::{CONSUMED, InboxStore, Insertion, PENDING, report_key};
use crate::utp::message::{InboxRecord, RosterRow, ToolRow};
use crate::utp::tool_service::open_file;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, project_id, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inbox_records (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    inbox_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    message_type TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    agent_turn_id TEXT NOT NULL,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (project_id, message_type, correlation_id, agent_turn_id)
);
CREATE INDEX IF NOT EXISTS inbox_records_of_agent ON inbox_records (project_id, agent_id, status);
";

/// Moves the records of files written when a report was known by three columns and not four.
const FROM_THREE_COLUMNS: &str = "
INSERT INTO inbox_records
    (inbox_id, project_id, agent_id, message_type, correlation_id, agent_turn_id, status, body)
SELECT inbox_id, project_id, agent_id, message_type, correlation_id,
       COALESCE(json_extract(body, '$.payload.agent_turn_id'), ''), status, body
FROM inbox ORDER BY sequence;
DROP TABLE inbox;
";

const CARD: &str = "card";
const TOOL: &str = "tool";
const ROSTER: &str = "roster";

/// Tables in a file.
pub(crate) struct FileStore {
    connection: Mutex<Connection>,
}

impl FileStore {
    /// Opens, or creates, `l0.sqlite` in the directory.
    pub(crate) fn open(data_dir: &Path) -> Result<Self, ReferenceError> {
        let failed = |source: Cause| ReferenceError::store("l0", source);
        std::fs::create_dir_all(data_dir).map_err(|error| failed(error.into()))?;
        let connection = open_file(&data_dir.join("l0.sqlite"), SCHEMA).and_then(migrated);
        Ok(Self { connection: Mutex::new(connection.map_err(|error| failed(error.into()))?) })
    }

    fn document<T: DeserializeOwned>(
        &self,
        kind: &str,
        project_id: &str,
        id: &str,
    ) -> Result<Option<T>, Cause> {
        let body: Option<String> = locked(&self.connection)
            .prepare("SELECT body FROM documents WHERE kind = ?1 AND project_id = ?2 AND id = ?3")?
            .query_row([kind, project_id, id], |row| row.get(0))
            .optional()?;
        Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
    }

    fn put_document(
        &self,
        kind: &str,
        project_id: &str,
        id: &str,
        body: &impl Serialize,
    ) -> Result<(), Cause> {
        let body = serde_json::to_string(body)?;
        locked(&self.connection)
            .prepare(
                "INSERT INTO documents (kind, project_id, id, body) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT DO UPDATE SET body = excluded.body",
            )?
            .execute([kind, project_id, id, &body])?;
        Ok(())
    }
}

fn migrated(mut connection: Connection) -> rusqlite::Result<Connection> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let old = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'inbox'";
    if transaction.prepare(old)?.exists([])? {
        transaction.execute_batch(FROM_THREE_COLUMNS)?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// The records of an agent, of one status or of any.
fn records(
    connection: &Connection,
    project_id: &str,
    agent_id: &str,
    status: Option<&str>,
) -> Result<Vec<InboxRecord>, Cause> {
    let mut statement = connection.prepare(
        "SELECT body, status FROM inbox_records WHERE project_id = ?1 AND agent_id = ?2 \
         AND (?3 IS NULL OR status = ?3) ORDER BY sequence",
    )?;
    let rows = statement.query_map(params![project_id, agent_id, status], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    rows.map(|row| {
        let (body, status) = row?;
        let record: InboxRecord = serde_json::from_str(&body)?;
        Ok(InboxRecord { status, ..record })
    })
    .collect()
}

impl Store for FileStore {
    fn card(&self, project_id: &str, card_id: &str) -> Result<Option<Value>, Cause> {
        self.document(CARD, project_id, card_id)
    }

    fn put_card(&self, project_id: &str, card_id: &str, card: &Value) -> Result<(), Cause> {
        self.put_document(CARD, project_id, card_id, card)
    }

    fn tool(&self, project_id: &str, tool_name: &str) -> Result<Option<ToolRow>, Cause> {
        self.document(TOOL, project_id, tool_name)
    }

    fn put_tool(&self, row: &ToolRow) -> Result<(), Cause> {
        self.put_document(TOOL, &row.project_id, &row.tool_name, row)
    }

    fn tools(&self, project_id: &str) -> Result<Vec<ToolRow>, Cause> {
        let connection = locked(&self.connection);
        let mut statement = connection
            .prepare("SELECT body FROM documents WHERE kind = ?1 AND project_id = ?2 ORDER BY id")?;
        let bodies = statement.query_map([TOOL, project_id], |row| row.get::<_, String>(0))?;
        bodies.map(|body| Ok(serde_json::from_str(&body?)?)).collect()
    }

    fn remove_tool(&self, project_id: &str, tool_name: &str) -> Result<bool, Cause> {
        let removed = locked(&self.connection)
            .prepare("DELETE FROM documents WHERE kind = ?1 AND project_id = ?2 AND id = ?3")?
            .execute([TOOL, project_id, tool_name])?;
        Ok(removed > 0)
    }

    fn roster(&self, project_id: &str, agent_id: &str) -> Result<Option<RosterRow>, Cause> {
        self.document(ROSTER, project_id, agent_id)
    }

    fn put_roster(&self, row: &RosterRow) -> Result<(), Cause> {
        self.put_document(ROSTER, &row.project_id, &row.agent_id, row)
    }

    fn waits_for_disk(&self) -> bool {
        true
    }
}

impl InboxStore for FileStore {
    fn insert(&self, record: &InboxRecord) -> Result<Insertion, Cause> {
        let body = serde_json::to_string(record)?;
        let (project_id, message_type, correlation_id, agent_turn_id) = report_key(record);
        let connection = locked(&self.connection);
        let inserted = connection
            .prepare(
                "INSERT INTO inbox_records (inbox_id, project_id, agent_id, message_type, correlation_id, \
                 agent_turn_id, status, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                record.inbox_id,
                project_id,
                record.agent_id,
                message_type,
                correlation_id,
                agent_turn_id,
                record.status,
                body
            ])?;
        if inserted > 0 {
            return Ok(Insertion::New);
        }
        let inbox_id = connection
            .prepare(
                "SELECT inbox_id FROM inbox_records WHERE project_id = ?1 AND message_type = ?2 \
                 AND correlation_id = ?3 AND agent_turn_id = ?4",
            )?
            .query_row([&project_id, &message_type, &correlation_id, &agent_turn_id], |row| row.get(0))?;
        Ok(Insertion::Duplicate(inbox_id))
    }

    fn records(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        records(&locked(&self.connection), project_id, agent_id, None)
    }

    fn take(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        let mut connection = locked(&self.connection);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let pending = records(&transaction, project_id, agent_id, Some(PENDING))?;
        transaction.execute(
            "UPDATE inbox_records SET status = ?3 WHERE project_id = ?1 AND agent_id = ?2 AND status = ?4",
            params![project_id, agent_id, CONSUMED, PENDING],
        )?;
        transaction.commit()?;
        Ok(pending)
    }

    fn waits_for_disk(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::FileStore;
    use crate::utp::execution::inbox::tests::{check_inbox, record};
    use crate::utp::execution::inbox::{InboxStore, Insertion};
    use crate::utp::l0::store::Store;
    use crate::utp::l0::store::tests::check_store;

    #[test]
    fn the_file_does_what_a_store_must_and_keeps_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = FileStore::open(directory.path()).expect("a store");
        check_store(&store);
        check_inbox(&store);
        drop(store);
        let again = FileStore::open(directory.path()).expect("a store");
        assert!(again.card("prj", "c").expect("no error").is_some());
        assert_eq!(again.records("prj", "ag").expect("no error").len(), 3);
    }

    /// The table as it was before a report was also known by its turn.
    const OLD: &str = "CREATE TABLE inbox (sequence INTEGER PRIMARY KEY AUTOINCREMENT, inbox_id TEXT NOT NULL, \
        project_id TEXT NOT NULL, agent_id TEXT NOT NULL, message_type TEXT NOT NULL, \
        correlation_id TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL, \
        UNIQUE (project_id, message_type, correlation_id))";

    #[test]
    fn an_old_file_keeps_its_records() {
        let directory = tempfile::tempdir().expect("a directory");
        let old = Connection::open(directory.path().join("l0.sqlite")).expect("a file");
        old.execute_batch(OLD).expect("a table");
        let body = serde_json::to_string(&record("i1", "turn", "call")).expect("JSON");
        old.execute(
            "INSERT INTO inbox (inbox_id, project_id, agent_id, message_type, correlation_id, status, body) \
             VALUES ('i1', 'prj', 'ag', 'tool_result', 'call', 'pending', ?1)",
            [&body],
        )
        .expect("a row");
        drop(old);
        for _ in 0..2 {
            let store = FileStore::open(directory.path()).expect("a store");
            let again = store.insert(&record("i2", "turn", "call")).expect("no error");
            assert_eq!(again, Insertion::Duplicate("i1".to_owned()));
            assert_eq!(store.records("prj", "ag").expect("no error").len(), 1);
        }
    }
}
