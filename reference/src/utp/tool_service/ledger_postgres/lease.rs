//! Which instances are alive: each has a row and renews it.
//!
//! The lease is 15 s, renewed every 5 s, by the clock of the database alone; so clocks of instances need not agree.
//! A row that has expired shows death only to an instance whose own lease has held for 6 s: a database that was away has
//! let those of the living expire as well, and these renew them first.
//! An instance that starts under the name of another replaces it, and what the former one claimed is free at once; so is
//! what an instance leaves that ends in order, which removes its row.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::cause::Cause;
use crate::log::Log;
use crate::postgres::{Database, plain};
use crate::sync::locked;
use crate::utp::ident::random_hex;

/// The rows, and `utp_gone`: whether the owner of a claim is certainly not alive, as seen by another.
pub(super) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS utp_instances (
    fleet TEXT NOT NULL,
    instance TEXT NOT NULL,
    start TEXT NOT NULL UNIQUE,
    since TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (fleet, instance)
);
CREATE OR REPLACE FUNCTION utp_gone(owner TEXT, observer TEXT) RETURNS BOOLEAN LANGUAGE sql VOLATILE AS $$
    SELECT CASE
        WHEN seen.start IS NULL THEN TRUE
        WHEN seen.expires_at > clock_timestamp() THEN FALSE
        ELSE COALESCE((SELECT own.since < clock_timestamp() - INTERVAL '6 seconds'
                              AND own.expires_at > clock_timestamp()
                       FROM utp_instances own WHERE own.start = observer), FALSE)
    END
    FROM (SELECT owner AS start) wanted LEFT JOIN utp_instances seen ON seen.start = wanted.start
$$;
";

/// Takes the name; whoever had it before is gone from here on.
const JOIN: &str = "
INSERT INTO utp_instances (fleet, instance, start, since, expires_at)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + INTERVAL '15 seconds')
ON CONFLICT (fleet, instance) DO UPDATE
SET start = excluded.start, since = excluded.since, expires_at = excluded.expires_at";

const RENEW: &str = "
UPDATE utp_instances SET
    since = CASE WHEN expires_at < clock_timestamp() THEN clock_timestamp() ELSE since END,
    expires_at = clock_timestamp() + INTERVAL '15 seconds'
WHERE start = $1
RETURNING start";

/// Who did not come back for a day is forgotten.
const FORGET: &str =
    "DELETE FROM utp_instances WHERE fleet = $1 AND expires_at < clock_timestamp() - INTERVAL '1 day'";

/// Nobody asks again for an outcome that was delivered a week ago: a stream delivers commands for a day. Fleets on
/// JetStream keep theirs as long (`fleet::store`).
const FORGET_OUTCOMES: &str = "DELETE FROM utp_calls \
     WHERE fleet = $1 AND delivered AND recorded_at < clock_timestamp() - INTERVAL '7 days'";

/// As the statements have it: after this without a renewal an instance is gone.
const LEASE: Duration = Duration::from_secs(15);
/// Between two renewals.
const RENEWAL: Duration = Duration::from_secs(5);
/// For leaving.
const LEAVING: Duration = Duration::from_secs(2);
/// Between two looks at what can be forgotten.
const FORGETTING: Duration = Duration::from_secs(3600);
/// After a renewal that failed.
const RETRY: Duration = Duration::from_secs(1);

/// This instance's place in its fleet.
pub(super) struct Instance {
    database: Arc<Database>,
    fleet: String,
    name: Mutex<String>,
    /// What its claims are marked with.
    start: Mutex<String>,
    /// When the lease began that it has.
    leased: Mutex<Instant>,
    log: Log,
}

impl Instance {
    /// Joins a fleet under a name that no other instance has at the same time, or under a new one.
    pub(super) async fn join(
        database: Arc<Database>,
        fleet: String,
        name: Option<&str>,
        log: Log,
    ) -> Result<Self, Cause> {
        let start = random_hex(1);
        let name = name.map_or_else(|| start.clone(), |name| plain(name).into_owned());
        let (name, start, leased) = (Mutex::new(name), Mutex::new(start), Mutex::new(Instant::now()));
        let instance = Self { database, fleet, name, start, leased, log };
        instance.take_name().await?;
        Ok(instance)
    }

    /// Whether its lease is not over.
    pub(super) fn is_leased(&self) -> bool {
        locked(&self.leased).elapsed() < LEASE
    }

    /// What its claims are marked with.
    pub(super) fn own(&self) -> String {
        locked(&self.start).clone()
    }

    async fn take_name(&self) -> Result<(), Cause> {
        let (name, start) = (locked(&self.name).clone(), self.own());
        self.database.once(FORGET, &[&self.fleet]).await?;
        self.database.once(JOIN, &[&self.fleet, &name, &start]).await.map(drop)
    }

    /// Renews the lease, and forgets what nobody asks for, until the task is aborted.
    pub(super) async fn stay(self: Arc<Self>) {
        tokio::join!(self.renew(), self.forget());
    }

    async fn renew(&self) {
        sleep(RENEWAL).await;
        loop {
            match self.renewed().await {
                Ok(()) => sleep(RENEWAL).await,
                Err(error) => {
                    (self.log)(&format!("the lease of this instance is not renewed: {error}"));
                    sleep(RETRY).await;
                }
            }
        }
    }

    async fn forget(&self) {
        loop {
            if let Err(error) = self.forget_outcomes().await {
                (self.log)(&format!("outcomes that were delivered a week ago are still kept: {error}"));
            }
            sleep(FORGETTING).await;
        }
    }

    /// Forgets what was delivered a week ago.
    pub(super) async fn forget_outcomes(&self) -> Result<(), Cause> {
        self.database.once(FORGET_OUTCOMES, &[&self.fleet]).await.map(drop)
    }

    /// Renews the lease once, or joins anew where another has the name.
    pub(super) async fn renewed(&self) -> Result<(), Cause> {
        // Not when it is done: the database counts from somewhere in between.
        let asked = Instant::now();
        self.renewed_now().await?;
        *locked(&self.leased) = asked;
        Ok(())
    }

    async fn renewed_now(&self) -> Result<(), Cause> {
        let start = self.own();
        if !self.database.once(RENEW, &[&start]).await?.is_empty() {
            return Ok(());
        }
        // What is claimed by this start is the other's to take; what is claimed from here on is not.
        let name = locked(&self.name).clone();
        (self.log)(&format!("another instance has started as `{name}`"));
        let start = random_hex(1);
        *locked(&self.name) = format!("{name}-{start}");
        *locked(&self.start) = start;
        self.take_name().await
    }

    /// Leaves the fleet: what it has claimed is free.
    pub(super) async fn leave(&self) -> Result<(), Cause> {
        let start = self.own();
        let own = "DELETE FROM utp_instances WHERE start = $1";
        // Where the database is away, others wait for the end of the lease.
        timeout(LEAVING, self.database.once(own, &[&start])).await?.map(drop)
    }
}
