//! The target of a UTP run, as one thing that is started with the platform and ends with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Mutex;

use super::binding::PlatformKind;
use super::replicas::{REPLICA_VARIABLE, Replicas};
use crate::engine::target::{Launch, MAX_LOG, Pipes, SharedProcess, read_end};

/// What a target finds around it when it is started.
#[derive(Clone, Debug)]
pub struct LaunchEnv {
    /// The first server of the broker: the one that a target is given.
    pub nats_url: String,
    /// All of them, separated by commas: one that the suite's way to the broker is lost to is replaced by another.
    pub nats_urls: String,
    /// The HTTP binding of the platform.
    pub platform_url: String,
    /// Which binding the manifest names.
    pub platform: PlatformKind,
    /// The `<ver>` tokens that it is to speak, separated by commas.
    pub version: String,
    /// Everything else that it is given, by the names of `docs/bindings.md`.
    pub environment: BTreeMap<String, String>,
}

/// Something that can be certified.
pub trait Target: Send + Sync {
    /// Starts it. The text of an error says what to change.
    fn start<'a>(&'a mut self, around: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>>;

    /// What there is to say when it ended by itself.
    fn ended(&mut self) -> BoxFuture<'_, Option<String>>;

    /// Its process, where it has one that the suite starts.
    fn process(&self) -> Option<Arc<SharedProcess>> {
        None
    }

    /// What it has logged, where that can be read.
    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    /// Ends it.
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

/// A target that is started once for several environments, one of which starts it.
#[derive(Clone)]
pub(super) struct Shared {
    target: Arc<Mutex<Box<dyn Target>>>,
    process: Option<Arc<SharedProcess>>,
    starts: bool,
}

impl Shared {
    /// A target that nobody has started yet.
    pub(super) fn new(target: Box<dyn Target>) -> Self {
        Self { process: target.process(), target: Arc::new(Mutex::new(target)), starts: false }
    }

    /// For the environment that starts it.
    pub(super) fn starting(&self) -> Self {
        Self { starts: true, ..self.clone() }
    }

    /// For one that has it started by another.
    pub(super) fn joined(&self) -> Self {
        self.clone()
    }
}

impl Target for Shared {
    fn start<'a>(&'a mut self, around: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            if self.starts {
                return self.target.lock().await.start(around).await;
            }
            Ok(())
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.target.lock().await.ended().await })
    }

    fn process(&self) -> Option<Arc<SharedProcess>> {
        self.process.clone()
    }

    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.target.lock().await.log().await })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.target.lock().await.stop().await })
    }
}

/// A target that runs already.
#[derive(Debug)]
pub struct Running;

impl Target for Running {
    fn start<'a>(&'a mut self, _: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A target that runs already and writes its log to a file.
#[derive(Debug)]
pub struct Logged {
    log: PathBuf,
    /// What stood there before the run says nothing about it.
    from: u64,
}

impl Logged {
    /// A target with this log.
    pub fn new(log: PathBuf) -> Self {
        let from = std::fs::metadata(&log).map_or(0, |file| file.len());
        Self { log, from }
    }
}

impl Target for Logged {
    fn start<'a>(&'a mut self, _: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            match std::fs::File::open(&self.log) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("its log `{}` cannot be read: {error}", self.log.display())),
            }
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { read_end(&self.log, self.from, MAX_LOG) })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A target that the suite starts with a command line and ends with the run.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    started: Arc<SharedProcess>,
    replicas: Arc<Replicas>,
}

impl Process {
    /// A target that is not started yet, and the replicas of it that are to be started.
    pub fn new(launch: Launch, replicas: Arc<Replicas>) -> Self {
        Self { launch, started: Arc::default(), replicas }
    }
}

impl Target for Process {
    fn start<'a>(&'a mut self, around: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.launch.log.clear();
            for own in self.replicas.environments(&around.nats_urls).await? {
                let number = own.number.map(|number| number.to_string());
                let mut variables = vec![
                    ("CALLMARK_NATS_URL", own.nats_url.as_str()),
                    ("CALLMARK_PLATFORM_URL", &around.platform_url),
                    ("CALLMARK_PROTOCOL_VERSION", &around.version),
                ];
                variables.extend(number.as_deref().map(|number| (REPLICA_VARIABLE, number)));
                variables
                    .extend(around.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                self.started.add(self.launch.spawn(&variables, Pipes::None)?);
            }
            Ok(())
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.started.ended() })
    }

    fn process(&self) -> Option<Arc<SharedProcess>> {
        Some(Arc::clone(&self.started))
    }

    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.launch.log.exposed() })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.started.stop())
    }
}
