//! What stands for a session with a Hub that nobody opened, where traffic is judged that others caused.

use std::collections::BTreeSet;

use super::HubSnapshot;
use crate::engine::timing::Timeouts;
use crate::families::hub::manifest::HubTable;

impl HubSnapshot {
    /// Of a session that nobody opened.
    pub(crate) fn unopened(table: &HubTable) -> Self {
        Self {
            timeouts: Timeouts::unopened(),
            has_provider: table.provider.is_some(),
            fixtures: table.fixtures.clone(),
            secret: String::new(),
            base: table.base_url.clone().unwrap_or_default(),
            works: true,
            reports_expiry: true,
            missing: BTreeSet::new(),
            lacking: None,
            nonce: String::new(),
            prefix: String::new(),
        }
    }
}
