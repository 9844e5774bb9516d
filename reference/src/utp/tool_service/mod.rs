//! The Tool Service: hosts tools, hears their commands, answers each exactly once (UTP §4, Guide §1 and §2).
//!
//! This module is the shell around a call: configuration, subscriptions, concurrency, shutdown. In reading order:
//! `tool` (what a tool is), `command` (what comes in), `call` and `call_card` (what happens), `result` (what goes out),
//! `ledger` and `ledger_file` (why it happens once), `probes` and `tides` (the tools).
//! Tools that call upstreams over HTTP are not here but with the OpenAPI executor.

mod call;
mod call_card;
mod command;
mod ledger;
mod ledger_file;
mod probes;
mod result;
mod tides;
mod tool;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures::stream::{SelectAll, select_all};
use futures::{FutureExt, StreamExt};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use call::Desk;
use ledger::{Ledger, LedgerStore, MemoryStore};
use ledger_file::FileStore;
use tool::Hosted;

use super::error::ReferenceError;
use super::message::ToolRow;
use super::platform::{HttpPlatform, NatsPlatform, Platform, PlatformConfig, REQUEST_DEADLINE};
use super::subject::subscription;
use super::{Log, Projects, connect, no_log, round_trip};

pub(crate) use ledger::locked;
pub(crate) use ledger_file::open as open_file;
pub use tool::{Arguments, Tool, ToolCall, ToolDefinition, ToolFailure, ToolOutput};

/// How a Tool Service is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolServiceConfig {
    /// The broker that carries commands.
    pub nats_url: String,
    /// The `<ver>` token of every subject.
    pub protocol_version: String,
    /// How cards and report are reached.
    pub platform: PlatformConfig,
    /// Where the ledger is kept; in memory without one.
    pub data_dir: Option<PathBuf>,
    /// After this a tool is stopped and its call ends as `timeout`.
    pub tool_time_limit: Duration,
    /// For one attempt to reach the platform.
    pub request_deadline: Duration,
    /// For all attempts of one platform operation together.
    pub delivery_deadline: Duration,
    /// For running calls to report their end at shutdown.
    pub shutdown_deadline: Duration,
    /// Calls that run at once; more wait.
    pub max_running: usize,
    /// Calls that wait or run; more are dropped.
    pub max_accepted: usize,
    /// Whose commands are heard.
    pub projects: Projects,
    /// Services of one group share the commands among them.
    pub queue_group: String,
    /// What is hosted.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Where log lines go.
    pub log: Log,
}

impl ToolServiceConfig {
    /// Sensible values for everything but the broker.
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            protocol_version: "v1r3".to_owned(),
            platform: PlatformConfig::Nats,
            data_dir: None,
            tool_time_limit: Duration::from_secs(30),
            request_deadline: REQUEST_DEADLINE,
            delivery_deadline: Duration::from_secs(20),
            shutdown_deadline: Duration::from_secs(10),
            max_running: 256,
            max_accepted: 16_384,
            projects: Projects::All,
            queue_group: "tool-service".to_owned(),
            tools: tools(),
            log: no_log(),
        }
    }
}

/// The tools of this reference.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(probes::Echo),
        Arc::new(probes::Count),
        Arc::new(probes::Fail),
        Arc::new(probes::Control),
        Arc::new(tides::TideTable),
        Arc::new(tides::TideWait),
    ]
}

/// The `resource.tools` rows of these tools in one project.
pub fn rows(project_id: &str, version: &str) -> Vec<ToolRow> {
    tools().iter().map(|tool| tool.definition().row(project_id, version)).collect()
}

/// A running Tool Service; dropping it ends it without waiting, [`ToolService::shutdown`] ends it in order.
#[derive(Debug)]
pub struct ToolService {
    closing: watch::Sender<bool>,
    dispatcher: JoinHandle<()>,
}

