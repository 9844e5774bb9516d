//! Deflated bytes. A run packs thousands of transcripts of some kilobytes: to set up the compressor for each took longer
//! than to compress.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

thread_local! {
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), false));
    static DECOMPRESSOR: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Bytes, deflated.
#[derive(Debug, Default)]
pub(super) struct Packed {
    bytes: Box<[u8]>,
    /// How many they were.
    length: usize,
}

impl Packed {
    /// Deflates bytes; nothing where that fails.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        COMPRESSOR.with_borrow_mut(|compressor| {
            compressor.reset();
            let mut packed = Vec::with_capacity(bytes.len() / 4 + 64);
            loop {
                let read = usize::try_from(compressor.total_in()).ok()?;
                match compressor.compress_vec(&bytes[read..], &mut packed, FlushCompress::Finish).ok()? {
                    Status::StreamEnd => break,
                    Status::Ok | Status::BufError => packed.reserve(packed.capacity()),
                }
            }
            Some(Self { bytes: packed.into_boxed_slice(), length: bytes.len() })
        })
    }

    /// The bytes as they were.
    pub(super) fn unpacked(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.length);
        DECOMPRESSOR.with_borrow_mut(|decompressor| {
            decompressor.reset(false);
            // There is room for all of them, and what was packed here can be read.
            let _ = decompressor.decompress_vec(&self.bytes, &mut all, FlushDecompress::Finish);
        });
        all
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
            let packed = Packed::of(&bytes).expect("packed");
            assert!(packed.unpacked() == bytes, "{} bytes", bytes.len());
        }
    }
}
