//! How a protocol puts together messages that nobody staged.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use serde_json::Value;

use super::{At, Window};
use crate::engine::secrets;
use crate::transcript::Frame;

/// A message, or an exchange over HTTP, as a recording has it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Where it stands.
    pub at: At,
    /// What it is.
    pub traffic: Traffic,
}

/// What a recording shows.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// A request over HTTP with its answer.
    Http(HttpExchange),
    /// A message on a bus.
    Bus(BusMessage),
    /// A JSON-RPC message of one session between two parties.
    Rpc(Value),
    /// A record, new or changed, as a store shows it.
    Stored(StoredRecord),
}

/// A request with its answer.
#[derive(Clone, Debug, Default)]
pub struct HttpExchange {
    /// In capitals.
    pub method: String,
    /// Path, without the query.
    pub path: String,
    /// Names in lower case.
    pub request_headers: BTreeMap<String, String>,
    /// Empty where there is none.
    pub request: Vec<u8>,
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub response_headers: BTreeMap<String, String>,
    /// Empty where there is none.
    pub response: Vec<u8>,
}

/// A message on a bus.
#[derive(Clone, Debug, Default)]
pub struct BusMessage {
    /// Where it was published.
    pub subject: String,
    /// Where an answer is expected.
    pub reply: Option<String>,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// As it was sent.
    pub body: Vec<u8>,
    /// When it passed, in microseconds of a clock that all messages share; 0 where that is not known.
    pub at_us: u64,
}

/// A record that was stored or changed.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    /// All its members.
    pub record: Value,
    /// From 1.
    pub version: u64,
    /// When it was seen, in microseconds of a clock that all messages share; 0 where that is not known.
    pub at_us: u64,
}

/// Puts the messages of one protocol together.
pub trait Observer: Send {
    /// Takes what was seen, and adds the windows that it completes. Answers whether it is of this protocol.
    fn take(&mut self, seen: &Seen, complete: &mut Vec<Window>) -> bool;

    /// The recording is over: adds what can be judged of what is open. Answers how many messages cannot be.
    fn finish(&mut self, complete: &mut Vec<Window>) -> u64;

    /// Messages that it took and could put to no exchange so far.
    fn unattributed(&self) -> u64;

    /// Exchanges that have begun and are not complete.
    fn open(&self) -> usize {
        0
    }

    /// Messages are missing here: forgets what may lack one of them.
    fn gap(&mut self) {}

    /// Called about once a second while traffic passes: adds what nothing more is to be expected of.
    fn settle(&mut self, _: &mut Vec<Window>) {}
}

/// Frames with their numbers, as one window.
pub(crate) fn window(profiles: &Arc<[&'static str]>, at: At, mut frames: Vec<Frame>) -> Window {
    for (frame, n) in frames.iter_mut().zip(1..) {
        frame.n = n;
    }
    Window { profiles: Arc::clone(profiles), frames, at }
}

/// Names in place of credentials, which must not be stored, but have to be distinguished. Of the last few it is
/// known that they are the same.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    known: VecDeque<(u64, String)>,
    next: usize,
}

impl Credentials {
    /// The stand-in for the value of an `Authorization` header, with its scheme.
    pub(crate) fn stand_in(&mut self, value: &str) -> String {
        let (scheme, secret) = value.split_once(' ').unwrap_or(("", value));
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(secret);
        let known = self.known.iter().find(|(own, _)| *own == hash).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| self.name(hash));
        format!("{scheme} {name}").trim_start().to_owned()
    }

    fn name(&mut self, hash: u64) -> String {
        self.next += 1;
        let name = secrets::stand_in(self.next);
        self.known.push_back((hash, name.clone()));
        if self.known.len() > MOST_CREDENTIALS {
            self.known.pop_front();
        }
        name
    }
}

/// Credentials that are distinguished.
const MOST_CREDENTIALS: usize = 256;
