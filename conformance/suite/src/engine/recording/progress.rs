//! What is known so far of traffic that is judged while it passes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use callmark_reports::recording::RecordingReport;

use super::latencies::{self, Latencies};
use super::report::Judged;
use super::rulebook::Rulebook;
use super::source::Source;
use super::tally::{Count, Tally};
use crate::engine::run::Library;
use crate::transcript::{Frame, lock};

/// What is known so far. Whoever passes traffic on, reads or judges it adds to this; whoever shows it reads it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Messages that were handed over; of HTTP, exchanges.
    pub(super) messages: AtomicU64,
    /// Exchanges that were judged.
    exchanges: AtomicU64,
    /// Of the messages that reached the judge, those of no exchange that can be judged.
    pub(super) unattributed: AtomicU64,
    /// Exchanges that ended before they were complete.
    pub(super) broken_off: AtomicU64,
    /// Messages that are too long to be judged.
    pub(super) too_long: AtomicU64,
    /// Messages that passed unjudged, because the judge was behind.
    pub(super) dropped: AtomicU64,
    /// Exchanges that have begun and are not complete, of those that are put together from messages.
    pub(super) open: AtomicU64,
    /// The same of those over HTTP.
    pub(super) passing: AtomicU64,
    /// How long exchanges took.
    pub latencies: Latencies,
    broken: Mutex<Broken>,
}

/// What was broken.
#[derive(Debug, Default)]
struct Broken {
    counts: BTreeMap<&'static str, Vec<Count>>,
    rulebooks: BTreeMap<&'static str, Arc<Rulebook>>,
}

/// Numbers at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Messages that were seen; of HTTP, exchanges.
    pub messages: u64,
    /// Exchanges that were judged.
    pub exchanges: u64,
    /// Messages of no exchange that can be judged.
    pub unattributed: u64,
    /// Messages that are too long to be judged.
    pub too_long: u64,
    /// Messages that passed unjudged, because the judge was behind.
    pub dropped: u64,
    /// Exchanges that have begun and are not complete.
    pub open: u64,
}

impl Progress {
    /// The numbers.
    pub fn numbers(&self) -> Numbers {
        let now = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Numbers {
            messages: now(&self.messages),
            exchanges: now(&self.exchanges),
            unattributed: now(&self.unattributed) + now(&self.broken_off),
            too_long: now(&self.too_long),
            dropped: now(&self.dropped),
            open: now(&self.open) + now(&self.passing),
        }
    }

    /// The rules that were broken, as the report at the end shows them. Of rules that were not, it says nothing.
    pub fn report(&self, library: &Library, source: Source, strict: bool) -> RecordingReport {
        let broken = lock(&self.broken);
        let (counts, rulebooks) = (broken.counts.clone(), broken.rulebooks.clone());
        drop(broken);
        let Numbers { messages, exchanges, .. } = self.numbers();
        let tally = Tally { counts, exchanges, messages };
        Judged { tally, rulebooks, sources: vec![source] }.report(library, strict)
    }

    pub(super) fn judged(&self, exchanges: u64, frames: &[Frame]) {
        self.exchanges.fetch_add(exchanges, Ordering::Relaxed);
        if let Some(time) = latencies::of(frames) {
            self.latencies.took(time);
        }
    }

    /// A clause was broken once more; `own` is what one thread knows of it.
    pub(super) fn broken(&self, profile: &'static str, rulebook: &Arc<Rulebook>, clause: usize, own: &Count) {
        let mut broken = lock(&self.broken);
        broken.rulebooks.entry(profile).or_insert_with(|| Arc::clone(rulebook));
        let counts = broken.counts.entry(profile).or_default();
        counts.resize_with(rulebook.clauses.len(), Count::default);
        counts[clause].breaches += 1;
        counts[clause].exchanges += 1;
        if let Some(first) = &own.first {
            counts[clause].offer(first);
        }
    }
}
