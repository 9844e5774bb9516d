//! How a target is started and ended, when that is the suite's business.

mod log;
mod port;
mod shared;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::engine::environment;
use crate::engine::manifest::LaunchTable;
use crate::engine::manifest::launch::filled;
use crate::engine::timing::TimeoutLimits;
use crate::guard::{self, Guarded};
use crate::net::inbound::Inbound;
use crate::net::outbound::Outbound;
use crate::net::wire::Wire;

pub use self::log::Log;
pub(crate) use self::log::{MAX_LOG, read_end};
pub use self::port::Port;
pub(crate) use self::port::{Handing, STARTS, is_refused, opened};
pub use self::shared::SharedProcess;

/// Lines of its log in the message that a process has ended.
const BRIEF: usize = 3;
/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(3);

/// What a session with a target is opened with.
#[derive(Clone)]
pub struct OpenContext<T> {
    /// The manifest's table.
    pub table: T,
    /// The directory that relative paths refer to.
    pub directory: PathBuf,
    /// Where the output of what is started goes.
    pub log: Log,
    /// Limits of all waiting.
    pub limits: TimeoutLimits,
    /// What messages cross on their way.
    pub wire: Arc<dyn Wire>,
    /// Seed of all ids.
    pub seed: u64,
    /// The way to the addresses of the target.
    pub outbound: Arc<Outbound>,
    /// The way of what is started to the suite.
    pub inbound: Arc<Inbound>,
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
    /// Adds variables that its own come before.
    #[must_use]
    pub fn beneath(mut self, environment: BTreeMap<String, String>) -> Self {
        for (name, value) in environment {
            self.environment.entry(name).or_insert(value);
        }
        self
    }

    /// A command line of a party, for a manifest in this directory. `words` are the placeholders of its environment, each
    /// with its value.
    pub(crate) fn of(
        table: &LaunchTable,
        command: &[String],
        manifest: &Path,
        log: &Log,
        words: &[(&str, &str)],
    ) -> Self {
        let environment = table.env.iter().map(|(name, value)| (name.clone(), filled(value, words)));
        Self {
            command: command.to_vec(),
            directory: table.directory(manifest),
            environment: environment.collect(),
            removed: Vec::new(),
            log: log.clone(),
        }
    }

    /// Starts a process in a group of its own.
    ///
    /// # Errors
    /// A text that says what to change.
    pub fn spawn(&self, around: &[(&str, &str)], pipes: Pipes) -> Result<ChildProcess, String> {
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
            .map_err(|error| self.unstarted(program, &error))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let guarded = group.map(|group| starting.started(group.as_raw()));
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Ok(ChildProcess {
            child,
            group,
            _guarded: guarded,
            launch: self.clone(),
            around: around.iter().map(owned).collect(),
            pipes,
            port: None,
        })
    }

    /// Why a program was not started, for whoever wrote the manifest.
    fn unstarted(&self, program: &str, error: &std::io::Error) -> String {
        let directory = self.directory.display();
        match error.kind() {
            ErrorKind::NotFound if !self.directory.is_dir() => format!("there is no directory `{directory}`"),
            ErrorKind::NotFound if program.contains('/') => {
                format!("there is no program `{program}` in `{directory}`, or none that its first line names")
            }
            ErrorKind::NotFound => format!("there is no program `{program}` in the directories of `PATH`"),
            ErrorKind::PermissionDenied => {
                format!("`{program}` in `{directory}` is no program that may be run (`chmod +x` permits it)")
            }
            _ => format!("`{program}` in `{directory}`: {error}"),
        }
    }
}

/// A process that the suite started. Its whole group ends with it.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    group: Option<Pid>,
    /// Ended with this process, whatever ends it.
    _guarded: Option<Guarded>,
    launch: Launch,
    around: Vec<(String, String)>,
    pipes: Pipes,
    /// The port that it was given.
    port: Option<Port>,
}

impl ChildProcess {
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
        let (log, command) = (&self.launch.log, self.launch.command.join(" "));
        let path = log.path().display();
        let log = match &log.last_lines(BRIEF)[..] {
            [] => "is empty".to_owned(),
            lines => format!("ends: {}", lines.join(" | ")),
        };
        Some(format!("`{command}` ended with {status}; its log `{path}` {log}"))
    }

    /// The last lines of its log that are not blank, oldest first, each shortened.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        self.launch.log.last_lines(count)
    }

    /// Starts the same program once more, with what it was given and on the same port; its log goes on. What still ran
    /// of it is ended.
    ///
    /// # Errors
    /// A text that says why not.
    pub fn restart(&mut self) -> Result<(), String> {
        if self.pipes == Pipes::Both {
            return Err("it speaks through the pipes of its first start".to_owned());
        }
        self.signal(Signal::SIGKILL);
        let around: Vec<(&str, &str)> =
            self.around.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut next = self.launch.spawn(&around, self.pipes)?;
        next.port = self.port.take();
        *self = next;
        Ok(())
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

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_cannot_be_started_is_named_with_what_is_missing() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("plain.txt"), "no program").expect("a file");
        let check = |program: &str, directory: &str, expect: &str| {
            let launch = Launch {
                command: vec![program.to_owned()],
                directory: home.path().join(directory),
                environment: BTreeMap::new(),
                removed: Vec::new(),
                log: home.path().join("a.log").into(),
            };
            let why = launch.spawn(&[], Pipes::None).err().unwrap_or_default();
            assert!(why.contains(expect) && !why.contains("os error"), "{why}");
        };
        check(
            "no-such-program-of-ours",
            "",
            "there is no program `no-such-program-of-ours` in the directories of `PATH`",
        );
        check("./absent.sh", "", "there is no program `./absent.sh` in `");
        check("./plain.txt", "", "`chmod +x` permits it");
        check("sh", "absent", "there is no directory `");
    }
}