impl ToolService {
    /// Connects, opens the ledger and subscribes; commands published after the return are heard.
    ///
    /// # Errors
    /// When the broker does not answer, a subscription is refused, or the ledger cannot be opened.
    pub async fn start(config: ToolServiceConfig) -> Result<Self, ReferenceError> {
        let client = connect(&config.nats_url, &config.queue_group).await?;
        let platform: Arc<dyn Platform> = match &config.platform {
            PlatformConfig::Nats => Arc::new(NatsPlatform::new(client.clone(), config.request_deadline)),
            PlatformConfig::Http { base_url } => {
                Arc::new(HttpPlatform::new(base_url, config.request_deadline)?)
            }
        };
        let ledger = Ledger::new(open_store(config.data_dir.as_deref()).await?);
        let unsent = ledger.undelivered().await?;
        let (closing, closed) = watch::channel(false);
        let desk = Desk {
            platform,
            ledger,
            tool_time_limit: config.tool_time_limit,
            delivery_deadline: config.delivery_deadline,
            closing: closed.clone(),
            log: Arc::clone(&config.log),
        };
        let commands = subscribe(&client, &config).await?;
        let mut dispatcher = Dispatcher {
            desk: Arc::new(desk),
            calls: JoinSet::new(),
            accepted: Arc::new(Semaphore::new(config.max_accepted)),
            running: Arc::new(Semaphore::new(config.max_running)),
            log: config.log,
        };
        for answer in unsent {
            let desk = Arc::clone(&dispatcher.desk);
            dispatcher.calls.spawn(async move { desk.recover(answer).await });
        }
        let dispatcher = tokio::spawn(dispatcher.run(client, commands, closed, config.shutdown_deadline));
        Ok(Self { closing, dispatcher })
    }

    /// Hears no more commands, reports running calls as canceled, and returns when they are reported.
    pub async fn shutdown(self) {
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

type Commands = SelectAll<futures::stream::BoxStream<'static, (Arc<Hosted>, Message)>>;

async fn subscribe(client: &Client, config: &ToolServiceConfig) -> Result<Commands, ReferenceError> {
    let mut streams = Vec::new();
    for tool in &config.tools {
        let hosted = Arc::new(Hosted::new(Arc::clone(tool)));
        let template = hosted.definition.target_subject(&config.protocol_version);
        for project in config.projects.tokens() {
            let subject = subscription(&template, project);
            let subscriber: Subscriber = client
                .queue_subscribe(subject.clone(), config.queue_group.clone())
                .await
                .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
            let hosted = Arc::clone(&hosted);
            streams.push(subscriber.map(move |message| (Arc::clone(&hosted), message)).boxed());
        }
    }
    round_trip(client).await?;
    Ok(select_all(streams))
}

/// Gives every command a task of its own, so that no call holds up another or the subscription.
struct Dispatcher {
    desk: Arc<Desk>,
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
                    Some((hosted, message)) => self.accept(hosted, message),
                    None => break,
                },
            }
        }
        // What has arrived is answered, as canceled, rather than forgotten.
        while let Some(Some((hosted, message))) = commands.next().now_or_never() {
            self.accept(hosted, message);
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

    fn accept(&mut self, hosted: Arc<Hosted>, message: Message) {
        let Ok(place) = Arc::clone(&self.accepted).try_acquire_owned() else {
            (self.log)(&format!("command on `{}` dropped: too many wait", message.subject));
            return;
        };
        let (desk, running) = (Arc::clone(&self.desk), Arc::clone(&self.running));
        self.calls.spawn(async move {
            // The semaphore is never closed, so this cannot fail.
            let _slot = running.acquire().await;
            desk.handle(&hosted, message).await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn rows_are_complete_and_unexpanded() {
        let rows = rows("prj", "v1r3");
        let subjects: Vec<&str> = rows.iter().map(|row| row.target_subject.as_str()).collect();
        assert_eq!(
            subjects,
            [
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.echo",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.count",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.fail",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.ctl",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.wait",
            ]
        );
        assert!(rows.iter().all(|row| row.project_id == "prj" && row.parameters.is_object()));
    }
}
