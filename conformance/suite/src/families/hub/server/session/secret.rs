//! Which service secret the suite sends.

use super::error::HubError;
use crate::families::hub::manifest::HubTable;
use crate::net::outbound::Outbound;

/// The secret of a Hub that the suite starts, where the manifest names no other. It protects nothing, and so it is shown.
pub const MADE_UP_SECRET: &str = "callmark-made-up-service-secret";

/// That of the manifest, of the environment, or one that is made up for a Hub that the suite starts.
///
/// # Errors
/// There is none.
pub(super) fn secret(table: &HubTable, outbound: &Outbound) -> Result<String, HubError> {
    if let Some(secret) = table.secret() {
        return Ok(secret);
    }
    match &table.secret_env {
        // The token of the target is sent in its place.
        None if !table.launch.is_started() => outbound.stand_in().map(str::to_owned).ok_or(HubError::NoHub),
        Some(name) if !table.launch.is_started() => Err(HubError::NoSecret(name.clone())),
        _ => Ok(MADE_UP_SECRET.to_owned()),
    }
}
