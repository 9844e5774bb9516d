//! One scenario with an MCP server: its calls, and the I/O around them.
//!
//! What a scene does is call and wait; what it saw is judged elsewhere, from the transcript.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::answer;
use super::answer::Answer;
use super::call;
use super::call::{Filling, Markers, Probe};
use super::manifest::{OTHER_SESSION, SESSION_SCOPE, SessionHandle, Transport};
use super::modern::Deviation;
use super::revision::Era;
use super::server::{McpClient, Server};
use super::session::{Lease, RootKind, ToolbusSession};
use super::stdio::initialize;
use crate::engine::volatile;
use crate::transcript::{self, Frame, Transcript, shorten};

/// A call that is being prepared, or was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which probe it is for; none for a tool that does not exist.
    pub probe: Option<Probe>,
    /// `params.name`.
    pub tool: String,
    /// `params.arguments`.
    pub arguments: Map<String, Value>,
    /// Whether `params` has no `arguments` at all.
    pub is_bare: bool,
    /// What stands in place of its arguments, where that is no object.
    pub odd_arguments: Option<Value>,
    /// Whether its arguments were so long that a server may refuse it for that; they are not kept here then.
    pub is_long: bool,
    /// What the echo probe gives back.
    pub value: Value,
    /// Where it is stored, as the step named it, and the scope.
    pub stored: Option<(String, Option<String>)>,
    /// The key that `output` picks, where a step let the suite choose.
    pub picked: Option<String>,
    /// Calls that are made before it, each with its tool and its arguments.
    pub set_up: Vec<(String, Map<String, Value>)>,
    /// JSON Pointers into the envelope to what may differ between two answers.
    pub volatile: Vec<String>,
    /// The method of its request, where that is not `tools/call`.
    pub method: Option<String>,
    /// Where in a list its request reads on.
    pub cursor: Option<String>,
    /// What of the request MCP does not allow.
    pub deviation: Option<Deviation>,
}

impl Call {
    /// A call of a tool that no probe is for.
    pub fn of(tool: &str) -> Self {
        Self {
            probe: None,
            tool: tool.to_owned(),
            arguments: Map::new(),
            is_bare: false,
            odd_arguments: None,
            is_long: false,
            value: Value::Null,
            stored: None,
            picked: None,
            set_up: Vec::new(),
            volatile: Vec::new(),
            method: None,
            cursor: None,
            deviation: None,
        }
    }

    /// A request that calls no tool.
    pub fn asking(method: &str) -> Self {
        Self { is_bare: true, method: Some(method.to_owned()), ..Self::of(method) }
    }
}

/// Bytes of arguments that a server may refuse.
const LONG: usize = 32 * 1024;

/// A call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The call.
    pub call: Call,
    /// Id of its request.
    pub id: i64,
}

/// The state of one scenario.
pub struct Scene {
    /// The run's session.
    pub session: Arc<ToolbusSession>,
    /// Who calls.
    pub client: McpClient,
    /// The server.
    pub server: Arc<Server>,
    /// Its context root.
    pub root: Option<PathBuf>,
    /// Set where the server is the scenario's own.
    pub lease: Option<Lease>,
    /// Whether its calls move much data.
    pub is_large: bool,
    /// Held while they do.
    pub turn: Option<OwnedSemaphorePermit>,
    /// Its context root.
    pub kind: RootKind,
    /// The call that is being prepared.
    pub call: Option<Call>,
    /// The calls that were made, the last one being under test.
    pub made: Vec<Made>,
    /// Ends every id of the scenario.
    pub unique: String,
    /// Values that nobody may see.
    pub markers: Markers,
    /// The replica that is to get the next call, or the next look at the state, in place of the one whose turn it is.
    pub(super) aim: Option<usize>,
    /// Why a call could not be prepared by those that the manifest has made before it.
    pub unprepared: Option<String>,
    /// What names its session, and another one, where MCP has none; once they were opened.
    handles: [Option<Value>; 2],
    /// Whether the scenario sends what is no message, so that its own judgement says what a server's end means.
    pub(super) may_end: bool,
}

