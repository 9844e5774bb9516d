//! One connection to an MCP server: how it is opened, and what is sent over it. `routes` takes what comes back.

mod aside;
mod client;
mod connections;
mod handshake;
mod routes;
mod tools;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use callmark_reports::record::Direction;
use serde_json::Value;
use tempfile::TempDir;

pub use self::client::McpClient;
pub(super) use self::connections::Connect;
use self::connections::{Connection, Connections};
use self::routes::ServerRoute;
pub(super) use self::routes::measured;
use self::tools::ListedArguments;
use super::answer::integer;
use super::link::HandLine;
use super::modern::{self, Deviation, HEADER_MISMATCH};
use super::revision::Era;
use super::wire_format::{OPENING, STDOUT};
use crate::net::outbound::Outbound;
use crate::net::wire::{CALL, REPLICA, SCENARIO, TOOL, Wire};
use crate::transcript::{Frame, Kind, Message, lock};

/// How often a call is sent again with the state that the server gave.
const ROUND_TRIPS: usize = 3;

/// Pages of the list of tools that are read.
pub(super) const PAGES: usize = 64;
/// Header under which an artifact names the kind of its context root.
pub const ROOT: &str = "root";

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// With the handshake of its era: `initialize`, or `server/discover` and the list of tools.
    Greeted,
    /// With nothing: the first request is the scenario's, which in the legacy era is `initialize`.
    Unasked,
}

/// What a connection is opened with, whatever it leads to.
pub(super) struct ServerPlan {
    /// The era that is spoken.
    pub(super) era: Era,
    /// How it begins.
    pub(super) opening: Opening,
    /// Numbers of requests.
    pub(super) ids: Arc<AtomicI64>,
    /// What messages cross.
    pub(super) wire: Arc<dyn Wire>,
    /// For the server to answer.
    pub(super) deadline: Duration,
    /// When requests may leave.
    pub(super) outbound: Arc<Outbound>,
}

