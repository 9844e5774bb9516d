//! Which answer of a server belongs to which request, and what it sends of its own accord.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use callmark_reports::record::Direction;
use serde_json::Value;
use tokio::sync::mpsc;

use super::client::McpClient;
use crate::families::toolbus::answer::integer;
use crate::families::toolbus::link::{Head, Incoming};
use crate::families::toolbus::wire_format::{
    BESIDE, BYTES, HTTP_STATUS, LOCATION, NAMED_SESSION, STRUCTURED_BYTES,
};
use crate::net::outbound::Turn;
use crate::net::wire::{CALL, REPLICA, SCENARIO, STATUS, TOOL, Wire};
use crate::transcript::{Frame, Kind, Message, lock, shorten_text};

/// Lines on standard output that are no messages and are kept.
const NOISE: usize = 8;

/// Where answers go.
#[derive(Default)]
pub(super) struct Routes {
    /// Whether messages that a server sends of its own accord are written down.
    pub(super) writes_asides: bool,
    pub(super) open: Mutex<HashMap<i64, ServerRoute>>,
    /// Requests that were answered.
    pub(super) answered: Mutex<HashSet<i64>>,
    /// The first lines on standard output that are no messages, or answer nothing that is open.
    pub(super) noise: Mutex<Vec<String>>,
    pub(super) closed: Mutex<Option<String>>,
    /// How the process ended, where nobody asked it to.
    pub(super) exited: Mutex<Option<String>>,
    /// Takes requests of the server to its client.
    pub(super) requests: Mutex<Option<mpsc::Sender<Value>>>,
}

#[derive(Clone)]
pub(super) struct ServerRoute {
    pub(super) client: McpClient,
    pub(super) tool: String,
    pub(super) wire: Arc<dyn Wire>,
    /// Whether a server may refuse the request before it has read its id.
    pub(super) is_large: bool,
    /// The number of the replica that was asked, where there are several.
    pub(super) replica: Option<String>,
    /// Held until the answer is there.
    pub(super) _turn: Arc<Turn>,
}

impl Routes {
    pub(super) fn take(&self, incoming: Incoming) {
        match incoming {
            Incoming::Message { message, head } => self.message(message, head.as_ref()),
            Incoming::Other { id, status, location, body } => {
                let Some(route) = lock(&self.open).remove(&id) else { return };
                let mut headers = route.headers(id);
                headers.insert(STATUS.to_owned(), status.to_string());
                headers.extend(location.map(|location| (LOCATION.to_owned(), location)));
                route.record(Kind::Response, headers, body);
            }
            Incoming::Lost { id, why } => self.fail(id, &why),
            Incoming::Noise(line) => self.note_noise(&line),
            Incoming::Closed(why) => self.close(why),
            Incoming::Exited(why) => {
                lock(&self.exited).get_or_insert_with(|| why.clone());
                self.close(why);
            }
        }
    }

    fn note_noise(&self, line: &str) {
        let mut noise = lock(&self.noise);
        if noise.len() < NOISE {
            noise.push(shorten_text(line));
        }
    }

    fn message(&self, message: Value, head: Option<&Head>) {
        if let Value::Array(batch) = message {
            return batch.into_iter().for_each(|message| self.message(message, head));
        }
        if message.get("method").is_some() {
            // A log may be JSON, and have a member `method`: that makes no message of it.
            if head.is_none() && message.get("jsonrpc").is_none() {
                return self.note_noise(&message.to_string());
            }
            if message.get("id").is_some()
                && let Some(requests) = &*lock(&self.requests)
            {
                // A server that asks more than that at once is not answered.
                let _ = requests.try_send(message);
            } else if self.writes_asides {
                self.aside(&message, head);
            }
            return;
        }
        // One that comes back as a text is answered all the same, and judged for that.
        let as_text = || message.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
        let id = message.get("id").and_then(integer).or_else(as_text);
        // An error need not have the id of a request that could not be read.
        let is_error = message.get("error").is_some();
        let unnamed = || head.map_or_else(|| self.one_large(), |head| Some(head.request));
        let Some(id) = id.or_else(|| is_error.then(unnamed).flatten()) else {
            // Nor is what has neither a method nor an id one.
            if head.is_none() && !is_error && message.get("id").is_none() {
                self.note_noise(&message.to_string());
            }
            return;
        };
        let Some(route) = lock(&self.open).remove(&id) else {
            // On a stream of its own an answer stands beside its request, and on standard output beside all of them.
            if head.is_none() && lock(&self.answered).contains(&id) {
                self.note_noise(&format!("a second answer to request {id}: {message}"));
            }
            return;
        };
        lock(&self.answered).insert(id);
        let mut headers = route.headers(id);
        if let Some(head) = head {
            headers.insert(HTTP_STATUS.to_owned(), head.status.to_string());
            headers.extend(head.session.clone().map(|session| (NAMED_SESSION.to_owned(), session)));
        }
        route.record(Kind::Response, headers, message);
    }