impl Scene {
    /// A scene with a server and nothing else in it.
    pub fn new(
        session: &Arc<ToolbusSession>,
        server: Arc<Server>,
        kind: RootKind,
        scenario: &str,
        transcript: Arc<Transcript>,
    ) -> Self {
        let unique = session.unique(scenario);
        Self {
            session: Arc::clone(session),
            root: transcript.record_external("root", || server.root.clone()),
            client: McpClient::new(unique.clone(), transcript, server.begin()),
            server,
            lease: None,
            is_large: false,
            turn: None,
            kind,
            call: None,
            made: Vec::new(),
            markers: Markers::new(&unique),
            unique,
            aim: None,
            unprepared: None,
            handles: [None, None],
            may_end: false,
        }
    }

    /// A call of a probe that the target declares.
    pub fn prepare(&self, probe: Probe, value: Value) -> Option<Call> {
        let table = probe.table(&self.session.table)?;
        // Of what is large there is one copy; who judges it looks at the ids.
        let kept = if self.is_large { Value::Null } else { value.clone() };
        let filling = self.filling(value, "", "", 1024);
        let set_up = call::set_up(&table, &filling);
        let arguments = call::arguments(probe, &table, filling);
        let volatile = table.volatile;
        Some(Call { probe: Some(probe), arguments, value: kept, set_up, volatile, ..Call::of(&table.tool) })
    }

    /// What the placeholders stand for.
    pub fn filling(&self, value: Value, key: &str, scope: &str, bytes: usize) -> Filling {
        Filling { value, key: key.to_owned(), scope: scope.to_owned(), bytes, markers: self.markers.clone() }
    }

    /// The id that stands for `id` in this scenario, unlike that of any other scenario or run. One of digits stays one, and
    /// so does a UUID, with hyphens or without.
    pub fn id(&self, id: &str) -> String {
        let prefix = &self.session.prefix;
        let begins = id.len().checked_sub(self.unique.len()).and_then(|end| id.get(..end));
        let is_digits = id.bytes().all(|byte| byte.is_ascii_digit());
        let is_uuid = id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        match begins {
            // Who chooses a prefix without a hyphen takes none in ids. Two that differ by that sign alone stay two.
            _ if !prefix.is_empty() && !prefix.contains('-') => {
                let joint = if id.contains('_') { "__" } else { "_" };
                format!("{prefix}{id}{joint}{}", self.unique).replace('-', "_")
            }
            _ if !prefix.is_empty() || id.is_empty() => format!("{prefix}{id}-{}", self.unique),
            _ if is_digits => format!("{id}{}", self.number()),
            Some(begins) if is_uuid && [32, 36].contains(&id.len()) => format!("{begins}{}", self.unique),
            _ => format!("{id}-{}", self.unique),
        }
    }

    /// The unique part of ids as digits.
    pub fn number(&self) -> String {
        let digits = u32::from_str_radix(self.unique.get(..8).unwrap_or_default(), 16).unwrap_or_default();
        format!("{digits:010}")
    }

