//! The shell around calls: subscriptions, concurrency, recovery at the start, shutdown in order.
//!
//! It knows executors, not what they do; `call` handles one command, and the Tool Service, the PMO and the OpenAPI
//! executor each say which commands are received and who runs them. `fleet` shares them with other instances.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures::stream::{BoxStream, SelectAll, select_all};
use futures::{FutureExt, StreamExt};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};

use super::call::{Attempt, CommandHandler, Handled};
use super::fleet::commands::{self, PATIENCE, Received};
use super::fleet::{self, FleetConfig};
use super::health;
use super::ledger::{Ledger, LedgerStore};
use super::ledger_file::FileStore;
use super::ledger_memory::MemoryStore;
use super::tool::Executor;
use crate::http::listen::Listening;
use crate::log::Log;
use crate::utp::connection::{connect, round_trip};
use crate::utp::error::ReferenceError;
use crate::utp::platform::{HttpPlatform, NatsPlatform, Platform, PlatformConfig};

/// Between two looks for what instances that are gone have left.
const SWEEP: Duration = Duration::from_secs(10);
/// Before the first look at a call that another instance has; it doubles from look to look, up to the second.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LAST_LOOK: Duration = Duration::from_secs(1);

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
    /// Shares ledger and commands with the other instances of the group; nothing is kept in `data_dir` then.
    pub(crate) fleet: Option<FleetConfig>,
    /// After this a call is stopped and ends as `timeout`.
    pub(crate) time_limit: Duration,
    pub(crate) delivery_deadline: Duration,
    pub(crate) shutdown_deadline: Duration,
    pub(crate) max_running: usize,
    pub(crate) max_accepted: usize,
    pub(crate) queue_group: String,
    /// Which subjects are subscribed to, and who runs their commands.
    pub(crate) subscriptions: Vec<(String, Arc<dyn Executor>)>,
    /// Where `/livez` and `/readyz` are answered.
    pub(crate) health: Option<SocketAddr>,
    pub(crate) log: Log,
}

/// A running service; dropping it ends it without waiting.
#[derive(Debug)]
pub(crate) struct Service {
    closing: watch::Sender<bool>,
    dispatcher: JoinHandle<()>,
    health: Option<Listening>,
}

impl Service {
    /// Opens the ledger and subscribes; commands published after the return are received.
    pub(crate) async fn start(connection: Connection, setup: ServiceSetup) -> Result<Self, ReferenceError> {
        let Connection { client, platform } = connection;
        let store = match &setup.fleet {
            Some(fleet) => {
                fleet::open_store(client.clone(), &setup.queue_group, fleet, Arc::clone(&setup.log)).await?
            }
            None => open_store(setup.data_dir.as_deref()).await?,
        };
        let ledger = Ledger::new(Arc::clone(&store));
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
        let (mut streams, others) = match setup.fleet {
            // With its ledger elsewhere a fleet may be on a broker that keeps nothing.
            Some(fleet) if fleet.database.is_none() || client.server_info().jetstream => {
                commands::pull(&client, setup.subscriptions, &setup.queue_group, &setup.log).await?
            }
            _ => (Vec::new(), setup.subscriptions),
        };
        streams.extend(subscribe(&client, others, &setup.queue_group).await?);
        let commands = select_all(streams);
        let patience = setup.time_limit + 2 * setup.delivery_deadline;
        let mut dispatcher = Dispatcher {
            handler: Arc::new(handler),
            calls: JoinSet::new(),
            accepted: Arc::new(Semaphore::new(setup.max_accepted)),
            running: Arc::new(Semaphore::new(setup.max_running)),
            patience,
            closing: closed.clone(),
            log: setup.log,
        };
        for answer in unsent {
            let handler = Arc::clone(&dispatcher.handler);
            dispatcher.calls.spawn(async move { handler.recover(answer).await });
        }
        let health = match setup.health {
            Some(address) => Some(health::listen(address, client.clone(), store).await?),
            None => None,
        };
        let dispatcher = tokio::spawn(dispatcher.run(client, commands, closed, setup.shutdown_deadline));
        Ok(Self { closing, dispatcher, health })
    }

    /// Below which `/livez` and `/readyz` are answered, where they are.
    pub(crate) fn health_url(&self) -> Option<String> {
        self.health.as_ref().map(|listening| format!("http://{}", listening.address()))
    }

