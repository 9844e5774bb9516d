//! The ledger that survives a crash: one SQLite file below the data directory.
//!
//! Write-ahead log with full synchronisation, so that what is recorded is on the disk before it is reported.
//! The increment of a counter and the outcome that holds its value are one transaction.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::command::CallKey;
use super::ledger::LedgerStore;
use super::result::CallResponse;
use crate::cause::Cause;
use crate::sync::locked;
use crate::utp::error::ReferenceError;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS outcomes (
    project_id TEXT NOT NULL,
    agent_turn_id TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    answer TEXT NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, agent_turn_id, tool_call_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS undelivered ON outcomes (delivered) WHERE delivered = 0;
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
";

/// How long to wait for another process that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Outcomes and counters in a file.
pub(crate) struct FileStore {
    connection: Mutex<Connection>,
}

impl FileStore {
    /// Opens, or creates, `ledger.sqlite` in the directory.
    pub(crate) fn open(data_dir: &Path) -> Result<Self, ReferenceError> {
        let failed = |source: Cause| ReferenceError::store("ledger", source);
        std::fs::create_dir_all(data_dir).map_err(|error| failed(error.into()))?;
        let connection = open(&data_dir.join("ledger.sqlite"), SCHEMA);
        Ok(Self { connection: Mutex::new(connection.map_err(|error| failed(error.into()))?) })
    }
}

/// Opens a SQLite file that loses nothing it has acknowledged.
pub(crate) fn open(path: &Path, schema: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(schema)?;
    Ok(connection)
}

impl LedgerStore for FileStore {
    fn find(&self, key: &CallKey) -> Result<Option<Arc<CallResponse>>, Cause> {
        let text: Option<String> = locked(&self.connection)
            .prepare(
                "SELECT answer FROM outcomes \
                 WHERE project_id = ?1 AND agent_turn_id = ?2 AND tool_call_id = ?3",
            )?
            .query_row(params![key.project_id, key.agent_turn_id, key.tool_call_id], |row| row.get(0))
            .optional()?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?.map(Arc::new))
    }

    fn record(
        &self,
        key: &CallKey,
        counter: Option<&str>,
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, Cause> {
        let mut connection = locked(&self.connection);
        // Immediate: the write lock is taken before the counter is read.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let count: Option<i64> = counter
            .map(|name| {
                transaction.query_row(
                    "INSERT INTO counters (name, value) VALUES (?1, 1) \
                     ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
                    [name],
                    |row| row.get(0),
                )
            })
            .transpose()?;
        let answer = match count.map(u64::try_from).transpose()? {
            Some(count) => answer.counted(count),
            None => answer,
        };
        transaction.execute(
            "INSERT INTO outcomes (project_id, agent_turn_id, tool_call_id, answer) \
             VALUES (?1, ?2, ?3, ?4)",
            params![key.project_id, key.agent_turn_id, key.tool_call_id, serde_json::to_string(&answer)?],
        )?;
        transaction.commit()?;
        Ok(Arc::new(answer))
    }

    fn mark_delivered(&self, key: &CallKey) -> Result<(), Cause> {
        locked(&self.connection)
            .prepare(
                "UPDATE outcomes SET delivered = 1 \
                 WHERE project_id = ?1 AND agent_turn_id = ?2 AND tool_call_id = ?3",
            )?
            .execute(params![key.project_id, key.agent_turn_id, key.tool_call_id])?;
        Ok(())
    }

    fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        let connection = locked(&self.connection);
        let mut statement = connection.prepare("SELECT answer FROM outcomes WHERE delivered = 0")?;
        let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
        texts.map(|text| Ok(Arc::new(serde_json::from_str(text?.as_str())?))).collect()
    }

    fn waits_for_disk(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::utp::tool_service::ledger::LedgerStore;
    use crate::utp::tool_service::ledger_contract::{answer, check_store, count, key};

    use super::FileStore;

    #[test]
    fn the_file_does_what_a_store_must() {
        let directory = tempfile::tempdir().expect("a directory");
        check_store(&FileStore::open(directory.path()).expect("a store"));
    }

    #[test]
    fn outcomes_and_counters_survive_a_reopening() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = FileStore::open(directory.path()).expect("a store");
        let first = store.record(&key("turn", "one"), Some("prj"), answer()).expect("one");
        store.record(&key("turn", "two"), Some("prj"), answer()).expect("two");
        store.mark_delivered(&key("turn", "one")).expect("no error");
        drop(store);

        let store = FileStore::open(directory.path()).expect("a store");
        assert_eq!(store.find(&key("turn", "one")).expect("no error"), Some(first));
        assert_eq!(store.undelivered().expect("no error").len(), 1);
        let third = store.record(&key("turn", "three"), Some("prj"), answer()).expect("three");
        assert_eq!(count(&third), Some(3));
    }
}
