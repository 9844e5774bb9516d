//! Where readers put what they find: it is counted, put together into windows, and handed to the threads that judge.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::error::RecordingError;
use super::judge::Judge;
use super::observer::{Observer, Seen};
use super::progress::Progress;
use super::rulebook::Rulebook;
use super::source::{Origin, Source};
use super::tally::Tally;
use super::workers::{Messages, Work, Workers};
use super::{At, Window};
use crate::engine::protocol::Scope;
use crate::spec::revision;

/// Takes what is read of recordings.
pub(super) struct Sink<'a> {
    judge: &'a mut Judge,
    workers: Workers,
    sources: Vec<Source>,
    roles: Vec<Roles>,
}

/// Roles that are judged together.
struct Roles {
    profiles: Vec<&'static str>,
    scope: Scope,
    rulebooks: Arc<[Arc<Rulebook>]>,
}

impl<'a> Sink<'a> {
    /// Starts the threads that judge; `progress` learns of what they find.
    pub(super) fn start(judge: &'a mut Judge, progress: Option<&Arc<Progress>>) -> std::io::Result<Self> {
        let workers = Workers::start(&judge.library, progress)?;
        Ok(Self { judge, workers, sources: Vec::new(), roles: Vec::new() })
    }

    /// A recording begins.
    pub(super) fn begin(&mut self, name: String, origin: Origin) {
        self.sources.push(Source::new(name, origin));
    }

    /// Takes over what was counted of messages that never came here.
    pub(super) fn passed(&mut self, progress: &Progress) {
        let numbers = progress.numbers();
        let broken_off = progress.broken_off.load(Ordering::Relaxed);
        self.source(|own| {
            own.messages += numbers.too_long + numbers.dropped + broken_off;
            own.unattributed += broken_off;
            own.too_long += numbers.too_long;
            own.dropped += numbers.dropped;
        });
    }

    /// Waits until all of it is judged.
    pub(super) fn finish(self) -> (Result<Tally, RecordingError>, Vec<Source>) {
        (self.workers.finish(), self.sources)
    }

    fn source(&mut self, change: impl FnOnce(&mut Source)) {
        if let Some(source) = self.sources.last_mut() {
            change(source);
        }
    }

    pub(super) fn message(&mut self) {
        self.source(|own| own.messages += 1);
    }

    pub(super) fn bytes(&mut self, bytes: u64) {
        self.source(|own| own.bytes = bytes);
    }

    pub(super) fn too_long(&mut self) {
        self.source(|own| own.too_long += 1);
    }

    pub(super) fn unattributed(&mut self, messages: u64) {
        self.source(|own| own.unattributed += messages);
    }

    pub(super) fn cut_short(&mut self, at: At) {
        self.source(|own| own.cut_short = Some(at.line));
    }

    /// Has the lines of a scenario judged.
    pub(super) fn scenario(&mut self, scenario: &str, bytes: Vec<u8>, lines: Vec<(usize, u64)>, at: At) {
        let messages = lines.len() as u64;
        let Some(rulebooks) =
            self.profile_of(scenario).and_then(|profile| self.rulebooks(&[profile], Scope::AllParties))
        else {
            return self.unattributed(messages);
        };
        let length = bytes.len();
        self.workers.judge(Work { rulebooks, messages: Messages::Lines(bytes, lines), at }, length);
    }

    /// Has a whole exchange judged that nobody put together.
    pub(super) fn exchange(&mut self, exchange: Window, bytes: usize) {
        let messages = exchange.frames.len() as u64;
        self.source(|own| own.messages += messages);
        self.window(exchange, bytes);
    }

    fn window(&mut self, window: Window, bytes: usize) {
        let messages = window.frames.len() as u64;
        let Some(rulebooks) = self.rulebooks(&window.profiles, Scope::Callers) else {
            return self.unattributed(messages);
        };
        let at = window.at;
        self.workers.judge(Work { rulebooks, messages: Messages::Frames(window.frames), at }, bytes);
    }

