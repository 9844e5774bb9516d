//! Breadcrumbs in PostgreSQL, for one store or several.
//!
//! Writers take the next number of a change from one row, which each keeps until it commits; so changes have one order, and
//! each leaves an event under its number. `follower` hands the events of all writers to the streams of its own store.
//! Words are divided as `words` says and kept as a vector of them, so that the locale of the database does not matter; of a
//! long text the first 256 KiB are searched. A record is kept as JSON, with what is looked for as columns.

mod follower;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::query::{Query, WriteError};
use super::record::{Parts, Record, new_id, now};
use crate::cause::Cause;
use crate::log::Log;
use crate::postgres::{Client, Database, DatabaseUrl, Failure, Row, on_thread, plain};
pub(super) use follower::Follower;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS breadcrumb_store (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), owner_id TEXT NOT NULL, changed BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS breadcrumbs (
    id TEXT PRIMARY KEY,
    changed BIGINT NOT NULL UNIQUE,
    writing TEXT NOT NULL,
    schema_name TEXT,
    tags TEXT[] NOT NULL,
    words TSVECTOR NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS breadcrumbs_by_schema ON breadcrumbs (schema_name, changed);
CREATE INDEX IF NOT EXISTS breadcrumbs_by_tag ON breadcrumbs USING GIN (tags);
CREATE INDEX IF NOT EXISTS breadcrumbs_by_word ON breadcrumbs USING GIN (words);
CREATE TABLE IF NOT EXISTS breadcrumb_keys (key TEXT PRIMARY KEY, id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS breadcrumb_events (
    changed BIGINT PRIMARY KEY, record TEXT NOT NULL, at TIMESTAMPTZ NOT NULL
);
";

/// The next number of a change, which no other writer gets before this one has committed.
const NEXT: &str = "UPDATE breadcrumb_store SET changed = changed + 1 RETURNING changed";

const PUT: &str = "
INSERT INTO breadcrumbs (id, changed, writing, schema_name, tags, words, record)
VALUES ($1, $2, $3, $4, $5, CAST($6 AS TEXT)::TSVECTOR, $7)
ON CONFLICT (id) DO UPDATE SET
    changed = excluded.changed, writing = excluded.writing, schema_name = excluded.schema_name,
    tags = excluded.tags, words = excluded.words, record = excluded.record";

/// An event, and a word to all that follow.
const EVENT: &str = "
WITH event AS (INSERT INTO breadcrumb_events (changed, record, at) VALUES ($1, $2, clock_timestamp()))
SELECT pg_notify('breadcrumbs', current_schema())";

/// Bytes of a text that are searched: a vector of words is not longer than 1 MiB, and takes up to four times as much.
const SEARCHED: usize = 256 * 1024;
/// Characters of a word that count.
const WORD: usize = 64;
/// Words of a query.
const MAX_WORDS: usize = 64;
/// The highest position in a vector.
const MAX_POSITION: usize = 16_383;
/// For a change to be handed to this store's own streams before it is acknowledged.
const HANDED_ON: Duration = Duration::from_secs(1);

/// The database.
pub(super) struct PostgresDatabase {
    database: Arc<Database>,
    follower: Arc<Follower>,
    /// No breadcrumb becomes longer, however it is changed.
    record_bytes: usize,
    handle: Handle,
}

impl PostgresDatabase {
    /// Makes the tables where they are not there; returns also the one owner of all there is.
    pub(super) async fn open(
        url: &DatabaseUrl,
        record_bytes: usize,
        log: Log,
    ) -> Result<(Self, String), Cause> {
        let database = Database::open(url, TABLES).await?;
        let own = Arc::clone(&database);
        let began = move || {
            let owner = new_id();
            own.wait(async |client, _| {
                let insert =
                    "INSERT INTO breadcrumb_store (owner_id, changed) VALUES ($1, 0) ON CONFLICT DO NOTHING";
                client.execute(insert, &[&owner]).await?;
                let row = client.query_one("SELECT owner_id, changed FROM breadcrumb_store", &[]).await?;
                Ok((row.try_get::<_, String>(0)?, row.try_get::<_, i64>(1)?))
            })
        };
        let (owner_id, changed) = on_thread(began).await?;
        let follower = Arc::new(Follower::new(Arc::clone(&database), changed, log));
        Ok((Self { database, follower, record_bytes, handle: Handle::current() }, owner_id))
    }

    /// What hands on the changes of all stores.
    pub(super) fn follower(&self) -> Arc<Follower> {
        Arc::clone(&self.follower)
    }

    /// Stores a new breadcrumb.
    pub(super) fn create(&self, id: &str, parts: &Parts, key: Option<&str>) -> Result<(), WriteError> {
        let created_at = now();
        let record = Record {
            id: id.to_owned(),
            version: 1,
            parts: parts.clone(),
            updated_at: created_at.clone(),
            created_at,
        };
        record.check_length(self.record_bytes)?;
        let changed = self.database.wait(async |client, is_repeated| {
            if is_repeated && let Some(row) = client.query_opt(CHANGED, &[&id]).await? {
                return Ok(Ok(row.try_get::<_, i64>(0)?));
            }
            let transaction = client.transaction().await?;
            if let Some(key) = key {
                let insert = "INSERT INTO breadcrumb_keys (key, id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
                if transaction.execute(insert, &[&plain(key), &id]).await? == 0 {
                    return Ok(Err(WriteError::KeyUsed));
                }
            }
            let changed = put(&transaction, &record, id).await?;
            transaction.commit().await?;
            Ok(Ok(changed))
        });
        self.hand_on(changed.map_err(WriteError::Database)??);
        Ok(())
    }

    /// Changes some members of a breadcrumb, at whatever version it is unless one is given.
    pub(super) fn change(
        &self,
        id: &str,
        members: &Map<String, Value>,
        version: Option<i64>,
    ) -> Result<(), WriteError> {
        let writing = new_id();
        let changed = self.database.wait(async |client, is_repeated| {
            let transaction = client.transaction().await?;
            let wanted = "SELECT record, writing, changed FROM breadcrumbs WHERE id = $1 FOR UPDATE";
            let Some(row) = transaction.query_opt(wanted, &[&id]).await? else {
                return Ok(Err(WriteError::Unknown));
            };
            if is_repeated && row.try_get::<_, &str>(1)? == writing {
                return Ok(Ok(row.try_get::<_, i64>(2)?));
            }
            let mut record = record(&row)?;
            if version.is_some_and(|version| version != record.version) {
                return Ok(Err(WriteError::Version { actual: record.version }));
            }
            if let Err(fault) = record.parts.change(members.clone()) {
                return Ok(Err(WriteError::Members(fault)));
            }
            record.version += 1;
            record.updated_at = now();
            if let Err(error) = record.check_length(self.record_bytes) {
                return Ok(Err(error));
            }
            let changed = put(&transaction, &record, &writing).await?;
            transaction.commit().await?;
            Ok(Ok(changed))
        });
        self.hand_on(changed.map_err(WriteError::Database)??);
        Ok(())
    }

    /// Waits a moment for this store's own streams to have a change; they will have it in any case.
    fn hand_on(&self, changed: i64) {
        let _ = self.handle.block_on(timeout(HANDED_ON, self.follower.reached(changed)));
    }

    /// The breadcrumb of this id.
    pub(super) fn find(&self, id: &str) -> Result<Option<Record>, Cause> {
        self.database.wait(async |client, _| {
            let wanted = "SELECT record FROM breadcrumbs WHERE id = $1";
            client.query_opt(wanted, &[&plain(id)]).await?.map(|row| record(&row)).transpose()
        })
    }

    /// Those that fit the query.
    pub(super) fn list(&self, query: &Query) -> Result<Vec<Record>, Cause> {
        self.database.wait(async |client, _| listed(client, query).await)
    }
}

/// At which change a breadcrumb is.
const CHANGED: &str = "SELECT changed FROM breadcrumbs WHERE id = $1";

/// Writes a record and its event; returns the number of the change.
async fn put(transaction: &Transaction<'_>, record: &Record, writing: &str) -> Result<i64, Failure> {
    let changed: i64 = transaction.query_one(NEXT, &[]).await?.try_get(0)?;
    let text = serde_json::to_string(record)?;
    let parts = &record.parts;
    let tags: Vec<_> = parts.tags.iter().map(|tag| plain(tag)).collect();
    let schema_name = parts.schema_name.as_deref().map(plain);
    let vector = vector(&parts.text());
    let values: [&(dyn ToSql + Sync); 7] =
        [&record.id, &changed, &writing, &schema_name, &tags, &vector, &text];
    transaction.execute(PUT, &values).await?;
    transaction.query(EVENT, &[&changed, &text]).await?;
    Ok(changed)
}

async fn listed(client: &Client, query: &Query) -> Result<Vec<Record>, Failure> {
    let tag = query.tag.as_deref().map(plain);
    let schema_name = query.schema_name.as_deref().map(plain);
    let wanted = query.words.as_deref().and_then(matching);
    let (limit, offset) = (i64::from(query.limit), i64::from(query.offset));
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&limit, &offset];
    let mut conditions = Vec::new();
    let mut order = "changed DESC".to_owned();
    if let Some(tag) = &tag {
        values.push(tag);
        conditions.push(format!("tags @> ARRAY[CAST(${} AS TEXT)]", values.len()));
    }
    if let Some(schema_name) = &schema_name {
        values.push(schema_name);
        conditions.push(format!("schema_name = ${}", values.len()));
    }
    if let Some(wanted) = &wanted {
        values.push(wanted);
        let words = format!("CAST(${} AS TEXT)::TSQUERY", values.len());
        conditions.push(format!("words @@ {words}"));
        order = format!("ts_rank(words, {words}) DESC, changed DESC");
    }
    let conditions =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let statement =
        format!("SELECT record FROM breadcrumbs {conditions} ORDER BY {order} LIMIT $1 OFFSET $2");
    // Row by row, so that no more is kept than is answered.
    let mut rows = pin!(client.query_raw(&statement, values).await?);
    let (mut records, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await? {
        bytes += row.try_get::<_, &str>(0)?.len();
        if bytes > query.bytes && !records.is_empty() {
            break;
        }
        records.push(record(&row)?);
    }
    Ok(records)
}

fn record(row: &Row) -> Result<Record, Failure> {
    Ok(serde_json::from_str(row.try_get(0)?)?)
}

/// The words of a text: letters and digits, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word.chars().take(WORD).flat_map(char::to_lowercase).collect())
}

/// A text as a vector of its words with their places.
fn vector(text: &str) -> String {
    let end =
        (0..=SEARCHED.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let mut vector = String::new();
    for (place, word) in words(&text[..end]).enumerate() {
        // A word has no sign that the form of a vector knows.
        let _ = write!(vector, "'{word}':{} ", (place + 1).min(MAX_POSITION));
    }
    vector
}

/// A query for any of the words; nothing where there are none.
fn matching(text: &str) -> Option<String> {
    let words: Vec<String> = words(text).take(MAX_WORDS).map(|word| format!("'{word}'")).collect();
    (!words.is_empty()).then(|| words.join(" | "))
}
