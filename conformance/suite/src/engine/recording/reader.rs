//! Reads recordings, whatever their form, and has judged what is in them.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use super::format::{BEGINNING, Format};
use super::judge::{Judge, Tally};
use super::observer::{Observer, Seen};
use super::rulebook::Rulebook;
use super::workers::{Messages, Work, Workers};
use super::{At, Window, har, nats, stdio, transcript};
use crate::engine::protocol::Scope;

/// Bytes that are read at a time.
const CHUNK: usize = 256 * 1024;

/// A recording.
pub struct Input {
    /// For people: its path.
    pub name: String,
    /// Its bytes.
    pub bytes: Box<dyn Read>,
    /// Its form; none where that follows from how it begins.
    pub format: Option<Format>,
}

/// Why recordings cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("it cannot be read: {error}")]
    Read {
        /// Index of the file.
        file: usize,
        /// Why.
        error: io::Error,
    },
    /// It is in none of the known forms.
    #[error("it is no recording that is known")]
    Unknown {
        /// Index of the file.
        file: usize,
    },
    /// A line or an entry of it cannot be read.
    #[error("{message}")]
    Parse {
        /// Where.
        at: At,
        /// What is wrong there.
        message: String,
    },
    /// The machine cannot start a thread.
    #[error("no thread can be started: {0}")]
    Threads(io::Error),
    /// A bug of ours.
    #[error("a judgement panicked")]
    Judge,
}

impl RecordingError {
    pub(super) fn parse(at: At, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The line is that of the recording, not that within the message.
        let what = text.split(" at line ").next().unwrap_or(&text);
        let column = if error.column() > 0 { format!(" (column {})", error.column()) } else { String::new() };
        Self::Parse { at, message: format!("{what}{column}") }
    }

    /// Where it happened, as far as that is known.
    pub fn at(&self) -> At {
        match self {
            Self::Read { file, .. } | Self::Unknown { file } => At { file: *file, line: 0 },
            Self::Parse { at, .. } => *at,
            Self::Threads(_) | Self::Judge => At::default(),
        }
    }
}

/// What came of recordings.
#[derive(Debug, Default)]
pub struct Judged {
    /// What was judged.
    pub tally: Tally,
    /// The rules of the roles that were seen.
    pub rulebooks: BTreeMap<&'static str, Arc<Rulebook>>,
    /// The recordings, in order.
    pub sources: Vec<Source>,
}

/// One recording.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it was given.
    pub name: String,
    /// Its form.
    pub format: Format,
    /// Bytes that were read.
    pub bytes: u64,
    /// Messages in it.
    pub messages: u64,
    /// Messages that belong to no exchange that can be judged: of other protocols, of calls that began before or were not
    /// answered, of scenarios that are not known.
    pub unattributed: u64,
    /// Messages too long to be judged.
    pub too_long: u64,
    /// The line at which it breaks off.
    pub cut_short: Option<u64>,
}

/// Judges recordings one after the other; the ends of one are not the beginnings of the next.
///
/// `observers` makes those of all protocols, for a recording that the suite did not write.
///
/// # Errors
/// The first recording that cannot be read, and where.
pub fn judge_files(
    mut judge: Judge,
    observers: &dyn Fn() -> Vec<Box<dyn Observer>>,
    inputs: impl IntoIterator<Item = Input>,
) -> Result<Judged, RecordingError> {
    let workers = Workers::start(&judge.library).map_err(RecordingError::Threads)?;
    let mut sink = Sink { judge: &mut judge, workers, sources: Vec::new(), roles: Vec::new() };
    let mut read = Ok(());
    for (file, input) in inputs.into_iter().enumerate() {
        read = sink.read(file, input, observers);
        if read.is_err() {
            break;
        }
    }
    let Sink { workers, sources, .. } = sink;
    let tally = workers.finish();
    read?;
    let rulebooks = judge.rulebooks().map(|(profile, own)| (profile, Arc::clone(own))).collect();
    Ok(Judged { tally: tally?, rulebooks, sources })
}

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

impl Sink<'_> {
    fn read(
        &mut self,
        file: usize,
        input: Input,
        observers: &dyn Fn() -> Vec<Box<dyn Observer>>,
    ) -> Result<(), RecordingError> {
        let Input { name, mut bytes, format } = input;
        // Of a form that is known nothing is waited for.
        let beginning = if format.is_some() { Ok(Vec::new()) } else { beginning(&mut *bytes) };
        let beginning = beginning.map_err(|error| RecordingError::Read { file, error })?;
        let format = format.or_else(|| Format::of(&beginning)).ok_or(RecordingError::Unknown { file })?;
        let from = BufReader::with_capacity(CHUNK, Cursor::new(beginning).chain(bytes));
        self.sources.push(Source {
            name,
            format,
            bytes: 0,
            messages: 0,
            unattributed: 0,
            too_long: 0,
            cut_short: None,
        });
        if format == Format::Transcript {
            return transcript::read(from, file, self);
        }
        let mut gathering = Gathering { observers: observers(), complete: Vec::new(), sink: self };
        match format {
            Format::Har => har::read(from, file, &mut gathering)?,
            Format::NatsText => nats::read_text(from, file, &mut gathering)?,
            Format::NatsDump => nats::read_dump(from, file, &mut gathering)?,
            Format::McpLines | Format::Transcript => stdio::read(from, file, &mut gathering)?,
        }
        gathering.finish();
        Ok(())
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

    fn window(&mut self, window: Window, bytes: usize) {
        let messages = window.frames.len() as u64;
        let Some(rulebooks) = self.rulebooks(&window.profiles, Scope::Callers) else {
            return self.unattributed(messages);
        };
        let at = window.at;
        self.workers.judge(Work { rulebooks, messages: Messages::Frames(window.frames), at }, bytes);
    }

    /// The role of a scenario, which may be of a suite with other scenarios: `protocol/role/…`.
    fn profile_of(&self, scenario: &str) -> Option<&'static str> {
        let mut parts = scenario.split('/');
        let profile = format!("{}.{}", parts.next()?, parts.next()?);
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

impl Gathering<'_, '_> {
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

    fn finish(mut self) {
        for mut observer in std::mem::take(&mut self.observers) {
            let left = observer.finish(&mut self.complete);
            self.sink.unattributed(left + observer.unattributed());
        }
        for window in self.complete.drain(..) {
            self.sink.window(window, 0);
        }
    }
}

/// The first bytes of a recording: as many as are looked at, or all.
fn beginning(bytes: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::with_capacity(BEGINNING);
    bytes.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    Ok(beginning)
}