/// A server: one process that is connected with, or its replicas.
pub struct Server {
    connections: Connections,
    wire: Arc<dyn Wire>,
    outbound: Arc<Outbound>,
    ids: Arc<AtomicI64>,
    era: Era,
    opening: Opening,
    /// Arguments of its tools, as it lists them.
    pub(super) listed: ListedArguments,
    /// Its context root, where there is one that this machine can read.
    pub root: Option<PathBuf>,
    /// Its private directory, where the manifest asks for one: it is gone with the last server that has it.
    pub(super) private: Option<Arc<TempDir>>,
    /// Names of its tools, as it lists them.
    pub tools: Vec<String>,
    /// The revision of MCP that is spoken with it.
    pub revision: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Server {
    /// Opens a session of the legacy era, or finds out that the server is a modern one; with each of its replicas, where it
    /// has several. Each of `connects` makes one link.
    ///
    /// # Errors
    /// Why it cannot be spoken with.
    pub(super) async fn open(
        connects: Vec<Connect>,
        root: Option<PathBuf>,
        plan: ServerPlan,
    ) -> Result<Self, String> {
        let ServerPlan { era, opening, ids, wire, deadline, outbound } = plan;
        let connections = Connections::open(connects, era == Era::Modern)?;
        let mut server = Self { connections, wire, outbound, ids, era, opening, root, ..Self::offline(era) };
        match server.begin_all(deadline).await {
            Ok(()) => Ok(server),
            Err(error) => {
                server.close().await;
                Err(error)
            }
        }
    }

    /// A server that nobody runs, for a run that is judged again.
    pub(super) fn offline(era: Era) -> Self {
        Self {
            connections: Connections::offline(),
            wire: Arc::new(crate::net::wire::PassthroughWire),
            outbound: Arc::default(),
            ids: Arc::default(),
            era,
            opening: Opening::Greeted,
            listed: ListedArguments::default(),
            root: None,
            private: None,
            tools: Vec::new(),
            revision: String::new(),
        }
    }

    /// The turn at which a client begins: among several replicas, each begins at the next one.
    pub(super) fn begin(&self) -> usize {
        self.connections.begin()
    }

    /// Where the next request of a client goes. A session is that of one process; where there is none, each request goes to
    /// the next replica, so that what depends on an earlier one meets another replica than that did.
    fn connection(&self, client: &McpClient) -> &Connection {
        self.connections.at(match self.era {
            Era::Legacy => client.turn.load(Ordering::Relaxed),
            Era::Modern => client.turn.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Whether it was sent nothing before the scenario.
    pub(super) fn is_unasked(&self) -> bool {
        self.opening == Opening::Unasked
    }

    /// The headers that a message of the suite's has.
    fn headers_of(&self, body: &Value, deviation: Option<&Deviation>) -> BTreeMap<String, String> {
        if self.era == Era::Modern && self.connections.has_headers() {
            return modern::headers(body, &self.listed.marks, deviation);
        }
        BTreeMap::new()
    }

    /// Sends a request and waits for its answer; returns the id of the one that was answered last. What does not come is
    /// for the judgement to report.
    ///
    /// A server may keep its state of a call with the client, which sends the call again with it (MCP 2026-07-28, Multi
    /// round-trip requests).
    pub async fn ask(
        &self,
        client: &McpClient,
        tool: &str,
        body: Value,
        deviation: Option<&Deviation>,
        patience: Duration,
    ) -> i64 {
        let again = (self.era == Era::Modern).then(|| body.clone());
        let id = self.request_with(client, tool, body, deviation).await;
        self.follow(client, tool, again, deviation, id, patience).await
    }

    /// As [`Server::ask`], so many times: all requests leave before an answer is waited for.
    pub async fn ask_at_once(
        &self,
        client: &McpClient,
        tool: &str,
        body: &Value,
        times: usize,
        patience: Duration,
    ) -> Vec<i64> {
        let mut ids = Vec::new();
        for _ in 0..times {
            ids.push(self.request(client, tool, body.clone()).await);
        }
        let began = Instant::now();
        for id in &mut ids {
            let again = (self.era == Era::Modern).then(|| body.clone());
            let left = patience.saturating_sub(began.elapsed());
            *id = self.follow(client, tool, again, None, *id, left).await;
        }
        ids
    }

    /// Waits for the answer to request `id`, and sends the request again with the state that it returns.
    async fn follow(
        &self,
        client: &McpClient,
        tool: &str,
        again: Option<Value>,
        deviation: Option<&Deviation>,
        mut id: i64,
        patience: Duration,
    ) -> i64 {
        let _ = self.answer(client, id, patience).await;
        for mut body in std::iter::repeat_n(again, ROUND_TRIPS).flatten() {
            let state = client.transcript.with(|frames| modern::state_to_return(frames, id));
            let Some(state) = state else { break };
            body["params"]["requestState"] = state;
            id = self.request_with(client, tool, body, deviation).await;
            let _ = self.answer(client, id, patience).await;
        }
        id
    }

    /// Sends a request and writes it down; the answer is written down when it comes.
    /// Its `id` is the server's to choose.
    pub async fn request(&self, client: &McpClient, tool: &str, body: Value) -> i64 {
        self.request_with(client, tool, body, None).await
    }

    /// As [`Server::request`], with something that MCP does not allow.
    pub async fn request_with(
        &self,
        client: &McpClient,
        tool: &str,
        mut body: Value,
        deviation: Option<&Deviation>,
    ) -> i64 {
        match (self.era, deviation) {
            (Era::Modern, _) => {
                body = modern::with_meta(body);
                if let Some(deviation) = deviation {
                    modern::deviate(&mut body, deviation);
                }
            }
            // Only `initialize` names a revision in this era.
            (Era::Legacy, Some(Deviation::Version(version))) => {
                body["params"]["protocolVersion"] = Value::from(version.clone());
            }
            (Era::Legacy, _) => {}
        }
        let turn = Arc::new(self.outbound.turn().await);
        let own = self.connection(client);
        let id = client.transcript.record_external("id", || self.ids.fetch_add(1, Ordering::Relaxed));
        body["id"] = Value::from(id);
        let mut headers = self.headers_of(&body, deviation);
        headers.extend([
            (SCENARIO.to_owned(), client.scenario.clone()),
            (CALL.to_owned(), id.to_string()),
            (TOOL.to_owned(), tool.to_owned()),
        ]);
        headers.extend(own.replica.clone().map(|replica| (REPLICA.to_owned(), replica)));
        if self.is_unasked() {
            headers.insert(OPENING.to_owned(), "none".to_owned());
        }
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::Request,
            channel: body["method"].as_str().unwrap_or_default().to_owned(),
            headers,
            body,
        };
        client.transcript.record_copy(&message);
        let route = ServerRoute {
            client: client.clone(),
            tool: tool.to_owned(),
            wire: Arc::clone(&self.wire),
            is_large: routes::is_large(&message.body),
            replica: own.replica.clone(),
            _turn: turn,
        };
        lock(&own.routes.open).insert(id, route);
        if let Some(why) = own.routes.why_closed() {
            own.routes.notify_closed(&why);
            return id;
        }
        for message in self.wire.outgoing(message) {
            let headers = modern::sent_headers(&message.headers);
            if let Err(error) = own.link.send(message.body, headers).await {
                let why = own.routes.why_closed().unwrap_or(error);
                own.routes.fail(id, &why);
                return id;
            }
        }
        id
    }

    /// Sends a request with an HTTP method that is not POST, and writes it down as [`Server::request`] does.
    pub(super) async fn request_by(&self, client: &McpClient, method: &'static str) -> i64 {
        let turn = Arc::new(self.outbound.turn().await);
        let own = self.connection(client);
        let id = client.transcript.record_external("id", || self.ids.fetch_add(1, Ordering::Relaxed));
        let mut headers = BTreeMap::from([
            (SCENARIO.to_owned(), client.scenario.clone()),
            (CALL.to_owned(), id.to_string()),
            (TOOL.to_owned(), method.to_owned()),
        ]);
        headers.extend(own.replica.clone().map(|replica| (REPLICA.to_owned(), replica)));
        let (direction, kind) = (Direction::ToTarget, Kind::Request);
        client.transcript.record_copy(&Message {
            direction,
            kind,
            channel: method.to_owned(),
            headers,
            body: Value::Null,
        });
        let route = ServerRoute {
            client: client.clone(),
            tool: method.to_owned(),
            wire: Arc::clone(&self.wire),
            is_large: false,
            replica: own.replica.clone(),
            _turn: turn,
        };
        lock(&own.routes.open).insert(id, route);
        own.link.send_method(method, id);
        id
    }

    /// Writes down what stood on standard output so far and was no message.
    pub(super) fn show_noise(&self, client: &McpClient) {
        let noise = self.connections.iter().map(|own| std::mem::take(&mut *lock(&own.routes.noise)));
        for line in noise.flatten() {
            let route = ServerRoute {
                client: client.clone(),
                tool: STDOUT.to_owned(),
                wire: Arc::clone(&self.wire),
                is_large: false,
                replica: None,
                _turn: Arc::default(),
            };
            let headers = BTreeMap::from([(SCENARIO.to_owned(), client.scenario.clone())]);
            route.record(Kind::Request, headers, Value::from(line));
        }
    }

    /// Waits for the answer to request `id`, or for the end of the server.
    pub async fn answer(&self, client: &McpClient, id: i64, deadline: Duration) -> Option<Frame> {
        client.transcript.wait(deadline, |frames| answer_to(frames, id).cloned()).await
    }

    /// As [`Server::answer`], for an answer that need not come.
    pub async fn late_answer(&self, client: &McpClient, id: i64, window: Duration) {
        client.transcript.linger(window, |frames| answer_to(frames, id).map(|_| ())).await;
    }

    /// A command line that sends a request by hand.
    pub fn by_hand(&self) -> HandLine {
        self.connections.at(0).link.by_hand(!self.is_unasked())
    }

    /// Waits no longer for the answer to request `id`.
    pub(super) fn forget(&self, id: i64) {
        for own in self.connections.iter() {
            lock(&own.routes.open).remove(&id);
        }
    }

    /// Whether this error says of a call of the tool, wrongly, that headers and body do not agree. Where the list does not
    /// show which headers to send, it may be right.
    pub(super) fn refuses_right_headers(&self, tool: &str, error: &Value) -> bool {
        let is_mismatch = error.get("code").and_then(integer) == Some(HEADER_MISMATCH);
        is_mismatch
            && self.era == Era::Modern
            && self.connections.has_headers()
            && self.listed.shows_headers(tool)
    }

    /// Whether it owes an answer.
    pub fn owes(&self) -> bool {
        self.connections.iter().any(|own| !lock(&own.routes.open).is_empty())
    }

    /// Why the server answers no more.
    pub fn why_closed(&self) -> Option<String> {
        self.connections.why_closed()
    }

    /// How the server's process ended, where the suite started it, agreed on a session with it and has not asked it to end.
    /// Before that a server may end: it has been asked for what it cannot serve.
    pub fn exited(&self) -> Option<String> {
        self.connections.exited().filter(|_| !self.is_unasked())
    }

    /// Ends the session, and the server where the suite started it.
    pub async fn close(&self) {
        self.connections.close().await;
    }
}

/// What came of request `id`.
fn answer_to(frames: &[Frame], id: i64) -> Option<&Frame> {
    let call = id.to_string();
    frames
        .iter()
        .find(|frame| frame.direction == Direction::FromTarget && frame.headers.get(CALL) == Some(&call))
}
