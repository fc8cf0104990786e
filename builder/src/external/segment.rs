//! Compression of segments.

use sternhalma_data::table::checksum;

/// The zstd level with the best ratio per time. Higher levels take several
/// times as long and save a few percent.
const LEVEL: i32 = 3;

/// A compressed segment and its checksum. The bytes of a segment without states are empty.
#[derive(Default)]
pub(crate) struct PackedSegment {
    pub bytes: Vec<u8>,
    pub checksum: u64,
}

/// A compressor and a decompressor of segments, with a buffer.
pub(crate) struct SegmentCodec {
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    /// A buffer for packed bytes.
    pub bytes: Vec<u8>,
}

impl SegmentCodec {
    pub fn new() -> SegmentCodec {
        let compressor = zstd::bulk::Compressor::new(LEVEL).expect("the level is one of zstd's");
        let decompressor = zstd::bulk::Decompressor::new().expect("zstd needs little memory");
        SegmentCodec { compressor, decompressor, bytes: Vec::new() }
    }

    /// Returns an upper bound of the memory of a codec for segments of `words` words, in bytes.
    pub fn memory(words: usize) -> u64 {
        // Compressor and decompressor as measured, and the bytes of a segment.
        (1700 << 10) + 9 * words as u64
    }

    /// Compresses a segment.
    pub fn pack(&mut self, words: &[u64]) -> PackedSegment {
        if words.iter().all(|&word| word == 0) {
            return PackedSegment::default();
        }
        let bytes = bytemuck::cast_slice(words);
        self.bytes.resize(zstd::zstd_safe::compress_bound(bytes.len()), 0);
        let length =
            self.compressor.compress_to_buffer(bytes, &mut self.bytes[..]).expect("the buffer is large enough");
        let bytes = self.bytes[..length].to_vec();
        PackedSegment { checksum: checksum(&bytes), bytes }
    }

    /// Fills `words` from packed bytes. Returns whether the bytes are valid
    /// and contain exactly that many words.
    pub fn unpack(&mut self, packed: &[u8], words: &mut [u64]) -> bool {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        self.decompressor.decompress_to_buffer(packed, bytes).is_ok_and(|length| length == bytes.len())
    }
}