    /// The large request that is open, where it is the only one.
    fn one_large(&self) -> Option<i64> {
        let open = lock(&self.open);
        let mut large = open.iter().filter(|(_, route)| route.is_large);
        large.next().filter(|_| large.next().is_none()).map(|(id, _)| *id)
    }

    /// Writes down what a server sends of its own accord: with the request whose answer it stands in, or with all that
    /// are open where that cannot be seen.
    fn aside(&self, message: &Value, head: Option<&Head>) {
        let open = lock(&self.open);
        let beside = open.iter().filter(|(id, _)| head.is_none_or(|head| head.request == **id));
        for (id, route) in beside {
            let mut headers = BTreeMap::from([
                (SCENARIO.to_owned(), route.client.scenario.clone()),
                (BESIDE.to_owned(), id.to_string()),
            ]);
            headers.extend(route.replica.clone().map(|replica| (REPLICA.to_owned(), replica)));
            route.record(Kind::Request, headers, message.clone());
        }
    }

    fn close(&self, why: String) {
        self.notify_closed(&why);
        lock(&self.closed).get_or_insert(why);
    }

    pub(super) fn why_closed(&self) -> Option<String> {
        lock(&self.closed).clone()
    }

    pub(super) fn exited(&self) -> Option<String> {
        lock(&self.exited).clone()
    }

    pub(super) fn notify_closed(&self, why: &str) {
        let open: Vec<(i64, ServerRoute)> = lock(&self.open).drain().collect();
        for (id, route) in open {
            let headers = route.headers(id);
            route.record(Kind::Closed, headers, Value::from(why));
        }
    }

    pub(super) fn fail(&self, id: i64, why: &str) {
        if let Some(route) = lock(&self.open).remove(&id) {
            let headers = route.headers(id);
            route.record(Kind::Closed, headers, Value::from(why));
        }
    }
}

impl ServerRoute {
    fn headers(&self, id: i64) -> BTreeMap<String, String> {
        let replica = self.replica.clone().map(|replica| (REPLICA.to_owned(), replica));
        let own = [
            (SCENARIO.to_owned(), self.client.scenario.clone()),
            (CALL.to_owned(), id.to_string()),
            (TOOL.to_owned(), self.tool.clone()),
        ];
        own.into_iter().chain(replica).collect()
    }

    /// Writes down what arrives over the wire.
    pub(super) fn record(&self, kind: Kind, headers: BTreeMap<String, String>, body: Value) {
        let message =
            Message { direction: Direction::FromTarget, kind, channel: self.tool.clone(), headers, body };
        for message in self.wire.incoming(message) {
            self.client.transcript.record(measured(message));
        }
    }
}

/// Whether an answer says that the server, or what stands before it, is not ready yet.
pub(super) fn is_unavailable(frame: &Frame) -> bool {
    let status = frame.headers.get(STATUS).or_else(|| frame.headers.get(HTTP_STATUS));
    status.is_some_and(|status| matches!(status.as_str(), "429" | "502" | "503" | "504"))
}

/// Bytes of text from which on a request is large. Servers that bound a line or a body have bounds far above it.
const LARGE: usize = 64 * 1024;

/// Whether a request is large.
pub(super) fn is_large(body: &Value) -> bool {
    length(body) >= LARGE
}

/// Bytes of the texts of a value, and one for everything else in it.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(length).sum(),
        Value::Object(members) => members.iter().map(|(name, member)| name.len() + length(member)).sum(),
        _ => 1,
    }
}

/// A message that says how long its text and its structured content are, since a transcript keeps only the beginning of a long one.
pub(in crate::families::toolbus) fn measured(mut message: Message) -> Message {
    let text = match message.kind {
        Kind::Artifact => message.body.as_str(),
        _ => message.body.pointer("/result/content/0/text").and_then(Value::as_str),
    };
    let structured = message.body.pointer("/result/structuredContent").map(|own| own.to_string().len());
    let sizes = [(BYTES, text.map(str::len)), (STRUCTURED_BYTES, structured)];
    let sizes = sizes.map(|(name, size)| Some((name.to_owned(), size?.to_string())));
    message.headers.extend(sizes.into_iter().flatten());
    message
}
