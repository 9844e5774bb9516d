//! How a target is started and ended, when that is the suite's business.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use futures::future::BoxFuture;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use crate::manifest::PlatformKind;

/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(3);

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
}

/// Something that can be certified.
pub trait Target: Send + Sync {
    /// Starts it. The text of an error tells what to change.
    fn start<'a>(&'a mut self, around: &'a Surroundings) -> BoxFuture<'a, Result<(), String>>;

    /// What there is to say when it ended by itself.
    fn ended(&mut self) -> BoxFuture<'_, Option<String>>;

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

/// A target that the suite starts with a command line and ends with the run.
#[derive(Debug)]
pub struct Process {
    command: Vec<String>,
    directory: PathBuf,
    environment: BTreeMap<String, String>,
    log: PathBuf,
    child: Option<Child>,
    group: Option<Pid>,
}

impl Process {
    /// `command` runs in `directory`; its output goes to the file `log`.
    pub fn new(
        command: Vec<String>,
        directory: PathBuf,
        environment: BTreeMap<String, String>,
        log: PathBuf,
    ) -> Self {
        Self { command, directory, environment, log, child: None, group: None }
    }

    fn spawn(&mut self, around: &Surroundings) -> Result<(), String> {
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err("`start` is empty".to_owned());
        };
        let open = || {
            if let Some(parent) = self.log.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::File::create(&self.log)
        };
        let log =
            open().map_err(|error| format!("its log `{}` cannot be written: {error}", self.log.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env("CALLMARK_NATS_URL", &around.nats_url)
            .env("CALLMARK_PLATFORM_URL", &around.platform_url)
            .env("CALLMARK_PROTOCOL_VERSION", &around.version)
            .envs(&self.environment)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(true);
        let child = command
            .spawn()
            .map_err(|error| format!("`{program}` in `{}`: {error}", self.directory.display()))?;
        self.group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        self.child = Some(child);
        Ok(())
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

impl Target for Process {
    fn start<'a>(&'a mut self, around: &'a Surroundings) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.spawn(around) })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async {
            let status = self.child.as_mut()?.try_wait().ok().flatten()?;
            let words = self.last_words();
            let log = self.log.display();
            Some(format!("`{}` ended with {status}; its log `{log}` ends: {words}", self.command.join(" ")))
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.signal(Signal::SIGTERM);
            if let Some(child) = self.child.as_mut() {
                let _ = tokio::time::timeout(TERM_GRACE, child.wait()).await;
            }
            // Whatever of the group outlived its leader goes too.
            self.signal(Signal::SIGKILL);
            self.child = None;
            self.group = None;
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}
