//! A request of an executor, whatever its form: to the host itself, or through the upstream as a proxy.

use std::collections::BTreeMap;

use axum::http::Method;
use axum::http::request::Parts;
use callmark_reports::record::Direction;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::families::utp::message;
use crate::families::utp::token::tokens;
use crate::net::wire::{CALL, SCENARIO};
use crate::net::{http_server, multipart};
use crate::transcript::{Kind, Message};

/// The two hosts that an executor may ask (Guide §4).
pub const ALLOWED: [&str; 2] = ["s.jina.ai", "r.jina.ai"];

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReceivedRequest {
    /// In capitals.
    pub method: String,
    /// The host that it is for: lower case, without user, port and final dot.
    pub host: String,
    /// As it was written.
    pub path: String,
    /// As it was written, without the question mark.
    pub query: String,
    /// Of the query, and of a body that is a form of either kind or a JSON object.
    pub parameters: Map<String, Value>,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// JSON where it is JSON, else the text.
    pub body: Value,
    /// Where tokens are looked for first: path, parameters and body.
    text: String,
}

impl ReceivedRequest {
    /// Reads a request.
    pub(super) fn of(parts: &Parts, body: &[u8]) -> Self {
        let headers = http_server::headers(parts);
        // A proxy receives the whole address, and that counts (RFC 9112 §3.2.2).
        let authority = parts.uri.authority().map(|authority| authority.as_str().to_owned());
        let host = authority.or_else(|| headers.get("host").cloned()).unwrap_or_default();
        let is_tunnel = parts.method == Method::CONNECT;
        let path = if is_tunnel { String::new() } else { parts.uri.path().to_owned() };
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let text = format!("{path}?{query}\n{}", String::from_utf8_lossy(body));
        let kind = headers.get("content-type").map(String::as_str).unwrap_or_default();
        let form = kind.contains("form-urlencoded");
        let fields = multipart::boundary(kind).filter(|_| kind.contains("form-data"));
        let fields = fields.map(|boundary| multipart::fields(body, boundary)).unwrap_or_default();
        let mut parameters: Map<String, Value> = pairs(query.as_bytes());
        parameters.extend(fields.into_iter().map(|(name, value)| (name, Value::from(value))));
        let body = message::body(body);
        match &body {
            Value::Object(members) => parameters.extend(members.clone()),
            Value::String(text) if form => parameters.extend(pairs(text.as_bytes())),
            _ => {}
        }
        let text = format!("{text}\n{}", parameters.values().map(Value::to_string).collect::<String>());
        Self {
            method: parts.method.as_str().to_owned(),
            host: bare(&host),
            path,
            query,
            parameters,
            headers,
            body,
            text,
        }
    }

    /// Whether an answer in JSON is asked for.
    pub(super) fn wants_json(&self) -> bool {
        self.headers.get("accept").is_some_and(|kinds| kinds.contains("json"))
    }

    /// The tokens that it asks about.
    pub(super) fn subjects(&self) -> Vec<String> {
        let mut found: Vec<String> = tokens(&self.text).chain(tokens(&self.host)).collect();
        if found.is_empty() {
            found = self.headers.values().flat_map(|value| tokens(value)).collect();
        }
        found.sort();
        found.dedup();
        found
    }

    /// The message that a transcript keeps, for a call of a project.
    pub(super) fn message(&self, project: &str, call: &str) -> Message {
        let mut headers = self.headers.clone();
        headers.insert(SCENARIO.to_owned(), project.to_owned());
        headers.insert(CALL.to_owned(), call.to_owned());
        let mut body = json!({
            "host": self.host, "method": self.method, "path": self.path, "parameters": self.parameters,
        });
        if !self.query.is_empty() {
            body["query"] = Value::from(self.query.as_str());
        }
        // What is in the parameters need not stand there twice.
        if !self.body.is_object() && self.body.as_str() != Some("") {
            body["body"] = self.body.clone();
        }
        Message {
            direction: Direction::FromTarget,
            kind: Kind::Upstream,
            channel: format!("{} {}{}", self.method, self.host, self.path),
            headers,
            body,
        }
    }
}

fn pairs(text: &[u8]) -> Map<String, Value> {
    form_urlencoded::parse(text)
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect()
}

/// A host without what may stand around it.
fn bare(authority: &str) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default().trim();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn received(uri: &str, host: Option<&str>, kind: &str, body: &str) -> ReceivedRequest {
        let mut request = Request::builder().method("POST").uri(uri).header("content-type", kind);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        ReceivedRequest::of(&parts, body.as_bytes())
    }

    #[test]
    fn the_host_is_known_in_every_form() {
        let check = |uri: &str, host: &str, expect: &str| {
            assert_eq!(received(uri, Some(host), "", "").host, expect, "{uri} {host}");
        };
        check("/search", "S.Jina.AI", "s.jina.ai");
        check("/search", "s.jina.ai:443", "s.jina.ai");
        check("/search", "s.jina.ai.", "s.jina.ai");
        check("/search", "s.jina.ai@evil.test", "evil.test");
        check("http://evil.test/search", "s.jina.ai", "evil.test");
        check("http://s.jina.ai@evil.test:80/search", "s.jina.ai", "evil.test");
    }

    #[test]
    fn parameters_come_from_query_form_and_json() {
        let check = |kind: &str, body: &str| {
            let request = received("/s?a=1+2", Some("s.jina.ai"), kind, body);
            assert_eq!(Value::Object(request.parameters), json!({"a": "1 2", "b": "x%"}), "{kind}");
        };
        check("application/json", r#"{"b": "x%"}"#);
        check("application/x-www-form-urlencoded", "b=x%25");
        let form = "--o\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nx%\r\n--o--\r\n";
        check("multipart/form-data; boundary=o", form);
    }

    #[test]
    fn a_token_is_found_wherever_it_stands() {
        let check = |uri: &str, host: &str, body: &str| {
            assert_eq!(
                received(uri, Some(host), "", body).subjects(),
                ["tok-0123456789ab"],
                "{uri} {host} {body}"
            );
        };
        check("/https%3A%2F%2Fexample.org%2Ftok-0123456789ab", "r.jina.ai", "");
        check("/s?q=%74ok-0123456789ab", "s.jina.ai", "");
        check("/s", "tok-0123456789ab.test", "");
        check("/s", "s.jina.ai", r#"{"a": ["tok-0123456789ab"]}"#);
        check("/s", "s.jina.ai", "url=tok-0123456789ab");
    }
}
