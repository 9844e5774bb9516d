//! W3C trace context, as far as UTP uses it (Tool Development Guide §1).

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest, Sha256};

use super::revision::{Revision, header};
use crate::spec::library::hex;

/// Header with how deep a call is nested in others. The documents do not name it; the original system sends and checks
/// it.
pub const RECURSION_DEPTH: &str = "CG-Recursion-Depth";
/// The depth at which no turn starts, nor above it (CGContext Protocol Spec §5, "unless configured").
pub(super) const DEPTH_LIMIT: u64 = 20;

/// A well-formed `traceparent`: `00-<32 hex>-<16 hex>-<2 hex>`, lower case, no all-zero ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traceparent {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    flags: String,
}

impl Traceparent {
    /// A trace whose ids follow from `seed`.
    pub fn from_seed(seed: &str) -> Self {
        let digest = hex(&Sha256::digest(seed.as_bytes()));
        Self { trace_id: digest[..32].to_owned(), span_id: digest[32..48].to_owned(), flags: "01".to_owned() }
    }

    /// Reads a header; `None` when it is not well-formed.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace_id, span_id, flags] = parts.as_slice() else { return None };
        let is_hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let named = |part: &str| part.bytes().any(|byte| byte != b'0');
        let well_formed = is_hex(version, 2)
            && *version != "ff"
            && is_hex(trace_id, 32)
            && named(trace_id)
            && is_hex(span_id, 16)
            && named(span_id)
            && is_hex(flags, 2);
        well_formed.then(|| Self {
            trace_id: (*trace_id).to_owned(),
            span_id: (*span_id).to_owned(),
            flags: (*flags).to_owned(),
        })
    }

    /// The same trace with a new span that follows from `seed`.
    #[must_use]
    pub fn child(&self, seed: &str) -> Self {
        let digest = hex(&Sha256::digest(format!("{}{seed}", self.span_id).as_bytes()));
        Self { span_id: digest[..16].to_owned(), ..self.clone() }
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{}", self.trace_id, self.span_id, self.flags)
    }
}

/// Whether a request for a turn of `v1r4` asks for one so deep that the platform refuses it.
pub(super) fn is_too_deep(revision: Revision, headers: &BTreeMap<String, String>) -> bool {
    let depth = header(headers, RECURSION_DEPTH).and_then(|depth| depth.parse::<u64>().ok());
    revision == Revision::V1r4 && depth.is_some_and(|depth| depth >= DEPTH_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_stays_in_the_trace_under_another_span() {
        let parent = Traceparent::from_seed("a");
        let child = parent.child("b");
        assert_eq!(parent.trace_id, child.trace_id);
        assert_ne!(parent.span_id, child.span_id);
        assert_eq!(Traceparent::parse(&child.to_string()), Some(child));
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        for text in [
            "",
            "00",
            "00-xyz",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        ] {
            assert_eq!(Traceparent::parse(text), None, "{text}");
        }
    }
}
