//! Learned weights of the evaluation: the format of their files, and the network.
//!
//! A file has these parts; numbers are little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `SHEVAL\n` and a zero byte |
//! | 2 | the version, 1 |
//! | 1 | the cells along an edge of the board |
//! | 1 | the pieces per army |
//! | 2 | the hidden units of the network, or 0 without one |
//! | 2 each | the linear weights: each cell in goal order, the rearmost row, the second row, the tempo |
//! | 4 | with a network: its scale in hundredths of a move |
//! | 2 each | with a network: the weights of each input (own cells, other cells) for each hidden unit, the biases of the hidden units, the output weights (player to move, other player), the bias of the output |
//! | 8 | the checksum of all previous bytes (XXH3, 64 bits) |

use sternhalma_data::{Board, Cell, CellSet};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// The largest number of hidden units of a perspective.
pub const MAX_HIDDEN: usize = 32;

/// The integer that stands for 1 in inputs and hidden units.
pub const UNIT: i16 = 255;

/// The integer that stands for 1 in output weights.
pub const OUTPUT_UNIT: i16 = 64;

/// The largest output weight. Its product with [`UNIT`] fits into 16 bits.
pub const MAX_OUTPUT: i16 = 127;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"SHEVAL\n\0";

/// The version of the format.
const VERSION: u16 = 1;

/// The files that ship, one for each board.
const BUILT_IN: &[&[u8]] = &[include_bytes!("../../weights/9x9-6.bin"), include_bytes!("../../weights/9x9-10.bin")];

/// The checksums of the first built-in weights. Logs do not name them, because they were the only ones before logs named
/// any.
pub(crate) const FIRST_BUILT_IN: [u64; 2] = [0xb509_c4af_2a1b_9383, 0xd6a2_ffed_506c_fa69];

/// An error of a file of weights.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightsError {
    /// The bytes are not a file of weights.
    #[error("expected a file of weights, as `sternhalma train` writes it")]
    Foreign,
    /// The version is unknown.
    #[error("expected weights of version {VERSION}, got version {0}")]
    Version(u16),
    /// The file is incomplete or damaged.
    #[error("the weights are damaged: the length or the checksum is wrong")]
    Damaged,
    /// A number is outside its range.
    #[error("the weights have an invalid {0}")]
    Invalid(&'static str),
}

/// Learned weights of the evaluation of a board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LearnedWeights {
    /// The board.
    pub board: Board,
    /// The linear part.
    pub linear: LinearWeights,
    /// The network, whose output is added to the linear part.
    pub network: Option<NetworkWeights>,
}

/// The linear part of an evaluation, in hundredths of a move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinearWeights {
    /// The value of a piece on each cell, in goal order.
    pub cells: Vec<i16>,
    /// The cost of each row of the rearmost piece.
    pub rearmost: i16,
    /// The cost of each row of the second rearmost piece.
    pub second: i16,
    /// The value of being on move.
    pub tempo: i16,
}

/// The hidden units of a perspective before their activation: the biases plus the weights of all pieces.
pub type HiddenSums = [i16; MAX_HIDDEN];

/// A network with one hidden layer for the perspective of each player.
///
/// The inputs of a perspective are the pieces of its player and those of the opponent, on cells in the goal order of
/// the player. A hidden unit is the square of its sum, clipped to 0 to 1. Unused units have only zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkWeights {
    /// The hundredths of a move of an output of 1.
    pub scale: i32,
    /// The weights of each input, in units of 1/[`UNIT`]: own cells, then cells of the opponent.
    pub inputs: Vec<HiddenSums>,
    /// The biases of the hidden units, in units of 1/[`UNIT`].
    pub biases: HiddenSums,
    /// The output weights of the hidden units of the player to move and of the other player, in units of
    /// 1/[`OUTPUT_UNIT`].
    pub outputs: [HiddenSums; 2],
    /// The bias of the output, in hundredths of a move.
    pub bias: i16,
}

impl NetworkWeights {
    /// Returns the sums of a perspective, given both armies in its goal order.
    pub fn sums(&self, own: CellSet, other: CellSet) -> HiddenSums {
        let cells = self.inputs.len() / 2;
        let inputs = own.iter().map(Cell::index).chain(other.iter().map(|cell| cells + cell.index()));
        inputs.fold(self.biases, |sums, input| added(&sums, &self.inputs[input]))
    }

    /// Returns the sums after a piece has moved between cells of the goal order of the perspective.
    #[inline]
    pub fn sums_after(&self, sums: &HiddenSums, is_own: bool, from: Cell, to: Cell) -> HiddenSums {
        let first = if is_own { 0 } else { self.inputs.len() / 2 };
        let (less, more) = (&self.inputs[first + from.index()], &self.inputs[first + to.index()]);
        let mut after = *sums;
        for ((sum, less), more) in after.iter_mut().zip(less).zip(more) {
            *sum = sum.wrapping_sub(*less).wrapping_add(*more);
        }
        after
    }

