//! The agent runtime: takes turns, and takes the reports that they wait for (UTP §3, §4, Guide §3.2 and §4).
//!
//! Two halves that meet in `mail` alone:
//!
//! - the *worker* asks the model and makes its calls: `wire` begins a turn, `turn` and `round` take it on, `offer` and
//!   `arguments` stand between model and tool, `dispatch` builds card and command, `resume` says what a callback is
//!   worth, `turns` who waits for what, `ending` what is left;
//! - the *execution service* (`utp::execution`) takes reports into the Inbox and publishes wakeups. With
//!   [`Reports::Platform`] an L0 beside the runtime has it, and the runtime is a worker alone.
//!
//! Cards, tools and roster are the platform's. Turns live in memory: a runtime that ends cancels its turns, and one that
//! starts has none whose results might lie in an Inbox already.
//! The protocol's state events are left out; the task event reports the end of a turn.

mod arguments;
mod dispatch;
mod ending;
mod mail;
mod model;
mod offer;
mod resume;
mod round;
mod scripted_model;
mod turn;
mod turns;
mod wire;
mod worker;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::utp::runtime::worker::Worker;
use mail::Mail;
use model::Model;
use turns::{MemoryTurns, Waiting};
use wire::TurnHandler;

use super::error::ReferenceError;
use super::execution::inbox::MemoryInbox;
use super::execution::{self, Execution, PlatformResources};
use super::platform::{HttpPlatform, NatsPlatform, Platform, PlatformConfig, REQUEST_DEADLINE};
use super::revision::Revision;
use super::revision::turn::woken;
use super::serving::{PLATFORM, answer_requests, ended, guarded, listen};
use super::subject::{CommandSubject, WorkerTarget};
use super::trace::nats_header;
use crate::environment::Environment;
use crate::log::{Log, no_log};
use crate::sync::locked;
use crate::utp::connection::{connect, round_trip};
use crate::utp::projects::Projects;

pub use scripted_model::ScriptedModel;

/// Wakeups that are looked into at once.
const MAX_LOOKING: usize = 64;

/// Who takes the reports that turns wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// The runtime: it serves `report` and `inbox.list`.
    Own,
    /// The platform, which then publishes the wakeups too.
    Platform,
}

/// How a runtime is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct RuntimeConfig {
    /// The broker that carries commands and wakeups.
    pub nats_url: String,
    /// Which revisions are served.
    pub revisions: Vec<Revision>,
    /// How cards, tools and roster are reached.
    pub platform: PlatformConfig,
    /// Who takes reports.
    pub reports: Reports,
    /// The first two tokens of the subjects on which turns and reports are taken, one or more: `l0.v1`, or others where an
    /// L0 that is not this one's is on the broker.
    pub below: Vec<String>,
    /// Where the HTTP binding listens; not at all without it.
    pub listen: Option<SocketAddr>,
    /// Which projects are served.
    pub projects: Projects,
    /// The base URL of an OpenAI-compatible API, which ends in `/v1`.
    pub model_url: String,
    /// Which of its models is asked.
    pub model: String,
    /// The name of the variable that holds its key; it is asked without one where there is none.
    pub model_key: Option<String>,
    /// Where that variable is looked up.
    pub environment: Environment,
    /// For one answer of the model.
    pub model_deadline: Duration,
    /// For one call, unless its row says otherwise (`options.suspend_timeout_seconds`).
    pub call_deadline: Duration,
    /// For one attempt to reach the platform, and for one request over HTTP.
    pub request_deadline: Duration,
    /// For all attempts of one platform operation together.
    pub delivery_deadline: Duration,
    /// Whose wakeups are subscribed to; all where the list is empty.
    pub worker_targets: Vec<WorkerTarget>,
    /// Turns that run at once; more are refused.
    pub max_turns: usize,
    /// Where log lines go.
    pub log: Log,
}

impl RuntimeConfig {
    /// Sensible values for everything but broker and model.
    pub fn new(nats_url: impl Into<String>, model_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            revisions: Revision::ALL.to_vec(),
            platform: PlatformConfig::Nats,
            reports: Reports::Own,
            below: vec![PLATFORM.to_owned()],
            listen: None,
            projects: Projects::All,
            model_url: model_url.into(),
            model: "default".to_owned(),
            model_key: None,
            environment: Environment::Process,
            model_deadline: Duration::from_secs(60),
            call_deadline: Duration::from_secs(60),
            request_deadline: REQUEST_DEADLINE,
            delivery_deadline: Duration::from_secs(10),
            worker_targets: Vec::new(),
            max_turns: 1024,
            log: no_log(),
        }
    }
}

/// A running runtime; dropping it ends it without waiting.
pub struct Runtime {
    http: Option<SocketAddr>,
    closing: watch::Sender<bool>,
    handler: Arc<TurnHandler>,
    tasks: Vec<JoinHandle<()>>,
}

