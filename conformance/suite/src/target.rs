//! How a target is started and ended, when that is the suite's business.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::manifest::PlatformKind;
use crate::pace::PaceLimits;
use crate::wire::Wire;

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
    pub log: PathBuf,
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
        Box::pin(async { read_log_from(&self.log, self.from) })
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
    /// File that its output goes to; appended to.
    pub log: PathBuf,
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
        let open = || {
            if let Some(parent) = self.log.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::File::options().create(true).append(true).open(&self.log)
        };
        let log =
            open().map_err(|error| format!("its log `{}` cannot be written: {error}", self.log.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let (input, output) = match pipes {
            Pipes::None => (Stdio::null(), Stdio::from(log)),
            Pipes::Both => (Stdio::piped(), Stdio::piped()),
        };
        let mut command = Command::new(program);
        self.removed.iter().for_each(|name| {
            command.env_remove(name);
        });
        let child = command
            .args(arguments)
            .current_dir(&self.directory)
            .envs(around.iter().copied())
            .envs(&self.environment)
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`{program}` in `{}`: {error}", self.directory.display()))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        Ok(Offspring { child, group, command: self.command.join(" "), log: self.log.clone() })
    }
}

/// A loopback address on which nothing listens just now.
pub(crate) fn free_address() -> Result<String, String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.to_string())
}

/// A process that the suite started. Its whole group ends with it.
#[derive(Debug)]
pub struct Offspring {
    child: Child,
    group: Option<Pid>,
    command: String,
    log: PathBuf,
}

impl Offspring {
    /// Standard input and output, once, where they belong to the suite.
    pub fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// What there is to say when it ended by itself.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let (words, log) = (self.last_words(), self.log.display());
        Some(format!("`{}` ended with {status}; its log `{log}` ends: {words}", self.command))
    }

    /// Asks it to end, and ends it.
    pub async fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        let _ = tokio::time::timeout(TERM_GRACE, self.child.wait()).await;
        // Whatever of the group outlived its leader goes too.
        self.signal(Signal::SIGKILL);
        self.group = None;
    }

    /// The end of the log, for a message.
    fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
        lines.into_iter().rev().map(crate::transcript::shorten_text).collect::<Vec<_>>().join(" | ")
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

/// Bytes of a log that are read, from its beginning.
const MAX_LOG: u64 = 16 * 1024 * 1024;

/// A log file, as far as it is read.
pub(crate) fn read_log(path: &std::path::Path) -> Option<String> {
    read_log_from(path, 0)
}

/// What was appended to a log file after its first `from` bytes; all of one that has become shorter.
fn read_log_from(path: &std::path::Path, from: u64) -> Option<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = std::fs::File::open(path).ok()?;
    if file.metadata().ok()?.len() >= from {
        file.seek(SeekFrom::Start(from)).ok()?;
    }
    let mut bytes = Vec::new();
    file.take(MAX_LOG).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
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
            // What an earlier run left there says nothing about this one.
            let _ = std::fs::remove_file(&self.launch.log);
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
        Box::pin(async { read_log(&self.launch.log) })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(mut running) = self.running.take() {
                running.stop().await;
            }
        })
    }
}
