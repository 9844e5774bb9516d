//! The processes of a target that all scenarios of a session share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::ChildProcess;
use crate::transcript;
use crate::transcript::lock;

/// For a process to end that is about to.
const ABOUT_TO_END: Duration = Duration::from_millis(250);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// What the suite started for a session: nothing where the target runs already, and more than one process where the
/// target's driver is one of its own.
#[derive(Debug, Default)]
pub struct SharedProcess {
    processes: Mutex<Vec<ChildProcess>>,
    restarts: AtomicUsize,
}

impl SharedProcess {
    /// What was started.
    pub fn new(processes: impl IntoIterator<Item = ChildProcess>) -> Self {
        Self { processes: Mutex::new(processes.into_iter().collect()), restarts: AtomicUsize::new(0) }
    }

    /// Adds a process that was started.
    pub fn add(&self, process: ChildProcess) {
        lock(&self.processes).push(process);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.processes).len()
    }

    /// What there is to say when one ended by itself.
    pub fn ended(&self) -> Option<String> {
        lock(&self.processes).iter_mut().find_map(ChildProcess::ended)
    }

    /// As [`SharedProcess::ended`], for one that may be about to end: a server closes its connections a moment before its
    /// process is gone.
    pub async fn ends_shortly(&self) -> Option<String> {
        let began = Instant::now();
        loop {
            let ended = self.ended();
            if ended.is_some() || lock(&self.processes).is_empty() || began.elapsed() > ABOUT_TO_END {
                return ended;
            }
            transcript::sleep_unless_replaying(LOOK).await;
        }
    }

    /// The last lines of the log, oldest first.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        lock(&self.processes).first().map(|process| process.last_lines(count)).unwrap_or_default()
    }

    /// Starts what has ended once more, as it was started first.
    ///
    /// # Errors
    /// A text that says why not.
    pub fn restart(&self) -> Result<(), String> {
        self.restarts.fetch_add(1, Ordering::Relaxed);
        let mut processes = lock(&self.processes);
        if processes.is_empty() {
            return Err("the suite did not start it".to_owned());
        }
        processes
            .iter_mut()
            .filter_map(|process| process.ended().is_some().then_some(process))
            .try_for_each(ChildProcess::restart)
    }

    /// Starts the process with this number, from 0, once more, whether it has ended or not.
    ///
    /// # Errors
    /// A text that says why not.
    pub(crate) fn restart_one(&self, number: usize) -> Result<(), String> {
        self.with_one(number, ChildProcess::restart)
    }

    /// Sends a signal to the process with this number, from 0, and to what it started.
    ///
    /// # Errors
    /// Nothing with this number runs.
    pub(crate) fn signal_one(&self, number: usize, signal: Signal) -> Result<(), String> {
        self.with_one(number, |process| {
            if let Some(ended) = process.ended() {
                return Err(ended);
            }
            process.signal(signal);
            Ok(())
        })
    }

    fn with_one(
        &self,
        number: usize,
        act: impl FnOnce(&mut ChildProcess) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut processes = lock(&self.processes);
        processes.get_mut(number).ok_or_else(|| "the suite did not start it".to_owned()).and_then(act)
    }

    /// How often [`SharedProcess::restart`] was asked for: what is made up for a start differs from that of the start before.
    pub fn restarts(&self) -> usize {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Ends them.
    pub async fn stop(&self) {
        let processes = std::mem::take(&mut *lock(&self.processes));
        for mut process in processes {
            process.stop().await;
        }
    }

    /// Ends them all at once.
    pub async fn stop_together(&self) {
        let processes = std::mem::take(&mut *lock(&self.processes));
        let stopping = processes.into_iter().map(|mut process| async move { process.stop().await });
        futures::future::join_all(stopping).await;
    }
}
