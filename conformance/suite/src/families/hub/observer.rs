//! Requests to a Hub among exchanges over HTTP that nobody staged.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::contract::{self, EXECUTE, STATUS_BASE, TOOL_NOT_FOUND, TOOLS};
use super::manifest::HubTable;
use super::server::client::{CUSTOMER, RETRY, read_body};
use crate::engine::recording::observer::{Credentials, HttpExchange, Observer, Seen, Traffic, window};
use crate::engine::recording::{At, Window};
use crate::net::http_answer;
use crate::net::wire::{CALL, STATUS, TOOL};
use crate::transcript::{Frame, Kind, Message};

/// Stand-ins of credentials that are known to be the right ones, at most.
const ACCEPTED: usize = 256;

/// Takes requests to a Hub, each with its answer.
#[derive(Debug)]
pub(super) struct RequestObserver {
    profiles: Arc<[&'static str]>,
    /// Names of the manifest's customers, by their id.
    customers: BTreeMap<String, &'static str>,
    credentials: Credentials,
    accepted: VecDeque<String>,
    unattributed: u64,
}

impl RequestObserver {
    /// For requests to the Hub of this table.
    pub(super) fn new(table: &HubTable) -> Self {
        let customers = table.customers.iter().map(|(customer, id)| (id.clone(), customer.name()));
        Self {
            profiles: ["hub.server"].into(),
            customers: customers.collect(),
            credentials: Credentials::default(),
            accepted: VecDeque::new(),
            unattributed: 0,
        }
    }

    fn exchange(&mut self, at: At, exchange: &HttpExchange, path: &str) -> Option<Window> {
        let request = http_answer::value(&exchange.request);
        let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
        let tool = text("tool").to_owned();
        let mut remarks = BTreeMap::new();
        let body = read_body(&exchange.response, &mut remarks);
        // A Hub may have tools beside those of the contract, and says itself what these do. What it says it does not know
        // is none of these.
        let code = body.pointer("/error/code").and_then(Value::as_str);
        let is_unknown = code == Some(TOOL_NOT_FOUND);
        let is_error_of_the_contract = code.and_then(contract::status_of).is_some();
        let is_of_the_contract = path != EXECUTE || TOOLS.contains(&tool.as_str()) || is_unknown;
        let authorization = exchange.request_headers.get("authorization");
        let authorization = authorization.map(|value| self.credentials.stand_in(value));
        let is_taken = is_error_of_the_contract || (200..300).contains(&exchange.status);
        if !is_of_the_contract || !self.is_accepted(authorization.as_deref(), is_taken) {
            return None;
        }
        if !is_error_of_the_contract && is_left_open(exchange) {
            return None;
        }
        let asked = path.strip_prefix(STATUS_BASE).map(|rest| rest.trim_end_matches('/'));
        let customer = self.customers.get(asked.unwrap_or_else(|| text("customer_id"))).copied();
        // Nor does it say what becomes of a customer that nobody knows.
        if asked.is_some() && customer.is_none() && matches!(exchange.status, 400 | 403 | 404) {
            return None;
        }
        let mut headers: BTreeMap<String, String> =
            [(CALL.to_owned(), "1".to_owned()), (TOOL.to_owned(), tool)].into();
        headers.extend(customer.map(|name| (CUSTOMER.to_owned(), name.to_owned())));
        let mut answered = headers.clone();
        headers.extend(authorization.map(|value| ("authorization".to_owned(), value)));
        let copied = |from: &BTreeMap<String, String>, names: &[&str]| -> Vec<(String, String)> {
            names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone()))).collect()
        };
        headers.extend(copied(&exchange.request_headers, &["content-type"]));
        answered.extend(copied(&exchange.response_headers, &["content-type", RETRY]));
        answered.extend(remarks);
        answered.insert(STATUS.to_owned(), exchange.status.to_string());
        let frame = |direction, kind, headers, body| {
            let channel = format!("{} {path}", exchange.method);
            Frame::from(Message { direction, kind, channel, headers, body })
        };
        let frames = vec![
            frame(Direction::ToTarget, Kind::HubRequest, headers, request),
            frame(Direction::FromTarget, Kind::HubResponse, answered, body),
        ];
        Some(window(&self.profiles, at, frames))
    }

    /// Whether the secret is the right one, as far as it was seen: how a Hub refuses another one is left open.
    fn is_accepted(&mut self, authorization: Option<&str>, is_taken: bool) -> bool {
        let Some(own) = authorization else { return false };
        if self.accepted.iter().any(|known| known == own) {
            return true;
        }
        if is_taken {
            self.accepted.push_back(own.to_owned());
            if self.accepted.len() > ACCEPTED {
                self.accepted.pop_front();
            }
        }
        is_taken
    }
}

/// Whether the contract does not say what an answer like this one comes to: of a cache, of a server that is busy or not
/// there, and of a path that is not the contract's, which lacks its last slash.
fn is_left_open(exchange: &HttpExchange) -> bool {
    let is_elsewhere = (300..400).contains(&exchange.status) && !exchange.path.ends_with('/');
    is_elsewhere || matches!(exchange.status, 304 | 408 | 429 | 503 | 504)
}

impl Observer for RequestObserver {
    fn take(&mut self, seen: &Seen, complete: &mut Vec<Window>) -> bool {
        let Traffic::Http(exchange) = &seen.traffic else { return false };
        let Some(path) = path(&exchange.path) else { return false };
        match self.exchange(seen.at, exchange, &path) {
            Some(window) => complete.push(window),
            None => self.unattributed += 1,
        }
        true
    }

    fn finish(&mut self, _: &mut Vec<Window>) -> u64 {
        0
    }

