//! What words say: a failure, a success, the meaning of an error (resolution A31).
//!
//! `outcome` asks; nothing here knows of calls and frames.

use serde_json::Value;

use crate::families::hub::agent::mock::results;

/// Words of which one stands in a sentence on a failure.
const FAILURES: [&str; 7] = ["error", "fail", "unknown", "not found", "unavailable", "refused", "no such"];
/// Words before one of those that take it back, as in "0 errors".
const DENIALS: [&str; 6] = ["0", "no", "not", "zero", "without", "any"];
/// Words that claim a success when nothing else is said.
const SUCCESSES: [&str; 7] = ["sent", "done", "ok", "success", "succeeded", "created", "completed"];
/// Words that turn a sentence which begins with one of those.
const TURNS: [&str; 7] = ["no", "not", "cannot", "unable", "false", "but", "denied"];
/// Words of a code or a message that are shorter carry no meaning of their own.
const SHORT: usize = 4;

/// JSON within a text, else the value.
pub(super) fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// Null, false, 0, and what holds nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Whether what a model reads says by itself that the call failed. A flag decides before words do.
pub(super) fn says_failure(outcome: &Value) -> bool {
    let outcome = &parsed(outcome);
    if let Some(text) = outcome.as_str() {
        return speaks_of_failure(text);
    }
    let flag = ["success", "ok"].into_iter().find_map(|name| outcome.get(name).and_then(Value::as_bool));
    if let Some(succeeds) = flag {
        return !succeeds;
    }
    ["error", "is_error"].into_iter().filter_map(|name| outcome.get(name)).any(|member| !is_empty(member))
}

fn speaks_of_failure(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_taken_back = |at: usize| {
        let before = text[..at].split_whitespace().next_back().unwrap_or_default();
        DENIALS.contains(&before.trim_matches(|letter: char| !letter.is_alphanumeric()))
    };
    FAILURES.into_iter().any(|word| text.match_indices(word).any(|(at, _)| !is_taken_back(at)))
}

/// Whether what a model reads of a failed call says nothing, or says that it succeeded.
pub(super) fn hides_failure(outcome: &Value) -> bool {
    let outcome = &parsed(outcome);
    if let Some(text) = outcome.as_str() {
        return text.trim().is_empty() || claims_success(text);
    }
    let claims = |name: &str| {
        outcome
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|word| SUCCESSES.contains(&word.to_lowercase().as_str()))
    };
    is_empty(outcome) || (!says_failure(outcome) && ["status", "result"].into_iter().any(claims))
}

/// The text is a word of success, or begins with one and takes nothing back.
fn claims_success(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let begins = words.next().is_some_and(|word| SUCCESSES.contains(&word));
    begins && !speaks_of_failure(&text) && !text.contains("n't") && !words.any(|word| TURNS.contains(&word))
}

/// Whether a text in lower case says what a code means: the code, its words, half of the words of the message, the
/// link, or the usual words for it.
pub(super) fn means(text: &str, code: &str) -> bool {
    let code = code.to_lowercase();
    let has_words = code.split('_').filter(|word| word.len() >= SHORT).all(|word| text.contains(word));
    let message = results::message(&code.to_uppercase()).to_lowercase();
    let words: Vec<&str> =
        message.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > SHORT).collect();
    let said = words.iter().filter(|word| text.contains(**word)).count();
    text.contains(&code)
        || has_words
        || said * 2 >= words.len()
        || (code == "integration_not_connected" && text.contains(results::SETUP_URL))
        || usual(&code).iter().any(|word| text.contains(word))
}

/// Words for the contract's column of meanings (L78-85), and those that go with the statuses.
fn usual(code: &str) -> &'static [&'static str] {
    match code {
        "integration_not_connected" => &[
            "not connected",
            "n't connected",
            "n’t connected",
            "not been connected",
            "not yet connected",
            "connect the ",
            "connect your ",
        ],
        "integration_expired" => &["expired", "refresh"],
        "integration_permission_denied" => &["scope", "permission", "forbidden", "not allowed"],
        "tool_not_found" => &["unknown", "not found", "not know", "n't know", "no such"],
        "rate_limited" => &["too many", "limit"],
        "external_api_error" => &["external", "upstream", "provider", "service"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::hub::contract;

    #[test]
    fn a_code_and_a_message_both_carry_the_meaning() {
        for (code, _) in contract::CODES {
            assert!(means(&code.to_lowercase(), code), "{code}");
            assert!(means(&results::message(code).to_lowercase(), code), "{code}");
            assert!(!means("something went wrong", code), "{code}");
            assert!(!means("the tool failed", code), "{code}");
        }
    }

    #[test]
    fn so_do_the_usual_words() {
        let check = |text: &str, code: &str| assert!(means(text, code), "{text}");
        check("the calendar isn't connected yet", "INTEGRATION_NOT_CONNECTED");
        check("the token could not be refreshed", "INTEGRATION_EXPIRED");
        check("a scope is missing", "INTEGRATION_PERMISSION_DENIED");
        check("the hub does not know this tool", "TOOL_NOT_FOUND");
        check("too many requests, try again in a while", "RATE_LIMITED");
        check("you were rate-limited", "RATE_LIMITED");
        check("the provider had a problem", "EXTERNAL_API_ERROR");
    }

    #[test]
    fn a_flag_decides_before_words() {
        let check = |outcome: Value, expect: bool| assert_eq!(says_failure(&outcome), expect, "{outcome}");
        check(json!({"id": 1, "error": "", "success": true}), false);
        check(json!({"success": true, "error": "none"}), false);
        check(json!({"success": false}), true);
        check(json!({"error": "", "id": 1}), false);
        check(json!({"error": 0, "errors": []}), false);
        check(json!({"error": {"code": "X"}}), true);
        check(json!({"is_error": true, "error": ""}), true);
        check(json!("Created the task; 0 errors, 1 item."), false);
        check(json!("Created without any error."), false);
        check(json!("error: the Hub is down"), true);
        check(json!("{\"success\": false}"), true);
    }

    #[test]
    fn a_claim_of_success_hides_a_failure() {
        let check = |outcome: Value, expect: bool| assert_eq!(hides_failure(&outcome), expect, "{outcome}");
        check(json!(""), true);
        check(json!({}), true);
        check(json!("Done."), true);
        check(json!("{\"status\": \"sent\"}"), true);
        check(json!("Done, the mail was sent. (RATE_LIMITED)"), true);
        check(json!("Sent nothing: not connected"), false);
        check(json!("ok, but the limit is reached"), false);
        check(json!("The mail was not sent: RATE_LIMITED"), false);
        check(json!({"status": "failed"}), false);
        check(json!({"status": "ok", "error": {"code": "RATE_LIMITED"}}), false);
        check(json!({"code": "RATE_LIMITED"}), false);
    }
}
