//! Traffic that is judged while it passes.
//!
//! Whoever passes it on hands a copy to a [`Feed`], which never waits: where the judge is behind, messages are dropped here
//! and counted, and the judge learns that there is a gap. One thread puts messages together, as it does with those of a file.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::decoding;
use super::error::RecordingError;
use super::judge::Judge;
use super::observer::{Observer, Seen, Traffic};
use super::progress::Progress;
use super::report::Judged;
use super::sink::{Gathering, Sink};
use super::source::Origin;
use super::{At, Window};

/// Messages that wait for the judge.
const WAITING: usize = 4096;
/// Bytes of them, and of bodies that are not yet complete.
const BYTES: usize = 64 * 1024 * 1024;
/// Between two looks at what nothing more is to be expected of.
const LOOK: Duration = Duration::from_secs(1);

/// What is handed over.
enum Item {
    /// A message, how many bytes of the bound it takes, and whether others before it are missing.
    Seen(Traffic, usize, bool),
    /// The messages of one whole exchange, and how many bytes of the bound they take.
    Exchange(Window, usize),
    /// Nothing more comes; whether messages are missing before that.
    End(bool),
}

/// Takes traffic for the judge, and never waits.
pub struct Feed {
    to: SyncSender<Item>,
    bytes: Arc<AtomicUsize>,
    has_gap: AtomicBool,
    progress: Arc<Progress>,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Feed").field("progress", &self.progress).finish_non_exhaustive()
    }
}

/// The other end of a feed.
pub struct Fed {
    from: Receiver<Item>,
    bytes: Arc<AtomicUsize>,
    progress: Arc<Progress>,
}

/// The thread that judges.
pub struct Judging {
    handle: JoinHandle<Result<Judged, RecordingError>>,
    feed: Arc<Feed>,
}

/// A feed, and where it leads.
pub fn feed() -> (Arc<Feed>, Fed) {
    let (to, from) = sync_channel(WAITING);
    let (bytes, progress) = (Arc::<AtomicUsize>::default(), Arc::<Progress>::default());
    let fed = Fed { from, bytes: Arc::clone(&bytes), progress: Arc::clone(&progress) };
    (Arc::new(Feed { to, bytes, has_gap: AtomicBool::new(false), progress }), fed)
}

impl Feed {
    /// Asks for room for so many bytes, before they are copied; they are given back when what they are part of was judged
    /// or [`released`](Self::release). Answers whether there is room.
    pub fn reserve(&self, bytes: usize) -> bool {
        let is_room = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= BYTES;
        if !is_room {
            self.release(bytes);
        }
        is_room
    }

    /// Gives back room that is not needed.
    pub fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Hands over what there was room for. Answers whether it will be judged; if not, it is counted and its room is free.
    pub fn offer(&self, traffic: Traffic, bytes: usize) -> bool {
        let has_gap = self.has_gap.swap(false, Ordering::Relaxed);
        self.hand_over(Item::Seen(traffic, bytes, has_gap), bytes)
    }

    /// As [`offer`](Self::offer), of an exchange that need not be put together any more.
    pub fn offer_exchange(&self, exchange: Window, bytes: usize) -> bool {
        self.hand_over(Item::Exchange(exchange, bytes), bytes)
    }

