//! The ledger of one service or of a fleet in PostgreSQL: a row for each call, a row for each counter.
//!
//! Claiming a call is one statement, which takes the row if it is new, is nobody's, or is that of an instance that is gone
//! (`lease`). What the claim found is in its answer.
//! Recording an outcome is one transaction with the increment of its counter and, where the platform keeps its tables in
//! the same database, with the result card and the Inbox record (`l0::store_postgres`). It is refused where the call has an
//! outcome or belongs to a living other: an instance that stood still, lost its claim, and wakes up late changes nothing.
//! What an instance that is gone left undelivered is taken by one of the others, each by another (`SKIP LOCKED`).

mod lease;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;

use super::command::CallKey;
use super::ledger::{Claim, LedgerStore};
use super::result::CallResponse;
use crate::cause::Cause;
use crate::log::Log;
use crate::postgres::{Client, Database, DatabaseUrl, Failure, plain};
use crate::utp::ident::random_hex;
use crate::utp::l0::record_with;
use lease::Instance;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS utp_calls (
    fleet TEXT NOT NULL,
    call TEXT NOT NULL,
    owner TEXT,
    answer TEXT,
    delivered BOOLEAN NOT NULL DEFAULT FALSE,
    recorded_at TIMESTAMPTZ,
    recording TEXT,
    PRIMARY KEY (fleet, call)
);
CREATE INDEX IF NOT EXISTS utp_calls_undelivered ON utp_calls (fleet, recorded_at)
    WHERE answer IS NOT NULL AND NOT delivered;
CREATE INDEX IF NOT EXISTS utp_calls_delivered ON utp_calls (fleet, recorded_at) WHERE delivered;
CREATE TABLE IF NOT EXISTS utp_counters (
    fleet TEXT NOT NULL, name TEXT NOT NULL, value BIGINT NOT NULL, PRIMARY KEY (fleet, name)
);
";

const CLAIM: &str = "
INSERT INTO utp_calls AS c (fleet, call, owner) VALUES ($1, $2, $3)
ON CONFLICT (fleet, call) DO UPDATE SET owner = excluded.owner
WHERE c.owner IS NULL OR c.owner = excluded.owner OR utp_gone(c.owner, excluded.owner)
RETURNING answer, delivered";

const COUNT: &str = "
INSERT INTO utp_counters AS n (fleet, name, value) VALUES ($1, $2, 1)
ON CONFLICT (fleet, name) DO UPDATE SET value = n.value + 1 RETURNING value";

/// `recording` tells an attempt whose answer was lost from another's outcome.
const RECORD: &str = "
INSERT INTO utp_calls AS c (fleet, call, owner, answer, recorded_at, recording)
VALUES ($1, $2, $3, $4, clock_timestamp(), $5)
ON CONFLICT (fleet, call) DO UPDATE SET
    owner = excluded.owner, answer = excluded.answer,
    recorded_at = excluded.recorded_at, recording = excluded.recording
WHERE c.answer IS NULL
    AND (c.owner IS NULL OR c.owner = excluded.owner OR utp_gone(c.owner, excluded.owner))";

/// Takes what no living instance has, or what nobody has either (`$3`); what another one takes at the moment is left to it.
/// What an attempt took whose answer was lost is this instance's by now (`$5`).
const SWEEP: &str = "
UPDATE utp_calls c SET owner = $2
FROM (
    SELECT call FROM utp_calls
    WHERE fleet = $1 AND answer IS NOT NULL AND NOT delivered
        AND CASE WHEN owner IS NULL THEN $3 WHEN owner = $2 THEN $5 ELSE utp_gone(owner, $2) END
    ORDER BY recorded_at LIMIT $4 FOR UPDATE SKIP LOCKED
) taken
WHERE c.fleet = $1 AND c.call = taken.call
RETURNING c.answer";

/// Answers that one sweep takes; the next one, or another instance, takes the others.
const SWEPT: i64 = 64;

/// Outcomes, counters and claims in tables. Its operations wait, and are called on threads for that.
pub(super) struct PostgresStore {
    database: Arc<Database>,
    fleet: String,
    instance: Arc<Instance>,
    /// Whether cards and Inboxes are in the same schema.
    with_platform: bool,
    staying: JoinHandle<()>,
    handle: Handle,
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.staying.abort();
    }
}

impl PostgresStore {
    /// Makes the tables where they are not there, and joins the instances of a group.
    ///
    /// # Errors
    /// The database is not reached, or does not let us make tables.
    pub(super) async fn open(
        url: &DatabaseUrl,
        group: &str,
        instance: Option<&str>,
        with_platform: bool,
        log: Log,
    ) -> Result<Self, Cause> {
        let tables = format!("{TABLES}{}{}", lease::TABLES, crate::utp::l0::TABLES);
        let database = Database::open(url, &tables).await?;
        let fleet = plain(group).into_owned();
        let instance = Instance::join(Arc::clone(&database), fleet.clone(), instance, log).await?;
        let instance = Arc::new(instance);
        let staying = tokio::spawn(Arc::clone(&instance).stay());
        Ok(Self { database, fleet, instance, with_platform, staying, handle: Handle::current() })
    }

    async fn claimed(&self, client: &Client, call: &str) -> Result<Claim, Failure> {
        let own = self.instance.own();
        if let Some(row) = client.query_opt(CLAIM, &[&self.fleet, &call, &own]).await? {
            return Ok(match row.try_get::<_, Option<String>>(0)? {
                None => Claim::New,
                Some(answer) => Claim::Done { answer: read(&answer)?, delivered: row.try_get(1)? },
            });
        }
        let recorded = "SELECT answer IS NOT NULL FROM utp_calls WHERE fleet = $1 AND call = $2";
        let row = client.query_opt(recorded, &[&self.fleet, &call]).await?;
        // Where it has gone just now, whoever asks again sees how.
        let is_recorded = row.map(|row| row.try_get(0)).transpose()?.unwrap_or(false);
        Ok(Claim::Elsewhere { is_recorded })
    }

