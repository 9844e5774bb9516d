//! A store of breadcrumbs: HTTP, an event stream, SQLite (`docs/breadcrumbs.md`, "The store").
//!
//! 1. `http` knows the requests, and who may make them;
//! 2. `record` reads what they bring and gives the forms of the answers;
//! 3. `database` keeps it, `fanout` tells the open streams of it.
//!
//! Deliberately absent: owners, visibility and roles, expiry, semantic search (the full text is searched), and
//! anything that deletes. Secrets are the configuration's, and are not in the database.

mod database;
mod fanout;
mod http;
mod record;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use serde_json::Value;
use tokio::net::TcpListener;

use self::database::Database;
use self::fanout::Fanout;
use self::record::Parts;
use crate::http::listen::{Bounds, HEAD_DEADLINE, Listening};
use crate::log::{Log, no_log};
use crate::secret::Secret;

/// How a store is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoreConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where `breadcrumbs.sqlite` is kept; memory without one.
    pub data_dir: Option<PathBuf>,
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
            .field("secrets", &self.secrets)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

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
    /// How often a stream says that it lives.
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

/// Why a store did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// The database cannot be opened or written.
    #[error("the database of the store failed")]
    Database {
        /// What SQLite or the file system says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The configuration cannot work.
    #[error("the store cannot be set up: {reason}")]
    Config {
        /// What is wrong with it.
        reason: String,
    },
}

/// What every request needs.
struct Core {
    database: Database,
    fanout: Arc<Fanout>,
    secrets: BTreeMap<String, StoredSecret>,
    token: Option<Secret>,
    /// The one owner of all there is.
    owner_id: String,
    /// Whether only this machine is served, under names of its own.
    loopback: bool,
    limits: StoreLimits,
    log: Log,
}

/// A running store. Dropping it ends it without waiting.
pub struct StoreServer {
    listening: Listening,
    fanout: Arc<Fanout>,
}

impl fmt::Debug for StoreServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoreServer").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl StoreServer {
    /// Opens the database and listens.
    ///
    /// # Errors
    ///
    /// When the configuration cannot work, the database cannot be opened, or the address is taken.
    pub async fn start(config: StoreConfig) -> Result<Self, StoreError> {
        let loopback = config.listen.ip().is_loopback();
        if !loopback && config.token.is_none() {
            let reason = format!("`{}` is not of the loopback, so a token is needed", config.listen);
            return Err(StoreError::Config { reason });
        }
        let secrets = secrets(config.secrets)?;
        let seeds = seeds(config.seeds)?;
        let (data_dir, limits) = (config.data_dir, config.limits);
        let opening = move || -> Result<Database, Box<dyn Error + Send + Sync>> {
            if let Some(data_dir) = &data_dir {
                std::fs::create_dir_all(data_dir)?;
            }
            let database = Database::open(data_dir.as_deref(), limits.body_bytes)?;
            let anything = database::Query { limit: 1, ..database::Query::default() };
            if database.list(&anything)?.is_empty() {
                for parts in seeds {
                    database.create(new_id(), parts, None, |_record| {})?;
                }
            }
            Ok(database)
        };
        let database = tokio::task::spawn_blocking(opening)
            .await
            .map_err(|error| StoreError::Database { source: error.into() })?
            .map_err(|source| StoreError::Database { source })?;
        let failed = |source| StoreError::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let fanout = Fanout::new(limits.streams, limits.queue);
        let core = Core {
            database,
            fanout: Arc::clone(&fanout),
            secrets,
            token: config.token,
            owner_id: new_id(),
            loopback,
            limits,
            log: config.log,
        };
        let bounds = Bounds { head: HEAD_DEADLINE, connections: limits.connections, stall: limits.stall };
        let listening = Listening::start(listener, http::router(Arc::new(core)), bounds).map_err(failed)?;
        Ok(Self { listening, fanout })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// `http://127.0.0.1:port`, below which everything is served.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Ends the event streams, answers what is being answered, then ends.
    pub async fn shutdown(self) {
        self.fanout.close();
        self.listening.shutdown().await;
    }
}

fn secrets(secrets: Vec<StoredSecret>) -> Result<BTreeMap<String, StoredSecret>, StoreError> {
    let mut by_id = BTreeMap::new();
    for secret in secrets {
        if let Some(other) = by_id.insert(secret.id.clone(), secret) {
            return Err(StoreError::Config { reason: format!("there are two secrets `{}`", other.id) });
        }
    }
    Ok(by_id)
}

fn seeds(seeds: Vec<Value>) -> Result<Vec<Parts>, StoreError> {
    let config = |place: usize, fault: &str| StoreError::Config {
        reason: format!("breadcrumb {} of the fixtures cannot be stored: {fault}", place + 1),
    };
    seeds
        .into_iter()
        .enumerate()
        .map(|(place, seed)| match seed {
            Value::Object(members) => Parts::read(members).map_err(|fault| config(place, &fault)),
            _ => Err(config(place, "it is no object")),
        })
        .collect()
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