    /// Returns the output in hundredths of a move, for the player to move.
    #[inline]
    pub fn output(&self, mover: &HiddenSums, other: &HiddenSums) -> i32 {
        let total = weighted(mover, &self.outputs[0]) + weighted(other, &self.outputs[1]);
        const ONE: i64 = UNIT as i64 * UNIT as i64 * OUTPUT_UNIT as i64;
        (i64::from(total) * i64::from(self.scale) / ONE) as i32 + i32::from(self.bias)
    }
}

#[inline]
fn added(sums: &HiddenSums, weights: &HiddenSums) -> HiddenSums {
    let mut after = *sums;
    after.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
    after
}

/// Returns the weighted sum of the squared clipped sums.
#[inline]
fn weighted(sums: &HiddenSums, outputs: &HiddenSums) -> i32 {
    let products = sums.iter().zip(outputs).map(|(&sum, &output)| {
        let active = sum.clamp(0, UNIT);
        // The product has at most 16 bits, so the next one is a single instruction for many units.
        i32::from(active * output) * i32::from(active)
    });
    products.sum()
}

impl LearnedWeights {
    /// Returns the built-in weights of a board, if there are any.
    pub fn built_in(board: Board) -> Option<LearnedWeights> {
        let parsed =
            BUILT_IN.iter().map(|bytes| LearnedWeights::parse(bytes).expect("the weights that ship are valid"));
        parsed.into_iter().find(|weights| weights.board == board)
    }

    /// Returns the bytes of the file with `hidden` units.
    ///
    /// # Panics
    ///
    /// Panics if `hidden` is larger than [`MAX_HIDDEN`].
    pub fn to_bytes(&self, hidden: usize) -> Vec<u8> {
        let network = self.network.as_ref();
        let hidden = if network.is_some() { hidden } else { 0 };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([self.board.size() as u8, self.board.pieces() as u8]);
        bytes.extend((hidden as u16).to_le_bytes());
        let mut add = |numbers: &[i16]| bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let LinearWeights { cells, rearmost, second, tempo } = &self.linear;
        add(cells);
        add(&[*rearmost, *second, *tempo]);
        if let Some(network) = network {
            bytes.extend(network.scale.to_le_bytes());
            let mut add = |numbers: &[i16]| bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            network.inputs.iter().for_each(|input| add(&input[..hidden]));
            add(&network.biases[..hidden]);
            network.outputs.iter().for_each(|outputs| add(&outputs[..hidden]));
            add(&[network.bias]);
        }
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Returns the checksum (XXH3, 64 bits) of the file with all units.
    pub fn checksum(&self) -> u64 {
        xxh3_64(&self.to_bytes(MAX_HIDDEN))
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a valid file of weights.
    pub fn parse(bytes: &[u8]) -> Result<LearnedWeights, WeightsError> {
        let mut reader = Reader(bytes);
        if reader.take::<8>() != Ok(MAGIC) {
            return Err(WeightsError::Foreign);
        }
        let version = u16::from_le_bytes(reader.take()?);
        if version != VERSION {
            return Err(WeightsError::Version(version));
        }
        let (content, checksum) = bytes.split_last_chunk().ok_or(WeightsError::Damaged)?;
        if xxh3_64(content) != u64::from_le_bytes(*checksum) {
            return Err(WeightsError::Damaged);
        }
        let [size, pieces] = reader.take()?;
        let board = Board::new(size.into(), pieces.into()).map_err(|_| WeightsError::Invalid("board"))?;
        let hidden = usize::from(u16::from_le_bytes(reader.take()?));
        if hidden > MAX_HIDDEN {
            return Err(WeightsError::Invalid("number of hidden units"));
        }
        let cells = (0..board.cells()).map(|_| reader.number()).collect::<Result<_, _>>()?;
        let linear =
            LinearWeights { cells, rearmost: reader.number()?, second: reader.number()?, tempo: reader.number()? };
        let network = (hidden > 0).then(|| reader.network(board, hidden)).transpose()?;
        let is_at_end = reader.0.len() == checksum.len();
        is_at_end.then_some(LearnedWeights { board, linear, network }).ok_or(WeightsError::Damaged)
    }
}

/// The bytes that are not yet read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], WeightsError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(WeightsError::Damaged)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<i16, WeightsError> {
        self.take().map(i16::from_le_bytes)
    }

    /// Reads a number per hidden unit. Units that the file lacks have 0.
    fn per_unit(&mut self, hidden: usize) -> Result<HiddenSums, WeightsError> {
        let mut numbers = [0; MAX_HIDDEN];
        numbers[..hidden].iter_mut().try_for_each(|number| self.number().map(|read| *number = read))?;
        Ok(numbers)
    }

