//! A session with a management API, and what was found out about it before the first scenario.

use std::collections::BTreeSet;

/// An open session.
#[derive(Debug)]
pub struct ManagementSession {}

impl ManagementSession {
    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Whether an uploaded definition could be read back.
    pub fn works(&self) -> bool {
        false
    }
}
