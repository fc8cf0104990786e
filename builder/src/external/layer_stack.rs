//! A segment in all layers.

use super::layer_file::LayerFile;
use super::partitioning::Partitioning;
use super::segment::SegmentCodec;
use crate::error::Result;

/// A reader of a segment in consecutive layers. Each of them is the difference to the two before.
pub struct SegmentHistory {
    codec: SegmentCodec,
    /// The segment in the last layers, the last one first, with a spare word.
    layers: [Vec<u64>; 3],
}

impl SegmentHistory {
    pub fn new(segment_words: usize) -> SegmentHistory {
        SegmentHistory { codec: SegmentCodec::default(), layers: std::array::from_fn(|_| vec![0; segment_words + 2]) }
    }

    /// Returns an upper bound of the memory of a history of segments of `words` words, in bytes.
    pub fn memory(words: usize) -> u64 {
        SegmentCodec::memory(words) + SegmentCodec::delta_memory(words) + 24 * (words as u64 + 2)
    }

    /// Calls `visit(codec, distance, words)` for each layer in which a segment is not empty. The layers begin with
    /// layer 0. Words after those of the segment are 0.
    pub fn for_each(
        &mut self,
        partitioning: &Partitioning,
        segment: u64,
        layers: &[LayerFile],
        mut visit: impl FnMut(&mut SegmentCodec, usize, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let length = partitioning.segment(segment).words().len();
        self.layers.iter_mut().for_each(|words| words.fill(0));
        let mut is_zero = [true; 3];
        for (distance, layer) in layers.iter().enumerate() {
            self.layers.rotate_right(1);
            is_zero.rotate_right(1);
            let [words, last, before] = &mut self.layers;
            let known = [&last[..length], &before[..length]];
            let any = !layer.is_empty(segment..segment + 1)
                && layer.read_delta(
                    segment,
                    &mut words[..length],
                    known,
                    partitioning.neighbors(segment),
                    &mut self.codec,
                )?;
            if any {
                visit(&mut self.codec, distance, words)?;
            } else if !is_zero[0] {
                words[..length].fill(0);
            }
            is_zero[0] = !any;
        }
        Ok(())
    }
}
