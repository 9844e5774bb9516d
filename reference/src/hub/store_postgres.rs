//! Customers, their grants and the calls that they have left in PostgreSQL, for one Hub or several.
//!
//! Customers are read once, at the start; a grant is read for each call, since another Hub may have renewed it.
//! Whoever renews a grant has its row meanwhile, so that the provider is asked once, and the others find what came of it.
//! A customer's window is one row, and counting a call one statement, so that the number of calls let through is exact over
//! all Hubs. A call whose count was lost on the way is counted again, and so may be refused one too early.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;
use tokio_postgres::Transaction;

use super::config::Allowance;
use super::error::HubError;
use super::fixtures;
use super::record::{CustomerRecord, Grant, WorkingHours};
use crate::cause::Cause;
use crate::postgres::{Client, Database, DatabaseUrl, Failure, Lent, Row, on_thread};

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS hub_customers (
    id TEXT PRIMARY KEY,
    time_zone TEXT NOT NULL,
    day_start TEXT NOT NULL,
    day_end TEXT NOT NULL,
    working_days TEXT NOT NULL,
    calls BIGINT,
    per_seconds BIGINT
);
CREATE TABLE IF NOT EXISTS hub_grants (
    customer_id TEXT PRIMARY KEY REFERENCES hub_customers (id),
    email TEXT NOT NULL,
    scopes TEXT NOT NULL,
    access_token TEXT NOT NULL,
    refresh_token TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    generation BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS hub_windows (
    customer_id TEXT PRIMARY KEY REFERENCES hub_customers (id),
    began TIMESTAMPTZ NOT NULL,
    used BIGINT NOT NULL
);
";

const CUSTOMERS: &str = "
SELECT id, time_zone, day_start, day_end, working_days, calls, per_seconds,
       email, scopes, access_token, refresh_token, expires_at, generation
FROM hub_customers LEFT JOIN hub_grants ON customer_id = id ORDER BY id";

const GRANT: &str = "
SELECT email, scopes, access_token, refresh_token, expires_at, generation
FROM hub_grants WHERE customer_id = $1";

const PUT_GRANT: &str = "
INSERT INTO hub_grants (customer_id, email, scopes, access_token, refresh_token, expires_at, generation)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (customer_id) DO UPDATE SET
    access_token = excluded.access_token, refresh_token = excluded.refresh_token,
    expires_at = excluded.expires_at, generation = excluded.generation";

/// Counts a call in the customer's window, or begins a new one; returns a row unless the window is full.
const ADMIT: &str = "
INSERT INTO hub_windows AS w (customer_id, began, used) SELECT $1, now(), 1 WHERE $2::BIGINT > 0
ON CONFLICT (customer_id) DO UPDATE SET
    began = CASE WHEN w.began + make_interval(secs => $3) <= now() THEN now() ELSE w.began END,
    used = CASE WHEN w.began + make_interval(secs => $3) <= now() THEN 1 ELSE w.used + 1 END
WHERE w.used < $2 OR w.began + make_interval(secs => $3) <= now()
RETURNING used";

const LEFT: &str = "
SELECT CAST(extract(epoch FROM began + make_interval(secs => $2) - now()) AS DOUBLE PRECISION)
FROM hub_windows WHERE customer_id = $1";

/// What the server lets a transaction wait for the provider; longer than the provider may take.
const WAITS: &str = "SET LOCAL idle_in_transaction_session_timeout = '20s'";
/// For the database to answer, or for another Hub to have renewed a grant.
const DEADLINE: Duration = Duration::from_secs(15);

/// The database.
pub(super) struct PostgresStore {
    database: Arc<Database>,
}

/// A grant that nobody else renews meanwhile.
pub(super) struct HeldGrant {
    lent: Lent,
    customer_id: String,
    /// As it is now.
    pub(super) grant: Option<Grant>,
}

impl PostgresStore {
    /// Makes the tables where they are not there, and reads all there is; empty ones get the fixtures.
    pub(super) async fn open(url: &DatabaseUrl) -> Result<(Self, Vec<CustomerRecord>), HubError> {
        let database = Database::open(url, TABLES).await.map_err(HubError::store)?;
        let used = Arc::clone(&database);
        let filling = move || {
            used.wait(async |client, _| {
                let transaction = client.transaction().await?;
                // Two Hubs that start at once fill them once.
                transaction.batch_execute("LOCK TABLE hub_customers IN SHARE ROW EXCLUSIVE MODE").await?;
                let mut rows = transaction.query(CUSTOMERS, &[]).await?;
                if rows.is_empty() {
                    for record in fixtures::records() {
                        insert(&transaction, &record).await?;
                    }
                    rows = transaction.query(CUSTOMERS, &[]).await?;
                }
                let records = rows.iter().map(record).collect::<Result<Vec<_>, Failure>>()?;
                transaction.commit().await?;
                Ok(records)
            })
        };
        let records = on_thread(filling).await.map_err(HubError::store)?;
        Ok((Self { database }, records))
    }

    /// A customer's grant as it is now.
    pub(super) async fn grant(&self, customer_id: &str) -> Result<Option<Grant>, Cause> {
        let (database, customer_id) = (Arc::clone(&self.database), customer_id.to_owned());
        on_thread(move || {
            database.wait(async |client, _| {
                client.query_opt(GRANT, &[&customer_id]).await?.map(|row| grant(&row)).transpose()
            })
        })
        .await
    }

    /// Counts one call; returns how long it is until calls are let through again where it is not.
    pub(super) async fn admit(
        &self,
        customer_id: &str,
        allowance: Allowance,
    ) -> Result<Result<(), Duration>, Cause> {
        let (calls, seconds) = (i64::from(allowance.calls), allowance.per.as_secs_f64());
        let (database, customer_id) = (Arc::clone(&self.database), customer_id.to_owned());
        on_thread(move || {
            database.wait(async |client, _| {
                if client.query_opt(ADMIT, &[&customer_id, &calls, &seconds]).await?.is_some() {
                    return Ok(Ok(()));
                }
                let left = client.query_opt(LEFT, &[&customer_id, &seconds]).await?;
                let left: Option<f64> = left.map(|row| row.try_get(0)).transpose()?;
                let left = left.and_then(|left| Duration::try_from_secs_f64(left).ok());
                Ok(Err(left.unwrap_or(allowance.per)))
            })
        })
        .await
    }

    /// Waits until nobody else renews the customer's grant, and has others wait until what is returned is gone.
    pub(super) async fn hold(&self, customer_id: &str) -> Result<HeldGrant, Cause> {
        let holding = async {
            let lent = self.database.lend().await?;
            lent.client.batch_execute(&format!("BEGIN; {WAITS}")).await.map_err(Failure::from)?;
            let wanted = format!("{GRANT} FOR UPDATE");
            let row = lent.client.query_opt(&wanted, &[&customer_id]).await.map_err(Failure::from)?;
            let grant = row.map(|row| grant(&row)).transpose()?;
            Ok(HeldGrant { lent, customer_id: customer_id.to_owned(), grant })
        };
        timeout(DEADLINE, holding).await?
    }
}

impl HeldGrant {
    /// Replaces it.
    pub(super) async fn replace(self, grant: &Grant) -> Result<(), Cause> {
        let replacing = async {
            put_grant(&self.lent.client, &self.customer_id, grant).await?;
            self.lent.client.batch_execute("COMMIT").await.map_err(Failure::from)?;
            self.lent.give_back();
            Ok(())
        };
        timeout(DEADLINE, replacing).await?
    }

    /// Leaves it as it is.
    pub(super) async fn leave(self) {
        let leaving = async {
            if self.lent.client.batch_execute("ROLLBACK").await.is_ok() {
                self.lent.give_back();
            }
        };
        // A connection that is not given back is closed, which ends the transaction as well.
        let _ = timeout(DEADLINE, leaving).await;
    }
}

async fn insert(transaction: &Transaction<'_>, record: &CustomerRecord) -> Result<(), Failure> {
    let allowance = record.allowance;
    let per = allowance.map(|allowance| i64::try_from(allowance.per.as_secs()).unwrap_or(i64::MAX));
    transaction
        .execute(
            "INSERT INTO hub_customers VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                &record.id,
                &record.time_zone,
                &record.working_hours.start,
                &record.working_hours.end,
                &record.working_hours.days.join(" "),
                &allowance.map(|allowance| i64::from(allowance.calls)),
                &per,
            ],
        )
        .await?;
    match &record.grant {
        Some(grant) => put_grant(transaction.client(), &record.id, grant).await,
        None => Ok(()),
    }
}

