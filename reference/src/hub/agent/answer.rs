//! A Hub's answer: status and bytes in, the tool's result or a failure out. There is no I/O here.
//!
//! Contract, Response Schema and Error Codes. What happened is decided by the body: status 401 stands for an
//! expired integration and for a wrong secret alike, and 404 for an unknown tool and for an unknown path, so the
//! status counts only where the body says nothing.

use std::time::Duration;

use serde_json::{Map, Value};

use super::config::ServiceSecret;
use super::effect::Effect;
use super::failure::{CallFailure, HubCode, HubRefusal};

/// The longest message that is passed on, in characters.
const MESSAGE_CHARACTERS: usize = 1000;
const UNAUTHORIZED: u16 = 401;

/// What came back, and for what.
pub(super) struct HubResponse<'a> {
    pub(super) tool: &'a str,
    pub(super) effect: Effect,
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: &'a [u8],
}

impl HubResponse<'_> {
    /// The tool's result, which is all that a caller needs of a success.
    pub(super) fn read(&self, secret: &ServiceSecret) -> Result<Value, CallFailure> {
        let envelope = match serde_json::from_slice(self.body).map(|body| secret.scrub(body)) {
            Ok(Value::Object(envelope)) => envelope,
            Ok(_) => return Err(self.unusable("it is JSON but no object")),
            Err(_) => return Err(self.unusable(not_json(self.body))),
        };
        match envelope.get("success") {
            Some(Value::Bool(true)) => self.success(envelope),
            Some(Value::Bool(false)) => Err(self.refusal(&envelope)),
            _ => Err(self.unusable("`success` is no boolean")),
        }
    }

    fn success(&self, mut envelope: Map<String, Value>) -> Result<Value, CallFailure> {
        if !(200..300).contains(&self.status) {
            return Err(self.unusable("`success` is true and the status says otherwise"));
        }
        if envelope.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.unusable("`success` is true and there is an `error`"));
        }
        if envelope.get("tool").is_some_and(|tool| tool != self.tool) {
            return Err(self.unusable("it is about another tool"));
        }
        match envelope.remove("result") {
            Some(result @ Value::Object(_)) => Ok(result),
            Some(_) => Err(self.unusable("`result` is no object")),
            None => Err(self.unusable("there is no `result`")),
        }
    }

    fn refusal(&self, envelope: &Map<String, Value>) -> CallFailure {
        let error = envelope.get("error");
        let Some(code) = error.and_then(|error| error.get("code")?.as_str()) else {
            return self.unusable("`success` is false and `error` has no `code`");
        };
        let code = HubCode::parse(code);
        if self.status == UNAUTHORIZED && matches!(code, HubCode::Other(_)) {
            return CallFailure::SecretRefused;
        }
        let member = |name| error.and_then(|error| error.get(name));
        let message = member("message").and_then(Value::as_str).filter(|text| !text.is_empty());
        let details = member("details").and_then(Value::as_object).cloned().unwrap_or_default();
        CallFailure::Refused(Box::new(HubRefusal {
            message: message.map_or_else(|| "the Hub gave no reason".to_owned(), shortened),
            code,
            details,
            retry_after: self.retry_after,
            connected: Vec::new(),
        }))
    }

    /// An answer that says nothing in the terms of the contract.
    fn unusable(&self, reason: &str) -> CallFailure {
        if self.status == UNAUTHORIZED {
            return CallFailure::SecretRefused;
        }
        CallFailure::Answer { reason: format!("status {}, {reason}", self.status), effect: self.effect }
    }
}

fn not_json(body: &[u8]) -> &'static str {
    let text = body.trim_ascii();
    if text.is_empty() {
        "an empty body"
    } else if text.starts_with(b"<") {
        "HTML in place of JSON"
    } else {
        "the body is no JSON"
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MESSAGE_CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
