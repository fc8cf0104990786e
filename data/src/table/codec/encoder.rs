//! The bytes of blocks.

use std::ops::Range;
use std::sync::Arc;

use super::ans::AnsEncoder;
use super::intervals::Intervals;
use super::zstd::{ZstdEncoder, packed};
use crate::board::{Prefix, Symmetry};
use crate::table::format::{Encoding, Layout};

/// An encoder of blocks.
///
/// The bytes of a block depend only on its states, their distances and the
/// encoding. For [`Encoding::Zstd`] they also depend on the version of the zstd
/// library.
///
/// ```
/// use sternhalma_data::table::Layout;
/// use sternhalma_data::table::write::BlockEncoder;
/// use sternhalma_data::{Board, Encoding, Prefix};
/// let prefix = Prefix::whole(Board::new(3, 2)?);
/// let mut encoder = BlockEncoder::new(&Layout::new(prefix, Encoding::Mod3));
/// assert_eq!(encoder.encode(1..3, &[2, 4]), [0b01_10]);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
pub struct BlockEncoder {
    prefix: Prefix,
    symmetry: Option<Arc<Symmetry>>,
    kind: EncoderKind,
}

enum EncoderKind {
    Byte,
    Mod3,
    Zstd(Box<ZstdEncoder>),
    Ans(Box<AnsEncoder>),
}

impl BlockEncoder {
    /// Returns an encoder of the blocks of tables with this layout.
    pub fn new(layout: &Layout) -> BlockEncoder {
        let board = layout.prefix().board();
        let kind = match layout.encoding() {
            Encoding::Byte => EncoderKind::Byte,
            Encoding::Mod3 => EncoderKind::Mod3,
            Encoding::Zstd(zstd) => EncoderKind::Zstd(Box::new(ZstdEncoder::new(board.geometry(), zstd.level()))),
            Encoding::Ans(_) => EncoderKind::Ans(Box::new(AnsEncoder::new(board.geometry()))),
        };
        BlockEncoder { prefix: layout.prefix(), symmetry: layout.shared_symmetry(), kind }
    }

    /// Returns the bytes of the block with these indices, which are ranks, or
    /// reduced ranks in a mirrored table. Distances are at most 254.
    ///
    /// Cost: a copy for [`Encoding::Byte`]. For [`Encoding::Zstd`], less than
    /// twice the time that the zstd library takes for a quarter as many bytes.
    ///
    /// # Panics
    /// If there is not one distance per index.
    pub fn encode(&mut self, indices: Range<u64>, distances: &[u8]) -> Vec<u8> {
        assert_eq!(indices.end - indices.start, distances.len() as u64, "there is one distance per index");
        let states = Intervals::of(indices, self.prefix, self.symmetry.as_deref());
        match &mut self.kind {
            EncoderKind::Byte => distances.to_vec(),
            EncoderKind::Mod3 => packed(&distances.iter().map(|distance| distance % 3).collect::<Vec<u8>>()),
            EncoderKind::Zstd(encoder) => encoder.encode(states, distances),
            EncoderKind::Ans(encoder) => encoder.encode(states, distances),
        }
    }
}
