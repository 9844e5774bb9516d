//! The headers that carry identity and lineage in `v1r4`, over NATS and over HTTP under the same names.
//!
//! The trace headers and `CG-Recursion-Depth` are `trace`'s, since both revisions have them.

use serde_json::{Map, Value};

use crate::utp::trace::TraceHeaders;

/// The project of the call.
pub const PROJECT_ID: &str = "CG-Project-Id";
/// The channel of the call.
pub const CHANNEL_ID: &str = "CG-Channel-Id";
/// The agent whose turn it is.
pub const AGENT_ID: &str = "CG-Agent-Id";
/// The turn, `agent_turn_id` elsewhere.
pub const TURN_ID: &str = "CG-Turn-Id";
/// The turn's epoch, a decimal number.
pub const TURN_EPOCH: &str = "CG-Turn-Epoch";
/// The step of the turn.
pub const STEP_ID: &str = "CG-Step-Id";
/// The call.
pub const TOOL_CALL_ID: &str = "CG-Tool-Call-Id";
/// The agent that started the turn.
pub const PARENT_AGENT_ID: &str = "CG-Parent-Agent-Id";
/// The turn that started the turn.
pub const PARENT_TURN_ID: &str = "CG-Parent-Turn-Id";
/// The step that started the turn.
pub const PARENT_STEP_ID: &str = "CG-Parent-Step-Id";

/// The headers that no message of `v1r3` has.
pub(crate) const IDENTITY: [&str; 10] = [
    PROJECT_ID,
    CHANNEL_ID,
    AGENT_ID,
    TURN_ID,
    TURN_EPOCH,
    STEP_ID,
    TOOL_CALL_ID,
    PARENT_AGENT_ID,
    PARENT_TURN_ID,
    PARENT_STEP_ID,
];

/// The members that no payload of a command or of its report may have in `v1r4`.
const CONTROL_MEMBERS: [&str; 16] = [
    "project_id",
    "channel_id",
    "channel",
    "agent_id",
    "agent_turn_id",
    "turn_epoch",
    "step_id",
    "tool_call_id",
    "trace_id",
    "traceparent",
    "tracestate",
    "parent_agent_id",
    "parent_agent_turn_id",
    "parent_step_id",
    "parent_traceparent",
    "recursion_depth",
];

/// The first control member of a payload.
pub(crate) fn control_member(payload: &Map<String, Value>) -> Option<&'static str> {
    CONTROL_MEMBERS.into_iter().find(|member| payload.contains_key(*member))
}

/// Reads a whole number of at least 0: decimal digits and nothing else.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Whether a text can stand in a header as it is: no control character, nothing that a peer would trim.
pub(crate) fn is_value(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}

/// Headers of a message that is sent, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(&'static str, String)>);

impl Headers {
    /// Adds a header; a text that cannot stand in one is left out.
    pub fn set(&mut self, name: &'static str, value: impl Into<String>) {
        let value = value.into();
        self.0.retain(|(other, _)| *other != name);
        if is_value(&value) {
            self.0.push((name, value));
        }
    }

    /// Adds a header that may be absent.
    pub(crate) fn set_some(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Leaves out a header.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| *other != name);
    }

    /// The value of a header.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    /// Name and value of each header.
    pub fn pairs(&self) -> &[(&'static str, String)] {
        &self.0
    }

    /// Adds the headers of the trace.
    #[must_use]
    pub(crate) fn with_trace(mut self, trace: &TraceHeaders) -> Self {
        self.0.extend(trace.pairs());
        self
    }

    /// The headers as the NATS client takes them.
    pub(crate) fn to_nats(&self) -> async_nats::HeaderMap {
        let mut headers = async_nats::HeaderMap::new();
        for (name, value) in &self.0 {
            headers.insert(*name, value.as_str());
        }
        headers
    }
}

impl From<TraceHeaders> for Headers {
    fn from(trace: TraceHeaders) -> Self {
        Self::default().with_trace(&trace)
    }
}

/// A header that holds more than blanks.
pub(crate) fn text<'a>(lookup: impl Fn(&str) -> Option<&'a str>, name: &str) -> Option<&'a str> {
    lookup(name).map(str::trim).filter(|value| !value.is_empty())
}

/// Finds a header of an HTTP request; one that is not UTF-8 is as good as absent.
pub(crate) fn http_header<'a>(headers: &'a axum::http::HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AGENT_ID, Headers, control_member, is_value, whole_number};

    #[test]
    fn numbers_are_decimal_and_whole() {
        fn check(text: &str, expect: Option<u64>) {
            assert_eq!(whole_number(text), expect, "{text}");
        }
        check("0", Some(0));
        check("18446744073709551615", Some(u64::MAX));
        for odd in ["", "-1", "+1", "1.0", "1e3", "0x1", "six", "18446744073709551616", " 1"] {
            check(odd, None);
        }
    }

    #[test]
    fn a_control_member_is_found_whatever_its_value() {
        let found = |payload: serde_json::Value| control_member(payload.as_object().expect("an object"));
        assert_eq!(found(json!({"status": "success", "tool_name": "t", "x_agent_id": 1})), None);
        assert_eq!(found(json!({"tool_name": "t", "trace_id": null})), Some("trace_id"));
        assert_eq!(found(json!({"recursion_depth": 3})), Some("recursion_depth"));
    }

    #[test]
    fn what_would_begin_another_header_is_left_out() {
        let mut headers = Headers::default();
        headers.set(AGENT_ID, "ag\r\nCG-Turn-Id: other");
        assert_eq!(headers, Headers::default());
        headers.set(AGENT_ID, "ag_1");
        headers.set(AGENT_ID, "ag_2");
        assert_eq!((headers.pairs().len(), headers.value(AGENT_ID)), (1, Some("ag_2")));
        assert!(is_value("ä b") && !is_value(" a") && !is_value(""));
    }
}