impl Runtime {
    /// Subscribes and listens; turns, reports and wakeups sent after the return are received.
    ///
    /// # Errors
    /// When the broker does not answer, the address is taken, or the model's key is not there.
    pub async fn start(config: RuntimeConfig) -> Result<Self, ReferenceError> {
        let client = connect(&config.nats_url, "runtime").await?;
        let platform: Arc<dyn Platform> = match &config.platform {
            PlatformConfig::Nats => Arc::new(NatsPlatform::new(client.clone(), config.request_deadline)),
            PlatformConfig::Http { base_url } => {
                Arc::new(HttpPlatform::new(base_url, config.request_deadline)?)
            }
        };
        let waiting = Arc::new(Waiting::default());
        let execution = (config.reports == Reports::Own).then(|| {
            Arc::new(Execution {
                inbox: Arc::new(MemoryInbox::default()),
                resources: Arc::new(PlatformResources(Arc::clone(&platform))),
                commands: Arc::<Waiting>::clone(&waiting),
                client: client.clone(),
                revisions: config.revisions.clone(),
                projects: config.projects.clone(),
                log: Arc::clone(&config.log),
            })
        });
        let (closing, closed) = watch::channel(false);
        let worker = Arc::new(Worker {
            client: client.clone(),
            platform: Arc::clone(&platform),
            mail: execution.clone().map_or(Mail::Platform(platform), Mail::Own),
            model: model(&config)?,
            waiting,
            call_deadline: config.call_deadline,
            delivery_deadline: config.delivery_deadline,
            closing: closed.clone(),
            log: Arc::clone(&config.log),
        });
        let handler = Arc::new(TurnHandler {
            worker: Arc::clone(&worker),
            turns: Box::new(MemoryTurns::default()),
            running: Mutex::new(JoinSet::new()),
            places: Arc::new(Semaphore::new(config.max_turns)),
            revisions: config.revisions.clone(),
            projects: config.projects.clone(),
            log: Arc::clone(&config.log),
        });
        let mut tasks = vec![subscribe_to_wakeups(&client, &config, worker, closed.clone()).await?];
        for below in &config.below {
            tasks.push(answer_requests(client.clone(), below, Arc::clone(&handler), closed.clone()).await?);
        }
        let mut routes = wire::routes(Arc::clone(&handler));
        if let Some(execution) = execution {
            for below in &config.below {
                let execution = Arc::clone(&execution);
                tasks.push(answer_requests(client.clone(), below, execution, closed.clone()).await?);
            }
            routes = routes.merge(execution::routes(execution));
        }
        let mut http = None;
        if let Some(address) = config.listen {
            let routes = guarded(routes, config.request_deadline);
            let (bound, task) = listen(routes, address, config.log, closed).await?;
            http = Some(bound);
            tasks.push(task);
        }
        Ok(Self { http, closing, handler, tasks })
    }

    /// The base URL of the HTTP binding, without a trailing slash, when there is one.
    pub fn http_url(&self) -> Option<String> {
        self.http.map(|address| format!("http://{address}"))
    }

    /// Ends the turns as canceled, answers what is being answered, then ends.
    pub async fn shutdown(self) {
        self.closing.send_replace(true);
        ended(self.tasks).await;
        let mut running = std::mem::take(&mut *locked(&self.handler.running));
        let client = self.handler.worker.client.clone();
        let last = tokio::spawn(async move {
            while running.join_next().await.is_some() {}
            let _ = client.flush().await;
        });
        ended(vec![last]).await;
    }
}

fn model(config: &RuntimeConfig) -> Result<Model, ReferenceError> {
    let key = match &config.model_key {
        None => None,
        Some(variable) => Some(config.environment.get(variable).ok_or_else(|| {
            ReferenceError::Unexpected { what: "environment", reason: format!("`{variable}` is not set") }
        })?),
    };
    Model::new(&config.model_url, config.model.clone(), key, config.model_deadline)
}

/// Subscribes to wakeups, and looks into the Inbox of each agent that is woken.
async fn subscribe_to_wakeups(
    client: &Client,
    config: &RuntimeConfig,
    worker: Arc<Worker>,
    mut closing: watch::Receiver<bool>,
) -> Result<JoinHandle<()>, ReferenceError> {
    let targets: Vec<&str> = match config.worker_targets.as_slice() {
        [] => vec!["*"],
        targets => targets.iter().map(WorkerTarget::as_str).collect(),
    };
    let mut streams: Vec<BoxStream<'static, async_nats::Message>> = Vec::new();
    for revision in &config.revisions {
        for project in config.projects.tokens() {
            for target in &targets {
                let subject = format!("cg.{revision}.{project}.*.cmd.agent.{target}.wakeup");
                let subscriber = client
                    .subscribe(subject.clone())
                    .await
                    .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
                streams.push(subscriber.boxed());
            }
        }
    }
    round_trip(client).await?;
    let wakeups = select_all(streams);
    Ok(tokio::spawn(async move {
        let looking = wakeups.for_each_concurrent(MAX_LOOKING, |wakeup| {
            let worker = Arc::clone(&worker);
            async move { look(&worker, &wakeup).await }
        });
        tokio::select! {
            // An error means that the runtime was dropped.
            _ = closing.wait_for(|closing| *closing) => {}
            () = looking => {}
        }
    }))
}

async fn look(worker: &Worker, wakeup: &async_nats::Message) {
    let Ok(subject) = CommandSubject::parse(&wakeup.subject) else {
        return;
    };
    let payload: Value = serde_json::from_slice(&wakeup.payload).unwrap_or_default();
    let lookup = |name: &str| nats_header(wakeup.headers.as_ref(), name);
    let revision = subject.version.parse().unwrap_or_default();
    let Some(agent_id) = woken(revision, &payload, lookup) else {
        return;
    };
    if let Err(reason) = worker.look_into_inbox(&subject.project_id, &agent_id).await {
        (worker.log)(&format!("the Inbox of `{agent_id}` cannot be read: {reason}"));
    }
}
