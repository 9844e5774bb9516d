//! Trace context: the callback's span is a child of the command's (Guide §1).
//!
//! Only what UTP needs of W3C Trace Context: the parent/child relation, never sampling or export.
//! `CG-Recursion-Depth` is no trace header, but travels the same way, so it is kept with them.

use std::fmt;

use super::ident::random_hex;

/// Header with trace id and span id.
pub const TRACEPARENT: &str = "traceparent";
/// Header with the vendors' additions; optional everywhere.
pub const TRACESTATE: &str = "tracestate";
/// Header that counts nested calls; it is passed on as received.
pub const RECURSION_DEPTH: &str = "CG-Recursion-Depth";

/// A header longer than this is not passed on.
const MAX_HEADER: usize = 512;

/// A well-formed `traceparent`: `00-<32 hex>-<16 hex>-<2 hex>`, ids not all zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traceparent {
    trace_id: String,
    span_id: String,
    flags: String,
}

impl Traceparent {
    /// Reads a header; nothing when it is malformed.
    pub fn parse(header: &str) -> Option<Self> {
        let mut fields = header.split('-');
        let version = fields.next().filter(|field| is_hex(field, 2) && *field != "ff")?;
        let trace_id = fields.next().filter(|field| is_hex(field, 32) && !is_zero(field))?;
        let span_id = fields.next().filter(|field| is_hex(field, 16) && !is_zero(field))?;
        let flags = fields.next().filter(|field| is_hex(field, 2))?;
        // Later versions may append fields; version 00 has exactly four.
        if version == "00" && fields.next().is_some() {
            return None;
        }
        Some(Self { trace_id: trace_id.to_owned(), span_id: span_id.to_owned(), flags: flags.to_owned() })
    }

    /// The first span of a new trace.
    pub fn fresh() -> Self {
        Self { trace_id: random_hex(2), span_id: random_hex(1), flags: "01".to_owned() }
    }

    /// The first span of ours in a trace whose id alone is known; nothing when it is no trace id.
    pub fn within(trace_id: &str) -> Option<Self> {
        let known = is_hex(trace_id, 32) && !is_zero(trace_id);
        known.then(|| Self { trace_id: trace_id.to_owned(), ..Self::fresh() })
    }

    /// A new span of the same trace.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span_id: random_hex(1), ..self.clone() }
    }

    /// The 32 hexadecimal digits that all spans of one trace share.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// The 16 hexadecimal digits of this span.
    pub fn span_id(&self) -> &str {
        &self.span_id
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{}", self.trace_id, self.span_id, self.flags)
    }
}

/// The headers that one message hands to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHeaders {
    /// Always there and well-formed on what we send.
    pub traceparent: Traceparent,
    /// Passed through as received.
    pub tracestate: Option<String>,
    /// Passed through as received.
    pub recursion_depth: Option<String>,
}

impl TraceHeaders {
    /// The headers at the start of a call.
    pub fn fresh() -> Self {
        Self { traceparent: Traceparent::fresh(), tracestate: None, recursion_depth: None }
    }

    /// The headers of a message that follows from an inbound one, whose headers `lookup` finds.
    ///
    /// A missing or malformed `traceparent` starts a new trace; the `tracestate` beside it then belongs to nothing.
    pub fn child_of<'a>(lookup: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self::continued(lookup).1
    }

    /// As [`Self::child_of`], with the span that the headers continue: the inbound one, or the first of a new trace.
    pub(crate) fn continued<'a>(lookup: impl Fn(&str) -> Option<&'a str>) -> (Traceparent, Self) {
        let inbound = lookup(TRACEPARENT).and_then(Traceparent::parse);
        let tracestate = inbound.as_ref().and_then(|_| lookup(TRACESTATE)).and_then(passable);
        let parent = inbound.unwrap_or_else(Traceparent::fresh);
        let headers = Self {
            traceparent: parent.child(),
            tracestate,
            recursion_depth: lookup(RECURSION_DEPTH).and_then(passable),
        };
        (parent, headers)
    }

    /// The next hop: a child span, everything else the same.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { traceparent: self.traceparent.child(), ..self.clone() }
    }

    /// Name and value of each header that is there.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![(TRACEPARENT, self.traceparent.to_string())];
        pairs.extend(self.tracestate.clone().map(|value| (TRACESTATE, value)));
        pairs.extend(self.recursion_depth.clone().map(|value| (RECURSION_DEPTH, value)));
        pairs
    }

    /// As [`Self::child_of`], from the headers of a NATS message.
    pub(crate) fn child_of_nats(headers: Option<&async_nats::HeaderMap>) -> Self {
        Self::child_of(|name| nats_header(headers, name))
    }
}

