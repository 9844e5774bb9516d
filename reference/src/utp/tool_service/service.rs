//! The shell around calls: subscriptions, concurrency, recovery at the start, shutdown in order.
//!
//! It knows executors, not what they do; `call` handles one command, and the Tool Service, the PMO and the OpenAPI
//! executor each say which commands are received and who runs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures::stream::{BoxStream, SelectAll, select_all};
use futures::{FutureExt, StreamExt};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::call::CommandHandler;
use super::ledger::{Ledger, LedgerStore, MemoryStore};
use super::ledger_file::FileStore;
use super::tool::Executor;
use crate::log::Log;
use crate::utp::connection::{connect, round_trip};
use crate::utp::error::ReferenceError;
use crate::utp::platform::{HttpPlatform, NatsPlatform, Platform, PlatformConfig};

/// A service's way to the broker and to the platform.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) platform: Arc<dyn Platform>,
}

impl Connection {
    /// Connects under a name; `request_deadline` is for one attempt to reach the platform.
    pub(crate) async fn open(
        nats_url: &str,
        name: &str,
        platform: &PlatformConfig,
        request_deadline: Duration,
    ) -> Result<Self, ReferenceError> {
        let client = connect(nats_url, name).await?;
        let platform: Arc<dyn Platform> = match platform {
            PlatformConfig::Nats => Arc::new(NatsPlatform::new(client.clone(), request_deadline)),
            PlatformConfig::Http { base_url } => Arc::new(HttpPlatform::new(base_url, request_deadline)?),
        };
        Ok(Self { client, platform })
    }
}

/// The settings of a service beside its connection.
pub(crate) struct ServiceSetup {
    pub(crate) data_dir: Option<PathBuf>,
    /// After this a call is stopped and ends as `timeout`.
    pub(crate) time_limit: Duration,
    pub(crate) delivery_deadline: Duration,
    pub(crate) shutdown_deadline: Duration,
    pub(crate) max_running: usize,
    pub(crate) max_accepted: usize,
    pub(crate) queue_group: String,
    /// Which subjects are subscribed to, and who runs their commands.
    pub(crate) subscriptions: Vec<(String, Arc<dyn Executor>)>,
    pub(crate) log: Log,
}

/// A running service; dropping it ends it without waiting.
#[derive(Debug)]
pub(crate) struct Service {
    closing: watch::Sender<bool>,
    dispatcher: JoinHandle<()>,
}

impl Service {
    /// Opens the ledger and subscribes; commands published after the return are received.
    pub(crate) async fn start(connection: Connection, setup: ServiceSetup) -> Result<Self, ReferenceError> {
        let Connection { client, platform } = connection;
        let ledger = Ledger::new(open_store(setup.data_dir.as_deref()).await?);
        let unsent = ledger.undelivered().await?;
        let (closing, closed) = watch::channel(false);
        let handler = CommandHandler {
            platform,
            ledger,
            tool_time_limit: setup.time_limit,
            delivery_deadline: setup.delivery_deadline,
            closing: closed.clone(),
            log: Arc::clone(&setup.log),
        };
        let commands = subscribe(&client, setup.subscriptions, &setup.queue_group).await?;
        let mut dispatcher = Dispatcher {
            handler: Arc::new(handler),
            calls: JoinSet::new(),
            accepted: Arc::new(Semaphore::new(setup.max_accepted)),
            running: Arc::new(Semaphore::new(setup.max_running)),
            log: setup.log,
        };
        for answer in unsent {
            let handler = Arc::clone(&dispatcher.handler);
            dispatcher.calls.spawn(async move { handler.recover(answer).await });
        }
        let dispatcher = tokio::spawn(dispatcher.run(client, commands, closed, setup.shutdown_deadline));
        Ok(Self { closing, dispatcher })
    }

    /// Takes no more commands, reports running calls as canceled, and returns when they are reported.
    pub(crate) async fn shutdown(self) {
        self.closing.send_replace(true);
        // The dispatcher ends itself within its deadline; a panic in it leaves nothing to wait for.
        let _ = self.dispatcher.await;
    }
}

async fn open_store(data_dir: Option<&Path>) -> Result<Arc<dyn LedgerStore>, ReferenceError> {
    let Some(data_dir) = data_dir.map(Path::to_owned) else {
        return Ok(Arc::new(MemoryStore::default()));
    };
    let store = tokio::task::spawn_blocking(move || FileStore::open(&data_dir))
        .await
        .map_err(|error| ReferenceError::store("ledger", error))??;
    Ok(Arc::new(store))
}

type Commands = SelectAll<BoxStream<'static, (Arc<dyn Executor>, Message)>>;

async fn subscribe(
    client: &Client,
    subscriptions: Vec<(String, Arc<dyn Executor>)>,
    queue_group: &str,
) -> Result<Commands, ReferenceError> {
    let mut streams = Vec::with_capacity(subscriptions.len());
    for (subject, executor) in subscriptions {
        let subscriber: Subscriber = client
            .queue_subscribe(subject.clone(), queue_group.to_owned())
            .await
            .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
        streams.push(subscriber.map(move |message| (Arc::clone(&executor), message)).boxed());
    }
    round_trip(client).await?;
    Ok(select_all(streams))
}

/// Gives every command a task of its own, so that no call holds up another or the subscription.
struct Dispatcher {
    handler: Arc<CommandHandler>,
    calls: JoinSet<()>,
    accepted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    log: Log,
}

impl Dispatcher {
    async fn run(
        mut self,
        client: Client,
        mut commands: Commands,
        mut closing: watch::Receiver<bool>,
        shutdown_deadline: Duration,
    ) {
        loop {
            tokio::select! {
                biased;
                // An error means that the service was dropped.
                _ = closing.wait_for(|closing| *closing) => break,
                Some(_) = self.calls.join_next(), if !self.calls.is_empty() => {}
                command = commands.next() => match command {
                    Some((executor, message)) => self.accept(executor, message),
                    None => break,
                },
            }
        }
        // What has arrived is answered, as canceled, rather than forgotten.
        while let Some(Some((executor, message))) = commands.next().now_or_never() {
            self.accept(executor, message);
        }
        drop(commands);
        // From here on the broker gives commands to others of the group.
        match tokio::time::timeout(shutdown_deadline, round_trip(&client)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => (self.log)(&format!("{error}")),
            Err(_elapsed) => (self.log)("the broker does not answer at shutdown"),
        }
        let ended = async { while self.calls.join_next().await.is_some() {} };
        if tokio::time::timeout(shutdown_deadline, ended).await.is_err() {
            (self.log)(&format!("{} calls did not end at shutdown", self.calls.len()));
        }
        self.calls.shutdown().await;
        let _ = tokio::time::timeout(shutdown_deadline, client.flush()).await;
    }

    fn accept(&mut self, executor: Arc<dyn Executor>, message: Message) {
        let Ok(place) = Arc::clone(&self.accepted).try_acquire_owned() else {
            (self.log)(&format!("command on `{}` dropped: too many wait", message.subject));
            return;
        };
        let (handler, running) = (Arc::clone(&self.handler), Arc::clone(&self.running));
        self.calls.spawn(async move {
            // The semaphore is never closed, so this cannot fail.
            let _slot = running.acquire().await;
            handler.handle(executor.as_ref(), message).await;
            drop(place);
        });
    }
}
