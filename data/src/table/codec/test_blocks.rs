//! Random blocks of distances for the tests of the encodings.

use std::ops::Range;

use proptest::prelude::*;

use super::intervals::Intervals;
use crate::board::{Board, Prefix, Rank, State, Symmetry};

/// A block of one partition of a table, which may be mirrored.
#[derive(Clone, Debug)]
pub(super) struct TestBlock {
    pub prefix: Prefix,
    pub symmetry: Option<Symmetry>,
    pub indices: Range<u64>,
    pub distances: Vec<u8>,
}

impl TestBlock {
    /// Returns a block that starts at index `start` modulo the states of the table, or modulo the first 3,000
    /// of them if it is `near_start`: there, mirrored blocks have many short stretches. Distances after the
    /// end of the partition are dropped.
    fn new(prefix: Prefix, mirrored: bool, near_start: bool, start: u64, mut distances: Vec<u8>) -> TestBlock {
        let symmetry = Symmetry::of(prefix).filter(|_| mirrored);
        let states = symmetry.as_ref().map_or(prefix.states(), Symmetry::states);
        let start = start % if near_start { states.min(3000) } else { states };
        let end_of_partition = |back: usize| match &symmetry {
            Some(symmetry) => symmetry.states_within(back + 1),
            None => prefix.partition(back).end,
        };
        let end = prefix.back_cells().map(end_of_partition).find(|&end| end > start).unwrap();
        distances.truncate(usize::try_from(end - start).unwrap_or(usize::MAX));
        let indices = start..start + distances.len() as u64;
        TestBlock { prefix, symmetry, indices, distances }
    }

    /// Returns the intervals of the first `states` states of the block.
    pub fn intervals(&self, states: usize) -> Intervals<'_> {
        let end = self.indices.start + states as u64;
        Intervals::of(self.indices.start..end, self.prefix, self.symmetry.as_ref())
    }

    /// Returns the state with this index.
    pub fn state(&self, index: u64) -> State {
        match &self.symmetry {
            Some(symmetry) => symmetry.state(index),
            None => Rank(index).state(self.prefix.board().pieces()),
        }
    }
}

/// Returns blocks of these prefixes with these distances.
pub(super) fn blocks(
    prefixes: impl Strategy<Value = Prefix>,
    distances: impl Strategy<Value = Vec<u8>>,
) -> impl Strategy<Value = TestBlock> {
    (prefixes, any::<(bool, bool, u64)>(), distances).prop_map(|(prefix, (mirrored, near_start, start), distances)| {
        TestBlock::new(prefix, mirrored, near_start, start, distances)
    })
}

/// Returns the whole boards with up to 11 cells a side and up to 15 pieces.
pub(super) fn whole_boards() -> impl Strategy<Value = Prefix> {
    let boards = (3u64..=11, 1u64..=15).prop_filter_map("too many pieces", |(side, k)| Board::new(side, k).ok());
    boards.prop_map(Prefix::whole)
}

/// Returns prefixes that end with a row and others, most of them symmetric, with at least `pieces` pieces.
pub(super) fn prefixes(pieces: u64) -> impl Strategy<Value = Prefix> {
    let all = [
        (3, 1, 9),
        (3, 3, 9),
        (3, 6, 9),
        (4, 3, 16),
        (4, 6, 13),
        (5, 2, 25),
        (5, 3, 19),
        (5, 6, 25),
        (9, 3, 81),
        (9, 6, 36),
        (9, 6, 81),
        (9, 10, 81),
        (11, 15, 66),
        (11, 15, 121),
    ];
    let large = all.into_iter().filter(|prefix| prefix.1 >= pieces).collect::<Vec<_>>();
    prop::sample::select(large)
        .prop_map(|(side, pieces, within)| Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap())
}

/// Returns distances that change little, any distances, and the limits.
pub(super) fn distances() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        walks(255, 3000),
        prop::collection::vec(0u8..=254, 1..3000),
        prop::collection::vec(prop_oneof![Just(0u8), Just(254), Just(253), Just(1)], 1..3000),
        (1usize..3000, 0u8..=254).prop_map(|(states, distance)| vec![distance; states]),
    ]
}

/// Returns fewer than `states` distances below `limit` that change by at most one, and rarely by 8.
pub(super) fn walks(limit: u8, states: usize) -> impl Strategy<Value = Vec<u8>> {
    let step = prop_oneof![5 => 0u8..3, 1 => Just(9)];
    prop::collection::vec(step, 1..states).prop_map(move |steps| {
        let walked = steps.iter().scan(100u8, |at, step| {
            *at = at.saturating_add(*step).clamp(1, limit) - 1;
            Some(*at)
        });
        walked.collect()
    })
}
