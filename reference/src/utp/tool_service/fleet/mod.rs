//! Several instances of one service that share its work, its ledger and its counters through JetStream.
//!
//! In reading order: `bucket` (keys that are read and compared-and-set, with deadlines), `instances` (who is alive),
//! `store` (the ledger over both), `counters` (why a call is counted once, whoever is killed when), `commands` (a durable
//! consumer where a stream keeps the commands).
//!
//! Instances with the same queue group are a fleet: the group names subscription, consumer and buckets.
//! Deliberately absent: cards, roster and Inbox, which are the platform's and not the service's; other stores.

mod bucket;
pub(super) mod commands;
mod counters;
mod instances;
mod store;

use std::sync::Arc;

use async_nats::Client;

use super::ledger::LedgerStore;
use crate::log::Log;
use crate::utp::error::ReferenceError;

/// How an instance takes part in a fleet.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FleetConfig {
    /// A name that no other instance of the fleet has at the same time, and that stays over restarts, such as the name of
    /// a pod: then what a killed instance left is taken over as soon as it is back. Without one the instance makes up a
    /// name, and what it leaves is taken over after its lease.
    pub instance: Option<String>,
}

impl FleetConfig {
    /// An instance with this name.
    pub fn named(instance: impl Into<String>) -> Self {
        Self { instance: Some(instance.into()) }
    }
}

/// Opens the fleet's ledger, and makes its buckets where there are none.
pub(super) async fn open_store(
    client: Client,
    queue_group: &str,
    config: &FleetConfig,
    log: Log,
) -> Result<Arc<dyn LedgerStore>, ReferenceError> {
    let store = store::NatsStore::open(client, queue_group, config.instance.as_deref(), log).await;
    Ok(Arc::new(store.map_err(|source| ReferenceError::store("ledger", source))?))
}
