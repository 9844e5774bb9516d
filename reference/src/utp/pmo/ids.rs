//! Ids that follow from the call, so that a repeated command names the same agents and the same turns.

use sha2::{Digest, Sha256};

use crate::utp::ident::hex;
use crate::utp::tool_service::Call;

/// The id of the agent that a call makes for its task number `index`.
pub(super) fn agent_id(call: &Call, index: usize) -> String {
    derived("ag", call, index)
}

/// The id of the turn that a call starts for its task number `index`.
pub(super) fn turn_id(call: &Call, index: usize) -> String {
    derived("turn", call, index)
}

/// By what the platform knows that start again, in `v1r4`.
pub(super) fn correlation_id(call: &Call, index: usize) -> String {
    format!("{}-{}", call.command.identity.tool_call_id, index + 1)
}

fn derived(prefix: &str, call: &Call, index: usize) -> String {
    let identity = &call.command.identity;
    let mut digest = Sha256::new();
    for part in [prefix, call.subject.project_id.as_str(), &identity.agent_turn_id, &identity.tool_call_id] {
        // The length in front keeps ("ab", "c") apart from ("a", "bc").
        digest.update(part.len().to_le_bytes());
        digest.update(part.as_bytes());
    }
    digest.update(index.to_le_bytes());
    format!("{prefix}_{}", hex(&digest.finalize()[..16]))
}
