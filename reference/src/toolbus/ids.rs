//! Ids of calls that came without: hexadecimal, in the lengths of W3C Trace Context.
//!
//! Nothing here is a secret: the ids only have to be distinct, within a process for certain and between
//! processes as far as 64 random bits reach.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every `RandomState` is keyed from the operating system's entropy, so its hash of anything is a random word.
static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("toolbus"));
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// `words` times sixteen hexadecimal digits; no word comes twice in the life of a process.
pub(crate) fn random_hex(words: usize) -> String {
    let mut text = String::with_capacity(words * 16);
    for _ in 0..words {
        let word = scrambled(KEY.wrapping_add(COUNTER.fetch_add(1, Ordering::Relaxed)));
        let _ = write!(text, "{word:016x}");
    }
    text
}

/// The finaliser of SplitMix64: different words stay different.
fn scrambled(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::random_hex;

    #[test]
    fn no_id_comes_twice() {
        let ids: HashSet<String> = (0..10_000).map(|_| random_hex(1)).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 16));
    }
}