    /// Takes no more commands, reports running calls as canceled, and returns when they are reported.
    pub(crate) async fn shutdown(self) {
        // Whoever asks meanwhile is to send nothing more here.
        drop(self.health);
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

type Commands = SelectAll<BoxStream<'static, Received>>;

async fn subscribe(
    client: &Client,
    subscriptions: Vec<(String, Arc<dyn Executor>)>,
    queue_group: &str,
) -> Result<Vec<BoxStream<'static, Received>>, ReferenceError> {
    let mut streams = Vec::with_capacity(subscriptions.len());
    for (subject, executor) in subscriptions {
        let subscriber: Subscriber = client
            .queue_subscribe(subject.clone(), queue_group.to_owned())
            .await
            .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
        let received = move |message| Received { executor: Arc::clone(&executor), message, kept: None };
        streams.push(subscriber.map(received).boxed());
    }
    round_trip(client).await?;
    Ok(streams)
}

/// Gives every command a task of its own, so that no call holds up another or the subscription.
struct Dispatcher {
    handler: Arc<CommandHandler>,
    calls: JoinSet<()>,
    accepted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    /// How long a command waits for a call that another instance has.
    patience: Duration,
    closing: watch::Receiver<bool>,
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
        let is_shared = self.handler.ledger.is_shared();
        let mut sweep = interval_at(Instant::now() + SWEEP, SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                // An error means that the service was dropped.
                _ = closing.wait_for(|closing| *closing) => break,
                Some(_) = self.calls.join_next(), if !self.calls.is_empty() => {}
                _ = sweep.tick(), if is_shared => {
                    let handler = Arc::clone(&self.handler);
                    self.calls.spawn(async move { handler.recover_orphaned().await });
                }
                command = commands.next() => match command {
                    Some(received) => self.accept(received),
                    None => break,
                },
            }
        }
        // What has arrived is answered, as canceled, rather than forgotten; what a stream keeps is for the others.
        while let Some(Some(received)) = commands.next().now_or_never() {
            self.accept(received);
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
        // Where it does not succeed, others wait for the end of a lease.
        let _ = tokio::time::timeout(shutdown_deadline, self.handler.ledger.leave()).await;
        let _ = tokio::time::timeout(shutdown_deadline, client.flush()).await;
    }

    fn accept(&mut self, received: Received) {
        let Ok(place) = Arc::clone(&self.accepted).try_acquire_owned() else {
            let subject = &received.message.subject;
            if let Some(kept) = received.kept {
                self.calls.spawn(async move { kept.give_back().await });
            } else {
                (self.log)(&format!("command on `{subject}` dropped: too many wait"));
            }
            return;
        };
        let work = Work {
            handler: Arc::clone(&self.handler),
            running: Arc::clone(&self.running),
            patience: self.patience,
            closing: self.closing.clone(),
        };
        self.calls.spawn(async move {
            match received.kept {
                None => drop(work.until_settled(&received).await),
                Some(_) => work.until_acknowledged(&received).await,
            }
            drop(place);
        });
    }
}

/// What the task of a command needs.
struct Work {
    handler: Arc<CommandHandler>,
    running: Arc<Semaphore>,
    patience: Duration,
    closing: watch::Receiver<bool>,
}

impl Work {
    /// Handles a command, and looks again for as long as another instance has its call.
    async fn until_settled(&self, received: &Received) -> Handled {
        let redelivered = received.kept.as_ref().is_some_and(|kept| kept.deliveries > 1);
        let mut attempt =
            Attempt { is_kept: received.kept.is_some(), has_looked: false, has_waited: redelivered };
        let deadline = Instant::now() + self.patience;
        let mut look = FIRST_LOOK;
        loop {
            // The semaphore is never closed, so this cannot fail.
            let slot = self.running.acquire().await;
            if attempt.is_kept && *self.closing.borrow() {
                return Handled::Failed;
            }
            let handled = self.handler.handle(received.executor.as_ref(), &received.message, attempt).await;
            drop(slot);
            let Handled::Elsewhere { is_recorded } = handled else { return handled };
            // Only the first look says whether there was an outcome when the command came.
            attempt.has_waited |= !attempt.has_looked && !is_recorded;
            attempt.has_looked = true;
            let mut closing = self.closing.clone();
            // An error means that the service was dropped.
            let closed =
                timeout_at(Instant::now() + look, closing.wait_for(|closing| *closing)).await.is_ok();
            if closed || Instant::now() > deadline {
                return handled;
            }
            look = (look * 2).min(LAST_LOOK);
        }
    }

    /// Handles a command that a stream keeps, asks the broker for patience meanwhile, and says what is to become of it.
    async fn until_acknowledged(&self, received: &Received) {
        let Some(kept) = &received.kept else { return };
        let mut patience = interval_at(Instant::now() + PATIENCE, PATIENCE);
        let mut work = std::pin::pin!(self.until_settled(received));
        let handled = loop {
            tokio::select! {
                handled = &mut work => break handled,
                _ = patience.tick() => kept.ask_for_patience().await,
            }
        };
        let is_closing = *self.closing.borrow();
        match handled {
            Handled::Settled => kept.acknowledge().await,
            Handled::Elsewhere { .. } | Handled::Failed if is_closing => kept.hand_over().await,
            Handled::Elsewhere { .. } | Handled::Failed => kept.give_back().await,
        }
    }
}
