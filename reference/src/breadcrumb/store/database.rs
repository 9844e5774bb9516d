//! Breadcrumbs in SQLite: memory, or one file that loses nothing it has acknowledged. [`Database`] is this or
//! `database_postgres`.
//!
//! The writer gets the new record while the database is still locked, so that changes are published in the order
//! in which they were made. Every use blocks.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use serde_json::{Map, Value};

#[cfg(feature = "postgres")]
use super::database_postgres::PostgresDatabase;
use super::query::{Query, WriteError};
use super::record::{Parts, Record, now};
use crate::cause::Cause;
use crate::sync::locked;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS breadcrumbs (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    changed INTEGER NOT NULL UNIQUE,
    schema_name TEXT,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    context TEXT NOT NULL,
    more TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_schema ON breadcrumbs (schema_name, changed);
CREATE TABLE IF NOT EXISTS tags (
    tag TEXT NOT NULL,
    place INTEGER NOT NULL REFERENCES breadcrumbs (place),
    PRIMARY KEY (tag, place)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_place ON tags (place);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text);
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
";

const COLUMNS: &str =
    "b.id, b.version, b.schema_name, b.title, b.tags, b.context, b.more, b.created_at, b.updated_at";

/// How long to wait for another process that has the file.
const BUSY: Duration = Duration::from_secs(5);

/// Where breadcrumbs are kept. Every use blocks.
pub(super) enum Database {
    /// This store's own.
    File(FileDatabase),
    /// That of several stores.
    #[cfg(feature = "postgres")]
    Postgres(PostgresDatabase),
}

impl Database {
    /// Stores a new breadcrumb. What is published is published by the writer, or by whoever follows all writers.
    pub(super) fn create(
        &self,
        id: String,
        parts: Parts,
        key: Option<&str>,
        publish: impl FnOnce(&Record),
    ) -> Result<(), WriteError> {
        match self {
            Self::File(file) => file.create(id, parts, key, publish),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.create(&id, &parts, key),
        }
    }

    /// Changes some members of a breadcrumb, at whatever version it is unless one is given.
    pub(super) fn change(
        &self,
        id: &str,
        members: Map<String, Value>,
        version: Option<i64>,
        publish: impl FnOnce(&Record),
    ) -> Result<(), WriteError> {
        match self {
            Self::File(file) => file.change(id, members, version, publish),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.change(id, &members, version),
        }
    }

    /// The breadcrumb of this id.
    pub(super) fn find(&self, id: &str) -> Result<Option<Record>, Cause> {
        match self {
            Self::File(file) => Ok(file.find(id)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.find(id),
        }
    }

    /// Those that fit the query.
    pub(super) fn list(&self, query: &Query) -> Result<Vec<Record>, Cause> {
        match self {
            Self::File(file) => Ok(file.list(query)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.list(query),
        }
    }
}

/// The file.
pub(super) struct FileDatabase {
    connection: Mutex<Connection>,
    /// No breadcrumb becomes longer, however it is changed.
    record_bytes: usize,
}

impl FileDatabase {
    /// Opens, or creates, `breadcrumbs.sqlite` in the directory; memory without one.
    pub(super) fn open(data_dir: Option<&Path>, record_bytes: usize) -> rusqlite::Result<Self> {
        let connection = match data_dir {
            None => Connection::open_in_memory()?,
            Some(data_dir) => {
                let connection = Connection::open(data_dir.join("breadcrumbs.sqlite"))?;
                connection.busy_timeout(BUSY)?;
                connection.pragma_update(None, "journal_mode", "WAL")?;
                connection.pragma_update(None, "synchronous", "FULL")?;
                connection
            }
        };
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Mutex::new(connection), record_bytes })
    }

    /// Stores a new breadcrumb.
    pub(super) fn create(
        &self,
        id: String,
        parts: Parts,
        key: Option<&str>,
        publish: impl FnOnce(&Record),
    ) -> Result<(), WriteError> {
        let mut connection = locked(&self.connection);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(key) = key {
            let inserted = transaction
                .prepare("INSERT INTO keys (key, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute([key, &id])?;
            if inserted == 0 {
                return Err(WriteError::KeyUsed);
            }
        }
        let created_at = now();
        let record = Record { id, version: 1, parts, updated_at: created_at.clone(), created_at };
        let statement = "INSERT INTO breadcrumbs
            (id, version, changed, schema_name, title, tags, context, more, created_at, updated_at)
            VALUES (?1, ?2, (SELECT coalesce(max(changed), 0) + 1 FROM breadcrumbs), ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        self.write(&transaction, statement, &record, true)?;
        let place = transaction.last_insert_rowid();
        index(&transaction, place, &record.parts)?;
        transaction.commit()?;
        publish(&record);
        Ok(())
    }

    /// Changes some members of a breadcrumb, at whatever version it is unless one is given.
    pub(super) fn change(
        &self,
        id: &str,
        members: Map<String, Value>,
        version: Option<i64>,
        publish: impl FnOnce(&Record),
    ) -> Result<(), WriteError> {
        let mut connection = locked(&self.connection);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = transaction
            .prepare(&format!("SELECT {COLUMNS}, b.place FROM breadcrumbs b WHERE b.id = ?1"))?
            .query_row([id], |row| Ok((record(row)?, row.get::<_, i64>(9)?)))
            .optional()?;
        let (mut record, place) = found.ok_or(WriteError::Unknown)?;
        if version.is_some_and(|version| version != record.version) {
            return Err(WriteError::Version { actual: record.version });
        }
        record.parts.change(members).map_err(WriteError::Members)?;
        record.version += 1;
        record.updated_at = now();
        let statement = "UPDATE breadcrumbs SET
            version = ?2, changed = (SELECT max(changed) + 1 FROM breadcrumbs),
            schema_name = ?3, title = ?4, tags = ?5, context = ?6, more = ?7, updated_at = ?8 WHERE id = ?1";
        self.write(&transaction, statement, &record, false)?;
        transaction.prepare("DELETE FROM tags WHERE place = ?1")?.execute([place])?;
        transaction.prepare("DELETE FROM words WHERE rowid = ?1")?.execute([place])?;
        index(&transaction, place, &record.parts)?;
        transaction.commit()?;
        publish(&record);
        Ok(())
    }

    fn write(
        &self,
        transaction: &Transaction<'_>,
        statement: &str,
        record: &Record,
        new: bool,
    ) -> Result<(), WriteError> {
        let parts = &record.parts;
        let tags = Value::from(parts.tags.clone()).to_string();
        let context = Value::Object(parts.context.clone()).to_string();
        let more = Value::Object(parts.more.clone()).to_string();
        check_length(&[&parts.title, &tags, &context, &more], self.record_bytes)?;
        let mut values: Vec<&dyn ToSql> =
            vec![&record.id, &record.version, &parts.schema_name, &parts.title, &tags, &context, &more];
        if new {
            values.push(&record.created_at);
        }
        values.push(&record.updated_at);
        transaction.prepare(statement)?.execute(values.as_slice())?;
        Ok(())
    }

    /// The breadcrumb of this id.
    pub(super) fn find(&self, id: &str) -> rusqlite::Result<Option<Record>> {
        locked(&self.connection)
            .prepare(&format!("SELECT {COLUMNS} FROM breadcrumbs b WHERE b.id = ?1"))?
            .query_row([id], record)
            .optional()
    }

    /// Those that fit the query.
    pub(super) fn list(&self, query: &Query) -> rusqlite::Result<Vec<Record>> {
        let mut values: Vec<&dyn ToSql> = Vec::new();
        let mut source = "breadcrumbs b".to_owned();
        let mut conditions: Vec<String> = Vec::new();
        let matched = query.words.as_deref().and_then(matching);
        if let Some(matched) = &matched {
            values.push(matched);
            source.push_str(" JOIN words ON words.rowid = b.place");
            conditions.push(format!("words MATCH ?{}", values.len()));
        }
        if let Some(tag) = &query.tag {
            values.push(tag);
            source.push_str(" JOIN tags t ON t.place = b.place");
            conditions.push(format!("t.tag = ?{}", values.len()));
        }
        if let Some(schema_name) = &query.schema_name {
            values.push(schema_name);
            conditions.push(format!("b.schema_name = ?{}", values.len()));
        }
        let conditions =
            if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
        let order = if matched.is_some() { "words.rank, b.changed DESC" } else { "b.changed DESC" };
        values.push(&query.limit);
        values.push(&query.offset);
        let count = values.len();
        let statement = format!(
            "SELECT {COLUMNS} FROM {source} {conditions} ORDER BY {order} LIMIT ?{} OFFSET ?{count}",
            count - 1
        );
        let connection = locked(&self.connection);
        let mut prepared = connection.prepare(&statement)?;
        let mut rows = prepared.query(values.as_slice())?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            bytes += row.get_ref(5)?.as_str()?.len();
            if bytes > query.bytes && !records.is_empty() {
                break;
            }
            records.push(record(row)?);
        }
        Ok(records)
    }
}

/// That a record is no longer than it may be.
fn check_length(texts: &[&str], limit: usize) -> Result<(), WriteError> {
    if texts.iter().map(|text| text.len()).sum::<usize>() > limit {
        return Err(WriteError::TooLong { limit });
    }
    Ok(())
}

#[cfg(feature = "postgres")]
impl Record {
    /// That it is no longer than it may be, by the same measure as in a file.
    pub(super) fn check_length(&self, limit: usize) -> Result<(), WriteError> {
        let parts = &self.parts;
        let tags = Value::from(parts.tags.clone()).to_string();
        let objects = [&parts.context, &parts.more].map(|own| Value::Object(own.clone()).to_string());
        check_length(&[&parts.title, &tags, &objects[0], &objects[1]], limit)
    }
}

fn index(transaction: &Transaction<'_>, place: i64, parts: &Parts) -> rusqlite::Result<()> {
    let mut tags =
        transaction.prepare("INSERT INTO tags (tag, place) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for tag in &parts.tags {
        tags.execute(params![tag, place])?;
    }
    transaction
        .prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?
        .execute(params![place, parts.text()])?;
    Ok(())
}

/// A query of the full text: any of the words; nothing where there are none.
///
/// Each word is quoted, so that none of the query language's signs has a meaning.
fn matching(words: &str) -> Option<String> {
    let words: Vec<_> = words
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(64)
        .map(|word| format!("\"{word}\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let json = |column: usize| -> rusqlite::Result<Value> {
        let text = row.get_ref(column)?.as_str()?;
        serde_json::from_str(text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
        })
    };
    let object = |column| -> rusqlite::Result<Map<String, Value>> {
        match json(column)? {
            Value::Object(members) => Ok(members),
            _ => Ok(Map::new()),
        }
    };
    let tags = match json(4)? {
        Value::Array(tags) => tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok(Record {
        id: row.get(0)?,
        version: row.get(1)?,
        parts: Parts {
            schema_name: row.get(2)?,
            title: row.get(3)?,
            tags,
            context: object(5)?,
            more: object(6)?,
        },
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Database, FileDatabase};
    use crate::breadcrumb::store::database_contract::{check_database, ten, titles};

    #[test]
    fn memory_and_file_do_what_a_database_must() {
        let memory = FileDatabase::open(None, 100_000).expect("a database");
        check_database(&Database::File(memory));
        let directory = tempfile::tempdir().expect("a directory");
        let open =
            || Database::File(FileDatabase::open(Some(directory.path()), 100_000).expect("a database"));
        check_database(&open());
        assert_eq!(titles(&open(), ten()), ["changed", "third", "second"]);
    }
}
