//! Calls of tools among JSON-RPC messages that nobody staged: over standard input and output, or over HTTP.
//!
//! A call whose `_meta` names a revision without sessions is judged as one of that era, with what the server sent beside
//! its answer and, over HTTP, with headers and status.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::modern;
use super::revision::{Era, MODERN};
use super::server::measured;
use super::wire_format::{BESIDE, HTTP_STATUS, NAMED_SESSION};
use crate::engine::recording::observer::{HttpExchange, Observer, Seen, Traffic, window};
use crate::engine::recording::{At, MAX_OPEN, Window};
use crate::net::wire::{CALL, TOOL};
use crate::transcript::{Frame, Kind, Message};

/// The number of the call in its window, which has no other.
const NUMBER: &str = "1";

/// Methods of requests that only a server makes.
const OF_SERVERS: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];
/// The notification with which a server logs.
const LOGGED: &str = "notifications/message";
/// Messages beside an answer that are kept.
const ASIDES: usize = 64;

/// A call of a tool.
#[derive(Debug)]
struct OpenCall {
    at: At,
    era: Era,
    request: Value,
    /// What the server sent of its own accord since.
    beside: Vec<Value>,
}

/// What is open under an id.
#[derive(Debug)]
enum Open {
    /// A call of a tool.
    Call(OpenCall),
    /// Something else that is asked, by whichever side.
    Other,
    /// Several things at once, so what an answer is to is unknown.
    Ambiguous,
}

/// Headers of an exchange over HTTP, as frames have them.
#[derive(Clone, Debug, Default)]
struct HttpHeaders {
    request: BTreeMap<String, String>,
    answer: BTreeMap<String, String>,
}

impl HttpHeaders {
    fn of(exchange: &HttpExchange) -> Self {
        let mut answer = BTreeMap::from([(HTTP_STATUS.to_owned(), exchange.status.to_string())]);
        let session = exchange.response_headers.get(NAMED_SESSION);
        answer.extend(session.map(|session| (NAMED_SESSION.to_owned(), session.clone())));
        Self { request: modern::own_headers(&exchange.request_headers), answer }
    }
}

