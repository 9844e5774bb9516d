//! What all UTP roles under test share: the connection to the broker, the platform played for them, and
//! the target's own process or processes.
//!
//! One target may have several roles (Tool Service, PMO, …). It is started once, so its sessions share one environment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_nats::Client;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::binding::{Commands, PlatformKind};
use super::broker_connection;
use super::connection_watch::ConnectionWatch;
use super::error::SessionError;
use super::manifest::UtpTable;
use super::nats;
use super::nats_access::NatsAccess;
use super::nats_servers;
use super::platform::{self, PlatformService, Project};
use super::project_name::ProjectName;
use super::publisher::Publisher;
use super::replicas::Replicas;
use super::revision::Revision;
use super::target::{LaunchEnv, Running, Target};
use super::upstream::{Upstream, UpstreamPlan};
use crate::engine::session::with_prefix;
use crate::engine::target::{Port, SharedProcess};
use crate::engine::world::STABLE;
use crate::net::inbound::Inbound;
use crate::net::outbound::{Outbound, Turn};
use crate::net::wire::{PassthroughWire, Wire};
use crate::transcript::{Message, Transcript};

/// Time between looks whether the target's process still runs.
const ENDED_POLL: Duration = Duration::from_millis(250);

/// What an environment is started with.
pub struct TestEnvironmentPlan {
    /// The URLs of the broker's servers, separated by commas.
    pub nats_url: String,
    /// The processes of its nodes, where the suite started them.
    pub broker_nodes: Option<Arc<SharedProcess>>,
    /// How the suite connects to them.
    pub access: NatsAccess,
    /// `<ver>` of the subjects.
    pub version: String,
    /// Whether commands and events are kept in streams.
    pub commands: Commands,
    /// The versions that a started target is to speak, separated by commas.
    pub spoken: String,
    /// How the target reaches the platform.
    pub platform: PlatformKind,
    /// What messages cross on their way.
    pub wire: Arc<dyn Wire>,
    /// Seed of all ids.
    pub seed: u64,
    /// How the target is started and ended.
    pub target: Box<dyn Target>,
    /// How many of it are started.
    pub replicas: Arc<Replicas>,
    /// What a started target is given beside broker and platform, by the names of `docs/bindings.md`.
    pub environment: BTreeMap<String, String>,
    /// What stands behind an OpenAPI executor.
    pub upstream: Option<Arc<Upstream>>,
    /// The port that the target is to listen on.
    pub port: Option<Port>,
    /// What serves other revisions of the same target.
    pub beside: Vec<Arc<TestEnvironment>>,
    /// Whose target it is, as the id of a family, where one start of it serves several revisions.
    pub shares: Option<&'static str>,
    /// The way of a started target to the suite.
    pub inbound: Arc<Inbound>,
    /// When messages may leave, and what ids begin with.
    pub outbound: Arc<Outbound>,
}

/// What was found out about an environment before the first scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestEnvironmentSnapshot {
    version: String,
    nonce: String,
    upstream: Option<UpstreamPlan>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    replicas: usize,
}

impl TestEnvironmentSnapshot {
    /// Of an environment that nobody set up.
    pub(super) fn unopened(version: &str, upstream: Option<UpstreamPlan>) -> Self {
        Self {
            version: version.to_owned(),
            nonce: String::new(),
            upstream,
            prefix: String::new(),
            replicas: 1,
        }
    }

