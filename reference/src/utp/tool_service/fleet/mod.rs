//! Several instances of one service that share its work, its ledger and its counters through JetStream.
//!
//! In reading order: `bucket` (keys that are read and compared-and-set, with deadlines), `instances` (who is alive),
//! `store` (the ledger over both), `counters` (why a call is counted once, whoever is killed when), `commands` (a durable
//! consumer where a stream keeps the commands).
//!
//! Instances with the same queue group are a fleet: the group names subscription, consumer and buckets.
//! A fleet may keep its ledger in PostgreSQL instead (`ledger_postgres`), and then needs JetStream for nothing but commands
//! that a stream keeps.
//! Deliberately absent: cards, roster and Inbox, which are the platform's and not the service's.

mod bucket;
pub(super) mod commands;
mod counters;
mod instances;
mod store;

use std::sync::Arc;

use async_nats::Client;

use super::ledger::LedgerStore;
#[cfg(feature = "postgres")]
use super::ledger_postgres::PostgresStore;
use crate::cause::Cause;
use crate::log::Log;
use crate::postgres::DatabaseUrl;
use crate::utp::error::ReferenceError;

/// How an instance takes part in a fleet.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FleetConfig {
    /// A name that no other instance of the fleet has at the same time, and that stays over restarts, such as the name of
    /// a pod: then what a killed instance left is taken over as soon as it is back. Without one the instance makes up a
    /// name, and what it leaves is taken over after its lease.
    pub instance: Option<String>,
    /// Keeps the ledger there, and not in JetStream.
    pub database: Option<DatabaseUrl>,
    /// Whether the platform keeps its tables in that database as well: then an outcome, its card and its Inbox record are
    /// one transaction.
    pub with_platform: bool,
}

impl FleetConfig {
    /// An instance with this name.
    pub fn named(instance: impl Into<String>) -> Self {
        Self { instance: Some(instance.into()), ..Self::default() }
    }
}

/// Opens the fleet's ledger, and makes its buckets or tables where there are none.
pub(super) async fn open_store(
    client: Client,
    queue_group: &str,
    config: &FleetConfig,
    log: Log,
) -> Result<Arc<dyn LedgerStore>, ReferenceError> {
    if let Some(database) = &config.database {
        let store = in_database(database, queue_group, config, log).await;
        return store.map_err(|source| ReferenceError::store("ledger", source));
    }
    let store = store::NatsStore::open(client, queue_group, config.instance.as_deref(), log).await;
    Ok(Arc::new(store.map_err(|source| ReferenceError::store("ledger", source))?))
}

#[cfg(feature = "postgres")]
async fn in_database(
    database: &DatabaseUrl,
    queue_group: &str,
    config: &FleetConfig,
    log: Log,
) -> Result<Arc<dyn LedgerStore>, Cause> {
    let instance = config.instance.as_deref();
    let store = PostgresStore::open(database, queue_group, instance, config.with_platform, log).await?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "as where there is a client")]
async fn in_database(
    _: &DatabaseUrl,
    _: &str,
    _: &FleetConfig,
    _: Log,
) -> Result<Arc<dyn LedgerStore>, Cause> {
    Err(crate::postgres::NOT_BUILT.into())
}