/// Puts calls and answers together.
#[derive(Debug)]
pub(super) struct CallObserver {
    legacy: Arc<[&'static str]>,
    modern: Arc<[&'static str]>,
    /// What HTTP says of the request and of its answer.
    http: Option<HttpHeaders>,
    /// Whether the messages are those of an answer over HTTP, all of which are the server's.
    is_answer: bool,
    open: BTreeMap<String, Open>,
    /// Ids in the order in which they were opened.
    order: VecDeque<String>,
    unattributed: u64,
}

impl CallObserver {
    pub(super) fn new() -> Self {
        Self {
            legacy: ["toolbus.server"].into(),
            modern: ["toolbus.server@2026-07-28"].into(),
            http: None,
            is_answer: false,
            open: BTreeMap::new(),
            order: VecDeque::new(),
            unattributed: 0,
        }
    }

    fn message(&mut self, at: At, message: &Value, complete: &mut Vec<Window>) {
        if let Value::Array(batch) = message {
            for message in batch {
                self.message(at, message, complete);
            }
            return;
        }
        let id = message.get("id").filter(|id| !id.is_null()).map(Value::to_string);
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => {
                if self.is_answer || OF_SERVERS.contains(&method) {
                    self.aside(message);
                }
                let own = match (method, era(message)) {
                    ("tools/call", Some(era)) => {
                        Open::Call(OpenCall { at, era, request: message.clone(), beside: Vec::new() })
                    }
                    ("tools/call", None) => {
                        self.unattributed += 1;
                        Open::Other
                    }
                    _ => Open::Other,
                };
                self.opened(id, own);
            }
            (Some(LOGGED), None) => self.aside(message),
            // Another notification.
            (Some(_), None) => {}
            (None, Some(id)) => match self.open.remove(&id) {
                Some(Open::Call(call)) => complete.push(self.call(call, message.clone())),
                Some(Open::Other) => {}
                Some(Open::Ambiguous) | None => self.unattributed += 1,
            },
            (None, None) => self.unattributed += 1,
        }
    }

    /// What a server sends of its own accord stands beside every call without a session that is open.
    fn aside(&mut self, message: &Value) {
        for own in self.open.values_mut() {
            if let Open::Call(call) = own
                && call.era == Era::Modern
                && call.beside.len() < ASIDES
            {
                call.beside.push(message.clone());
            }
        }
    }

    fn opened(&mut self, id: String, own: Open) {
        if self.open.len() >= MAX_OPEN
            && let Some(oldest) = self.order.pop_front()
            && let Some(Open::Call(_)) = self.open.remove(&oldest)
        {
            self.unattributed += 1;
        }
        // Answered ones leave their id behind.
        if self.order.len() >= 2 * MAX_OPEN {
            let open = &self.open;
            self.order.retain(|id| open.contains_key(id));
        }
        if self.open.contains_key(&id) {
            self.unattributed += 1;
            self.open.insert(id, Open::Ambiguous);
        } else {
            self.order.push_back(id.clone());
            self.open.insert(id, own);
        }
    }

    fn call(&self, call: OpenCall, answer: Value) -> Window {
        let OpenCall { at, era, request, beside } = call;
        let tool = request.pointer("/params/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let http = self.http.clone().filter(|_| era == Era::Modern).unwrap_or_default();
        let frame = |direction, kind, channel: &str, headers: BTreeMap<String, String>, body| {
            Frame::from(measured(Message { direction, kind, channel: channel.to_owned(), headers, body }))
        };
        let named = |mut headers: BTreeMap<String, String>| {
            headers.extend([(CALL.to_owned(), NUMBER.to_owned()), (TOOL.to_owned(), tool.clone())]);
            headers
        };
        let mut frames =
            vec![frame(Direction::ToTarget, Kind::Request, "tools/call", named(http.request), request)];
        frames.extend(beside.into_iter().map(|message| {
            let headers = BTreeMap::from([(BESIDE.to_owned(), NUMBER.to_owned())]);
            frame(Direction::FromTarget, Kind::Request, &tool, headers, message)
        }));
        frames.push(frame(Direction::FromTarget, Kind::Response, &tool, named(http.answer), answer));
        let profiles = match era {
            Era::Legacy => &self.legacy,
            Era::Modern => &self.modern,
        };
        window(profiles, at, frames)
    }

    /// Messages in a request over HTTP and in its answer, which may be an event stream.
    fn exchange(&mut self, at: At, exchange: &HttpExchange, complete: &mut Vec<Window>) -> bool {
        let is_rpc = |value: &Value| {
            let first = value.as_array().map_or(Some(value), |batch| batch.first());
            first.is_some_and(|first| first.get("jsonrpc").is_some())
        };
        let request = serde_json::from_slice::<Value>(&exchange.request).ok().filter(is_rpc);
        let Some(request) = request.filter(|_| exchange.method == "POST") else { return false };
        // Whatever is open belongs to this exchange, since its answer does.
        let http = Some(HttpHeaders::of(exchange));
        let mut own = Self { http, unattributed: self.unattributed, ..Self::new() };
        own.message(at, &request, complete);
        own.is_answer = true;
        let kind = exchange.response_headers.get("content-type").map(String::as_str).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            for data in events(&exchange.response) {
                match serde_json::from_str(&data) {
                    Ok(message) => own.message(at, &message, complete),
                    Err(_) => own.unattributed += 1,
                }
            }
        } else if let Ok(message) = serde_json::from_slice(&exchange.response) {
            own.message(at, &message, complete);
        }
        self.unattributed = own.unattributed + own.calls();
        true
    }

    /// Calls that are not answered.
    fn calls(&self) -> u64 {
        self.open.values().filter(|own| matches!(own, Open::Call(_))).count() as u64
    }
}

impl Observer for CallObserver {
    fn take(&mut self, seen: &Seen, complete: &mut Vec<Window>) -> bool {
        match &seen.traffic {
            Traffic::Rpc(message) => {
                self.message(seen.at, message, complete);
                true
            }
            Traffic::Http(exchange) => self.exchange(seen.at, exchange, complete),
            Traffic::Bus(_) | Traffic::Stored(_) => false,
        }
    }

    fn finish(&mut self, _: &mut Vec<Window>) -> u64 {
        self.calls()
    }

    fn unattributed(&self) -> u64 {
        self.unattributed
    }

    fn open(&self) -> usize {
        self.open.len()
    }

