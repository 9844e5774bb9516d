//! The session of a run with a Hub: how it is started, and what was found out before the first scenario.

use std::collections::BTreeSet;

/// An open session.
#[derive(Debug)]
pub struct HubSession {}

impl HubSession {
    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Whether the Hub tells requests apart.
    pub fn works(&self) -> bool {
        false
    }

    /// Ends what the session holds open.
    pub async fn close(&self) {}
}