    /// Makes a call and waits for its answer.
    pub async fn make(&mut self, call: Call) -> Made {
        let is_large = self.is_large;
        let mut call = call;
        self.take_aim();
        self.set_up(&call).await;
        if self.session.era == Era::Modern && call.arguments.contains_key("store_as") {
            // The default of a server may be a scope that needs a session.
            if let Some(scope) = self.session.table.scopes.first() {
                call.arguments.entry("store_scope").or_insert_with(|| Value::from(scope.clone()));
            }
            if let Some(Value::String(scope)) = call.arguments.get("store_scope").cloned() {
                let scope = self.enter(&scope, &mut call.arguments).await;
                call.arguments.insert("store_scope".to_owned(), Value::from(scope));
            }
        }
        if call.probe == Some(Probe::State)
            && let Some(scope) = self.session.table.scopes.first().cloned()
        {
            self.enter(&scope, &mut call.arguments).await;
        }
        let arguments = if is_large { std::mem::take(&mut call.arguments) } else { call.arguments.clone() };
        if is_large {
            call.is_long = serde_json::to_vec(&arguments).is_ok_and(|bytes| bytes.len() > LONG);
            let ids = arguments.iter().filter(|(name, _)| name.ends_with("_id"));
            call.arguments = ids.map(|(name, id)| (name.clone(), id.clone())).collect();
        }
        let mut body = match &call.method {
            Some(method) if method == "initialize" => initialize(),
            Some(method) => json!({"jsonrpc": "2.0", "method": method, "params": {}}),
            None => json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": call.tool}}),
        };
        if let Some(cursor) = &call.cursor {
            body["params"]["cursor"] = Value::from(cursor.clone());
        }
        if !call.is_bare {
            // Moved, since `json!` copies, and they may be megabytes.
            body["params"]["arguments"] = Value::Object(arguments);
        }
        if let Some(odd) = &call.odd_arguments {
            body["params"]["arguments"] = odd.clone();
        }
        let patience = if is_large || call.probe == Some(Probe::Large) { 4 } else { 1 };
        self.take_aim();
        self.aim = None;
        let id = self.send(&call, body, patience).await;
        let made = Made { call, id };
        self.made.push(made.clone());
        made
    }

    /// Makes a call so many times, all of them before one is answered, unless the server does one thing at a time.
    pub async fn make_at_once(&mut self, call: &Call, times: usize) {
        if self.session.table.serial {
            for _ in 0..times {
                self.make(call.clone()).await;
            }
            return;
        }
        self.set_up(call).await;
        let params = json!({"name": call.tool, "arguments": call.arguments});
        let body = json!({"jsonrpc": "2.0", "method": "tools/call", "params": params});
        let patience = self.session.timeouts.answer;
        let ids = self.server.ask_at_once(&self.client, &call.tool, &body, times, patience).await;
        self.made.extend(ids.into_iter().map(|id| Made { call: call.clone(), id }));
    }

    /// Makes the calls without which this one has nothing to work on, in the order of the manifest.
    async fn set_up(&mut self, call: &Call) {
        for (tool, arguments) in &call.set_up {
            let body = json!({"jsonrpc": "2.0", "method": "tools/call",
                              "params": {"name": tool, "arguments": arguments}});
            let id = self.server.ask(&self.client, tool, body, None, self.session.timeouts.answer).await;
            let answer = self.client.transcript.with(|frames| answer::of(frames, id));
            if answer.is_failure() {
                let shown = shorten(&answer.shown());
                self.unprepared =
                    Some(format!("the call of `{tool}` that `before` names is refused: {shown}"));
            }
        }
    }

    /// Has a call name the session whose scope it is about, where MCP has none. The scope as the server knows it.
    async fn enter(&mut self, scope: &str, arguments: &mut Map<String, Value>) -> String {
        let number = match scope {
            SESSION_SCOPE => 0,
            OTHER_SESSION => 1,
            _ => return scope.to_owned(),
        };
        if self.session.era == Era::Modern
            && let Some(handle) = self.session.table.session_handle.clone()
            && let Some(own) = self.handle(number, &handle).await
        {
            arguments.insert(handle.argument, own);
        }
        SESSION_SCOPE.to_owned()
    }

    /// What names a session of this scenario; it is opened the first time.
    async fn handle(&mut self, number: usize, handle: &SessionHandle) -> Option<Value> {
        if self.handles[number].is_none() {
            let body = json!({"jsonrpc": "2.0", "method": "tools/call",
                              "params": {"name": handle.tool, "arguments": {}}});
            let patience = self.session.timeouts.answer;
            let id = self.server.ask(&self.client, &handle.tool, body, None, patience).await;
            let answer = self.client.transcript.with(|frames| answer::of(frames, id));
            let pointer = format!("{}{}", self.session.result_pointer, handle.pointer);
            let found = answer.readable().ok().and_then(|envelope| envelope.pointer(&pointer).cloned());
            let found = found.filter(|found| found.is_string() || found.is_number());
            if found.is_none() {
                self.unprepared = Some(format!(
                    "the call of `{}` that `session_handle` names returned no handle at `{pointer}`: {}",
                    handle.tool,
                    shorten(&answer.shown())
                ));
            }
            self.handles[number] = found;
        }
        self.handles[number].clone()
    }

