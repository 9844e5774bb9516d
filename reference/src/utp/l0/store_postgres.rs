//! L0's tables in PostgreSQL, for one L0 or several.
//!
//! As in `store_file`, rows are kept as the JSON that came, with only the keys as columns.
//! A Tool Service in the same process may write a result card and its Inbox record here itself, in the transaction that
//! records the call's outcome: [`record_with`]. Such a record is announced by the report that follows, which finds it,
//! takes it for its own, and has the agent woken; after a crash in between the report is made again at the next start.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_postgres::Transaction;

use super::store::Store;
use crate::cause::Cause;
use crate::postgres::{Client, Database, DatabaseUrl, Failure, Row, plain};
use crate::utp::error::ReferenceError;
use crate::utp::execution::inbox::{CONSUMED, InboxStore, Insertion, PENDING, report_key};
use crate::utp::execution::record_of;
use crate::utp::ident::random_hex;
use crate::utp::message::{InboxRecord, RosterRow, ToolRow};
use crate::utp::tool_service::CallResponse;

/// The tables, as [`record_with`] needs them too.
pub(crate) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS utp_documents (
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    id TEXT COLLATE \"C\" NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, project_id, id)
);
CREATE TABLE IF NOT EXISTS utp_inbox (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    inbox_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    message_type TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    agent_turn_id TEXT NOT NULL,
    status TEXT NOT NULL,
    announced BOOLEAN NOT NULL,
    taking TEXT,
    body TEXT NOT NULL,
    UNIQUE (project_id, message_type, correlation_id, agent_turn_id)
);
CREATE INDEX IF NOT EXISTS utp_inbox_of_agent ON utp_inbox (project_id, agent_id, status);
";

const CARD: &str = "card";
const TOOL: &str = "tool";
const ROSTER: &str = "roster";

const PUT: &str = "
INSERT INTO utp_documents (kind, project_id, id, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, project_id, id) DO UPDATE SET body = excluded.body";

