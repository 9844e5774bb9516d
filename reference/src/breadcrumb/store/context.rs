//! What every request needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::{StoreLimits, StoredSecret};
use super::database::Database;
use super::fanout::Fanout;
use crate::log::Log;
use crate::secret::Secret;

/// What every request needs.
pub(super) struct StoreContext {
    pub(super) database: Database,
    pub(super) fanout: Arc<Fanout>,
    pub(super) secrets: BTreeMap<String, StoredSecret>,
    pub(super) token: Option<Secret>,
    /// The one owner of all there is.
    pub(super) owner_id: String,
    /// Whether only this machine is served, under names of its own.
    pub(super) loopback: bool,
    pub(super) limits: StoreLimits,
    pub(super) log: Log,
}
