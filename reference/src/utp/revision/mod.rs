//! The revisions of UTP, and the one place that knows how a command, a report and the start of a turn look in each.
//!
//! `v1r3` has the identity of a call in the payload; `v1r4` has it in [`headers`], and no payload may repeat it.
//! In reading order: [`headers`] (what `v1r4` carries there), `command`, `report`, `turn` (each read and written in both).
//! Whoever is behind this module handles an `Identity` and does not see where it came from.

pub(crate) mod command;
pub mod headers;
pub(crate) mod report;
pub(crate) mod turn;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use headers::Headers;

/// A revision of UTP: the `<ver>` token of every subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Revision {
    /// Identity in payloads.
    #[default]
    V1r3,
    /// Identity in headers.
    V1r4,
}

/// A version that this implementation does not speak.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of the revisions v1r3 and v1r4")]
pub struct UnknownRevision(String);

impl Revision {
    /// All revisions, the oldest first.
    pub const ALL: [Self; 2] = [Self::V1r3, Self::V1r4];

    /// The token as it stands in subjects.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1r3 => "v1r3",
            Self::V1r4 => "v1r4",
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        let known = Self::ALL.into_iter().find(|revision| revision.as_str() == text);
        known.ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}

/// The revision of a message on a subject without a `<ver>` token: that which its headers show, if it is served.
pub(crate) fn shown<'a>(served: &[Revision], lookup: impl Fn(&str) -> Option<&'a str>) -> Revision {
    match served {
        [only] => *only,
        _ if headers::IDENTITY.into_iter().any(|name| lookup(name).is_some()) => Revision::V1r4,
        _ => Revision::V1r3,
    }
}

#[cfg(test)]
mod tests {
    use super::{Revision, headers, shown};

    #[test]
    fn revisions_are_read_written_and_ordered() {
        for revision in Revision::ALL {
            assert_eq!(revision.to_string().parse(), Ok(revision));
            assert_eq!(serde_json::to_value(revision).expect("JSON"), revision.as_str());
        }
        assert!(Revision::V1r3 < Revision::V1r4);
        for unknown in ["v1r5", "V1r4", "", "v1"] {
            assert!(unknown.parse::<Revision>().is_err(), "{unknown}");
        }
    }

    #[test]
    fn headers_show_the_revision_where_both_are_served() {
        fn check(served: &[Revision], header: &'static str, expect: Revision) {
            let found = shown(served, |name| (name == header).then_some("x"));
            assert_eq!(found, expect, "{served:?} {header}");
        }
        check(&Revision::ALL, headers::AGENT_ID, Revision::V1r4);
        check(&Revision::ALL, headers::PROJECT_ID, Revision::V1r4);
        check(&Revision::ALL, "CG-Recursion-Depth", Revision::V1r3);
        check(&Revision::ALL, "traceparent", Revision::V1r3);
        check(&[Revision::V1r3], headers::AGENT_ID, Revision::V1r3);
        check(&[Revision::V1r4], "traceparent", Revision::V1r4);
    }
}
