//! Customers and their grants in SQLite: one file below the data directory, or memory. [`Store`] is this or `store_postgres`.
//!
//! It is read once, at the start, and written when a grant is renewed; an empty one gets the `fixtures`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::config::Allowance;
use super::error::HubError;
use super::fixtures;
use super::record::{CustomerRecord, Grant, WorkingHours};
#[cfg(feature = "postgres")]
use super::store_postgres::PostgresStore;
use crate::postgres::DatabaseUrl;
use crate::sync::locked;

const SCHEMA: &str = "
PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS customers (
    id TEXT PRIMARY KEY,
    time_zone TEXT NOT NULL,
    day_start TEXT NOT NULL,
    day_end TEXT NOT NULL,
    working_days TEXT NOT NULL,
    calls INTEGER,
    per_seconds INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS grants (
    customer_id TEXT PRIMARY KEY REFERENCES customers (id),
    email TEXT NOT NULL,
    scopes TEXT NOT NULL,
    access_token TEXT NOT NULL,
    refresh_token TEXT NOT NULL,
    expires_at TEXT NOT NULL
) WITHOUT ROWID;
";

const ALL: &str = "
SELECT id, time_zone, day_start, day_end, working_days, calls, per_seconds,
       email, scopes, access_token, refresh_token, expires_at
FROM customers LEFT JOIN grants ON customer_id = id ORDER BY id";

/// How long to wait for another process that has the file.
const BUSY: Duration = Duration::from_secs(2);

/// Where customers and grants are kept.
pub(super) enum Store {
    /// This Hub's own.
    File(FileStore),
    /// That of several Hubs.
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
}

impl Store {
    /// Opens the database, or else the file in the directory, or memory; and reads all there is.
    pub(super) async fn open(
        data_dir: Option<PathBuf>,
        database: Option<&DatabaseUrl>,
    ) -> Result<(Self, Vec<CustomerRecord>), HubError> {
        if let Some(database) = database {
            return Self::in_database(database).await;
        }
        let opened = tokio::task::spawn_blocking(move || FileStore::open(data_dir.as_deref())).await;
        let (store, records) = opened.map_err(HubError::store)??;
        Ok((Self::File(store), records))
    }

    #[cfg(feature = "postgres")]
    async fn in_database(database: &DatabaseUrl) -> Result<(Self, Vec<CustomerRecord>), HubError> {
        let (store, records) = PostgresStore::open(database).await?;
        Ok((Self::Postgres(store), records))
    }

    #[cfg(not(feature = "postgres"))]
    #[expect(clippy::unused_async, reason = "as where there is a client")]
    async fn in_database(_: &DatabaseUrl) -> Result<(Self, Vec<CustomerRecord>), HubError> {
        Err(HubError::store(crate::postgres::NOT_BUILT))
    }
}

/// The file. Every use of it blocks.
pub(super) struct FileStore {
    connection: Mutex<Connection>,
}

impl FileStore {
    /// Opens, or creates, `hub.sqlite` in the directory, and reads all there is.
    pub(super) fn open(data_dir: Option<&Path>) -> Result<(Self, Vec<CustomerRecord>), HubError> {
        let mut connection = match data_dir {
            None => Connection::open_in_memory().map_err(HubError::store)?,
            Some(data_dir) => {
                std::fs::create_dir_all(data_dir).map_err(HubError::store)?;
                Connection::open(data_dir.join("hub.sqlite")).map_err(HubError::store)?
            }
        };
        let records = prepare(&mut connection).map_err(HubError::store)?;
        Ok((Self { connection: Mutex::new(connection) }, records))
    }

    pub(super) fn save_grant(&self, customer_id: &str, grant: &Grant) -> Result<(), HubError> {
        write_grant(&locked(&self.connection), customer_id, grant).map_err(HubError::store)
    }
}

fn prepare(connection: &mut Connection) -> Result<Vec<CustomerRecord>, rusqlite::Error> {
    connection.busy_timeout(BUSY)?;
    connection.execute_batch(SCHEMA)?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let customers: i64 = transaction.query_row("SELECT count(*) FROM customers", [], |row| row.get(0))?;
    if customers == 0 {
        for record in fixtures::records() {
            insert(&transaction, &record)?;
        }
    }
    let records = transaction
        .prepare(ALL)?
        .query_map([], record)?
        .collect::<Result<Vec<CustomerRecord>, rusqlite::Error>>()?;
    transaction.commit()?;
    Ok(records)
}

fn insert(connection: &Connection, record: &CustomerRecord) -> Result<(), rusqlite::Error> {
    connection.execute(
        "INSERT INTO customers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            record.id,
            record.time_zone,
            record.working_hours.start,
            record.working_hours.end,
            record.working_hours.days.join(" "),
            record.allowance.map(|allowance| allowance.calls),
            record.allowance.map(|allowance| i64::try_from(allowance.per.as_secs()).unwrap_or(i64::MAX)),
        ],
    )?;
    record.grant.as_ref().map_or(Ok(()), |grant| write_grant(connection, &record.id, grant))
}

