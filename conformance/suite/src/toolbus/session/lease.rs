//! Servers that one scenario has for itself, one scenario after the other.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::toolbus::server::Server;
use crate::transcript::lock;

/// A server that one scenario has for itself.
pub struct Lease {
    /// The server.
    pub server: Arc<Server>,
    pub(super) leases: Arc<Leases>,
    pub(super) _room: OwnedSemaphorePermit,
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
        if server.why_closed().is_none() && !server.owes() {
            lock(&self.leases.free).push(server);
        } else {
            tokio::spawn(async move { server.close().await });
        }
    }
}
