//! The walk through the states of a block, which encoding and decoding share.

use fearless_simd::Simd;
use fearless_simd_macros::simd;

use super::intervals::Intervals;
use super::predict::{DEFAULT_MAP, NO_PREVIOUS_CELLS, NeighborCells, Runs, Slice};
use crate::board::{CellSet, State, Stretch};

/// The byte that is no distance: the predictor of a block's first state, and
/// the result for invalid data.
pub(super) const NONE: u8 = u8::MAX;

/// The distances of a block, which a walk asks for in order.
pub(super) trait DistanceSource {
    /// Returns the distance of the next state. The first state of a block has the predictor [`NONE`].
    fn next(&mut self, predictor: u8, symbol_map: u32) -> u8;

    /// Skips this number of states if their distances are not needed. Returns whether they are skipped.
    fn skip(&mut self, states: usize) -> bool;

    /// Takes the distances of the last states.
    fn collect(&mut self, distances: &[u16]);
}

/// A walk through the states of a block.
pub(super) struct Walk<'a> {
    neighbors: &'a NeighborCells,
    slice: &'a mut Slice,
    /// The run of the state after the last visited one in the order of ranks, and its lowest piece.
    runs: Runs,
    lowest: usize,
    /// Whether no state of the slice has been visited.
    begins: bool,
    /// The distance of the first visited state of the last slice.
    start: u8,
    /// The distance of the last visited state.
    before: u8,
}

impl<'a> Walk<'a> {
    /// Visits the states of these intervals.
    #[simd]
    pub fn visit<S: Simd>(
        simd: S,
        neighbors: &'a NeighborCells,
        slice: &'a mut Slice,
        intervals: Intervals,
        source: &mut impl DistanceSource,
    ) {
        let runs = Runs::at(State::from_cells(CellSet::EMPTY));
        let mut walk = Walk { neighbors, slice, runs, lowest: 0, begins: true, start: NONE, before: NONE };
        intervals.for_each(|Stretch { first, states, .. }| walk.visit_interval(simd, first, states as usize, source));
    }

    /// Moves to a state. Returns whether states of its slice are left out between the last visited state
    /// and this one.
    fn enter(&mut self, state: State) -> bool {
        let runs = Runs::at(state);
        let lowest = state.cells().first().map_or(0, |cell| cell.index());
        let (from, to) = ((self.runs.second(), self.lowest), (runs.second(), lowest));
        let same_slice = !self.begins && self.runs.same_slice(&runs);
        if same_slice {
            self.slice.clear_between(from, to);
        } else {
            self.slice.clear_before(runs.second(), lowest);
        }
        (self.runs, self.lowest, self.begins) = (runs, lowest, !same_slice);
        same_slice && from != to
    }

