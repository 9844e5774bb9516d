//! Exercises over HTTP: a Hub and an MCP server answer through a proxy, with the faults of a mutant where there is one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callmark_reference::hub::provider::StandIn;
use callmark_reference::hub::{Hub, HubConfig, fixtures};
use callmark_reference::toolbus;
use callmark_reports::record::Direction;
use callmark_suite::net::wire::{CALL, PassthroughWire, SCENARIO, STATUS, TOOL, Wire};
use callmark_suite::transcript::{Kind, Message};
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::bus::Program;
use super::calls::{hub_calls, mcp_calls};
use super::{Watched, Workload};
use crate::port;

const SECRET: &str = "secret-of-the-exercise";
const START_DEADLINE: Duration = Duration::from_secs(20);
/// Header of an MCP frame with the status of its answer.
const HTTP_STATUS: &str = "http-status";
/// Header with the session of an MCP client.
const SESSION: &str = "mcp-session-id";

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// The reference's Hub.
    Hub,
    /// The Hub of the Python example.
    PythonHub,
    /// The reference's MCP server, with sessions.
    Legacy,
    /// The same without.
    Modern,
}

/// An answer; names of headers in lower case.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// A server, and what stands before it.
pub(super) struct Http {
    served: Served,
    /// `host:port` of the server.
    address: String,
    wire: Arc<Mutex<Arc<dyn Wire>>>,
    /// Where the faults are made; nowhere where the server is asked directly.
    front: Option<MockServer>,
    _runtime: tokio::runtime::Runtime,
    _parts: Parts,
}

/// What has to live as long.
#[expect(dead_code, reason = "they end when they are dropped")]
enum Parts {
    Hub(Hub, StandIn),
    Program(Program),
    Bus(toolbus::HttpServer),
}

impl Http {
    /// Starts the server; without anything before it where it is `direct`.
    pub(super) fn start(kind: Served, direct: bool) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (address, parts) = runtime.block_on(serve(kind));
        let wire: Arc<Mutex<Arc<dyn Wire>>> = Arc::new(Mutex::new(Arc::new(PassthroughWire)));
        let front = (!direct).then(|| {
            let faulty = Faulty {
                served: kind,
                address: address.clone(),
                wire: Arc::clone(&wire),
                calls: AtomicUsize::new(0),
            };
            runtime.block_on(async {
                let server = MockServer::builder().disable_request_recording().start().await;
                Mock::given(any()).respond_with(faulty).mount(&server).await;
                server
            })
        });
        Self { served: kind, address, wire, front, _runtime: runtime, _parts: parts }
    }
}