/// Finds a header of a NATS message.
pub(crate) fn nats_header<'a>(headers: Option<&'a async_nats::HeaderMap>, name: &str) -> Option<&'a str> {
    // Some clients write header names in canonical case, so letter case must not matter.
    headers?
        .iter()
        .find(|(key, _)| AsRef::<str>::as_ref(*key).eq_ignore_ascii_case(name))
        .and_then(|(_, values)| values.first())
        .map(async_nats::HeaderValue::as_str)
}

fn passable(value: &str) -> Option<String> {
    let visible = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (visible && !value.is_empty() && value.len() <= MAX_HEADER).then(|| value.to_owned())
}

fn is_hex(field: &str, length: usize) -> bool {
    field.len() == length && field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(field: &str) -> bool {
    field.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::{RECURSION_DEPTH, TRACEPARENT, TRACESTATE, TraceHeaders, Traceparent};

    const GOOD: &str = "00-5f1c0d5e2b7a4c66a1d2e3f405162738-00c1d2e3f4a5b6c7-01";

    #[test]
    fn a_traceparent_is_read_strictly() {
        fn check(header: &str, expect: bool) {
            assert_eq!(Traceparent::parse(header).is_some(), expect, "{header}");
        }
        check(GOOD, true);
        check("01-5f1c0d5e2b7a4c66a1d2e3f405162738-00c1d2e3f4a5b6c7-01-more", true);
        check("00-5f1c0d5e2b7a4c66a1d2e3f405162738-00c1d2e3f4a5b6c7-01-more", false);
        check("ff-5f1c0d5e2b7a4c66a1d2e3f405162738-00c1d2e3f4a5b6c7-01", false);
        check("00-5F1C0D5E2B7A4C66A1D2E3F405162738-00c1d2e3f4a5b6c7-01", false);
        check("00-00000000000000000000000000000000-00c1d2e3f4a5b6c7-01", false);
        check("00-5f1c0d5e2b7a4c66a1d2e3f405162738-0000000000000000-01", false);
        check("00-5f1c0d5e2b7a4c66a1d2e3f405162738-01", false);
        check("", false);
    }

    #[test]
    fn a_child_keeps_the_trace_and_gets_a_span_of_its_own() {
        let headers = TraceHeaders::child_of(|name| match name {
            TRACEPARENT => Some(GOOD),
            TRACESTATE => Some("vendor=1"),
            RECURSION_DEPTH => Some("1"),
            _ => None,
        });
        assert_eq!(headers.traceparent.trace_id(), "5f1c0d5e2b7a4c66a1d2e3f405162738");
        assert_ne!(headers.traceparent.span_id(), "00c1d2e3f4a5b6c7");
        assert_eq!(headers.tracestate.as_deref(), Some("vendor=1"));
        assert_eq!(headers.recursion_depth.as_deref(), Some("1"));
        assert_ne!(headers.child().traceparent.span_id(), headers.traceparent.span_id());
    }

    #[test]
    fn a_malformed_parent_starts_a_trace_without_its_state() {
        let headers = TraceHeaders::child_of(|name| match name {
            TRACEPARENT => Some("garbage"),
            TRACESTATE => Some("vendor=1"),
            _ => None,
        });
        assert!(Traceparent::parse(&headers.traceparent.to_string()).is_some());
        assert_eq!(headers.tracestate, None);
    }
}
