//! Calls of tools among JSON-RPC messages that nobody staged: over standard input and output, or over HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::server::measured;
use crate::engine::recording::observer::{HttpExchange, Observer, Seen, Traffic, window};
use crate::engine::recording::{At, MAX_OPEN, Window};
use crate::net::wire::{CALL, TOOL};
use crate::transcript::{Frame, Kind, Message};

/// The number of the call in its window, which has no other.
const NUMBER: &str = "1";

/// What is open under an id.
#[derive(Debug)]
enum Open {
    /// A call of a tool.
    Call(At, Value),
    /// Something else that is asked, by whichever side.
    Other,
    /// Several things at once, so it cannot be told what an answer is to.
    Ambiguous,
}

/// Puts calls and answers together.
#[derive(Debug)]
pub(super) struct CallObserver {
    profiles: Arc<[&'static str]>,
    open: BTreeMap<String, Open>,
    /// Ids in the order in which they were opened.
    order: VecDeque<String>,
    unattributed: u64,
}

impl CallObserver {
    pub(super) fn new() -> Self {
        Self {
            profiles: ["toolbus.server"].into(),
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
                let own = match method {
                    "tools/call" => Open::Call(at, message.clone()),
                    _ => Open::Other,
                };
                self.opened(id, own);
            }
            // A notification.
            (Some(_), None) => {}
            (None, Some(id)) => match self.open.remove(&id) {
                Some(Open::Call(at, request)) => complete.push(self.call(at, request, message.clone())),
                Some(Open::Other) => {}
                Some(Open::Ambiguous) | None => self.unattributed += 1,
            },
            (None, None) => self.unattributed += 1,
        }
    }

    fn opened(&mut self, id: String, own: Open) {
        if self.open.len() >= MAX_OPEN
            && let Some(oldest) = self.order.pop_front()
            && let Some(Open::Call(..)) = self.open.remove(&oldest)
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

    fn call(&self, at: At, request: Value, answer: Value) -> Window {
        let tool = request.pointer("/params/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let frame = |direction, kind, channel: &str, body| {
            let headers =
                BTreeMap::from([(CALL.to_owned(), NUMBER.to_owned()), (TOOL.to_owned(), tool.clone())]);
            Frame::from(measured(Message { direction, kind, channel: channel.to_owned(), headers, body }))
        };
        let frames = vec![
            frame(Direction::ToTarget, Kind::Request, "tools/call", request),
            frame(Direction::FromTarget, Kind::Response, &tool, answer),
        ];
        window(&self.profiles, at, frames)
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
        let mut own = Self { unattributed: self.unattributed, ..Self::new() };
        own.message(at, &request, complete);
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
        self.open.values().filter(|own| matches!(own, Open::Call(..))).count() as u64
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
            Traffic::Bus(_) => false,
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

    #[test]
    fn events_of_a_stream_hold_messages() {
        let stream = b"event: message\ndata: {\"a\":\ndata: 1}\n\n: ping\n\ndata:x\r\n\r\n";
        assert_eq!(events(stream), ["{\"a\":\n1}", "x"]);
    }
}