async fn serve(kind: Served) -> (String, Parts) {
    let any = ([127, 0, 0, 1], 0).into();
    match kind {
        Served::Hub => {
            let provider = StandIn::start(any).await.expect("a provider");
            let mut config = HubConfig::new(SECRET, &provider.url());
            // One fixture has a limit of its own.
            config.limits.allowance.calls = u32::MAX;
            let hub = Hub::start(config, any).await.expect("a Hub");
            (hub.url().replace("http://", ""), Parts::Hub(hub, provider))
        }
        Served::PythonHub => {
            let address = port::reserved().to_string();
            let own = [("CALLMARK_LISTEN", &*address), ("CALLMARK_HUB_SECRET", SECRET)];
            let program = Program::start("python-hub/hub.py", &own);
            let began = Instant::now();
            while TcpStream::connect(&address).is_err() {
                assert!(began.elapsed() < START_DEADLINE, "the Hub does not listen");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            (address, Parts::Program(program))
        }
        Served::Legacy | Served::Modern => {
            let config = toolbus::Config::from_env();
            let server = toolbus::HttpServer::start(config, any).await.expect("an MCP server");
            let address = server.url().replace("http://", "").replace("/mcp", "");
            (address, Parts::Bus(server))
        }
    }
}

impl Workload for Http {
    fn put_between(&mut self, wire: Arc<dyn Wire>) {
        *self.wire.lock().expect("a wire") = wire;
    }

    fn watch(&self, _: usize, report: &Path) -> Watched {
        let to = self.front.as_ref().map_or_else(|| format!("http://{}", self.address), MockServer::uri);
        let protocol = if self.served.is_hub() { "hub" } else { "toolbus" };
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-hub/callmark.toml");
        let manifest = manifest.display().to_string();
        let by =
            if self.served == Served::PythonHub { vec!["--target", &manifest] } else { vec!["--bundled"] };
        let own = ["--protocol", protocol, "--listen", "127.0.0.1:0", "--to", &to, "--report"];
        Watched::start(&[&["proxy"], &*by, &own].concat(), report, "listening http://")
    }

    fn exercise(&mut self, number: usize, proxy: &str) {
        match self.served {
            Served::Hub => hub_calls(proxy, SECRET, number, fixtures::CONNECTED, fixtures::NOT_CONNECTED),
            Served::PythonHub => {
                let [connected, other] =
                    ["7d0c2a5e-41b9-4f0e-8a53-9be1c60f3d21", "e2b86f14-9c3d-4a77-b1d8-05f7a94c6e32"];
                hub_calls(proxy, SECRET, number, connected, other);
            }
            Served::Legacy => mcp_calls(proxy, false),
            Served::Modern => mcp_calls(proxy, true),
        }
    }
}

impl Served {
    fn is_hub(self) -> bool {
        matches!(self, Self::Hub | Self::PythonHub)
    }
}

/// Answers as the server does, with the faults of a wire.
struct Faulty {
    served: Served,
    address: String,
    wire: Arc<Mutex<Arc<dyn Wire>>>,
    calls: AtomicUsize,
}

impl Respond for Faulty {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let wire = Arc::clone(&self.wire.lock().expect("a wire"));
        let call = self.calls.fetch_add(1, Ordering::Relaxed).to_string();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let received: BTreeMap<String, String> = request
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect();
        let named = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (asks, answers, tool) = if self.served.is_hub() {
            (Kind::HubRequest, Kind::HubResponse, named("/tool").to_owned())
        } else {
            (Kind::Request, Kind::Response, named("/params/name").to_owned())
        };
        let path = request.url.path().to_owned();
        let mut headers: BTreeMap<String, String> = [(SCENARIO, call.clone()), (CALL, call), (TOOL, tool)]
            .map(|(name, own)| (name.to_owned(), own))
            .into();
        headers.extend(customer(named("/customer_id"), &path));
        let message = |direction, kind, headers: &BTreeMap<String, String>, body: Value| Message {
            direction,
            kind,
            channel: if self.served.is_hub() {
                format!("{} {path}", request.method)
            } else {
                named("/method").to_owned()
            },
            headers: headers.clone(),
            body,
        };
        // Only calls of a tool cross the wire: what begins a session is as it is.
        let is_call = self.served.is_hub() || named("/method") == "tools/call";
        let (mut asked, mut forwarded) = (body.clone(), received.clone());
        if is_call {
            let mut sent = headers.clone();
            let own = ["authorization", "content-type"].into_iter();
            sent.extend(own.filter_map(|name| Some((name.to_owned(), received.get(name)?.clone()))));
            let out = wire.outgoing(message(Direction::ToTarget, asks, &sent, body.clone()));
            if let Some(own) = out.into_iter().find(|own| own.kind == asks) {
                forwarded.extend(
                    own.headers.get_key_value("authorization").map(|(name, to)| (name.clone(), to.clone())),
                );
                asked = own.body;
            }
        }
        let payload = if asked == body { request.body.clone() } else { asked.to_string().into_bytes() };
        let given = ask(&self.address, request.method.as_str(), &path, &forwarded, &payload);
        let Some(shown) = is_call.then(|| given.json()).flatten() else { return template(&given) };
        let status = if self.served.is_hub() { STATUS } else { HTTP_STATUS };
        headers.insert(status.to_owned(), given.status.to_string());
        for name in ["content-type", "retry-after", SESSION] {
            headers.extend(given.headers.get(name).map(|own| (name.to_owned(), own.clone())));
        }
        let before = message(Direction::FromTarget, answers, &headers, shown);
        let out = wire.incoming(before.clone());
        if let [own] = out.as_slice()
            && *own == before
        {
            return template(&given);
        }
        // What the fault has sent beside the answer comes before it, as events of one stream.
        if out.len() > 1 {
            let mut events = String::new();
            for own in &out {
                // A text takes what is written to it.
                let _ = write!(events, "data: {}\n\n", own.body);
            }
            return ResponseTemplate::new(given.status).set_body_raw(events, "text/event-stream");
        }
        out.first().map_or_else(|| template(&given), |after| template(&given.changed(after, status)))
    }
}

