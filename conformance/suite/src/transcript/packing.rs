//! What is compressed, and when. A run keeps thousands of transcripts of some kilobytes until it ends, and looks at each
//! once more.

use std::sync::atomic::{AtomicUsize, Ordering};

use lz4_flex::block::{compress, decompress};

/// Bytes, compressed.
#[derive(Debug, Default)]
pub(super) struct Packed {
    bytes: Box<[u8]>,
    /// How many they were.
    length: usize,
}

impl Packed {
    /// Compresses bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { bytes: compress(bytes).into_boxed_slice(), length: bytes.len() }
    }

    /// The bytes as they were.
    pub(super) fn unpacked(&self) -> Vec<u8> {
        // What was packed here can be read.
        decompress(&self.bytes, self.length).unwrap_or_default()
    }
}

/// Bytes that all shares have together.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// How many bytes somebody keeps uncompressed, counted with those of everybody else for as long as it lives.
#[derive(Debug, Default)]
pub(super) struct Share(usize);

impl Share {
    pub(super) fn add(&mut self, bytes: usize) {
        self.0 += bytes;
        ALL.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> usize {
        self.0
    }

    /// Bytes of all shares.
    pub(super) fn of_all() -> usize {
        ALL.load(Ordering::Relaxed)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        ALL.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked_whatever_came_before() {
        let noise = |length: u32| -> Vec<u8> {
            (0..length).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
        };
        for bytes in [Vec::new(), b"a".to_vec(), noise(100_000), vec![7; 3_000_000], noise(70)] {
            let packed = Packed::of(&bytes);
            assert!(packed.unpacked() == bytes, "{} bytes", bytes.len());
        }
    }
}