    fn network(&mut self, board: Board, hidden: usize) -> Result<NetworkWeights, WeightsError> {
        let scale = i32::from_le_bytes(self.take()?);
        let inputs = (0..2 * board.cells()).map(|_| self.per_unit(hidden)).collect::<Result<Vec<_>, _>>()?;
        let network = NetworkWeights {
            scale,
            inputs,
            biases: self.per_unit(hidden)?,
            outputs: [self.per_unit(hidden)?, self.per_unit(hidden)?],
            bias: self.number()?,
        };
        network.check(board.pieces())?;
        Ok(network)
    }
}

impl NetworkWeights {
    /// Checks that no sum of a perspective with up to `pieces` pieces per army leaves 16 bits, and no output its
    /// range.
    fn check(&self, pieces: usize) -> Result<(), WeightsError> {
        // The evaluation stays far below the values of won races.
        const MAX_SCALE: i32 = 10_000;
        if !(1..=MAX_SCALE).contains(&self.scale) {
            return Err(WeightsError::Invalid("scale"));
        }
        let most = |numbers: &HiddenSums| numbers.iter().map(|number| number.unsigned_abs()).max().unwrap_or(0);
        if self.outputs.iter().any(|outputs| most(outputs) > MAX_OUTPUT.unsigned_abs()) {
            return Err(WeightsError::Invalid("output weight"));
        }
        let largest = self.inputs.iter().map(most).max().unwrap_or(0);
        // One more piece, because a move adds its new cell before or after it removes the old one.
        let sum = u64::from(most(&self.biases)) + (2 * pieces as u64 + 1) * u64::from(largest);
        (sum <= i16::MAX as u64).then_some(()).ok_or(WeightsError::Invalid("input weight"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(network: Option<NetworkWeights>) -> LearnedWeights {
        let board = Board::new(4, 3).unwrap();
        let linear =
            LinearWeights { cells: (0..16).map(|cell| -3 * cell).collect(), rearmost: 60, second: -3, tempo: 150 };
        LearnedWeights { board, linear, network }
    }

    fn network(hidden: usize) -> NetworkWeights {
        let units = |first: i16| {
            let mut units = [0; MAX_HIDDEN];
            units[..hidden].iter_mut().zip(first..).for_each(|(unit, number)| *unit = number);
            units
        };
        NetworkWeights {
            scale: 173,
            inputs: (0..32).map(units).collect(),
            biases: units(-9),
            outputs: [units(-20), units(90)],
            bias: 12,
        }
    }

    #[test]
    fn files_contain_the_weights() {
        for (weights, hidden) in [(weights(None), 0), (weights(Some(network(5))), 5), (weights(Some(network(32))), 32)]
        {
            let bytes = weights.to_bytes(hidden);
            assert_eq!(bytes.len(), 22 + 2 * 19 + if hidden > 0 { 6 + 2 * 35 * hidden } else { 0 });
            assert_eq!(LearnedWeights::parse(&bytes), Ok(weights));
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = weights(Some(network(5))).to_bytes(5);
        for length in 0..bytes.len() {
            let error = LearnedWeights::parse(&bytes[..length]).unwrap_err();
            assert!(matches!(error, WeightsError::Foreign | WeightsError::Damaged), "{length}: {error}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 4;
            assert!(LearnedWeights::parse(&damaged).is_err(), "{place}");
        }
        let changed = |change: &dyn Fn(&mut NetworkWeights)| {
            let mut network = network(5);
            change(&mut network);
            LearnedWeights::parse(&weights(Some(network)).to_bytes(5)).unwrap_err()
        };
        assert_eq!(changed(&|network| network.scale = 0), WeightsError::Invalid("scale"));
        assert_eq!(changed(&|network| network.outputs[1][0] = -128), WeightsError::Invalid("output weight"));
        // Seven pieces could exceed 16 bits.
        assert_eq!(changed(&|network| network.inputs[3][2] = 4682), WeightsError::Invalid("input weight"));
    }

    #[test]
    fn the_first_weights_are_known() {
        let checksum = |bytes: &&[u8]| LearnedWeights::parse(bytes).unwrap().checksum();
        assert_eq!(BUILT_IN.iter().map(checksum).collect::<Vec<u64>>(), FIRST_BUILT_IN);
    }

    #[test]
    fn weights_that_ship_are_those_of_their_board() {
        for bytes in BUILT_IN {
            let weights = LearnedWeights::parse(bytes).unwrap();
            assert_eq!(LearnedWeights::built_in(weights.board), Some(weights));
        }
        assert_eq!(LearnedWeights::built_in(Board::new(4, 3).unwrap()), None);
    }
}