async fn put_grant(client: &Client, customer_id: &str, grant: &Grant) -> Result<(), Failure> {
    let generation = i64::try_from(grant.generation).unwrap_or(i64::MAX);
    client
        .execute(
            PUT_GRANT,
            &[
                &customer_id,
                &grant.email,
                &grant.scopes.join(" "),
                &grant.access_token,
                &grant.refresh_token,
                &grant.expires_at.to_string(),
                &generation,
            ],
        )
        .await?;
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn grant(row: &Row) -> Result<Grant, Failure> {
    let (scopes, expires_at): (&str, &str) = (row.try_get("scopes")?, row.try_get("expires_at")?);
    Ok(Grant {
        email: row.try_get("email")?,
        scopes: words(scopes),
        access_token: row.try_get("access_token")?,
        refresh_token: row.try_get("refresh_token")?,
        // A time that cannot be read is in the past: the token is renewed before it is used.
        expires_at: expires_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
        generation: u64::try_from(row.try_get::<_, i64>("generation")?).unwrap_or_default(),
    })
}

fn record(row: &Row) -> Result<CustomerRecord, Failure> {
    let (calls, seconds): (Option<i64>, Option<i64>) = (row.try_get("calls")?, row.try_get("per_seconds")?);
    let allowance = calls.zip(seconds).map(|(calls, seconds)| Allowance {
        calls: u32::try_from(calls).unwrap_or_default(),
        per: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
    });
    let email: Option<&str> = row.try_get("email")?;
    Ok(CustomerRecord {
        id: row.try_get("id")?,
        time_zone: row.try_get("time_zone")?,
        working_hours: WorkingHours {
            start: row.try_get("day_start")?,
            end: row.try_get("day_end")?,
            days: words(row.try_get("working_days")?),
        },
        allowance,
        grant: email.map(|_| grant(row)).transpose()?,
    })
}

#[cfg(test)]
mod tests;