    /// The role of a scenario, which may be of a suite with other scenarios: `protocol/role/…`, and behind an `@` the
    /// revision that it was run for.
    fn profile_of(&self, scenario: &str) -> Option<&'static str> {
        let (scenario, revision) = revision::split(scenario);
        let mut parts = scenario.split('/');
        let base = format!("{}.{}", parts.next()?, parts.next()?);
        let profile = revision.map_or_else(|| base.clone(), |revision| revision::join(&base, revision));
        self.judge.families().profile(&profile).map(|profile| profile.id)
    }

    /// The rules of roles; nothing where no rule of theirs can be judged.
    fn rulebooks(&mut self, profiles: &[&'static str], scope: Scope) -> Option<Arc<[Arc<Rulebook>]>> {
        let known = self.roles.iter().find(|own| own.scope == scope && own.profiles == profiles);
        let rulebooks = if let Some(own) = known {
            Arc::clone(&own.rulebooks)
        } else {
            let made = profiles.iter().map(|profile| self.judge.rulebook(profile, scope));
            let rulebooks: Arc<[Arc<Rulebook>]> = made.collect::<Vec<_>>().into();
            self.roles.push(Roles { profiles: profiles.to_vec(), scope, rulebooks: Arc::clone(&rulebooks) });
            rulebooks
        };
        rulebooks.iter().any(|own| !own.clauses.is_empty()).then_some(rulebooks)
    }
}

/// What is put together by the observers of the protocols.
pub(super) struct Gathering<'s, 'a> {
    observers: Vec<Box<dyn Observer>>,
    complete: Vec<Window>,
    pub(super) sink: &'s mut Sink<'a>,
}

impl<'s, 'a> Gathering<'s, 'a> {
    /// Of one recording.
    pub(super) fn new(observers: Vec<Box<dyn Observer>>, sink: &'s mut Sink<'a>) -> Self {
        Self { observers, complete: Vec::new(), sink }
    }

    /// Takes a message; `bytes` is how long it was.
    pub(super) fn take(&mut self, seen: &Seen, bytes: usize) {
        self.sink.message();
        let mut is_known = false;
        for observer in &mut self.observers {
            is_known |= observer.take(seen, &mut self.complete);
        }
        if !is_known {
            self.sink.unattributed(1);
        }
        for window in self.complete.drain(..) {
            self.sink.window(window, bytes);
        }
    }

    /// A message is too long to be judged, and whatever it belongs to lacks it.
    pub(super) fn too_long(&mut self) {
        self.sink.too_long();
        self.gap();
    }

    /// A message is JSON that this reader cannot hold.
    pub(super) fn unreadable(&mut self) {
        self.sink.message();
        self.sink.unattributed(1);
    }

    /// Messages are missing here.
    pub(super) fn gap(&mut self) {
        self.observers.iter_mut().for_each(|observer| observer.gap());
    }

    /// Has judged what nothing more is to be expected of.
    pub(super) fn settle(&mut self) {
        for observer in &mut self.observers {
            observer.settle(&mut self.complete);
        }
        for window in self.complete.drain(..) {
            self.sink.window(window, 0);
        }
    }

    /// Exchanges that have begun and are not complete.
    pub(super) fn open(&self) -> usize {
        self.observers.iter().map(|observer| observer.open()).sum()
    }

    /// Messages of no exchange that can be judged, so far.
    pub(super) fn unattributed(&self) -> u64 {
        let own = self.sink.sources.last().map_or(0, |source| source.unattributed);
        own + self.observers.iter().map(|observer| observer.unattributed()).sum::<u64>()
    }

    /// The recording is over.
    pub(super) fn finish(mut self) {
        for mut observer in std::mem::take(&mut self.observers) {
            let left = observer.finish(&mut self.complete);
            self.sink.unattributed(left + observer.unattributed());
        }
        for window in self.complete.drain(..) {
            self.sink.window(window, 0);
        }
    }
}
