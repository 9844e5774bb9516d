//! Words that follow from a seed, and what makes those of one run unlike those of any other.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use crate::spec::library::hex;

/// SHA-256 of these parts, in lower-case hexadecimal.
pub(crate) fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// A text that no other process gets, and this one only once.
pub(crate) fn nonce() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{now:x}{}", std::process::id())
}
