//! Which hosts the suite answers for, in place of the servers behind them.

use std::net::SocketAddr;
use std::sync::Arc;

/// Hosts of which the suite plays, and where.
pub(crate) struct Played {
    pub(super) hosts: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub(super) address: SocketAddr,
}

impl Played {
    /// The hosts that `hosts` knows (in small letters, without port and final dot) are played at this address.
    pub(crate) fn at(address: SocketAddr, hosts: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { hosts: Arc::new(hosts), address }
    }
}
