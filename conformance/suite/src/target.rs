//! How a target is started and ended, when that is the suite's business.

pub mod guard;
mod log;
mod port;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::environment;
use crate::manifest::PlatformKind;
use crate::pace::PaceLimits;
use crate::wire::Wire;

use self::guard::Guarded;
pub use self::log::Log;
pub use self::port::Port;
pub(crate) use self::port::{Handing, is_refused, opened};

/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(3);

/// What a session with a target is opened with.
#[derive(Clone)]
pub struct Opening<T> {
    /// The manifest's table.
    pub table: T,
    /// The directory that relative paths refer to.
    pub directory: PathBuf,
    /// Where the output of what is started goes.
    pub log: Log,
    /// Limits of all waiting.
    pub limits: PaceLimits,
    /// What messages cross on their way.
    pub wire: Arc<dyn Wire>,
    /// Seed of all ids.
    pub seed: u64,
}

/// What a target finds around it when it is started.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The broker.
    pub nats_url: String,
    /// The HTTP binding of the platform.
    pub platform_url: String,
    /// Which binding the manifest names.
    pub platform: PlatformKind,
    /// `<ver>` of the subjects.
    pub version: String,
    /// Everything else that it is told, by the names of `docs/bindings.md`.
    pub environment: BTreeMap<String, String>,
}

/// Something that can be certified.
pub trait Target: Send + Sync {
    /// Starts it. The text of an error tells what to change.
    fn start<'a>(&'a mut self, around: &'a Surroundings) -> BoxFuture<'a, Result<(), String>>;

    /// What there is to say when it ended by itself.
    fn ended(&mut self) -> BoxFuture<'_, Option<String>>;

    /// What it has logged, where that can be read.
    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    /// Ends it.
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

/// A target that runs already.
#[derive(Debug)]
pub struct Running;

impl Target for Running {
    fn start<'a>(&'a mut self, _: &'a Surroundings) -> BoxFuture<'a, Result<(), String>> {
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
    fn start<'a>(&'a mut self, _: &'a Surroundings) -> BoxFuture<'a, Result<(), String>> {
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
        Box::pin(async { log::read_end(&self.log, self.from, log::MAX_LOG) })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A command line of a manifest, ready to be run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Further environment.
    pub environment: BTreeMap<String, String>,
    /// Variables of our own environment that it must not see.
    pub removed: Vec<String>,
    /// Where its output goes; appended to.
    pub log: Log,
}

/// What becomes of the standard input and output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipes {
    /// Nothing comes in, and output goes to the log.
    None,
    /// Both belong to the suite.
    Both,
}

impl Launch {
    /// Starts a process in a group of its own.
    ///
    /// # Errors
    /// A text that tells what to change.
    pub fn spawn(&self, around: &[(&str, &str)], pipes: Pipes) -> Result<Offspring, String> {
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err("its command line is empty".to_owned());
        };
        let unwritten = |error| format!("its log `{}` cannot be written: {error}", self.log.path().display());
        let (log, errors) =
            self.log.writers().inspect_err(|error| environment::note(error)).map_err(unwritten)?;
        let (input, output) = match pipes {
            Pipes::None => (Stdio::null(), log),
            Pipes::Both => (Stdio::piped(), Stdio::piped()),
        };
        let mut command = Command::new(program);
        self.removed.iter().for_each(|name| {
            command.env_remove(name);
        });
        let starting = guard::Starting::new();
        let child = command
            .args(arguments)
            .current_dir(&self.directory)
            .envs(guard::temporary())
            .envs(around.iter().copied())
            .envs(&self.environment)
            .envs([guard::variable()])
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .inspect_err(|error| environment::note(error))
            .map_err(|error| format!("`{program}` in `{}`: {error}", self.directory.display()))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let guarded = group.map(|group| starting.started(group.as_raw()));
        Ok(Offspring {
            child,
            group,
            _guarded: guarded,
            command: self.command.join(" "),
            log: self.log.clone(),
            port: None,
        })
    }
}

/// A process that the suite started. Its whole group ends with it.
#[derive(Debug)]
pub struct Offspring {
    child: Child,
    group: Option<Pid>,
    /// Ended with this process, whatever ends it.
    _guarded: Option<Guarded>,
    command: String,
    log: Log,
    /// The port that it was given.
    port: Option<Port>,
}

impl Offspring {
    /// Keeps the port that it was given from others as long as it lives.
    #[must_use]
    pub(crate) fn on(mut self, port: Port) -> Self {
        self.port = Some(port);
        self
    }

    /// Standard input and output, once, where they belong to the suite.
    pub fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// What there is to say when it ended by itself.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let (words, log) = (self.log.last_words(), self.log.path().display());
        Some(format!("`{}` ended with {status}; its log `{log}` ends: {words}", self.command))
    }

    /// Waits until it has ended by itself.
    #[cfg(test)]
    async fn wait(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Asks it to end, and ends it.
    pub async fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        let _ = tokio::time::timeout(TERM_GRACE, self.child.wait()).await;
        // Whatever of the group outlived its leader goes too.
        self.signal(Signal::SIGKILL);
        self.group = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The group may be gone already, which is what we want.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// A target that the suite starts with a command line and ends with the run.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    running: Option<Offspring>,
}

impl Process {
    /// A target that is not started yet.
    pub fn new(launch: Launch) -> Self {
        Self { launch, running: None }
    }
}

impl Target for Process {
    fn start<'a>(&'a mut self, around: &'a Surroundings) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.launch.log.clear();
            let mut told = vec![
                ("CALLMARK_NATS_URL", around.nats_url.as_str()),
                ("CALLMARK_PLATFORM_URL", &around.platform_url),
                ("CALLMARK_PROTOCOL_VERSION", &around.version),
            ];
            told.extend(around.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            self.running = Some(self.launch.spawn(&told, Pipes::None)?);
            Ok(())
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.running.as_mut()?.ended() })
    }

    fn log(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.launch.log.exposed() })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(mut running) = self.running.take() {
                running.stop().await;
            }
        })
    }
}
