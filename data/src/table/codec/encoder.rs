//! The bytes of blocks.

use std::ops::Range;

use super::zstd::{ZstdEncoder, packed};
use crate::board::{Prefix, Rank};
use crate::table::format::Encoding;

/// An encoder of blocks.
///
/// The bytes of a block depend only on its distances and the encoding. For
/// [`Encoding::Zstd`] they also depend on the version of the zstd library.
///
/// ```
/// use sternhalma_data::table::write::BlockEncoder;
/// use sternhalma_data::{Board, Encoding, Prefix};
/// let prefix = Prefix::whole(Board::new(3, 2)?);
/// let mut encoder = BlockEncoder::new(prefix, Encoding::Mod3);
/// assert_eq!(encoder.encode(1..3, &[2, 4]), [0b01_10]);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
pub struct BlockEncoder {
    pieces: usize,
    kind: EncoderKind,
}

enum EncoderKind {
    Byte,
    Mod3,
    Zstd(Box<ZstdEncoder>),
}

impl BlockEncoder {
    /// Returns an encoder of the blocks of tables of these states.
    pub fn new(prefix: Prefix, encoding: Encoding) -> BlockEncoder {
        let kind = match encoding {
            Encoding::Byte => EncoderKind::Byte,
            Encoding::Mod3 => EncoderKind::Mod3,
            Encoding::Zstd(zstd) => {
                EncoderKind::Zstd(Box::new(ZstdEncoder::new(prefix.board().geometry(), zstd.level())))
            }
        };
        BlockEncoder { pieces: prefix.board().pieces(), kind }
    }

    /// Returns the bytes of the block with these ranks. Distances are at most
    /// 254.
    ///
    /// Cost: a copy for [`Encoding::Byte`]. For [`Encoding::Zstd`], about the
    /// time that the zstd library takes for a quarter as many bytes.
    ///
    /// # Panics
    /// If there is not one distance per rank.
    pub fn encode(&mut self, ranks: Range<u64>, distances: &[u8]) -> Vec<u8> {
        assert_eq!(ranks.end - ranks.start, distances.len() as u64, "there is one distance per rank");
        match &mut self.kind {
            EncoderKind::Byte => distances.to_vec(),
            EncoderKind::Mod3 => packed(distances.iter().map(|distance| distance % 3)),
            EncoderKind::Zstd(encoder) => encoder.encode(Rank(ranks.start).state(self.pieces), distances),
        }
    }
}
