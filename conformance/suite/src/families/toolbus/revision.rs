//! The revisions of MCP, its two eras, and what a server may answer to `initialize`.

use serde_json::Value;

use super::wire_format::PROTOCOL_VERSION;
use crate::transcript::{Frame, shorten, shorten_text};

/// Oldest first. The first was published with the first SDKs only, some of which still offer it.
pub(super) const WITH_A_SESSION: [&str; 5] =
    ["2024-10-07", "2024-11-05", "2025-03-26", PROTOCOL_VERSION, NEWEST_LEGACY];
/// The first one without sessions, and the newest that the suite knows.
pub(super) const MODERN: &str = "2026-07-28";

/// The two ways in which client and server come to speak the same revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// They agree on it with `initialize`, which opens a session (`2024-11-05` to `2025-11-25`).
    Legacy,
    /// Every request names it, and there is no session (from `2026-07-28`).
    Modern,
}

/// The newest one with a session.
pub const NEWEST_LEGACY: &str = "2025-11-25";

/// The era of a revision that the suite speaks.
pub(super) fn era_of(revision: &str) -> Era {
    if revision >= MODERN { Era::Modern } else { Era::Legacy }
}

/// The revisions that the suite speaks, oldest first.
pub(super) fn known() -> Vec<&'static str> {
    WITH_A_SESSION.into_iter().chain([MODERN]).collect()
}

/// Whether the suite speaks a revision.
pub(super) fn is_known(revision: &str) -> bool {
    known().contains(&revision)
}

/// The version that a server answers `initialize` with, whether or not MCP has it.
///
/// # Errors
/// It refuses: a sentence for people.
pub(super) fn named(answer: &Frame) -> Result<&str, String> {
    answer.text("/result/protocolVersion").ok_or_else(|| refusal(&answer.body))
}

/// What is wrong with a version as the answer to `initialize` (MCP, Lifecycle, Version Negotiation), and what to do
/// about it; nothing where a session can have it. A later one than the suite knows is not judged.
pub(super) fn fault_of_session(version: &str) -> Option<(String, String)> {
    if WITH_A_SESSION.contains(&version) || (is_date(version) && version > MODERN) {
        return None;
    }
    let known = WITH_A_SESSION.join(", ");
    Some(if version == MODERN {
        (
            format!(
                "`initialize` is answered with the protocol version {version}, which has no `initialize`"
            ),
            format!("answer with an earlier version, one of {known}, or refuse the request"),
        )
    } else {
        (
            format!(
                "`initialize` is answered with the protocol version `{}`, which MCP does not have",
                shorten_text(version)
            ),
            format!("answer with one of {known}"),
        )
    })
}

/// What an answer without a version says.
fn refusal(body: &Value) -> String {
    let supported = body.pointer("/error/data/supported").and_then(Value::as_array);
    let supported: Vec<String> =
        supported.into_iter().flatten().filter_map(Value::as_str).map(shorten_text).collect();
    if supported.is_empty() {
        let hint = if body.get("error").is_some() {
            format!(
                "; a server that has no session is certified with `revisions = [\"{MODERN}\"]` under `[toolbus]`"
            )
        } else {
            String::new()
        };
        return format!(
            "the answer to `initialize` has no `result.protocolVersion`: {}{hint}",
            shorten(body)
        );
    }
    let hint = if supported.iter().any(|version| version == MODERN) {
        format!("; say `revisions = [\"{MODERN}\"]` under `[toolbus]`")
    } else {
        String::new()
    };
    format!(
        "the server refuses `initialize`, and supports MCP {}; this suite speaks {}{hint}",
        supported.join(", "),
        known().join(", ")
    )
}

/// Whether a version has the form of those of MCP.
pub(super) fn is_date(version: &str) -> bool {
    version.parse::<jiff::civil::Date>().is_ok_and(|date| date.to_string() == version)
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::transcript::Kind;

    /// What is wrong with the answer to `initialize`.
    fn judged(body: Value) -> Result<String, String> {
        let frame = Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::Response,
            channel: String::new(),
            headers: std::collections::BTreeMap::new(),
            body,
        };
        let version = named(&frame)?.to_owned();
        fault_of_session(&version).map_or(Ok(version), |(fault, _)| Err(fault))
    }

    fn version(version: &str) -> Result<String, String> {
        judged(json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": version}}))
    }

    #[test]
    fn every_revision_with_a_session_is_agreed_to_and_a_later_one_than_is_known() {
        for own in WITH_A_SESSION.into_iter().chain(["2027-03-01"]) {
            assert_eq!(version(own).as_deref(), Ok(own));
        }
    }

    #[test]
    fn a_version_that_mcp_does_not_have_is_refused() {
        for own in [
            "banana",
            "",
            "2025-06-19",
            "2025-6-18",
            "1.0",
            "v2025-06-18",
            "zzzz-zz-zz",
            "2026-07-28x",
            "2027-13-40",
        ] {
            let why = version(own).expect_err("no revision");
            assert!(why.contains(&format!("`{own}`, which MCP does not have")), "{why}");
        }
    }

    #[test]
    fn a_version_without_initialize_is_no_answer_to_it() {
        let why = version(MODERN).expect_err("no session");
        assert!(why.contains("has no `initialize`"), "{why}");
    }

    #[test]
    fn a_server_that_refuses_is_quoted() {
        let error =
            json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "x"}});
        let why = judged(json!({"jsonrpc": "2.0", "id": 0, "error": error})).expect_err("refused");
        assert!(why.contains("supports MCP 2026-07-28; this suite speaks 2024-10-07"), "{why}");
        let why = judged(json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "what"}}));
        assert!(why.expect_err("refused").contains("-32601"));
    }
}