/// The header that names a customer of the reference, by the id in a request or in its path.
fn customer(id: &str, path: &str) -> Option<(String, String)> {
    let own = fixtures::ALL.into_iter().find(|own| own.id == id || path.contains(own.id))?;
    Some(("customer".to_owned(), own.name.to_owned()))
}

impl Given {
    /// The JSON of the body, or of the last event of a stream.
    pub(super) fn json(&self) -> Option<Value> {
        let text = std::str::from_utf8(&self.body).ok()?;
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let own = events.rfind(|data| !data.trim().is_empty()).unwrap_or(text);
        serde_json::from_str(own).ok()
    }

    fn changed(&self, message: &Message, status: &str) -> Self {
        let mut headers = self.headers.clone();
        headers.insert("content-type".to_owned(), "application/json".to_owned());
        for name in ["content-type", "retry-after", SESSION] {
            match message.headers.get(name) {
                Some(value) if !value.starts_with("text/event-stream") => {
                    headers.insert(name.to_owned(), value.clone());
                }
                Some(_) => {}
                None => {
                    headers.remove(name);
                }
            }
        }
        let given = message.headers.get(status).and_then(|own| own.parse().ok());
        let body = message.body.as_str().map_or_else(|| message.body.to_string(), str::to_owned);
        Self { status: given.unwrap_or(self.status), headers, body: body.into_bytes() }
    }
}

fn template(given: &Given) -> ResponseTemplate {
    let kind = given.headers.get("content-type").cloned().unwrap_or_default();
    let mut template = ResponseTemplate::new(given.status);
    for name in ["retry-after", SESSION] {
        if let Some(value) = given.headers.get(name) {
            template = template.insert_header(name, value.as_str());
        }
    }
    if given.body.is_empty() { template } else { template.set_body_raw(given.body.clone(), &kind) }
}

/// Sends a request on a connection of its own, and reads what comes back.
pub(super) fn ask(
    address: &str,
    method: &str,
    path: &str,
    headers: &BTreeMap<String, String>,
    body: &[u8],
) -> Given {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        if !["host", "connection", "content-length", "accept-encoding"].contains(&name.as_str()) {
            head.extend([name.as_str(), ": ", value, "\r\n"]);
        }
    }
    if !body.is_empty() {
        head.extend(["content-length: ", &body.len().to_string(), "\r\n"]);
    }
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(START_DEADLINE)).expect("a deadline");
    stream.write_all(&[head.as_bytes(), b"\r\n", body].concat()).expect("a request");
    let mut read = Vec::new();
    stream.read_to_end(&mut read).expect("an answer");
    parsed(&read)
}

fn parsed(read: &[u8]) -> Given {
    let end = read.windows(4).position(|own| own == b"\r\n\r\n").expect("a head");
    let head = std::str::from_utf8(&read[..end]).expect("text");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &read[end + 4..];
    let is_chunked = headers.get("transfer-encoding").is_some_and(|own| own == "chunked");
    Given { status, headers, body: if is_chunked { unchunked(rest) } else { rest.to_vec() } }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|own| own == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|own| usize::from_str_radix(own.trim(), 16).ok());
        let size = size.expect("a size");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}
