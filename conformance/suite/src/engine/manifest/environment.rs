//! Which values of an `env` table may be secrets.
//!
//! What is taken for one is taken out of all that is written, and so are messages in which it stands. An ordinary word
//! must not be: a run whose messages lack it cannot be judged again.

use std::collections::BTreeMap;

/// Parts of names of variables that hold secrets.
const NAMES: [&str; 16] = [
    "AUTH",
    "BEARER",
    "CERT",
    "COOKIE",
    "CRED",
    "DSN",
    "JWT",
    "KEY",
    "PASS",
    "PRIVATE",
    "PWD",
    "SALT",
    "SECRET",
    "SESSION",
    "SIGNATURE",
    "TOKEN",
];
/// What a variable of any name may be set to without being a secret.
const SETTINGS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "none", "null", "default"];
/// From so many bytes on any value may be a secret.
const LONG: usize = 16;
/// From so many bytes on one with letters and digits may be one.
const MIXED: usize = 8;

/// The values that may be secrets.
pub(crate) fn secrets(env: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    env.iter().filter(|(name, value)| may_be_secret(name, value)).map(|(_, value)| value)
}

/// Whether a value may be a secret, by the name of its variable or by its length.
pub(crate) fn may_be_secret(name: &str, value: &str) -> bool {
    if SETTINGS.iter().any(|setting| value.eq_ignore_ascii_case(setting)) {
        return false;
    }
    let name = name.to_ascii_uppercase();
    let is_mixed = value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit());
    NAMES.iter().any(|part| name.contains(part))
        || name.split('_').any(|part| part == "PIN")
        || value.len() >= LONG
        || (value.len() >= MIXED && is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name_or_its_length() {
        for (name, value) in [
            ("ACME_SECRET", "hush"),
            ("api_key", "test"),
            ("DB_PASSWORD", "maria"),
            ("GITHUB_TOKEN", "gh-a"),
            ("CARD_PIN", "4711"),
            ("BASIC_AUTH", "me:it"),
            ("REMOTE", "postgres://me:hush@db/acme"),
            ("WHATEVER", "correct horse battery"),
            ("WHATEVER", "hush-0123"),
        ] {
            assert!(may_be_secret(name, value), "{name}={value}");
        }
    }

    #[test]
    fn an_ordinary_word_is_none() {
        for (name, value) in [
            ("MODE", "success"),
            ("LOG_LEVEL", "info"),
            ("STAGE", "production"),
            ("TOOL", "calculator"),
            ("PORT", "4222"),
            ("SHIPPING", "calendar"),
            ("AUTH_ENABLED", "true"),
            ("API_KEY", "None"),
            ("MODEL", "m-1"),
        ] {
            assert!(!may_be_secret(name, value), "{name}={value}");
        }
    }
}