    fn unattributed(&self) -> u64 {
        self.unattributed
    }
}

/// The path below the base of the Hub, where it is one of the contract.
fn path(path: &str) -> Option<String> {
    let known = [EXECUTE, STATUS_BASE];
    let at = known
        .into_iter()
        .find_map(|known| path.find(known).or_else(|| path.find(known.trim_end_matches('/'))))?;
    let own = &path[at..];
    // Whether the slash at the end is there is left open.
    let is_execution = own.trim_end_matches('/') == EXECUTE.trim_end_matches('/');
    Some(if is_execution { EXECUTE.to_owned() } else { own.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(secret: &str, tool: &str, status: u16) -> Seen {
        let request = json!({"tool": tool, "customer_id": "c", "inputs": {}});
        let exchange = HttpExchange {
            method: "POST".to_owned(),
            path: format!("/hub{EXECUTE}"),
            request_headers: [("authorization".to_owned(), format!("ServiceSecret {secret}"))].into(),
            request: request.to_string().into_bytes(),
            status,
            response: b"{}".to_vec(),
            ..HttpExchange::default()
        };
        Seen { at: At::default(), traffic: Traffic::Http(exchange) }
    }

    #[test]
    fn requests_of_the_contract_with_the_right_secret_are_exchanges() {
        let table: HubTable =
            serde_json::from_value(json!({"customers": {"not_connected": "c"}})).expect("a table");
        let mut observer = RequestObserver::new(&table);
        let mut complete = Vec::new();
        for (secret, tool, status) in [
            ("right", "email_read", 200),
            ("right", "email_read", 401),
            ("wrong", "email_read", 401),
            ("right", "weather_report", 200),
        ] {
            assert!(observer.take(&seen(secret, tool, status), &mut complete));
        }
        assert_eq!((complete.len(), observer.unattributed()), (2, 2));
        let request = &complete[0].frames[0];
        assert_eq!(request.channel, format!("POST {EXECUTE}"));
        assert_eq!(request.headers[CUSTOMER], "not_connected");
        assert_eq!(request.headers["authorization"], complete[1].frames[0].headers["authorization"]);
        let text = serde_json::to_string(&complete[0].frames).expect("JSON");
        assert!(!text.contains("right"), "{text}");
    }

    #[test]
    fn what_the_contract_leaves_open_is_counted() {
        let table: HubTable =
            serde_json::from_value(json!({"customers": {"connected": "known"}})).expect("a table");
        let check = |(path, status): (&str, u16), answer: &str, expect: (usize, u64)| {
            let mut observer = RequestObserver::new(&table);
            let mut complete = Vec::new();
            assert!(observer.take(&seen("right", "email_read", 200), &mut complete));
            let mut seen = seen("right", "email_read", status);
            if let Traffic::Http(exchange) = &mut seen.traffic {
                path.clone_into(&mut exchange.path);
                exchange.response = answer.as_bytes().to_vec();
            }
            assert!(observer.take(&seen, &mut complete));
            assert_eq!((complete.len() - 1, observer.unattributed()), expect, "{path} {status} {answer}");
        };
        let status = |customer: &str| format!("{STATUS_BASE}{customer}/");
        check((EXECUTE, 500), "", (1, 0));
        check((EXECUTE, 503), "", (0, 1));
        check((EXECUTE, 429), r#"{"success": false, "error": {"code": "RATE_LIMITED"}}"#, (1, 0));
        check((EXECUTE, 308), "", (1, 0));
        check((EXECUTE.trim_end_matches('/'), 308), "", (0, 1));
        check((&status("known"), 404), "", (1, 0));
        check((&status("known"), 304), "", (0, 1));
        check((&status("other"), 404), "", (0, 1));
        check((&status("other"), 200), "{}", (1, 0));
    }

    #[test]
    fn a_secret_is_right_that_was_taken() {
        let table: HubTable = serde_json::from_value(json!({})).expect("a table");
        let mut observer = RequestObserver::new(&table);
        let mut complete = Vec::new();
        // Whoever refuses a secret may do that in any way.
        for status in [400, 429, 500, 401] {
            assert!(observer.take(&seen("wrong", "email_read", status), &mut complete));
        }
        assert_eq!((complete.len(), observer.unattributed()), (0, 4));
    }

    #[test]
    fn a_tool_that_the_hub_does_not_know_is_judged() {
        let table: HubTable = serde_json::from_value(json!({})).expect("a table");
        let check = |answer: Value, expect: (usize, u64)| {
            let mut observer = RequestObserver::new(&table);
            let mut complete = Vec::new();
            let mut seen = seen("right", "no_such_tool", 200);
            if let Traffic::Http(exchange) = &mut seen.traffic {
                exchange.response = answer.to_string().into_bytes();
            }
            assert!(observer.take(&seen, &mut complete));
            assert_eq!((complete.len(), observer.unattributed()), expect, "{answer}");
        };
        check(json!({"success": false, "error": {"code": TOOL_NOT_FOUND}}), (1, 0));
        // It is a tool of its own.
        check(json!({"success": true, "result": {}}), (0, 1));
        check(json!({"success": false, "error": {"code": "RATE_LIMITED"}}), (0, 1));
    }

    #[test]
    fn other_requests_are_not_the_hubs() {
        let check = |given: &str, expect: Option<&str>| assert_eq!(path(given).as_deref(), expect, "{given}");
        check(EXECUTE, Some(EXECUTE));
        check("/base/api/internal/tools/execute", Some(EXECUTE));
        check("/api/internal/integrations/status/c1/", Some("/api/internal/integrations/status/c1/"));
        check("/api/other", None);
    }
}
