//! The session of a run with an agent: how it is driven, and what was found out before the first scenario.

use std::collections::BTreeSet;

/// An open session.
#[derive(Debug)]
pub struct AgentSession {}

impl AgentSession {
    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Whether the agent did what it was asked to.
    pub fn works(&self) -> bool {
        false
    }

    /// Ends what the session holds open.
    pub async fn close(&self) {}
}
