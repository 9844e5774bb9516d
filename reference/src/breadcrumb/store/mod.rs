//! A store of breadcrumbs: HTTP, an event stream, SQLite (`docs/breadcrumbs.md`, "The store").
//!
//! 1. `http` knows the requests, and who may make them;
//! 2. `record` reads what they bring and gives the forms of the answers;
//! 3. `database` keeps it, `fanout` sends it to the open streams.
//!
//! Deliberately absent: owners, visibility and roles, expiry, semantic search (the full text is searched), and
//! anything that deletes. Secrets are the configuration's, and are not in the database.

mod config;
mod context;
mod database;
mod fanout;
mod http;
mod record;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::{fmt, io};

use serde_json::Value;
use tokio::net::TcpListener;

use self::context::{StoreContext, new_id};
use self::database::Database;
use self::fanout::Fanout;
use self::record::Parts;
use crate::http::listen::{Bounds, HEAD_DEADLINE, Listening};

pub use self::config::{StoreConfig, StoreLimits, StoredSecret};

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
        let context = StoreContext {
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
        let listening =
            Listening::start(listener, http::router(Arc::new(context)), bounds).map_err(failed)?;
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
