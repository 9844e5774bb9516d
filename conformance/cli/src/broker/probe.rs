//! Whether a server of NATS takes a connection.

use std::time::Duration;

use callmark_suite::families::utp::nats_access::NatsAccess;
use callmark_suite::families::utp::nats_servers::redacted;
use tokio::time::timeout;

use super::error::BrokerStartError;

/// For a connection.
pub(super) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Connects once and says goodbye.
pub(super) async fn probe(url: &str, access: &NatsAccess) -> Result<(), BrokerStartError> {
    let unreachable = |why| BrokerStartError::Unreachable { url: redacted(url), why };
    let options = access.options(url).map_err(unreachable)?;
    let connect = options.connection_timeout(CONNECT_DEADLINE).connect(url);
    match timeout(CONNECT_DEADLINE, connect).await {
        Ok(Ok(_client)) => Ok(()),
        Ok(Err(error)) => Err(unreachable(access.why(&error))),
        Err(_) => Err(BrokerStartError::Deadline {
            what: format!("the broker at `{}`", redacted(url)),
            limit: CONNECT_DEADLINE,
        }),
    }
}