    /// Calls of harmless probes, each with an argument that the server wants repeated in a header, that header and its
    /// value. The arguments are those that `suits`.
    pub fn calls_with_marked_arguments(&self, suits: impl Fn(&Value) -> bool) -> Vec<(Call, String, String)> {
        let value = json!({"note": "marked"});
        let works = |probe: &Probe| !matches!(self.session.baseline(*probe), Some(Err(_)));
        let is_harmless = |probe: &Probe| !matches!(probe, Probe::Invalid | Probe::Fail | Probe::BreakGlass);
        let marked = |probe: Probe| {
            let call = self.prepare(probe, value.clone());
            let headers =
                call.map(|call| self.server.listed.headers_of_arguments(&call.tool, &call.arguments, &suits));
            headers.into_iter().flatten().map(move |(header, sent)| (probe, header, sent))
        };
        let find = || {
            let probes = Probe::ALL.into_iter().filter(|probe| works(probe) && is_harmless(probe));
            probes.flat_map(marked).collect::<Vec<_>>()
        };
        let found = self.client.transcript.record_external("marked arguments", find);
        let calls = found
            .into_iter()
            .filter_map(|(probe, header, sent)| Some((self.prepare(probe, value.clone())?, header, sent)));
        calls.collect()
    }

    /// A call of a harmless probe without the first argument that its tool requires, and the name of that.
    pub fn call_without_required_argument(&self) -> Option<(Call, String)> {
        let probes = [Probe::Other(0), Probe::Other(1), Probe::Other(2), Probe::Echo];
        let lacking = |probe: Probe| {
            let call = self.prepare(probe, Value::Null)?;
            Some((probe, self.server.listed.required(&call.tool, &call.arguments)?))
        };
        let find = || probes.into_iter().find_map(lacking);
        let (probe, argument) = self.client.transcript.record_external("required argument", find)?;
        let mut call = self.prepare(probe, Value::Null)?;
        call.arguments.shift_remove(&argument);
        Some((call, argument))
    }

    /// Writes down what the server put on its standard output and is no message.
    pub async fn show_noise(&self) {
        transcript::sleep_unless_replaying(self.session.timeouts.settle_window).await;
        self.server.show_noise(&self.client);
    }

    /// Sends the request of a call and waits for what comes. What does not come is for the judgement to report.
    async fn send(&self, call: &Call, body: Value, patience: u32) -> i64 {
        let mut patience = self.session.timeouts.answer * patience;
        if self.server.is_unasked() {
            // It is just starting.
            patience += self.session.start_timeout();
        }
        self.server.ask(&self.client, &call.tool, body, call.deviation.as_ref(), patience).await
    }

    /// Sends a text that is no message.
    pub async fn send_text(&mut self, text: &str) {
        self.may_end = true;
        self.server.send_aside(&self.client, "text", Value::from(text)).await;
    }

    /// Says that the answer to a request is no longer wanted. Over HTTP, MCP has a client close the stream for that where it
    /// has no sessions, so nothing is sent there.
    pub async fn cancel(&self, id: i64) {
        // As the manifest says it: a run that is judged again has no connection.
        if self.session.era == Era::Modern && self.session.table.transport() == Transport::Http {
            return;
        }
        let method = "notifications/cancelled";
        let params = json!({"requestId": id, "reason": "it came late"});
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.server.send_aside(&self.client, method, body).await;
    }

    /// Sends a request by an HTTP method that is not POST.
    pub async fn ask_by(&mut self, method: &'static str) {
        let id = self.server.request_by(&self.client, method).await;
        let _ = self.server.answer(&self.client, id, self.session.timeouts.answer).await;
        self.made.push(Made { call: Call::asking(method), id });
    }