    async fn recorded(
        &self,
        client: &mut Client,
        (call, recording): (&str, &str),
        counter: Option<&str>,
        answer: CallResponse,
    ) -> Result<Option<Arc<CallResponse>>, Failure> {
        let own = self.instance.own();
        let transaction = client.transaction().await?;
        let answer = match counter {
            None => answer,
            Some(name) => {
                let row = transaction.query_one(COUNT, &[&self.fleet, &plain(name)]).await?;
                let count = u64::try_from(row.try_get::<_, i64>(0)?).map_err(Failure::refused)?;
                answer.counted(count)
            }
        };
        let text = serde_json::to_string(&answer)?;
        if transaction.execute(RECORD, &[&self.fleet, &call, &own, &text, &recording]).await? == 0 {
            transaction.rollback().await?;
            return Ok(None);
        }
        if self.with_platform {
            record_with(&transaction, &answer).await?;
        }
        transaction.commit().await?;
        Ok(Some(Arc::new(answer)))
    }

    /// The outcome that an attempt of ours recorded whose acknowledgement was lost.
    async fn recorded_before(
        &self,
        client: &Client,
        call: &str,
        recording: &str,
    ) -> Result<Option<Arc<CallResponse>>, Failure> {
        let before = "SELECT answer FROM utp_calls WHERE fleet = $1 AND call = $2 AND recording = $3";
        let row = client.query_opt(before, &[&self.fleet, &call, &recording]).await?;
        row.map(|row| read(row.try_get(0)?)).transpose()
    }

    fn swept(&self, is_start: bool) -> Result<Vec<Arc<CallResponse>>, Cause> {
        self.database.wait(async |client, is_repeated| {
            let own = self.instance.own();
            let values: [&(dyn ToSql + Sync); 5] = [&self.fleet, &own, &is_start, &SWEPT, &is_repeated];
            let rows = client.query(SWEEP, &values).await?;
            rows.iter().map(|row| read(row.try_get(0)?)).collect()
        })
    }
}

fn read(answer: &str) -> Result<Arc<CallResponse>, Failure> {
    Ok(Arc::new(serde_json::from_str(answer)?))
}

impl LedgerStore for PostgresStore {
    fn find(&self, key: &CallKey) -> Result<Option<Arc<CallResponse>>, Cause> {
        let call = key.digest();
        let wanted = "SELECT answer FROM utp_calls WHERE fleet = $1 AND call = $2 AND answer IS NOT NULL";
        self.database.wait(async |client, _| {
            let row = client.query_opt(wanted, &[&self.fleet, &call]).await?;
            row.map(|row| read(row.try_get(0)?)).transpose()
        })
    }

    fn claim(&self, key: &CallKey) -> Result<Claim, Cause> {
        let call = key.digest();
        self.database.wait(async |client, _| self.claimed(client, &call).await)
    }

    fn is_taken(&self, key: &CallKey) -> Result<bool, Cause> {
        let call = key.digest();
        let taken = "SELECT 1 FROM utp_calls WHERE fleet = $1 AND call = $2 AND owner <> $3 \
                     AND NOT utp_gone(owner, $3)";
        self.database.wait(async |client, _| {
            let own = self.instance.own();
            Ok(client.query_opt(taken, &[&self.fleet, &call, &own]).await?.is_some())
        })
    }

    fn release(&self, key: &CallKey) -> Result<(), Cause> {
        let call = key.digest();
        let new = "DELETE FROM utp_calls WHERE fleet = $1 AND call = $2 AND owner = $3 AND answer IS NULL";
        let over = "UPDATE utp_calls SET owner = NULL WHERE fleet = $1 AND call = $2 AND owner = $3";
        self.database.wait(async |client, _| {
            let own = self.instance.own();
            client.execute(new, &[&self.fleet, &call, &own]).await?;
            client.execute(over, &[&self.fleet, &call, &own]).await?;
            Ok(())
        })
    }

    fn record(
        &self,
        key: &CallKey,
        counter: Option<&str>,
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, Cause> {
        let (call, recording) = (key.digest(), random_hex(1));
        let recorded = self.database.wait(async |client, is_repeated| {
            let ids = (call.as_str(), recording.as_str());
            match self.recorded(client, ids, counter, answer.clone()).await? {
                None if is_repeated => self.recorded_before(client, &call, &recording).await,
                recorded => Ok(recorded),
            }
        })?;
        recorded.ok_or_else(|| "the call has an outcome already, or another instance has it".into())
    }

    fn mark_delivered(&self, key: &CallKey) -> Result<(), Cause> {
        let call = key.digest();
        let delivered = "UPDATE utp_calls SET delivered = TRUE, owner = NULL \
                         WHERE fleet = $1 AND call = $2 AND owner = $3";
        self.database.wait(async |client, _| {
            client.execute(delivered, &[&self.fleet, &call, &self.instance.own()]).await?;
            Ok(())
        })
    }

    fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        self.swept(true)
    }

    fn orphaned(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        self.swept(false)
    }

    fn leave(&self) -> Result<(), Cause> {
        self.staying.abort();
        self.handle.block_on(self.instance.leave())
    }

    fn is_leased(&self) -> bool {
        self.instance.is_leased()
    }

    fn waits_for_disk(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }
}
