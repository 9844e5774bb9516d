//! A store of breadcrumbs: HTTP, an event stream, SQLite or PostgreSQL (`docs/breadcrumbs.md`, "The store").
//!
//! 1. `http` knows the requests, and who may make them;
//! 2. `record` reads what they bring and gives the forms of the answers;
//! 3. `database` keeps it, or `database_postgres` for several stores, `fanout` sends it to the open streams.
//!
//! Deliberately absent: owners, visibility and roles, expiry, semantic search (the full text is searched), and
//! anything that deletes. Secrets are the configuration's, and are not in the database.

mod config;
mod context;
mod database;
#[cfg(test)]
mod database_contract;
#[cfg(feature = "postgres")]
mod database_postgres;
mod fanout;
mod http;
mod query;
mod record;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use self::context::StoreContext;
use self::database::{Database, FileDatabase};
use self::fanout::Fanout;
use self::record::{Parts, new_id};
use crate::cause::Cause;
use crate::http::listen::{Bounds, HEAD_DEADLINE, Listening};
use crate::log::Log;
use crate::postgres::DatabaseUrl;

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
    /// Until it is shut down.
    listening: Option<Listening>,
    /// Where it listens.
    address: SocketAddr,
    fanout: Arc<Fanout>,
    /// What hands on the changes of other stores, where there may be others.
    following: Option<JoinHandle<()>>,
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        if let Some(following) = &self.following {
            following.abort();
        }
    }
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
        let limits = config.limits;
        let opened = opened(config.database.as_ref(), config.data_dir, limits.body_bytes, &config.log).await;
        let (database, owner_id) = opened.map_err(|source| StoreError::Database { source })?;
        let filling = move || filled(database, seeds);
        let database = tokio::task::spawn_blocking(filling)
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
            owner_id,
            loopback,
            limits,
            log: config.log,
        };
        let bounds = Bounds { head: HEAD_DEADLINE, connections: limits.connections, stall: limits.stall };
        let context = Arc::new(context);
        let following = following(&context);
        let listening = Listening::start(listener, http::router(context), bounds).map_err(failed)?;
        let address = listening.address();
        Ok(Self { listening: Some(listening), address, fanout, following })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:port`, below which everything is served.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Ends the event streams, answers what is being answered, then ends.
    pub async fn shutdown(mut self) {
        self.fanout.close();
        if let Some(listening) = self.listening.take() {
            listening.shutdown().await;
        }
    }
}

/// Opens the database, or else the file in the directory, or memory; returns also the one owner of all there is.
async fn opened(
    database: Option<&DatabaseUrl>,
    data_dir: Option<PathBuf>,
    record_bytes: usize,
    log: &Log,
) -> Result<(Database, String), Cause> {
    if let Some(database) = database {
        return in_database(database, record_bytes, log).await;
    }
    let opening = move || -> Result<Database, Cause> {
        if let Some(data_dir) = &data_dir {
            std::fs::create_dir_all(data_dir)?;
        }
        Ok(Database::File(FileDatabase::open(data_dir.as_deref(), record_bytes)?))
    };
    Ok((tokio::task::spawn_blocking(opening).await??, new_id()))
}

#[cfg(feature = "postgres")]
async fn in_database(url: &DatabaseUrl, record_bytes: usize, log: &Log) -> Result<(Database, String), Cause> {
    let opened = database_postgres::PostgresDatabase::open(url, record_bytes, Arc::clone(log)).await;
    opened.map(|(database, owner_id)| (Database::Postgres(database), owner_id))
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "as where there is a client")]
async fn in_database(_: &DatabaseUrl, _: usize, _: &Log) -> Result<(Database, String), Cause> {
    Err(crate::postgres::NOT_BUILT.into())
}

/// The database with these breadcrumbs, if it had none.
fn filled(database: Database, seeds: Vec<Parts>) -> Result<Database, Cause> {
    let anything = query::Query { limit: 1, ..query::Query::default() };
    if database.list(&anything)?.is_empty() {
        for parts in seeds {
            database.create(new_id(), parts, None, |_record| {})?;
        }
    }
    Ok(database)
}

/// Has the streams get what any store writes, where several may.
fn following(context: &Arc<StoreContext>) -> Option<JoinHandle<()>> {
    match &context.database {
        Database::File(_) => None,
        #[cfg(feature = "postgres")]
        Database::Postgres(database) => {
            let (follower, fanout) = (database.follower(), Arc::clone(&context.fanout));
            let owner_id = context.owner_id.clone();
            let publish = move |record: &record::Record| fanout.publish(&record.event(&owner_id));
            Some(tokio::spawn(follower.run(publish)))
        }
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
