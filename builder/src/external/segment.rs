//! Compression of segments.

use sternhalma_data::table::checksum;

use super::delta::{self, Known};
use super::neighbors::NeighborOffsets;

/// The zstd level with the best ratio per time. Higher levels take several
/// times as long and save a few percent.
const LEVEL: i32 = 3;

/// The first byte of a segment of a layer: a zstd frame follows.
const WHOLE: u8 = 0;
/// The first byte of a segment of a layer: the difference to the two previous layers follows.
const DELTA: u8 = 1;

/// A compressed segment and its checksum. The bytes of a segment without states are empty.
#[derive(Default)]
pub struct PackedSegment {
    /// The compressed bytes.
    pub bytes: Vec<u8>,
    /// The checksum of the bytes.
    pub checksum: u64,
}

impl PackedSegment {
    /// Creates a segment of these compressed bytes.
    pub fn new(bytes: Vec<u8>) -> PackedSegment {
        let checksum = checksum(&bytes);
        PackedSegment { bytes, checksum }
    }

    /// Returns the segment in the form of a layer, given that of a copy. It can be read without other layers.
    pub fn to_layer_segment(&self) -> PackedSegment {
        match &self.bytes[..] {
            [] => PackedSegment::default(),
            frame => PackedSegment::new(whole_form(frame)),
        }
    }
}

/// A compressor and a decompressor of segments, with a buffer.
pub struct SegmentCodec {
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    /// A buffer for packed bytes.
    pub bytes: Vec<u8>,
}

impl Default for SegmentCodec {
    fn default() -> SegmentCodec {
        let compressor = zstd::bulk::Compressor::new(LEVEL).expect("the level is one of zstd's");
        let decompressor = zstd::bulk::Decompressor::new().expect("zstd needs little memory");
        SegmentCodec { compressor, decompressor, bytes: Vec::new() }
    }
}

impl SegmentCodec {
    /// Returns an upper bound of the memory of a codec for segments of `words` words, in bytes.
    pub fn memory(words: usize) -> u64 {
        // Compressor and decompressor as measured, and the bytes of a segment.
        (1700 << 10) + 9 * words as u64
    }

    /// Returns an upper bound of the memory for [`pack_delta`](SegmentCodec::pack_delta) and
    /// [`unpack_delta`](SegmentCodec::unpack_delta) with segments of `words` words, in bytes.
    pub fn delta_memory(words: usize) -> u64 {
        // The streams of real layers have less than one bit per bit of the segment.
        24 * words as u64 + (128 << 10)
    }

    /// Compresses a segment of a layer, given the segment in the two previous layers, the last one
    /// first. `whole` is the result of [`pack`](SegmentCodec::pack) for the segment.
    pub fn pack_delta(
        &mut self,
        words: &mut [u64],
        whole: &PackedSegment,
        layers: [&[u64]; 2],
        mut offsets: NeighborOffsets,
    ) -> PackedSegment {
        if whole.bytes.is_empty() {
            return PackedSegment::default();
        }
        let known = Known { bits: offsets.bits(), layers };
        let delta = delta::encode(words, &known, |word| offsets.references(word));
        if delta.len() < whole.bytes.len() {
            PackedSegment::new(with_form(DELTA, &delta))
        } else {
            whole.to_layer_segment()
        }
    }

    /// Fills `words` from the bytes of a segment of a layer whose segments are whole. Returns whether the bytes are
    /// valid.
    pub fn unpack_whole(&mut self, packed: &[u8], words: &mut [u64]) -> bool {
        matches!(packed.split_first(), Some((&WHOLE, frame)) if self.unpack(frame, words))
    }

    /// Fills `words` from the bytes of a segment of a layer. Returns whether the bytes are valid.
    pub fn unpack_delta(
        &mut self,
        packed: &[u8],
        words: &mut [u64],
        layers: [&[u64]; 2],
        mut offsets: NeighborOffsets,
    ) -> bool {
        match packed.split_first() {
            Some((&WHOLE, frame)) => self.unpack(frame, words),
            Some((&DELTA, bytes)) => {
                let known = Known { bits: offsets.bits(), layers };
                delta::decode(bytes, words, &known, |word| offsets.references(word))
            }
            _ => false,
        }
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
        PackedSegment::new(self.bytes[..length].to_vec())
    }

    /// Fills `words` from packed bytes. Returns whether the bytes are valid
    /// and contain exactly that many words.
    pub fn unpack(&mut self, packed: &[u8], words: &mut [u64]) -> bool {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        self.decompressor.decompress_to_buffer(packed, bytes).is_ok_and(|length| length == bytes.len())
    }
}

/// Returns the bytes of a segment of a layer with this zstd frame.
pub(super) fn whole_form(frame: &[u8]) -> Vec<u8> {
    with_form(WHOLE, frame)
}

fn with_form(form: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + content.len());
    bytes.push(form);
    bytes.extend_from_slice(content);
    bytes
}
