//! L0, the platform's side: card store, roster, `resource.tools` with its management API, and an execution service.
//!
//! `operations` is what L0 does, `upload` what it checks, `store`, `store_file` and `store_postgres` where it keeps things,
//! `commands` how deeply calls are nested, `nats` and `http` how it is reached (`docs/bindings.md`). Reports are taken by `execution`, of which one is inside.
//! It runs no turns: the runtime serves `turns.start` and subscribes to the wakeups.

mod commands;
mod http;
mod nats;
mod operations;
mod store;
mod store_file;
#[cfg(feature = "postgres")]
mod store_postgres;
mod upload;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use commands::SeenCommands;
use operations::Operations;
use store::{MemoryStore, Store};
use store_file::FileStore;
#[cfg(feature = "postgres")]
use store_postgres::PostgresStore;
#[cfg(all(test, feature = "postgres"))]
pub(crate) use store_postgres::tests::check_announcement;
#[cfg(feature = "postgres")]
pub(crate) use store_postgres::{TABLES, record_with};

use super::error::ReferenceError;
use super::execution::inbox::{InboxStore, MemoryInbox};
use super::execution::{self, Execution};
use super::message::{InboxRecord, RosterRow, ToolRow};
use super::revision::Revision;
use super::serving::{PLATFORM, answer_requests, ended, guarded, listen};
use crate::log::{Log, no_log};
use crate::postgres::DatabaseUrl;
use crate::utp::connection::connect;
use crate::utp::projects::Projects;

/// How L0 is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct L0Config {
    /// The broker that carries the NATS binding and the wakeups.
    pub nats_url: String,
    /// Which revisions are served.
    pub revisions: Vec<Revision>,
    /// Where the HTTP binding listens; not at all without it.
    pub http: Option<SocketAddr>,
    /// Where everything is kept; in memory without one.
    pub data_dir: Option<PathBuf>,
    /// Keeps everything there, and nothing in `data_dir`.
    pub database: Option<DatabaseUrl>,
    /// Which projects are served.
    pub projects: Projects,
    /// For one request over HTTP, reading it included.
    pub request_deadline: Duration,
    /// Where log lines go.
    pub log: Log,
}

impl L0Config {
    /// Every project, over NATS alone, in memory.
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            revisions: Revision::ALL.to_vec(),
            http: None,
            data_dir: None,
            database: None,
            projects: Projects::All,
            request_deadline: Duration::from_secs(10),
            log: no_log(),
        }
    }
}

/// A running L0; dropping it ends it without waiting.
#[derive(Debug)]
pub struct L0 {
    handle: L0Handle,
    http: Option<SocketAddr>,
    closing: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// The management side of a running L0, for users in the same process.
#[derive(Debug, Clone)]
pub struct L0Handle {
    operations: Arc<Operations>,
    execution: Arc<Execution>,
}

impl L0 {
    /// Opens the store, subscribes and listens; requests sent after the return are answered.
    ///
    /// # Errors
    /// When the broker does not answer, the address is taken, or the store cannot be opened.
    pub async fn start(config: L0Config) -> Result<Self, ReferenceError> {
        let client = connect(&config.nats_url, "l0").await?;
        let (store, inbox) = open(config.data_dir, config.database.as_ref()).await?;
        let operations = Arc::new(Operations {
            store,
            revisions: config.revisions.clone(),
            projects: config.projects.clone(),
            log: Arc::clone(&config.log),
        });
        let seen = Arc::new(SeenCommands::default());
        let execution = Arc::new(Execution {
            inbox,
            resources: Arc::<Operations>::clone(&operations),
            commands: Arc::<SeenCommands>::clone(&seen),
            client: client.clone(),
            revisions: config.revisions.clone(),
            projects: config.projects.clone(),
            log: Arc::clone(&config.log),
        });
        let (closing, closed) = watch::channel(false);
        let mut tasks = Vec::new();
        if config.revisions.contains(&Revision::V1r4) {
            // Before requests are answered, which waits for the broker to have read both.
            tasks.push(seen.watch(&client, &config.projects, closed.clone()).await?);
        }
        tasks.extend([
            answer_requests(client.clone(), PLATFORM, Arc::clone(&operations), closed.clone()).await?,
            answer_requests(client, PLATFORM, Arc::clone(&execution), closed.clone()).await?,
        ]);
        let mut http = None;
        if let Some(address) = config.http {
            let routes =
                http::routes(Arc::clone(&operations)).merge(execution::routes(Arc::clone(&execution)));
            let routes = guarded(routes, config.request_deadline);
            let (bound, task) = listen(routes, address, config.log, closed).await?;
            http = Some(bound);
            tasks.push(task);
        }
        Ok(Self { handle: L0Handle { operations, execution }, http, closing, tasks })
    }

