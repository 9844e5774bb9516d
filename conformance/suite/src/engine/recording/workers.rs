//! Threads that judge, fed by one that reads: reading stays ahead by a bounded number of bytes.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use super::error::RecordingError;
use super::progress::Progress;
use super::rulebook::Rulebook;
use super::tally::Tally;
use super::{At, recorded};
use crate::engine::run::Library;
use crate::transcript::{Frame, lock};

/// Threads at most: reading is not worth more.
const MOST: usize = 8;
/// Windows that wait for a thread.
const WAITING: usize = 64;
/// Bytes of messages that wait, about.
const BYTES: usize = 2 * 1024 * 1024;

/// What is to be judged together.
pub(super) struct Work {
    pub rulebooks: Arc<[Arc<Rulebook>]>,
    pub messages: Messages,
    pub at: At,
}

/// Messages of one window.
pub(super) enum Messages {
    Frames(Vec<Frame>),
    /// Lines of a transcript, and how many bytes each has.
    Lines(Vec<u8>, Vec<(usize, u64)>),
}

/// The threads.
pub(super) struct Workers {
    senders: Vec<SyncSender<(Work, usize)>>,
    handles: Vec<JoinHandle<Result<Tally, RecordingError>>>,
    load: Arc<Load>,
    next: usize,
}

/// Bytes that wait.
#[derive(Default)]
struct Load {
    bytes: Mutex<usize>,
    lighter: Condvar,
}

impl Load {
    fn add(&self, bytes: usize) {
        let held = lock(&self.bytes);
        let mut held = self
            .lighter
            .wait_while(held, |held| *held > 0 && *held + bytes > BYTES)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *held += bytes;
    }

    fn take(&self, bytes: usize) {
        let mut held = lock(&self.bytes);
        *held = held.saturating_sub(bytes);
        self.lighter.notify_all();
    }
}

impl Workers {
    /// Starts them.
    pub(super) fn start(library: &Arc<Library>, progress: Option<&Arc<Progress>>) -> std::io::Result<Self> {
        let count = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, MOST);
        let load = Arc::new(Load::default());
        let (mut senders, mut handles) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (sender, receiver) = sync_channel::<(Work, usize)>(WAITING);
            let (library, load) = (Arc::clone(library), Arc::clone(&load));
            let progress = progress.cloned();
            let work = move || {
                let mut tally = Tally::default();
                let mut failed = None;
                for (work, bytes) in receiver {
                    // The reader is not to wait for one that has failed, whose error is reported at the end.
                    if failed.is_none() {
                        failed = judge(&mut tally, &library, work, progress.as_deref()).err();
                    }
                    load.take(bytes);
                }
                failed.map_or(Ok(tally), Err)
            };
            handles.push(std::thread::Builder::new().name("judge".to_owned()).spawn(work)?);
            senders.push(sender);
        }
        Ok(Self { senders, handles, load, next: 0 })
    }

    /// Has something judged; waits while too much waits already.
    pub(super) fn judge(&mut self, work: Work, bytes: usize) {
        self.load.add(bytes);
        self.next = (self.next + 1) % self.senders.len();
        if self.senders[self.next].send((work, bytes)).is_err() {
            // That thread has panicked, which the end reports.
            self.load.take(bytes);
        }
    }

    /// Waits for all of them.
    pub(super) fn finish(self) -> Result<Tally, RecordingError> {
        drop(self.senders);
        let mut all = Tally::default();
        let mut failed: Option<RecordingError> = None;
        for handle in self.handles {
            match handle.join() {
                Ok(Ok(tally)) => all.extend(tally),
                Ok(Err(error)) => {
                    let is_first = failed.as_ref().is_none_or(|first| error.at() < first.at());
                    failed = if is_first { Some(error) } else { failed };
                }
                Err(_) => return Err(RecordingError::Judge),
            }
        }
        failed.map_or(Ok(all), Err)
    }
}

fn judge(
    tally: &mut Tally,
    library: &Library,
    work: Work,
    progress: Option<&Progress>,
) -> Result<(), RecordingError> {
    let Work { rulebooks, messages, at } = work;
    let frames = match messages {
        Messages::Frames(frames) => frames,
        Messages::Lines(bytes, lines) => recorded::frames(&bytes, &lines, at.file)?,
    };
    tally.judge(library, &rulebooks, (&frames, at), progress);
    Ok(())
}