    /// What of it cannot have been found out about the target of this table.
    pub(crate) fn contradiction(&self, table: &UtpTable) -> Option<String> {
        let declared = table.replicas.map_or(1, |count| count.get() as usize);
        if ![1, declared].contains(&self.replicas) {
            let had = self.replicas;
            return Some(format!("it had {had} replicas, and by `utp.replicas` it has {declared}"));
        }
        (self.version != table.version()).then(|| {
            format!(
                "it spoke version `{}`, and `utp.protocol_version` is `{}`",
                self.version,
                table.version()
            )
        })
    }
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_one(count: &usize) -> bool {
    *count == 1
}

/// Broker, platform and target.
pub struct TestEnvironment {
    /// The suite's connection; none where a run is judged again, which asks nobody.
    client: Option<Client>,
    publisher: Option<Publisher>,
    /// `<ver>` of the subjects.
    pub version: String,
    /// Held while calls are counted by a counter that all calls of the target share, in whatever revision.
    pub counting: Arc<tokio::sync::Mutex<()>>,
    /// All projects of the run.
    pub platform_service: Arc<PlatformService>,
    /// What stands behind an OpenAPI executor.
    pub upstream: Option<Arc<Upstream>>,
    seed: u64,
    nonce: String,
    /// What ids begin with that the suite makes up.
    prefix: String,
    outbound: Arc<Outbound>,
    /// Projects of a target that the suite did not start, of which it was not yet said that they stay.
    staying: AtomicUsize,
    keeps_streams: bool,
    runs_already: bool,
    connection: Arc<ConnectionWatch>,
    /// The processes of the broker's nodes, where the suite started them.
    pub(super) broker_nodes: Option<Arc<SharedProcess>>,
    pub(super) replicas: Arc<Replicas>,
    /// How many of the target were started.
    pub replicas_count: usize,
    target: Mutex<Box<dyn Target>>,
    /// The target's, where the suite started it.
    pub process: Arc<SharedProcess>,
    /// Whose target it is, as the id of a family, where one start of it serves several revisions.
    pub shares: Option<&'static str>,
    /// Nobody else gets it as long as the target may listen there.
    _port: Option<Port>,
    // Both platforms end with the environment.
    _tasks: Vec<JoinSet<()>>,
}

impl std::fmt::Debug for TestEnvironment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TestEnvironment").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl TestEnvironment {
    /// Connects, serves the platform and starts the target.
    pub async fn start(plan: TestEnvironmentPlan) -> Result<Arc<Self>, SessionError> {
        let connection = Arc::new(ConnectionWatch::default());
        let client = broker_connection::connect(&plan.nats_url, &plan.access, &connection, true).await?;
        let (platform_service, wakeups) = PlatformService::new(&plan.version, plan.wire);
        if let Some(upstream) = &plan.upstream {
            upstream.attach(&platform_service);
        }
        let fault = |error: &dyn std::fmt::Display| SessionError::Platform(error.to_string());
        let refused = |reason| SessionError::Broker { url: nats_servers::redacted(&plan.nats_url), reason };
        let publisher = Publisher::new(client.clone(), &connection, plan.commands, &plan.version);
        let publisher = publisher.await.map_err(refused)?;
        let mut tasks = vec![
            platform::nats::serve(
                &client,
                &plan.version,
                (&platform_service, &plan.replicas),
                &publisher,
                wakeups,
            )
            .await
            .map_err(|error| fault(&error))?,
        ];
        let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let beside = plan.beside.iter().map(|other| Arc::clone(&other.platform_service));
        let platforms = std::iter::once(Arc::clone(&platform_service)).chain(beside).collect();
        let counting = plan.beside.first().map(|other| Arc::clone(&other.counting)).unwrap_or_default();
        let (address, task) =
            platform::http::serve(listen, platforms).await.map_err(|error| fault(&error))?;
        tasks.push(task);
        let mut keeping = JoinSet::new();
        keeping.spawn(Arc::clone(&connection).keep(client.clone()));
        tasks.push(keeping);
        // A target may ask for a card as soon as it runs.
        nats::settle(&client).await;
        if let Some(why) = connection.lasting_trouble() {
            return Err(refused(why.clone()));
        }
        let platform_url = plan.inbound.url(&format!("http://{address}")).await.map_err(|why| fault(&why))?;
        let around = LaunchEnv {
            nats_url: nats_servers::first(&plan.nats_url).to_owned(),
            nats_urls: plan.nats_url,
            platform_url,
            platform: plan.platform,
            version: plan.spoken,
            environment: plan.environment,
        };
        let mut target = plan.target;
        target.start(&around).await.map_err(SessionError::Start)?;
        Ok(Arc::new(Self {
            client: Some(client),
            publisher: Some(publisher),
            version: plan.version,
            counting,
            platform_service,
            upstream: plan.upstream,
            seed: plan.seed,
            nonce: nonce(),
            prefix: plan.outbound.prefix().to_owned(),
            outbound: plan.outbound,
            staying: AtomicUsize::new(0),
            keeps_streams: plan.commands == Commands::JetStream,
            runs_already: target.process().is_none(),
            connection,
            broker_nodes: plan.broker_nodes,
            replicas_count: plan.replicas.count(),
            replicas: plan.replicas,
            process: target.process().unwrap_or_default(),
            shares: plan.shares,
            target: Mutex::new(target),
            _port: plan.port,
            _tasks: tasks,
        }))
    }

    /// Opens the project of one scenario. The id follows from seed and scenario.
    pub fn project(&self, scenario: &str) -> Arc<Project> {
        self.project_of(scenario, "", Arc::default())
    }

    /// Opens a project whose id ends with `suffix`, with what the scenario writes down.
    pub fn project_of(&self, scenario: &str, suffix: &str, transcript: Arc<Transcript>) -> Arc<Project> {
        let digest =
            crate::spec::library::hex(&Sha256::digest(format!("{}/{scenario}", self.seed).as_bytes()));
        let stable = digest[..STABLE].to_owned();
        // The stable part stands in reports, which are the same however often a scenario was run.
        let nonce = match transcript.attempt() {
            0 => self.nonce.clone(),
            attempt => {
                crate::spec::library::hex(&Sha256::digest(format!("{}/{attempt}", self.nonce).as_bytes()))
                    [..6]
                    .to_owned()
            }
        };
        let unique = format!("{stable}{nonce}");
        self.staying.fetch_add(1, Ordering::Relaxed);
        let (prefix, suffix) = (self.prefix.clone(), suffix.to_owned());
        self.platform_service.open(ProjectName { prefix, unique, stable, suffix }, transcript)
    }