    fn hand_over(&self, item: Item, bytes: usize) -> bool {
        match self.to.try_send(item) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.release(bytes);
                self.dropped();
                false
            }
        }
    }

    /// A message passed unjudged, because the judge is behind.
    pub fn dropped(&self) {
        self.progress.dropped.fetch_add(1, Ordering::Relaxed);
        self.gap();
    }

    /// Messages are missing at this place, however many.
    pub fn gap(&self) {
        self.has_gap.store(true, Ordering::Relaxed);
    }

    /// An exchange ended before it was complete, which makes it none that can be judged.
    pub fn broken_off(&self) {
        self.progress.messages.fetch_add(1, Ordering::Relaxed);
        self.progress.broken_off.fetch_add(1, Ordering::Relaxed);
    }

    /// A message is of somebody whose traffic is not judged.
    pub fn not_ours(&self) {
        self.broken_off();
    }

    /// An exchange over HTTP begins.
    pub fn begun(&self) {
        self.progress.passing.fetch_add(1, Ordering::Relaxed);
    }

    /// An exchange over HTTP is over.
    pub fn ended(&self) {
        self.progress.passing.fetch_sub(1, Ordering::Relaxed);
    }

    /// An exchange over HTTP took so long, from the first byte of its request to the last of its answer.
    pub fn took(&self, time: Duration) {
        self.progress.latencies.took(time);
    }

    /// A message is too long to be judged.
    pub fn too_long(&self) {
        self.progress.messages.fetch_add(1, Ordering::Relaxed);
        self.progress.too_long.fetch_add(1, Ordering::Relaxed);
    }

    /// What is known so far.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl Fed {
    /// Starts a thread that puts together what comes from the feed, and others that judge it.
    ///
    /// `name` says whose traffic it is.
    ///
    /// # Errors
    /// When the machine cannot start a thread.
    pub fn judge(
        self,
        feed: &Arc<Feed>,
        judge: Judge,
        observers: Vec<Box<dyn Observer>>,
        (name, origin): (String, Origin),
    ) -> io::Result<Judging> {
        let run = move || self.run(judge, observers, name, origin);
        let handle = std::thread::Builder::new().name("live".to_owned()).spawn(run)?;
        Ok(Judging { handle, feed: Arc::clone(feed) })
    }

    fn run(
        self,
        mut judge: Judge,
        observers: Vec<Box<dyn Observer>>,
        name: String,
        origin: Origin,
    ) -> Result<Judged, RecordingError> {
        let started = Sink::start(&mut judge, Some(&self.progress));
        let mut sink = started.map_err(RecordingError::Threads)?;
        sink.begin(name, origin);
        let mut gathering = Gathering::new(observers, &mut sink);
        let mut looked = Instant::now();
        let mut at = At::default();
        loop {
            match self.from.recv_timeout(LOOK.saturating_sub(looked.elapsed())) {
                Ok(Item::Seen(traffic, bytes, has_gap)) => {
                    if has_gap {
                        gathering.gap();
                    }
                    at.line += 1;
                    self.take(traffic, at, bytes, &mut gathering);
                    self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                Ok(Item::Exchange(exchange, bytes)) => {
                    self.progress.messages.fetch_add(exchange.frames.len() as u64, Ordering::Relaxed);
                    gathering.sink.exchange(exchange, bytes);
                    self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                Ok(Item::End(has_gap)) => {
                    if has_gap {
                        gathering.gap();
                    }
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                gathering.settle();
                self.show(&gathering);
            }
        }
        gathering.finish();
        sink.passed(&self.progress);
        let (tally, sources) = sink.finish();
        let rulebooks: BTreeMap<_, _> =
            judge.rulebooks().map(|(profile, own)| (profile, Arc::clone(own))).collect();
        Ok(Judged { tally: tally?, rulebooks, sources })
    }

    fn take(&self, traffic: Traffic, at: At, bytes: usize, gathering: &mut Gathering<'_, '_>) {
        self.progress.messages.fetch_add(1, Ordering::Relaxed);
        if let Some(traffic) = decoding::decoded(traffic) {
            gathering.take(&Seen { at, traffic }, bytes);
        } else {
            gathering.sink.message();
            gathering.sink.unattributed(1);
        }
    }

    fn show(&self, gathering: &Gathering<'_, '_>) {
        self.progress.open.store(gathering.open() as u64, Ordering::Relaxed);
        self.progress.unattributed.store(gathering.unattributed(), Ordering::Relaxed);
    }
}

impl Judging {
    /// Waits until all that was handed over is judged. What is handed over afterwards is dropped.
    ///
    /// # Errors
    /// A bug of ours.
    pub fn finish(self) -> Result<Judged, RecordingError> {
        // One that has ended takes nothing more, and says why.
        let _ = self.feed.to.send(Item::End(self.feed.has_gap.load(Ordering::Relaxed)));
        self.handle.join().unwrap_or(Err(RecordingError::Judge))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Traffic {
        Traffic::Rpc(serde_json::Value::Null)
    }

    #[test]
    fn what_the_judge_has_no_time_for_is_dropped_and_counted() {
        let (feed, waiting) = feed();
        let taken = (0..WAITING + 3).filter(|_| feed.offer(message(), 0)).count();
        assert_eq!((taken, feed.progress().numbers().dropped), (WAITING, 3));
        // The next one that is taken says that others are missing, and the one after it does not.
        for _ in 0..2 {
            waiting.from.recv().expect("a message");
            assert!(feed.offer(message(), 0));
        }
        let gaps = waiting.from.try_iter().map(|item| matches!(item, Item::Seen(_, _, true)));
        assert_eq!(gaps.collect::<Vec<_>>()[WAITING - 2..], [true, false]);
    }

    #[test]
    fn bytes_that_wait_are_bounded() {
        let (feed, waiting) = feed();
        assert!(feed.reserve(BYTES) && !feed.reserve(1));
        assert!(feed.offer(message(), BYTES) && !feed.reserve(1));
        drop(waiting);
        feed.release(BYTES);
        assert!(feed.reserve(1) && !feed.offer(message(), 1));
        assert_eq!(feed.bytes.load(Ordering::Relaxed), 0);
    }
}
