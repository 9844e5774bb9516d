//! What every request needs.

use super::config::Limits;
use super::customers::Customers;
use super::secret::SecretDigest;
use super::upstream::Upstream;
use crate::log::Log;

/// What every request needs; shared by all of them.
pub(super) struct HubContext {
    pub(super) secret: SecretDigest,
    pub(super) customers: Customers,
    pub(super) upstream: Upstream,
    pub(super) setup_url: String,
    pub(super) limits: Limits,
    pub(super) log: Log,
}
