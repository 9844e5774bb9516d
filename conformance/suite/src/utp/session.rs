//! A session with one Tool Service: the connection, the platform played for it, and what was found out
//! about the target before the first scenario (`readiness` finds it out).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::{Client, ConnectOptions, Event};
use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::manifest::{PlatformKind, ProbeName, ToolServiceTable};
use crate::pace::{Pace, PaceLimits};
use crate::target::{Surroundings, Target};
use crate::utp::platform::{self, Desk, Project, ProjectName, STABLE};
use crate::wire::Wire;

/// Time for connecting to the broker.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Time between looks whether the target's process still runs.
const ENDED_POLL: Duration = Duration::from_millis(250);

/// What a session is opened with.
pub struct SessionPlan {
    /// `nats://host:port`.
    pub nats_url: String,
    /// `<ver>` of the subjects.
    pub version: String,
    /// How the target reaches the platform.
    pub platform: PlatformKind,
    /// The probes.
    pub probes: ToolServiceTable,
    /// Limits of all waiting.
    pub limits: PaceLimits,
    /// How long the target may take until it answers.
    pub ready_within: Duration,
    /// What messages cross on their way.
    pub wire: Arc<dyn Wire>,
    /// Seed of all ids.
    pub seed: u64,
    /// How the target is started and ended.
    pub target: Box<dyn Target>,
}

/// What the target showed before the first scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It did the work of an echo call and reported it.
    Answers,
    /// It did the work of an echo call, but no report came.
    Works,
    /// It sends something, but never did the work: nothing that it does counts as a pass.
    Stirs,
}

/// How the counter of the count probe behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// One for each project, key or call: scenarios do not disturb each other.
    Isolated,
    /// One for all: scenarios that count take turns.
    Shared,
}

/// An open session.
pub struct UtpSession {
    /// The suite's connection.
    pub client: Client,
    /// `<ver>` of the subjects.
    pub version: String,
    /// The probes.
    pub probes: ToolServiceTable,
    /// All projects of the run.
    pub desk: Arc<Desk>,
    /// Waiting times.
    pub pace: Pace,
    /// What the target showed.
    pub liveness: Liveness,
    /// How its counter behaves.
    pub counter: Counter,
    /// Held by the one scenario that counts, where the counter is shared.
    pub counting: Arc<Mutex<()>>,
    counter_failed: AtomicBool,
    seed: u64,
    nonce: String,
    lost: Arc<AtomicBool>,
    target: tokio::sync::Mutex<Box<dyn Target>>,
    // Both platforms end with the session.
    _tasks: Vec<JoinSet<()>>,
}

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The broker does not answer.
    #[error("no NATS server answers at `{url}`: {reason}")]
    Broker {
        /// Without user and password.
        url: String,
        /// What the client says.
        reason: String,
    },
    /// The platform cannot be served.
    #[error("the platform cannot be served: {0}")]
    Platform(String),
    /// The target's command cannot be run, or ended at once.
    #[error("the target cannot be started: {0}")]
    Start(String),
    /// Nothing came from the target.
    #[error("the target did not react to the `{tool_name}` command on `{subject}` within {seconds} s")]
    Silent {
        /// The echo probe's tool.
        tool_name: String,
        /// Its subject.
        subject: String,
        /// The deadline.
        seconds: u64,
    },
    /// The echo probe answers elsewhere than the manifest says.
    #[error(
        "the echoed arguments are not at `{pointer}` of `content.result`: correct `result_pointer` of `utp.tool-service.probes.echo`"
    )]
    Pointer {
        /// The manifest's pointer.
        pointer: String,
    },
    /// The manifest names no echo probe.
    #[error(
        "the manifest names no `utp.tool-service.probes.echo`, so nothing can show that the target is alive"
    )]
    NoEcho,
}