fn write_grant(connection: &Connection, customer_id: &str, grant: &Grant) -> Result<(), rusqlite::Error> {
    connection.execute(
        "INSERT OR REPLACE INTO grants VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            customer_id,
            grant.email,
            grant.scopes.join(" "),
            grant.access_token,
            grant.refresh_token,
            grant.expires_at.to_string(),
        ],
    )?;
    Ok(())
}

fn record(row: &Row<'_>) -> Result<CustomerRecord, rusqlite::Error> {
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let calls: Option<u32> = row.get("calls")?;
    let seconds: Option<u32> = row.get("per_seconds")?;
    let allowance = calls
        .zip(seconds)
        .map(|(calls, seconds)| Allowance { calls, per: Duration::from_secs(seconds.into()) });
    let email: Option<String> = row.get("email")?;
    let grant = email.map(|email| {
        let expires_at: String = row.get("expires_at")?;
        Ok::<_, rusqlite::Error>(Grant {
            email,
            scopes: words(row.get("scopes")?),
            access_token: row.get("access_token")?,
            refresh_token: row.get("refresh_token")?,
            // A time that cannot be read is in the past: the token is renewed before it is used.
            expires_at: expires_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            generation: 0,
        })
    });
    Ok(CustomerRecord {
        id: row.get("id")?,
        time_zone: row.get("time_zone")?,
        working_hours: WorkingHours {
            start: row.get("day_start")?,
            end: row.get("day_end")?,
            days: words(row.get("working_days")?),
        },
        allowance,
        grant: grant.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::FileStore;
    use crate::hub::fixtures;

    #[test]
    fn a_new_database_has_the_fixtures_and_keeps_what_changes() {
        let directory = tempfile::tempdir().expect("a directory");
        let (store, records) = FileStore::open(Some(directory.path())).expect("a store");
        assert_eq!(records.len(), fixtures::ALL.len());
        let connected = records.iter().find(|record| record.id == fixtures::CONNECTED).expect("a customer");
        let mut grant = connected.grant.clone().expect("a grant");
        grant.access_token = "another".to_owned();
        store.save_grant(&connected.id, &grant).expect("a save");
        drop(store);
        let (_store, again) = FileStore::open(Some(directory.path())).expect("a store");
        assert_eq!(again.len(), fixtures::ALL.len());
        let find = |id| again.iter().find(|record| record.id == id).expect("a customer");
        assert_eq!(
            find(fixtures::CONNECTED).grant.as_ref().map(|grant| grant.access_token.as_str()),
            Some("another")
        );
        assert!(find(fixtures::NOT_CONNECTED).grant.is_none());
        assert_eq!(find(fixtures::LIMITED).allowance.map(|allowance| allowance.calls), Some(3));
    }
}
