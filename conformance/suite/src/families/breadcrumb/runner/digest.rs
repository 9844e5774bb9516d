//! Words that follow from a seed.

use sha2::{Digest as _, Sha256};

/// Digest of these parts, in hexadecimal.
pub(in crate::families::breadcrumb) fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    crate::spec::library::hex(&hash.finalize())
}
