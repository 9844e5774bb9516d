//! Servers that one scenario has for itself, one scenario after the other.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::families::toolbus::server::Server;
use crate::transcript::lock;

/// A server that one scenario has for itself.
pub struct Lease {
    /// The server.
    pub server: Arc<Server>,
    /// Whether an earlier scenario had it.
    pub(super) is_used: bool,
    /// Whether a scenario that had it did not end well, so that nobody else gets it.
    pub(super) is_harmed: bool,
    pub(super) leases: Arc<Leases>,
    pub(super) _room: OwnedSemaphorePermit,
}

impl Lease {
    /// Whether an earlier scenario had the server, and may have harmed it.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// Says that the scenario did not end well: the server is thrown away.
    pub fn is_not_to_be_lent_again(&mut self) {
        self.is_harmed = true;
    }
}

/// Servers that wait for a scenario.
pub(super) struct Leases {
    pub(super) free: Mutex<Vec<Arc<Server>>>,
    pub(super) room: Arc<Semaphore>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let server = Arc::clone(&self.server);
        // A server that still owes an answer would give it into another scenario.
        if server.why_closed().is_none() && !server.owes() && !self.is_harmed {
            lock(&self.leases.free).push(server);
        } else {
            tokio::spawn(async move { server.close().await });
        }
    }
}
