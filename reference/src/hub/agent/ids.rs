//! Ids: the UUIDs that the contract asks for, and new ones for requests, tasks and documents.
//!
//! New ids only have to be distinct; nothing here is a secret.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// A UUID in its usual form, as it was written.
#[derive(Debug, Clone)]
pub(super) struct Uuid(String);

impl Uuid {
    /// Any version and variant: an id is compared and not looked into.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let form = text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        form.then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A new id: the prefix, a hyphen, 128 random bits.
pub(super) fn new_id(prefix: &str) -> String {
    // Every `RandomState` is keyed from the operating system's entropy, with a key that is never used again.
    let word = || RandomState::new().hash_one(prefix);
    format!("{prefix}-{:016x}{:016x}", word(), word())
}