    fn gap(&mut self) {
        self.unattributed += self.calls();
        self.open.clear();
        self.order.clear();
    }
}

/// The era of a call; nothing where its `_meta` names another revision without sessions than the suite knows, or lacks
/// what every request has in that era, so that a server is to refuse it.
fn era(request: &Value) -> Option<Era> {
    let meta = request.pointer("/params/_meta").and_then(Value::as_object);
    match meta.and_then(|meta| meta.get(modern::PROTOCOL_VERSION)) {
        None => Some(Era::Legacy),
        Some(version) => {
            let is_whole = meta.is_some_and(|meta| meta.contains_key(modern::CLIENT_CAPABILITIES));
            (version == MODERN && is_whole).then_some(Era::Modern)
        }
    }
}

/// The data of the events of a stream (WHATWG HTML, server-sent events).
fn events(stream: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stream);
    let mut all = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.is_empty() {
            if !data.is_empty() {
                all.push(data.join("\n"));
                data.clear();
            }
        } else if let Some(rest) = line.strip_prefix("data:") {
            data.push(rest.strip_prefix(' ').unwrap_or(rest));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(id: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t", "arguments": {}}})
    }

    fn answer(id: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}})
    }

    fn check(messages: &[Value], windows: usize, unattributed: u64) {
        let mut observer = CallObserver::new();
        let mut complete = Vec::new();
        for message in messages {
            let traffic = Traffic::Rpc(message.clone());
            assert!(observer.take(&Seen { at: At::default(), traffic }, &mut complete));
        }
        let left = observer.finish(&mut complete);
        assert_eq!((complete.len(), left + observer.unattributed()), (windows, unattributed), "{messages:?}");
        assert!(complete.iter().all(|own| own.frames.iter().map(|frame| frame.n).eq([1, 2])));
    }

    #[test]
    fn an_answer_belongs_to_the_call_with_its_id() {
        let (one, two, text) = (json!(1), json!(2), json!("1"));
        check(&[request(&one), request(&two), answer(&two), answer(&one)], 2, 0);
        check(&[request(&one), request(&text), answer(&text), answer(&one)], 2, 0);
        check(&[json!([request(&one), request(&two)]), json!([answer(&one), answer(&two)])], 2, 0);
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        check(&[request(&one), progress, answer(&one)], 1, 0);
    }

    #[test]
    fn what_cannot_be_put_to_a_call_is_counted() {
        let one = json!(1);
        check(&[answer(&one)], 0, 1);
        check(&[request(&one)], 0, 1);
        // Two sessions in one file, or a request of the server with the same id.
        check(&[request(&one), request(&one), answer(&one)], 0, 2);
        let asks = json!({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"});
        check(&[request(&one), asks, answer(&one), answer(&one)], 0, 3);
        check(&[json!(7), json!({})], 0, 2);
    }

    /// A call without a session.
    fn modern_request(id: u32) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t"}});
        modern::with_meta(call)
    }

    /// What an observer puts together, and how many messages it cannot.
    fn windows(traffic: Vec<Traffic>) -> (Vec<Window>, u64) {
        let mut observer = CallObserver::new();
        let mut complete = Vec::new();
        for traffic in traffic {
            observer.take(&Seen { at: At::default(), traffic }, &mut complete);
        }
        let left = observer.finish(&mut complete) + observer.unattributed();
        (complete, left)
    }

    /// The profile of a window, and the kinds of its messages.
    fn shape(window: &Window) -> (&'static str, Vec<Kind>) {
        (window.profiles[0], window.frames.iter().map(|frame| frame.kind).collect())
    }

    #[test]
    fn a_call_is_of_the_era_that_it_names() {
        let logged = json!({"jsonrpc": "2.0", "method": LOGGED, "params": {}});
        let asks = json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"});
        let says = [modern_request(1), logged, asks, answer(&json!("s")), answer(&json!(1))];
        let (found, left) = windows(says.map(Traffic::Rpc).into());
        let kinds = vec![Kind::Request, Kind::Request, Kind::Request, Kind::Response];
        assert_eq!((found.len(), shape(&found[0]), left), (1, ("toolbus.server@2026-07-28", kinds), 0));
        let (found, _) = windows([request(&json!(1)), answer(&json!(1))].map(Traffic::Rpc).into());
        assert_eq!(shape(&found[0]), ("toolbus.server", vec![Kind::Request, Kind::Response]));
        // In a revision that is not known, or without what every request has: who refuses it does nothing wrong.
        for member in [modern::PROTOCOL_VERSION, modern::CLIENT_CAPABILITIES] {
            let mut odd = modern_request(1);
            let meta = odd["params"]["_meta"].as_object_mut().expect("an object");
            match member {
                modern::PROTOCOL_VERSION => drop(meta.insert(member.to_owned(), json!("2099-01-01"))),
                _ => drop(meta.shift_remove(member)),
            }
            let (found, left) = windows([odd, answer(&json!(1))].map(Traffic::Rpc).into());
            assert_eq!((found.len(), left), (0, 1), "{member}");
        }
    }

    #[test]
    fn over_http_a_call_has_its_headers_and_its_status() {
        let exchange = HttpExchange {
            method: "POST".to_owned(),
            request_headers: [("mcp-method", "tools/call"), ("accept", "*/*")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            request: modern_request(1).to_string().into_bytes(),
            status: 200,
            response_headers: BTreeMap::from([(NAMED_SESSION.to_owned(), "s".to_owned())]),
            response: answer(&json!(1)).to_string().into_bytes(),
            ..HttpExchange::default()
        };
        let (complete, left) = windows(vec![Traffic::Http(exchange)]);
        let headers = |n: usize| complete[0].frames[n].headers.keys().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(headers(0), [CALL, "mcp-method", TOOL]);
        assert_eq!(headers(1), [CALL, HTTP_STATUS, NAMED_SESSION, TOOL]);
        assert_eq!(left, 0);
    }

    #[test]
    fn events_of_a_stream_hold_messages() {
        let stream = b"event: message\ndata: {\"a\":\ndata: 1}\n\n: ping\n\ndata:x\r\n\r\n";
        assert_eq!(events(stream), ["{\"a\":\n1}", "x"]);
    }
}
