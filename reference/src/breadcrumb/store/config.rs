//! How a store is set up.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::log::{Log, no_log};
use crate::postgres::DatabaseUrl;
use crate::secret::Secret;

/// A secret, which is listed by its id and name alone.
#[derive(Debug, Clone)]
pub struct StoredSecret {
    /// What `apiKeySecretId` of a configuration names.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is.
    pub value: Secret,
}

/// What is bounded, and how.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StoreLimits {
    /// No request may have a longer body, and no breadcrumb becomes longer.
    pub body_bytes: usize,
    /// For the body of a request.
    pub body_deadline: Duration,
    /// How many event streams there may be at once.
    pub streams: usize,
    /// How many events may wait in one before it is ended.
    pub queue: usize,
    /// How long a client may take to read something of what it is sent before its connection is closed.
    pub stall: Duration,
    /// How many connections there may be at once.
    pub connections: usize,
    /// How often a stream sends a keep-alive.
    pub ping: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            body_deadline: Duration::from_secs(10),
            streams: 128,
            queue: 256,
            stall: Duration::from_secs(10),
            connections: 1024,
            ping: Duration::from_secs(5),
        }
    }
}

/// How a store is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoreConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where `breadcrumbs.sqlite` is kept; memory without one.
    pub data_dir: Option<PathBuf>,
    /// Keeps everything there, and nothing in `data_dir`; other stores may use it at the same time.
    pub database: Option<DatabaseUrl>,
    /// What every request but `GET /health` has to show; needed where not only this machine can reach the store.
    pub token: Option<Secret>,
    /// What can be decrypted.
    pub secrets: Vec<StoredSecret>,
    /// Breadcrumbs of a new, empty store, in the form of a creation.
    pub seeds: Vec<Value>,
    /// What is bounded, and how.
    pub limits: StoreLimits,
    /// Where log lines go; they hold no secret.
    pub log: Log,
}

impl StoreConfig {
    /// On a free port of the loopback, in memory, empty, silent.
    pub fn new() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data_dir: None,
            database: None,
            token: None,
            secrets: Vec::new(),
            seeds: Vec::new(),
            limits: StoreLimits::default(),
            log: no_log(),
        }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreConfig")
            .field("listen", &self.listen)
            .field("data_dir", &self.data_dir)
            .field("database", &self.database)
            .field("secrets", &self.secrets)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