impl UtpSession {
    /// Connects, serves the platform, starts the target, waits for it and calibrates.
    pub async fn open(plan: SessionPlan) -> Result<Arc<Self>, SessionError> {
        if !plan.probes.probes.contains_key(&ProbeName::Echo) {
            return Err(SessionError::NoEcho);
        }
        let lost = Arc::new(AtomicBool::new(false));
        let client = connect(&plan.nats_url, &lost).await?;
        let (desk, wakeups) = Desk::new(&plan.version, plan.wire);
        let fault = |error: &dyn std::fmt::Display| SessionError::Platform(error.to_string());
        let mut tasks = vec![
            platform::nats::serve(&client, &plan.version, &desk, wakeups)
                .await
                .map_err(|error| fault(&error))?,
        ];
        let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, task) = platform::http::serve(listen, &desk).await.map_err(|error| fault(&error))?;
        tasks.push(task);
        let around = Surroundings {
            nats_url: plan.nats_url,
            platform_url: format!("http://{address}"),
            platform: plan.platform,
            version: plan.version.clone(),
        };
        client.flush().await.map_err(|error| fault(&error))?;
        let mut target = plan.target;
        target.start(&around).await.map_err(SessionError::Start)?;
        let mut session = Self {
            client,
            version: plan.version,
            probes: plan.probes,
            desk,
            // Until it is calibrated; a target that never does its work keeps this one.
            pace: Pace::calibrated(Duration::ZERO, &plan.limits),
            liveness: Liveness::Stirs,
            counter: Counter::Shared,
            counting: Arc::default(),
            counter_failed: AtomicBool::new(false),
            seed: plan.seed,
            nonce: nonce(),
            lost,
            target: Mutex::new(target),
            _tasks: tasks,
        };
        let ready = session.await_target(plan.ready_within).await;
        let alone = match ready {
            Ok(ready) => {
                session.liveness = ready.liveness;
                session.pace = Pace::calibrated(ready.latency, &plan.limits);
                ready.latency
            }
            Err(error) => {
                session.close().await;
                return Err(error);
            }
        };
        if session.liveness != Liveness::Stirs {
            session.pace = match session.calibrate(&plan.limits, plan.ready_within, alone).await {
                Ok(pace) => pace,
                Err(error) => {
                    session.close().await;
                    return Err(error);
                }
            };
            session.counter = session.observe_counter().await;
        }
        session.desk.projects().iter().for_each(|project| project.retire());
        Ok(Arc::new(session))
    }

    /// Opens the project of one scenario. The id follows from seed and scenario.
    pub fn project(&self, scenario: &str) -> Arc<Project> {
        self.project_with_suffix(scenario, "")
    }

    /// Opens a project whose id ends with `suffix`.
    pub fn project_with_suffix(&self, scenario: &str, suffix: &str) -> Arc<Project> {
        let digest = crate::library::hex(&Sha256::digest(format!("{}/{scenario}", self.seed).as_bytes()));
        let stable = digest[..STABLE].to_owned();
        let unique = format!("{stable}{}", self.nonce);
        self.desk.open(ProjectName { unique, stable, suffix: suffix.to_owned() })
    }

    /// Whether the connection to the broker was lost at any time.
    pub fn lost_broker(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether the target declares a probe.
    pub fn declares(&self, probe: ProbeName) -> bool {
        self.probes.probes.contains_key(&probe)
    }

    /// Whether the count probe has been found to give no number.
    pub fn counter_fails(&self) -> bool {
        self.counter_failed.load(Ordering::Relaxed)
    }

    /// The count probe gives no number; nobody waits for one again.
    pub fn give_up_counter(&self) {
        self.counter_failed.store(true, Ordering::Relaxed);
    }

    /// What there is to say when the target's process ended by itself.
    pub async fn target_ended(&self) -> Option<String> {
        self.target.lock().await.ended().await
    }

    /// Waits for something that the target does; nothing comes any more from one whose process has ended.
    pub(super) async fn unless_ended<T>(&self, wait: impl Future<Output = Option<T>>) -> Option<T> {
        let ended = async {
            // An operating system tells nobody but the parent, and that one has to ask.
            let mut ticks = tokio::time::interval(ENDED_POLL);
            loop {
                ticks.tick().await;
                if self.target_ended().await.is_some() {
                    return;
                }
            }
        };
        let mut wait = std::pin::pin!(wait);
        tokio::select! {
            biased;
            seen = &mut wait => seen,
            // What it sent before its end may still be on the way.
            () = ended => tokio::time::timeout(ENDED_POLL, wait).await.ok().flatten(),
        }
    }

    /// Ends the target, when the suite started it.
    pub async fn close(&self) {
        self.target.lock().await.stop().await;
    }
}

/// Six hexadecimal digits that differ from run to run.
fn nonce() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let digest = Sha256::digest(format!("{now}/{}/{count}", std::process::id()).as_bytes());
    crate::library::hex(&digest)[..6].to_owned()
}

async fn connect(url: &str, lost: &Arc<AtomicBool>) -> Result<Client, SessionError> {
    let flag = Arc::clone(lost);
    let options = ConnectOptions::new()
        .name("callmark")
        .no_echo()
        .connection_timeout(CONNECT_DEADLINE)
        .subscription_capacity(64 * 1024)
        .event_callback(move |event| {
            let flag = Arc::clone(&flag);
            async move {
                if matches!(event, Event::Disconnected) {
                    flag.store(true, Ordering::Relaxed);
                }
            }
        });
    let refused = |reason: String| SessionError::Broker { url: redacted(url), reason };
    match tokio::time::timeout(CONNECT_DEADLINE, options.connect(url)).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(_) => Err(refused(format!("no answer within {} s", CONNECT_DEADLINE.as_secs()))),
    }
}

/// A URL without user and password.
pub fn redacted(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}***@{}", &url[..scheme + 3], &url[at + 1..]),
        _ => url.to_owned(),
    }
}