    /// Visits `states` states with consecutive ranks.
    #[simd]
    fn visit_interval<S: Simd>(&mut self, _: S, first: State, states: usize, source: &mut impl DistanceSource) {
        let mut after_gap = self.enter(first);
        let neighbors = self.neighbors;
        let mut left = states;
        while left > 0 {
            let (second, from) = (self.runs.second(), self.lowest);
            let mut cell = from;
            if self.begins {
                self.start = source.next(self.start, DEFAULT_MAP);
                let others = self.runs.slice_states() - (second * (second - 1) / 2 + from) - 1;
                if others < left && source.skip(others) {
                    left -= others + 1;
                    self.lowest = 0;
                    self.runs.next_slice();
                    continue;
                }
                self.slice.set(second, from, self.start);
                (self.before, cell, left) = (self.start, from + 1, left - 1);
            } else if after_gap {
                let next = |predictor, symbol_map| source.next(predictor, symbol_map);
                self.before = self.slice.run(neighbors, NO_PREVIOUS_CELLS, second, cell..cell + 1, self.before, next);
                (cell, left) = (cell + 1, left - 1);
            }
            after_gap = false;
            let end = second.min(cell + left);
            left -= end.saturating_sub(cell);
            let next = |predictor, symbol_map| source.next(predictor, symbol_map);
            self.before = self.slice.run(neighbors, &neighbors.before, second, cell..end, self.before, next);
            source.collect(&self.slice.row(second)[from..end]);
            if end == second {
                (self.lowest, self.begins) = (0, self.runs.next_run());
            } else {
                (self.lowest, self.begins) = (end, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::test_blocks::{TestBlock, blocks, prefixes, walks};
    use super::super::zstd::{ZstdEncoder, decompress, packed, read};
    use super::*;
    use crate::board::{Cell, Geometry};
    use proptest::prelude::*;

    /// The symbols and the escaped distances of a block, computed state by state from
    /// the definitions of `docs/reference/table-format.md`.
    struct Oracle<'a> {
        block: &'a TestBlock,
        geometry: &'static Geometry,
        distances: HashMap<State, u8>,
        previous: Option<State>,
        /// The first state of the last triangle.
        first_of_triangle: Option<State>,
    }

    impl Oracle<'_> {
        fn new(block: &TestBlock) -> Oracle<'_> {
            let geometry = block.prefix.board().geometry();
            Oracle { block, geometry, distances: HashMap::new(), previous: None, first_of_triangle: None }
        }

        fn lower_neighbor(&self, cell: usize, allowed: impl Fn(usize) -> bool) -> Option<usize> {
            let neighbors = self.geometry.neighbors(Cell::new(cell)).iter().map(Cell::index);
            neighbors.filter(|&near| near < cell && allowed(near)).min()
        }

        fn beside(&self, cell: usize, other: Option<usize>) -> Option<usize> {
            let row = |cell| self.geometry.row(Cell::new(cell));
            other.filter(|&other| other < self.block.prefix.board().cells() && row(other) == row(cell))
        }

        /// Returns the distance of a state of the triangle, unless it is missing.
        fn distance(&self, upper: CellSet, x: Option<usize>, y: Option<usize>) -> Option<u8> {
            let (x, y) = (x?, y?);
            let state = State::from_cells(upper.with(Cell::new(x)).with(Cell::new(y)));
            // A state that is not canonical is not in the map.
            self.distances.get(&state).copied().filter(|_| x < y)
        }

        /// Returns the symbol of the next state of the block.
        fn symbol(&mut self, state: State, distance: u8) -> u8 {
            let cells: Vec<usize> = state.cells().iter().map(Cell::index).collect();
            let (x, y) = (cells[0], cells[1]);
            let upper: CellSet = cells[2..].iter().map(|&cell| Cell::new(cell)).collect();
            let of_triangle = |other: State| other.cells().iter().skip(2).eq(upper);
            let continues = self.first_of_triangle.is_some_and(of_triangle);
            let at = |x, y| self.distance(upper, x, y);
            let low = |cell: usize| self.lower_neighbor(cell, |_| true);
            let low_1 = self.lower_neighbor(y, |near| near > 0);
            let below_y = y.checked_sub(1);
            let anchor = if x == 0 { at(Some(0), low_1) } else { at(low(x), Some(y)) };
            let known = |state: Option<State>| state.map(|state| self.distances[&state]);
            let (anchor, map) = match anchor.filter(|_| continues) {
                _ if !continues => (known(self.first_of_triangle), DEFAULT_MAP),
                None => (known(self.previous), DEFAULT_MAP),
                Some(anchor) => {
                    let near = low(x);
                    let after = |cell: Option<usize>| cell.and_then(|cell| self.beside(cell, Some(cell + 1)));
                    let digits = [
                        (2, at(Some(x), below_y)),
                        (2, at(Some(x), low_1)),
                        (2, at(Some(x), after(low_1))),
                        (1, at(after(near), Some(y))),
                        (1, at(near, below_y)),
                        (2, at(near.and_then(low).and_then(low), Some(y))),
                        (1, at(self.beside(x, x.checked_sub(1)), Some(y))),
                    ];
                    let context = digits.into_iter().fold(0, |context, (most, distance)| {
                        let difference = |d: u8| (i32::from(d) - i32::from(anchor)).clamp(-most, most) + most;
                        context * (2 * most + 2) + distance.map_or(2 * most + 1, difference)
                    });
                    (Some(anchor), u32::from(include_bytes!("orders.bin")[context as usize]))
                }
            };
            if !continues {
                self.first_of_triangle = Some(state);
            }
            self.previous = Some(state);
            self.distances.insert(state, distance);
            let symbol_of = |anchor: u8| {
                let difference = i32::from(distance) - i32::from(anchor) + 1;
                (0..3).find(|symbol| (map >> (2 * symbol) & 3) as i32 == difference)
            };
            anchor.and_then(symbol_of).unwrap_or(3) as u8
        }

        fn content(mut self) -> Vec<u8> {
            let (block, distances) = (self.block, &self.block.distances);
            let mut symbols = Vec::new();
            for (index, &distance) in block.indices.clone().zip(distances) {
                symbols.push(self.symbol(block.state(index), distance));
            }
            let escapes = symbols.iter().zip(distances).filter(|(symbol, _)| **symbol == 3);
            let escapes: Vec<u8> = escapes.map(|(_, &distance)| distance).collect();
            let mut content = packed(&symbols);
            content.extend(escapes);
            content
        }
    }

    proptest! {
        #[test]
        fn blocks_of_both_forms_have_the_documented_symbols(
            block in blocks(prefixes(2), walks(200, 1500)),
            (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let (geometry, count) = (block.prefix.board().geometry(), block.distances.len());
            let bytes = ZstdEncoder::new(geometry, 3).encode(block.intervals(count), &block.distances);
            let content = decompress(&bytes, count).unwrap();
            prop_assert_eq!(&*content, Oracle::new(&block).content());

            let (from, to) = (from.index(count), to.index(count));
            let wanted = from.min(to)..from.max(to) + 1;
            let mut out = vec![0; wanted.len()];
            let neighbors = NeighborCells::of(geometry);
            read(&neighbors, &content, count, block.intervals(wanted.end), wanted.clone(), &mut out);
            prop_assert_eq!(out, &block.distances[wanted]);
        }
    }
}
