//! A session with an agent runtime, and what was found out about it before the first scenario.

use std::collections::BTreeSet;

/// An open session.
#[derive(Debug)]
pub struct RuntimeSession {}

impl RuntimeSession {
    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Whether a tool call of the model came out as a command.
    pub fn works(&self) -> bool {
        false
    }
}