    /// Sends `tools/call` with these parameters, and gives a valid call after it the time to be answered.
    pub async fn send_params(&mut self, params: Value) -> Option<Made> {
        let call = self.prepare(Probe::Echo, Value::Null)?;
        let body = json!({"jsonrpc": "2.0", "method": "tools/call", "params": params});
        let id = self.server.request(&self.client, &call.tool, body).await;
        let sentinel = self.prepare(Probe::Echo, json!({"note": "sentinel"}))?;
        let sentinel = self.make(sentinel).await;
        // The answer may be a moment behind that of the sentinel.
        self.server.late_answer(&self.client, id, self.session.timeouts.settle_window).await;
        let made = Made { call, id };
        self.made.insert(self.made.len() - 1, made);
        Some(sentinel)
    }

    /// Makes a call that is not under test, as a sign of what the server does.
    pub async fn try_out(&mut self, call: Call) -> Made {
        let made = self.make(call).await;
        self.made.pop();
        made
    }

    /// Whether a result that is stored now is read back. `scope` is the `store_scope` of the call that stores, where it
    /// has one, and `read_from` the scope of the reader.
    ///
    /// # Errors
    /// The answer, where it is none of the reader's.
    pub async fn is_read_back(&mut self, scope: Option<&str>, read_from: &str) -> Result<bool, Answer> {
        let (key, value) = (self.id("sign-key"), json!({"sign": self.id("sign")}));
        let Some(mut call) = self.prepare(Probe::Echo, value.clone()) else { return Ok(false) };
        let pointers = call.volatile.clone();
        call.arguments.insert("store_as".to_owned(), Value::from(key.clone()));
        if let Some(scope) = scope {
            call.arguments.insert("store_scope".to_owned(), Value::from(scope));
        }
        self.try_out(call).await;
        let (read, _) = self.read_state(&key, read_from).await?;
        let lasting = |read| volatile::without_below(read, &pointers, &self.session.result_pointer);
        Ok(read.is_some_and(|read| answer::find(&lasting(read), &value).is_some()))
    }

    /// Reads the state; `Ok(None)` when it holds nothing.
    ///
    /// # Errors
    /// The answer, where it is none of the reader's.
    pub async fn read_state(&mut self, key: &str, scope: &str) -> Result<(Option<Value>, i64), Answer> {
        let Some(table) = Probe::State.table(&self.session.table) else { return Err(Answer::Missing) };
        let mut named = Map::new();
        self.take_aim();
        let scope = self.enter(scope, &mut named).await;
        let filling = self.filling(Value::Null, key, &scope, 0);
        let set_up = call::set_up(&table, &filling);
        self.set_up(&Call { set_up, ..Call::of(&table.tool) }).await;
        let mut arguments = call::arguments(Probe::State, &table, filling);
        arguments.extend(named);
        let body = json!({"jsonrpc": "2.0", "method": "tools/call",
                          "params": {"name": table.tool, "arguments": arguments}});
        self.take_aim();
        self.aim = None;
        let id = self.server.ask(&self.client, &table.tool, body, None, self.session.timeouts.answer).await;
        let answer = self.client.transcript.with(|frames| answer::of(frames, id));
        match &answer {
            Answer::Error(_) | Answer::ToolError(_) => Ok((None, id)),
            Answer::Success(_) => {
                let pointer =
                    format!("{}{}", self.session.result_pointer, self.session.table.value_pointer());
                let envelope = answer.readable().map_err(|_| answer.clone())?;
                let value = envelope.pointer(&pointer).filter(|value| !value.is_null()).cloned();
                Ok((value, id))
            }
            _ => Err(answer),
        }
    }

    /// Ends the server and starts one that finds what it left.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn restart(&mut self) -> Result<(), String> {
        let lease = self.lease.as_mut().ok_or("the server is not the scenario's own")?;
        self.session.restart(lease).await?;
        self.handles = [None, None];
        self.server = Arc::clone(&lease.server);
        Ok(())
    }

    /// Everything that was sent and received.
    pub fn frames(&self) -> Vec<Frame> {
        self.client.transcript.frames()
    }
}
