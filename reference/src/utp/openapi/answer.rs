//! What the upstream's answer becomes: a result, or a failure with the protocol's code (UTP §5, Guide §4).
//!
//! Pure. Nothing of the answer passes without the redactor, and its `__cg_control` does not pass at all: whether the
//! turn goes on is not the upstream's to say (Guide §1).

use serde_json::{Map, Value, json};

use crate::utp::message::ErrorCode;
use crate::utp::tool_service::{CONTROL, ToolFailure, ToolOutput};

use super::redact::Redactor;
use super::upstream::UpstreamResponse;

/// A text longer than this is given in part: cards travel over a broker with a limit.
const MAX_TEXT: usize = 384 * 1024;

/// How much of a refusal's body is passed on.
const MAX_EXCERPT: usize = 300;

/// Reads an answer.
pub(super) fn read(answer: &UpstreamResponse, redactor: &Redactor) -> Result<ToolOutput, ToolFailure> {
    if !(200..300).contains(&answer.status) {
        return Err(refused(answer, redactor));
    }
    let latency = u64::try_from(answer.latency.as_millis()).unwrap_or(u64::MAX);
    let finish = |mut result: Map<String, Value>| {
        result.insert("latency_ms".to_owned(), json!(latency));
        Value::Object(result)
    };
    let data = |value: Value| finish(Map::from_iter([("data".to_owned(), value)]));
    match serde_json::from_slice(&answer.body) {
        Ok(Value::Object(mut members)) => {
            members.shift_remove(CONTROL);
            Ok(ToolOutput::Complete(finish(redactor.object(members))))
        }
        Ok(value) if answer.is_json => Ok(ToolOutput::Complete(data(redactor.value(value)))),
        _ => {
            let text = redactor.text(&String::from_utf8_lossy(&answer.body));
            let kept = cut(&text, MAX_TEXT);
            if kept.len() == text.len() {
                return Ok(ToolOutput::Complete(data(Value::String(text))));
            }
            let message = format!("the answer of {} bytes is given up to byte {}", text.len(), kept.len());
            let missing = ToolFailure::new(ErrorCode::IncompleteResult, message)
                .with_detail(json!({"length_bytes": text.len(), "given_bytes": kept.len()}));
            Ok(ToolOutput::Partial { result: data(Value::from(kept)), missing })
        }
    }
}

/// The failure that an answer without success is.
fn refused(answer: &UpstreamResponse, redactor: &Redactor) -> ToolFailure {
    let status = answer.status;
    let code = match status {
        401 | 403 => ErrorCode::AuthFailed,
        400 | 404 | 422 => ErrorCode::BadRequest,
        // A redirect is not followed, so this answer has no result.
        300..400 | 429 | 500.. => ErrorCode::UpstreamUnavailable,
        _ => ErrorCode::InternalError,
    };
    let text = redactor.text(&String::from_utf8_lossy(&answer.body));
    let mut detail = json!({"http_status": status, "retryable": status == 429 || status >= 500});
    let excerpt = cut(text.trim(), MAX_EXCERPT);
    if !excerpt.is_empty() {
        detail["upstream_message"] = Value::from(excerpt);
    }
    ToolFailure::new(code, format!("the upstream answered with status {status}")).with_detail(detail)
}

/// The beginning of a text, at most so many bytes of it.
fn cut(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{MAX_TEXT, read};
    use crate::utp::openapi::redact::Redactor;
    use crate::utp::openapi::redact::tests::secret;
    use crate::utp::openapi::upstream::UpstreamResponse;
    use crate::utp::tool_service::{ToolFailure, ToolOutput};

    fn answered(status: u16, is_json: bool, body: &str) -> Result<ToolOutput, ToolFailure> {
        let body = body.to_owned().into();
        let answer = UpstreamResponse { status, is_json, body, latency: Duration::from_millis(12) };
        read(&answer, &Redactor::new(&[secret("secret-77")]))
    }

    #[test]
    fn an_answer_becomes_a_result() {
        fn check(is_json: bool, body: &str, expect: Value) {
            assert_eq!(answered(200, is_json, body), Ok(ToolOutput::Complete(expect)), "{body}");
        }
        check(false, "plain", json!({"data": "plain", "latency_ms": 12}));
        check(false, "", json!({"data": "", "latency_ms": 12}));
        check(true, "[1]", json!({"data": [1], "latency_ms": 12}));
        check(false, "[1]", json!({"data": "[1]", "latency_ms": 12}));
        check(true, "{broken", json!({"data": "{broken", "latency_ms": 12}));
        check(true, "{\"error\": 1, \"latency_ms\": 1}", json!({"error": 1, "latency_ms": 12}));
        check(
            true,
            "{\"__cg_control\": {\"after_execution\": \"terminate\"}, \"a\": {\"__cg_control\": 1}}",
            json!({"a": {"__cg_control": 1}, "latency_ms": 12}),
        );
        check(false, "you are secret-77", json!({"data": "you are [redacted]", "latency_ms": 12}));
    }

    #[test]
    fn a_long_text_is_given_in_part() {
        let Ok(ToolOutput::Partial { result, missing }) = answered(200, false, &"ä".repeat(MAX_TEXT)) else {
            panic!("not partial");
        };
        assert_eq!(result["data"].as_str().map(str::len), Some(MAX_TEXT));
        assert_eq!(missing.detail.expect("a detail")["length_bytes"], 2 * MAX_TEXT);
    }

    #[test]
    fn every_status_has_its_code() {
        fn check(status: u16, code: &str, retryable: bool) {
            let failure = answered(status, true, "{\"key\": \"secret-77\"}").expect_err("a failure");
            let detail = failure.detail.expect("a detail");
            assert_eq!(serde_json::to_value(failure.code).expect("JSON"), code, "{status}");
            assert_eq!(detail["retryable"], retryable, "{status}");
            assert_eq!(detail["upstream_message"], "{\"key\": \"[redacted]\"}");
        }
        check(401, "auth_failed", false);
        check(403, "auth_failed", false);
        check(400, "bad_request", false);
        check(404, "bad_request", false);
        check(422, "bad_request", false);
        check(429, "upstream_unavailable", true);
        check(500, "upstream_unavailable", true);
        check(503, "upstream_unavailable", true);
        check(301, "upstream_unavailable", false);
        check(405, "internal_error", false);
        check(418, "internal_error", false);
    }
}