    /// The base URL of the HTTP binding, without a trailing slash, when there is one.
    pub fn http_url(&self) -> Option<String> {
        self.http.map(|address| format!("http://{address}"))
    }

    /// The management side.
    pub fn handle(&self) -> L0Handle {
        self.handle.clone()
    }

    /// Registers a tool.
    pub async fn put_tool(&self, row: ToolRow) -> Result<(), ReferenceError> {
        self.handle.put_tool(row).await
    }

    /// Sets where an agent's wakeups go from now on.
    pub async fn put_roster(&self, row: RosterRow) -> Result<(), ReferenceError> {
        self.handle.put_roster(row).await
    }

    /// All records of an agent's Inbox, in the order in which they came.
    pub async fn inbox(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, ReferenceError> {
        self.handle.inbox(project_id, agent_id).await
    }

    /// Answers what is being answered, then ends.
    pub async fn shutdown(self) {
        self.closing.send_replace(true);
        ended(self.tasks).await;
    }
}

/// Both tables, which are one store except in memory.
type Tables = (Arc<dyn Store>, Arc<dyn InboxStore>);

/// Opens the tables: in memory, in one file for both, or in a database.
async fn open(data_dir: Option<PathBuf>, database: Option<&DatabaseUrl>) -> Result<Tables, ReferenceError> {
    if let Some(database) = database {
        return in_database(database).await;
    }
    let Some(data_dir) = data_dir else {
        return Ok((Arc::new(MemoryStore::default()), Arc::new(MemoryInbox::default())));
    };
    let opened = tokio::task::spawn_blocking(move || FileStore::open(&data_dir)).await;
    let file = Arc::new(opened.map_err(|error| ReferenceError::store("l0", error))??);
    Ok((Arc::<FileStore>::clone(&file), file))
}

#[cfg(feature = "postgres")]
async fn in_database(database: &DatabaseUrl) -> Result<Tables, ReferenceError> {
    let store = Arc::new(PostgresStore::open(database).await?);
    Ok((Arc::<PostgresStore>::clone(&store), store))
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "as where there is a client")]
async fn in_database(_: &DatabaseUrl) -> Result<Tables, ReferenceError> {
    Err(ReferenceError::store("l0", crate::postgres::NOT_BUILT))
}

impl L0Handle {
    /// Registers a tool.
    pub async fn put_tool(&self, row: ToolRow) -> Result<(), ReferenceError> {
        self.operations.with_store(move |store| store.put_tool(&row)).await
    }

    /// Sets where an agent's wakeups go from now on.
    pub async fn put_roster(&self, row: RosterRow) -> Result<(), ReferenceError> {
        self.operations.with_store(move |store| store.put_roster(&row)).await
    }

    /// All records of an agent's Inbox, in the order in which they came.
    pub async fn inbox(&self, project_id: &str, agent_id: &str) -> Result<Vec<InboxRecord>, ReferenceError> {
        let (project_id, agent_id) = (project_id.to_owned(), agent_id.to_owned());
        self.execution.with_inbox(move |inbox| inbox.records(&project_id, &agent_id)).await
    }

    /// The pending records of an agent's Inbox, which are consumed by this.
    pub async fn take_inbox(
        &self,
        project_id: &str,
        agent_id: &str,
    ) -> Result<Vec<InboxRecord>, ReferenceError> {
        let (project_id, agent_id) = (project_id.to_owned(), agent_id.to_owned());
        self.execution.with_inbox(move |inbox| inbox.take(&project_id, &agent_id)).await
    }
}
