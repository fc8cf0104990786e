//! The numbers of the states that a search stores.

mod canonical;
mod full;

use std::ops::Range;

use sternhalma_data::board::Symmetry;
use sternhalma_data::{Cell, CellSet, Prefix, Rank, State, TableSpec};

use crate::ranks::{BitOffsets, IndexIntervals};

/// The states that are stored, numbered in the order of ranks.
///
/// [`Prefix`] numbers all its states by rank. [`Symmetry`] numbers the canonical states by reduced
/// rank. The number of a state is its *index*.
pub trait StateNumbering {
    /// The positions of the states of a context class in its bitmaps.
    type Positions: ClassPositions;

    /// Returns the prefix.
    fn prefix(&self) -> Prefix;

    /// Returns the number of stored states.
    fn states(&self) -> u64;

    /// Returns the state with this index.
    fn state(&self, index: u64) -> State;

    /// Returns the indices of the stored states with the pieces `upper` and `lower` pieces below
    /// `cell`. The upper pieces are not below `cell`.
    fn interval(&self, upper: CellSet, cell: usize, lower: usize) -> Range<u64>;

    /// Returns a key of the stored states with these upper pieces. If the keys of two sets of pieces
    /// are equal, the same lower pieces are stored with both. It is `None` if none are stored.
    fn shape_key(&self, pieces: CellSet) -> Option<(usize, u128)>;

    /// Returns the states of other partitions that the contexts with the fixed pieces `pieces`
    /// involve, in the order of their indices. `pieces` is not empty.
    fn successor_states(&self, pieces: CellSet) -> Vec<SuccessorStates>;

    /// Returns the positions of a class whose own partition has `states` states from index `start`
    /// on, which come first. `below` is the number of cells below the fixed pieces.
    fn positions(&self, start: u64, states: u64, below: usize) -> Self::Positions;

    /// Returns an upper bound of the words that a class needs because mirror images begin and end
    /// within a word.
    fn image_words(&self) -> usize;
}

/// The positions of the states of a context class in its bitmaps.
pub trait ClassPositions {
    /// Adds states of another partition, the first of them at position `at`. Indices increase.
    fn add(&mut self, successor: &SuccessorStates, at: u64);
}

/// An interval of states of one partition that a context class involves.
pub struct SuccessorStates {
    /// The cell of the mover in the first of the states.
    pub mover: Cell,
    pub partition: u64,
    pub indices: Range<u64>,
}

/// The numbering that a table's specification chooses.
#[derive(Clone, Debug)]
pub enum Numbering {
    /// All states.
    Full(Prefix),
    /// One state of each mirrored pair.
    Canonical(Symmetry),
}

impl Numbering {
    /// Numbers the states that a table stores.
    pub fn of(spec: TableSpec) -> Numbering {
        Numbering::new(spec.prefix, Symmetry::of(spec.prefix).filter(|_| spec.mirrored))
    }

    /// Numbers all states of a prefix, or the canonical ones if a symmetry is given.
    pub fn new(prefix: Prefix, symmetry: Option<Symmetry>) -> Numbering {
        symmetry.map_or(Numbering::Full(prefix), Numbering::Canonical)
    }

    /// Returns the symmetry, if only canonical states are stored.
    pub fn symmetry(&self) -> Option<&Symmetry> {
        match self {
            Numbering::Full(_) => None,
            Numbering::Canonical(symmetry) => Some(symmetry),
        }
    }
}

/// Calls a method of the numbering that was chosen.
macro_rules! chosen {
    ($numbering:expr, $name:ident => $call:expr) => {
        match $numbering {
            Numbering::Full($name) => $call,
            Numbering::Canonical($name) => $call,
        }
    };
}

impl StateNumbering for Numbering {
    type Positions = ChosenPositions;

    fn prefix(&self) -> Prefix {
        chosen!(self, numbering => numbering.prefix())
    }

    fn states(&self) -> u64 {
        chosen!(self, numbering => numbering.states())
    }

    fn state(&self, index: u64) -> State {
        chosen!(self, numbering => numbering.state(index))
    }

    fn interval(&self, upper: CellSet, cell: usize, lower: usize) -> Range<u64> {
        chosen!(self, numbering => numbering.interval(upper, cell, lower))
    }

    fn shape_key(&self, pieces: CellSet) -> Option<(usize, u128)> {
        chosen!(self, numbering => numbering.shape_key(pieces))
    }

    fn successor_states(&self, pieces: CellSet) -> Vec<SuccessorStates> {
        chosen!(self, numbering => numbering.successor_states(pieces))
    }

    fn positions(&self, start: u64, states: u64, below: usize) -> ChosenPositions {
        match self {
            Numbering::Full(full) => ChosenPositions::ByRank(Box::new(full.positions(start, states, below))),
            Numbering::Canonical(canonical) => {
                ChosenPositions::ByReducedRank(canonical.positions(start, states, below))
            }
        }
    }

    fn image_words(&self) -> usize {
        chosen!(self, numbering => numbering.image_words())
    }
}

/// The positions of the numbering that was chosen.
#[derive(Debug)]
pub enum ChosenPositions {
    ByRank(Box<BitOffsets>),
    ByReducedRank(IndexIntervals),
}

impl ClassPositions for ChosenPositions {
    fn add(&mut self, successor: &SuccessorStates, at: u64) {
        match self {
            ChosenPositions::ByRank(positions) => positions.add(successor, at),
            ChosenPositions::ByReducedRank(positions) => positions.add(successor, at),
        }
    }
}

/// Returns the number of the partition of the states with these `fixed` or more upper pieces.
fn partition_of(upper_pieces: CellSet, fixed: usize) -> u64 {
    State::from_cells(upper(upper_pieces, fixed)).rank().0
}

/// Returns the `count` upper pieces of a state.
pub fn upper(state: CellSet, count: usize) -> CellSet {
    let lower: CellSet = state.iter().take(state.len() - count).collect();
    state - lower
}

/// Returns the fixed pieces of a partition.
pub fn fixed_pieces(partition: u64, count: usize) -> CellSet {
    Rank(partition).state(count).cells()
}

/// Returns the number of cells below these pieces.
pub fn below(prefix: Prefix, pieces: CellSet) -> usize {
    pieces.first().map_or(prefix.within(), Cell::index)
}
