//! How distances are stored.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// Bytes of a block in the encodings that store every state in as many bits.
pub(super) const BLOCK_BYTES: u64 = 1 << 20;

/// The form in which the distance of a state is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Encoding {
    /// The distance, in one byte per state.
    Byte,
    /// The distance modulo 3, in two bits per state. A byte holds four states,
    /// from its lowest bits up. Each partition begins with a new byte.
    Mod3,
    /// Predicted distances, compressed in blocks to about one bit per state.
    Zstd(Zstd),
    /// Differences to the distances of neighboring states, compressed in blocks by an entropy coder to
    /// about half a bit per state.
    Ans(Ans),
}

/// The parameters of [`Encoding::Ans`].
///
/// Large blocks take less space, small ones less time per look-up
/// (`docs/research/compression.md`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ans {
    block_bits: u8,
}

/// The parameters of [`Encoding::Zstd`].
///
/// Large blocks take less space, small ones less time per look-up
/// (`docs/research/compression.md`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Zstd {
    block_bits: u8,
    level: u8,
}

/// The reason why an [`Encoding`] or its parameters are invalid.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingError {
    /// The text names no encoding.
    #[error("expected the encoding `byte`, `mod3`, `zstd` or `ans`, got `{0}`")]
    Name(String),
    /// The number of states per block is invalid.
    #[error("expected a power of two of states per block, 64 to 1048576, got {0}")]
    BlockStates(u64),
    /// The compression level is invalid.
    #[error("expected a zstd level of 1 to 22, got {0}")]
    Level(u8),
}

/// The binary logarithms of the numbers of states per block.
const BLOCK_BITS: RangeInclusive<u8> = 6..=20;

/// Returns the binary logarithm of a valid number of states per block.
fn block_bits(block_states: u64) -> Result<u8, EncodingError> {
    let block_bits = block_states.trailing_zeros() as u8;
    let valid = block_states.is_power_of_two() && BLOCK_BITS.contains(&block_bits);
    valid.then_some(block_bits).ok_or(EncodingError::BlockStates(block_states))
}

impl Zstd {
    const LEVELS: RangeInclusive<u8> = 1..=22;

    /// Returns the parameters for blocks of `block_states` states, compressed
    /// at this level of zstd.
    ///
    /// # Errors
    /// If `block_states` is not a power of two from 64 to 1,048,576, or `level`
    /// is not 1 to 22.
    pub fn new(block_states: u64, level: u8) -> Result<Zstd, EncodingError> {
        let block_bits = block_bits(block_states)?;
        if !Zstd::LEVELS.contains(&level) {
            return Err(EncodingError::Level(level));
        }
        Ok(Zstd { block_bits, level })
    }

    /// Returns the number of states per block. The last block of a partition
    /// may have fewer.
    pub const fn block_states(self) -> u64 {
        1 << self.block_bits
    }

    /// Returns the compression level of zstd.
    pub const fn level(self) -> u8 {
        self.level
    }
}

impl Default for Zstd {
    /// Returns blocks of 32,768 states at level 12.
    fn default() -> Zstd {
        Zstd { block_bits: 15, level: 12 }
    }
}

impl Ans {
    /// Returns the parameters for blocks of `block_states` states.
    ///
    /// # Errors
    /// If `block_states` is not a power of two from 64 to 1,048,576.
    pub fn new(block_states: u64) -> Result<Ans, EncodingError> {
        Ok(Ans { block_bits: block_bits(block_states)? })
    }

    /// Returns the number of states per block. The last block of a partition
    /// may have fewer.
    pub const fn block_states(self) -> u64 {
        1 << self.block_bits
    }
}

impl Default for Ans {
    /// Returns blocks of 65,536 states.
    fn default() -> Ans {
        Ans { block_bits: 16 }
    }
}

impl Encoding {
    /// Returns the three bytes of the header that contain the encoding: its
    /// code, the block bits and the level.
    pub(super) const fn to_header(self) -> [u8; 3] {
        match self {
            Encoding::Byte => [1, 0, 0],
            Encoding::Mod3 => [2, 0, 0],
            Encoding::Zstd(zstd) => [3, zstd.block_bits, zstd.level],
            Encoding::Ans(ans) => [4, ans.block_bits, 0],
        }
    }

    /// Returns the encoding with these bytes in the header, or `None` if the
    /// code is unknown.
    pub(super) fn from_header([code, block_bits, level]: [u8; 3]) -> Option<Result<Encoding, EncodingError>> {
        match code {
            1 => Some(Ok(Encoding::Byte)),
            2 => Some(Ok(Encoding::Mod3)),
            3 => {
                let block_states = 1u64.checked_shl(block_bits.into()).unwrap_or(0);
                Some(Zstd::new(block_states, level).map(Encoding::Zstd))
            }
            4 => {
                let block_states = 1u64.checked_shl(block_bits.into()).unwrap_or(0);
                Some(Ans::new(block_states).map(Encoding::Ans))
            }
            _ => None,
        }
    }

    /// Returns the number of states per byte of data, or `None` if it is not
    /// the same for all bytes.
    pub const fn states_per_byte(self) -> Option<u64> {
        match self {
            Encoding::Byte => Some(1),
            Encoding::Mod3 => Some(4),
            Encoding::Zstd(_) | Encoding::Ans(_) => None,
        }
    }

    /// Returns the number of states per block if blocks are compressed, otherwise `None`.
    pub const fn states_per_compressed_block(self) -> Option<u64> {
        match self {
            Encoding::Byte | Encoding::Mod3 => None,
            Encoding::Zstd(_) | Encoding::Ans(_) => Some(self.block_states()),
        }
    }

    /// Returns the number of states per block. The last block of a partition
    /// may have fewer.
    pub const fn block_states(self) -> u64 {
        match self {
            Encoding::Byte => BLOCK_BYTES,
            Encoding::Mod3 => 4 * BLOCK_BYTES,
            Encoding::Zstd(zstd) => zstd.block_states(),
            Encoding::Ans(ans) => ans.block_states(),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Byte => "byte",
            Encoding::Mod3 => "mod3",
            Encoding::Zstd(_) => "zstd",
            Encoding::Ans(_) => "ans",
        })
    }
}

impl FromStr for Encoding {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Encoding, EncodingError> {
        match text {
            "byte" => Ok(Encoding::Byte),
            "mod3" => Ok(Encoding::Mod3),
            "zstd" => Ok(Encoding::Zstd(Zstd::default())),
            "ans" => Ok(Encoding::Ans(Ans::default())),
            _ => Err(EncodingError::Name(text.to_owned())),
        }
    }
}