    /// What ids begin with that the suite makes up.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Waits until one more message may be sent.
    pub async fn turn(&self) -> Turn {
        self.outbound.turn().await
    }

    /// As [`TestEnvironment::turn`], for one more message of a call that is open.
    pub async fn further_turn(&self) -> Turn {
        self.outbound.further_turn().await
    }

    /// Publishes messages, and waits until they have left. A lost broker shows in the session; here it means silence.
    pub async fn publish(&self, messages: Vec<Message>) {
        let Some(publisher) = &self.publisher else { return };
        self.connection.connected().await;
        publisher.send(&messages).await;
    }

    /// How long [`TestEnvironment::publish`] may take.
    pub fn send_deadline(&self) -> Duration {
        self.publisher.as_ref().map(Publisher::deadline).unwrap_or_default()
    }

    /// Whether the broker says that nobody subscribes to a subject whom the suite's user reaches. An empty message finds
    /// that out, which any subscriber gets.
    pub(super) async fn has_no_subscriber(&self, subject: &str) -> bool {
        match (&self.client, self.keeps_streams) {
            (Some(client), false) => nats::has_no_subscriber(client, subject).await,
            _ => false,
        }
    }

    /// How many replicas have received a message on this subject.
    pub fn replicas_that_received(&self, subject: &str) -> usize {
        self.replicas.that_received(subject).len()
    }

    /// The suite's connection.
    pub fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        Revision::of(&self.version)
    }

    /// What was found out.
    pub fn to_snapshot(&self) -> TestEnvironmentSnapshot {
        TestEnvironmentSnapshot {
            version: self.version.clone(),
            nonce: self.nonce.clone(),
            prefix: self.prefix.clone(),
            upstream: self.upstream.as_ref().map(|upstream| upstream.plan.clone()),
            replicas: self.replicas_count,
        }
    }

    /// The environment of a run that is judged again.
    pub fn restore(snapshot: TestEnvironmentSnapshot, seed: u64) -> Arc<Self> {
        // Nobody takes what the platform would publish.
        let (platform_service, _) = PlatformService::new(&snapshot.version, Arc::new(PassthroughWire));
        Arc::new(Self {
            client: None,
            publisher: None,
            version: snapshot.version,
            counting: Arc::default(),
            platform_service,
            upstream: snapshot.upstream.map(Upstream::offline),
            seed,
            nonce: snapshot.nonce,
            prefix: snapshot.prefix,
            outbound: Arc::default(),
            staying: AtomicUsize::new(0),
            keeps_streams: false,
            runs_already: true,
            connection: Arc::default(),
            broker_nodes: None,
            replicas: Arc::default(),
            replicas_count: snapshot.replicas,
            target: Mutex::new(Box::new(Running)),
            process: Arc::default(),
            shares: None,
            _port: None,
            _tasks: Vec::new(),
        })
    }

    /// What stays at a target that the suite did not start, said once for all that share the environment.
    pub fn remains(&self) -> Vec<String> {
        let count = self.staying.swap(0, Ordering::Relaxed);
        if !self.runs_already || count == 0 {
            return Vec::new();
        }
        let ids = with_prefix("ids", &self.prefix);
        let mut remains =
            vec![format!("what the target keeps of {count} projects{ids}: no message of UTP deletes it")];
        if self.keeps_streams {
            let version = &self.version;
            remains.push(format!(
                "messages of these projects in `cg_cmd_{version}` and `cg_evt_{version}`, or in the streams that hold their \
                 subjects: they go by the limits of the streams"
            ));
        }
        remains
    }

    /// Why nothing counts that the broker has carried since then: the connection was lost, or it does not let the suite
    /// publish or subscribe.
    pub fn broker_trouble(&self, since: Instant) -> Option<String> {
        self.connection.trouble(since)
    }

    /// What there is to say when the target's process ended by itself.
    pub async fn target_ended(&self) -> Option<String> {
        self.target.lock().await.ended().await
    }

    /// What the target has logged, where that can be read.
    pub async fn log(&self) -> Option<String> {
        self.target.lock().await.log().await
    }

    /// Waits for something that the target does; nothing comes any more from one whose process has ended.
    pub(crate) async fn unless_ended<T>(&self, wait: impl Future<Output = Option<T>>) -> Option<T> {
        let ended = async {
            // An operating system reports the end of a process to its parent only, and the parent has to ask.
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

/// A secret that differs from run to run.
pub(crate) fn unique_secret(name: &str) -> String {
    format!("callmark-{name}-{}", digest())
}

/// Six hexadecimal digits that differ from run to run.
fn nonce() -> String {
    digest()[..6].to_owned()
}

fn digest() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let digest = Sha256::digest(format!("{now}/{}/{count}", std::process::id()).as_bytes());
    crate::spec::library::hex(&digest)[..24].to_owned()
}
