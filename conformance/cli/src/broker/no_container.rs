//! In place of the container, where Callmark is built without its feature.

use callmark_suite::families::utp::binding::Commands;

use super::error::BrokerStartError;

/// There is none.
pub(super) enum Container {}

impl Container {
    /// Never called.
    #[expect(clippy::unused_async, reason = "as the container's")]
    pub(super) async fn stop(self) {
        match self {}
    }
}

/// An error that says how to build Callmark with it.
#[expect(clippy::unused_async, reason = "as the container's")]
pub(super) async fn start(_: Commands) -> Result<(String, Container), BrokerStartError> {
    Err(BrokerStartError::NotBuilt)
}
