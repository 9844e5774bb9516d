//! Secrets out of results, arguments and messages (contract, Response and Artifacts: redacted by default).
//!
//! The contract does not say what a secret is. Here it is:
//! - whatever stands under a key that names one, whatever its type: `password`, `api_key`, `Authorization`, …;
//! - `value` in an object whose `name` names one, the usual form of header lists;
//! - the credentials after `Bearer` or `Basic` in any string.
//!
//! A false alarm costs a value, a miss costs a secret, so keys match generously.
//! Deliberately absent: guessing secrets from their looks (entropy, prefixes of vendors), and looking into
//! JSON that travels as text.

use std::borrow::Cow;
use std::cell::LazyCell;

use serde_json::{Map, Value};

/// What stands in a secret's place.
pub(crate) const REDACTED: &str = "[redacted]";

/// Parts of keys that name secrets, in lower case and without separators.
const SECRET_PARTS: [&str; 17] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authorization",
    "cookie",
    "credential",
    "bearertoken",
    "accesstoken",
    "refreshtoken",
    "sessiontoken",
    "authtoken",
];

/// Keys that name secrets only as a whole.
const SECRET_KEYS: [&str; 2] = ["pwd", "jwt"];

/// Bytes of the shortest key that names a secret.
const SHORTEST_KEY: usize = 3;

/// Shortest run of letters alone after `Bearer` or `Basic` within a text that is taken for credentials.
const LETTERS_OF_CREDENTIALS: usize = 16;

/// Whether a key names a secret, whatever its case and separators.
pub(crate) fn is_secret(key: &str) -> bool {
    // Results have keys by the ten thousand, nearly all of them short and in ASCII.
    if key.len() < SHORTEST_KEY {
        return false;
    }
    let key: String = if key.is_ascii() {
        let letters = key.bytes().filter(u8::is_ascii_alphanumeric);
        letters.map(|letter| char::from(letter.to_ascii_lowercase())).collect()
    } else {
        key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    // `token`, `csrf_token` and the like; `max_tokens` and `token_count` are ordinary.
    key.ends_with("token")
        || SECRET_KEYS.contains(&key.as_str())
        || SECRET_PARTS.iter().any(|part| key.len() >= part.len() && key.contains(part))
}

/// Takes the secrets out, at every depth.
pub(crate) fn redact(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = self::text(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => redact_members(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes the secrets out of a call's arguments: as [`redact`], and `value` beside a `key` that names a secret,
/// which is how `mcp_state` would be given one.
pub(crate) fn redact_arguments(arguments: &mut Map<String, Value>) {
    let names_secret = arguments.get("key").and_then(Value::as_str).is_some_and(is_secret);
    redact_members(arguments);
    if names_secret && let Some(value) = arguments.get_mut("value") {
        *value = Value::String(REDACTED.to_owned());
    }
}

fn redact_members(members: &mut Map<String, Value>) {
    let names_secret = members.get("name").and_then(Value::as_str).is_some_and(is_secret);
    for (key, value) in members.iter_mut() {
        if is_secret(key) || (names_secret && key == "value") {
            *value = Value::String(REDACTED.to_owned());
        } else {
            redact(value);
        }
    }
}

/// The text without the credentials that follow `Bearer` or `Basic`.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = text;
    // Texts are megabytes, and few of them name a scheme.
    let whole = LazyCell::new(|| text.split_ascii_whitespace().take(3).count() == 2);
    while let Some((credentials, after)) = credentials(rest, || *whole) {
        kept.push_str(&rest[..credentials]);
        kept.push_str(REDACTED);
        rest = &rest[after..];
    }
    if kept.is_empty() && rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Where the first credentials of a text begin and end. `whole`: the text is two words, so that the first being
/// a scheme is proof enough.
fn credentials(text: &str, whole: impl Fn() -> bool) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let (start, length) = scheme(&text[from..])?;
        let word_starts = !text[..from + start].chars().next_back().is_some_and(char::is_alphanumeric);
        let after_scheme = from + start + length;
        let blanks = text[after_scheme..].bytes().take_while(u8::is_ascii_whitespace).count();
        let begin = after_scheme + blanks;
        let run = text[begin..].find(is_delimiter).unwrap_or(text.len() - begin);
        let token = &text[begin..begin + run];
        if word_starts && blanks > 0 && run > 0 && (whole() || looks_like_credentials(token)) {
            return Some((begin, begin + run));
        }
        from = after_scheme;
    }
}

/// Start and length of the first name of a scheme.
fn scheme(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'b', b'B', bytes).find_map(|start| {
        ["bearer", "basic"].into_iter().find_map(|scheme| {
            let word = bytes.get(start..start + scheme.len())?;
            word.eq_ignore_ascii_case(scheme.as_bytes()).then_some((start, scheme.len()))
        })
    })
}

fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '[' | ']')
}

fn looks_like_credentials(token: &str) -> bool {
    let token = token.trim_end_matches(['.', '!', '?', ':']);
    token.len() >= LETTERS_OF_CREDENTIALS || token.chars().any(|c| !c.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_secret, redact, text};

    #[test]
    fn keys_name_secrets_whatever_their_case_and_separators() {
        for key in [
            "password",
            "Pass-Word",
            "passwd",
            "secret",
            "client_secret",
            "clientSecret",
            "api_key",
            "APIKEY",
            "x-api-key",
            "token",
            "access_token",
            "refreshToken",
            "id-token",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "set-cookie",
            "private_key",
            "aws_secret_access_key",
            "credentials",
        ] {
            assert!(is_secret(key), "{key}");
        }
        for key in ["user", "max_tokens", "token_count", "author", "key", "value", "tokens", "passed", ""] {
            assert!(!is_secret(key), "{key}");
        }
    }

    #[test]
    fn values_of_every_type_and_depth_are_taken_out() {
        fn check(mut value: Value, expect: &Value) {
            redact(&mut value);
            assert_eq!(value, *expect);
        }
        check(json!({"password": {"a": [1]}, "b": 2}), &json!({"password": "[redacted]", "b": 2}));
        check(json!([[{"a": {"API-Key": null}}]]), &json!([[{"a": {"API-Key": "[redacted]"}}]]));
        check(
            json!([{"name": "Cookie", "value": "a=b"}, {"name": "Accept", "value": "c"}]),
            &json!([{"name": "Cookie", "value": "[redacted]"}, {"name": "Accept", "value": "c"}]),
        );
        check(json!({"a": "b", "n": 1.5, "t": true}), &json!({"a": "b", "n": 1.5, "t": true}));
    }

    #[test]
    fn credentials_in_texts_are_taken_out_and_prose_stays() {
        fn check(given: &str, expect: &str) {
            assert_eq!(text(given), expect);
        }
        check("Bearer abc", "Bearer [redacted]");
        check("basic dXNlcg==", "basic [redacted]");
        check("curl -H 'Authorization: Bearer mk-1' -v", "curl -H 'Authorization: Bearer [redacted]' -v");
        check("bearer a1, Basic b2; BEARER c3.", "bearer [redacted], Basic [redacted]; BEARER [redacted]");
        check("the bearer of news stated a basic truth.", "the bearer of news stated a basic truth.");
        check("forbearer a1", "forbearer a1");
        check("Bearer", "Bearer");
        check("größe bearer ünï1 é", "größe bearer [redacted] é");
        check("", "");
    }
}