/// A record that nobody was woken for becomes that of the report which announces it.
const INSERT: &str = "
INSERT INTO utp_inbox AS r
    (inbox_id, project_id, agent_id, message_type, correlation_id, agent_turn_id, status, announced, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (project_id, message_type, correlation_id, agent_turn_id) DO UPDATE
SET announced = TRUE, inbox_id = excluded.inbox_id, body = excluded.body
WHERE NOT r.announced AND excluded.announced";

const KNOWN: &str = "
SELECT inbox_id FROM utp_inbox
WHERE project_id = $1 AND message_type = $2 AND correlation_id = $3 AND agent_turn_id = $4";

const RECORDS: &str = "
SELECT body, status FROM utp_inbox WHERE project_id = $1 AND agent_id = $2 ORDER BY sequence";

/// Two that take at once take each record once: the second one waits, and then finds it consumed. `taking` gives an
/// attempt that is repeated what the one before took.
const TAKE: &str = "
WITH taken AS (
    UPDATE utp_inbox SET status = $3, taking = $5
    WHERE project_id = $1 AND agent_id = $2 AND (status = $4 OR taking = $5)
    RETURNING sequence, body
)
SELECT body, $4 AS status FROM taken ORDER BY sequence";

/// Tables in a database.
pub(crate) struct PostgresStore {
    database: Arc<Database>,
}

impl PostgresStore {
    /// Makes the tables where they are not there.
    pub(crate) async fn open(url: &DatabaseUrl) -> Result<Self, ReferenceError> {
        let database = Database::open(url, TABLES).await;
        Ok(Self { database: database.map_err(|source| ReferenceError::store("l0", source))? })
    }

    fn document<T: DeserializeOwned>(
        &self,
        kind: &str,
        project_id: &str,
        id: &str,
    ) -> Result<Option<T>, Cause> {
        let wanted = "SELECT body FROM utp_documents WHERE kind = $1 AND project_id = $2 AND id = $3";
        self.database.wait(async |client, _| {
            let row = client.query_opt(wanted, &[&kind, &plain(project_id), &plain(id)]).await?;
            row.map(|row| body(&row)).transpose()
        })
    }

    fn put_document(
        &self,
        kind: &str,
        project_id: &str,
        id: &str,
        body: &impl Serialize,
    ) -> Result<(), Cause> {
        let body = serde_json::to_string(body)?;
        self.database.wait(async |client, _| {
            client.execute(PUT, &[&kind, &plain(project_id), &plain(id), &body]).await?;
            Ok(())
        })
    }
}

fn body<T: DeserializeOwned>(row: &Row) -> Result<T, Failure> {
    Ok(serde_json::from_str(row.try_get(0)?)?)
}

fn records(rows: &[Row]) -> Result<Vec<InboxRecord>, Failure> {
    let record = |row| Ok(InboxRecord { status: Row::try_get(row, 1)?, ..body::<InboxRecord>(row)? });
    rows.iter().map(record).collect()
}

/// Writes the card of an answer and its Inbox record, if its report will be taken, in the transaction of its outcome.
pub(crate) async fn record_with(transaction: &Transaction<'_>, answer: &CallResponse) -> Result<(), Failure> {
    let card_id = answer.card["card_id"].as_str().unwrap_or_default();
    let card = serde_json::to_string(&answer.card)?;
    let project = plain(&answer.project_id);
    transaction.execute(PUT, &[&CARD, &project, &plain(card_id), &card]).await?;
    // Whoever takes reports says itself what is wrong with one.
    if let Ok(record) = record_of(answer) {
        insert(transaction.client(), &record, false).await?;
    }
    Ok(())
}

/// Inserts a record; returns whether it is new, or announced by this.
async fn insert(client: &Client, record: &InboxRecord, announced: bool) -> Result<bool, Failure> {
    let text = serde_json::to_string(record)?;
    let (project_id, message_type, correlation_id, agent_turn_id) = report_key(record);
    let inserted = client
        .execute(
            INSERT,
            &[
                &record.inbox_id,
                &plain(&project_id),
                &plain(&record.agent_id),
                &plain(&message_type),
                &plain(&correlation_id),
                &plain(&agent_turn_id),
                &record.status,
                &announced,
                &text,
            ],
        )
        .await?;
    Ok(inserted > 0)
}

impl Store for PostgresStore {
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
        let wanted = "SELECT body FROM utp_documents WHERE kind = $1 AND project_id = $2 ORDER BY id";
        self.database.wait(async |client, _| {
            client.query(wanted, &[&TOOL, &plain(project_id)]).await?.iter().map(body).collect()
        })
    }

    fn remove_tool(&self, project_id: &str, tool_name: &str) -> Result<bool, Cause> {
        let one = "DELETE FROM utp_documents WHERE kind = $1 AND project_id = $2 AND id = $3";
        self.database.wait(async |client, is_repeated| {
            let removed = client.execute(one, &[&TOOL, &plain(project_id), &plain(tool_name)]).await?;
            // What an attempt before removed is not there any more.
            Ok(removed > 0 || is_repeated)
        })
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

impl InboxStore for PostgresStore {
    fn insert(&self, record: &InboxRecord) -> Result<Insertion, Cause> {
        let (project_id, message_type, correlation_id, agent_turn_id) = report_key(record);
        self.database.wait(async |client, _| {
            if insert(client, record, true).await? {
                return Ok(Insertion::New);
            }
            let key = [&project_id, &message_type, &correlation_id, &agent_turn_id].map(|text| plain(text));
            let row = client.query_opt(KNOWN, &[&key[0], &key[1], &key[2], &key[3]]).await?;
            let known: Option<String> = row.map(|row| row.try_get(0)).transpose()?;
            Ok(match known {
                // An attempt before inserted it.
                Some(inbox_id) if inbox_id == record.inbox_id => Insertion::New,
                Some(inbox_id) => Insertion::Duplicate(inbox_id),
                None => return Err(Failure::Again("a record was removed meanwhile".into())),
            })
        })
    }

    fn records(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        self.database.wait(async |client, _| {
            records(&client.query(RECORDS, &[&plain(project_id), &plain(agent_id)]).await?)
        })
    }

    fn take(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, Cause> {
        let taking = random_hex(1);
        self.database.wait(async |client, _| {
            let agent = (plain(project_id), plain(agent_id));
            records(&client.query(TAKE, &[&agent.0, &agent.1, &CONSUMED, &PENDING, &taking]).await?)
        })
    }

    fn waits_for_disk(&self) -> bool {
        true
    }
}

#[cfg(test)]
pub(crate) mod tests;
