//! All states of a prefix, numbered by rank.

use std::ops::Range;

use sternhalma_data::board::{choose, rank_above};
use sternhalma_data::{CellSet, Prefix, Rank, State};

use super::{ClassPositions, StateNumbering, SuccessorStates, below, partition_of};
use crate::ranks::{BitOffsets, MAX_CELLS};

impl StateNumbering for Prefix {
    type Positions = BitOffsets;

    fn prefix(&self) -> Prefix {
        *self
    }

    fn states(&self) -> u64 {
        Prefix::states(*self)
    }

    fn state(&self, index: u64) -> State {
        Rank(index).state(self.board().pieces())
    }

    fn interval(&self, upper: CellSet, cell: usize, lower: usize) -> Range<u64> {
        if cell < lower {
            return 0..0;
        }
        let start = rank_above(upper, lower);
        start..start + choose(cell, lower)
    }

    fn shape_key(&self, pieces: CellSet) -> Option<(usize, u128)> {
        Some((below(*self, pieces), 0))
    }

    /// A mover above the lowest fixed piece makes it the next piece of another partition.
    fn successor_states(&self, pieces: CellSet) -> Vec<SuccessorStates> {
        let (below, lower) = (below(*self, pieces), self.board().pieces() - pieces.len() - 1);
        let involve = |mover| {
            let with_mover = pieces.with(mover);
            let partition = partition_of(with_mover, pieces.len());
            SuccessorStates { mover, partition, indices: self.interval(with_mover, below, lower) }
        };
        let movers = self.cells() - CellSet::first_cells(below) - pieces;
        movers.iter().map(involve).filter(|successor| !successor.indices.is_empty()).collect()
    }

    fn positions(&self, start: u64, _: u64, below: usize) -> BitOffsets {
        // A mover below the fixed pieces is in the partition itself.
        let mut offsets = BitOffsets { below: start, above: [0; MAX_CELLS] };
        offsets.above[..below].fill(start);
        offsets
    }

    fn image_words(&self) -> usize {
        0
    }
}

impl ClassPositions for BitOffsets {
    fn add(&mut self, successor: &SuccessorStates, at: u64) {
        self.above[successor.mover.index()] = successor.indices.start.wrapping_sub(at);
    }
}
