//! How the suite connects to the broker.
//!
//! What the broker carries counts only while the connection stands ([`ConnectionWatch`]). Of one server a lost connection
//! ends the run; of several another one takes over, and only the scenarios of that time count for nothing.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, ServerAddr};

use super::connection_watch::ConnectionWatch;
use super::error::SessionError;
use super::nats_access::NatsAccess;
use super::nats_servers;
use crate::engine::environment;

/// Time for connecting to the broker.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Connects to the first of these servers that is there. With `is_deaf` the suite does not receive its own messages.
///
/// # Errors
/// Why it cannot be connected to.
pub(super) async fn connect(
    urls: &str,
    access: &NatsAccess,
    watch: &Arc<ConnectionWatch>,
    is_deaf: bool,
) -> Result<Client, SessionError> {
    let refused = |reason: String| SessionError::Broker { url: nats_servers::redacted(urls), reason };
    let servers: Result<Vec<ServerAddr>, _> =
        nats_servers::urls(urls).into_iter().map(str::parse::<ServerAddr>).collect();
    let servers = servers.map_err(|error| refused(error.to_string()))?;
    let (noticed, has_others) = (Arc::clone(watch), servers.len() > 1);
    let mut options: ConnectOptions = access
        .options(urls)
        .map_err(refused)?
        .name("callmark")
        .connection_timeout(CONNECT_DEADLINE)
        .retain_servers_order()
        .subscription_capacity(64 * 1024)
        .event_callback(move |event| {
            noticed.notice(&event, has_others);
            std::future::ready(())
        });
    if is_deaf {
        options = options.no_echo();
    }
    let within = CONNECT_DEADLINE * u32::try_from(servers.len()).unwrap_or(u32::MAX);
    match tokio::time::timeout(within, options.connect(servers)).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => {
            environment::note(&error);
            Err(refused(access.why(&error)))
        }
        Err(_) => Err(refused(format!("no answer within {} s", within.as_secs()))),
    }
}
