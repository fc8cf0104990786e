//! Moves in contexts that differ only in their lowest piece.
//!
//! The contexts that share all pieces but the lowest have consecutive ranks. A mover above the lowest
//! piece then has states with consecutive ranks, too. A [`ContextRun`] therefore compares distances in
//! [`LANES`] contexts at once: each vector has a byte per context.
//!
//! For every state, a run computes by how much a move within the context can decrease the distance. All moves
//! are reversible, so a move changes the distance by two or more if and only if this decrease is two or more
//! in one of the two states that the move connects.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fearless_simd::{Simd, SimdBase, SimdInt, SimdMask, u8x16};
use fearless_simd_macros::simd;
use sternhalma_data::board::choose;
use sternhalma_data::{Cell, CellSet, Distance, Geometry, Prefix};

use crate::bits::low_mask;
use crate::ranks::{BitOffsets, MAX_CELLS};

/// The contexts that are checked at once.
pub(super) const LANES: usize = 16;

/// A byte per context.
type Lanes = [u8; LANES];

/// The distance where a context has no state, in comparisons that look for a smaller distance.
const NO_STATE: u8 = u8::MAX;
const _: () = assert!(Distance::MAX.0 < NO_STATE);

/// The index of no cell, so no context has a state there.
const NO_CELL: usize = MAX_CELLS - 1;
const _: () = assert!(NO_CELL >= Cell::LIMIT);

/// A move that changes the distance by two or more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LargeStep {
    /// The rank of the state before the move.
    pub rank: u64,
    pub distance: u8,
}

/// The states of a table, or some of them, by position.
#[derive(Clone, Copy)]
pub(super) struct StatesByPosition<'a> {
    pub offsets: &'a BitOffsets,
    pub distances: &'a [u8],
    /// The states with a successor of smaller distance.
    pub descends: &'a [AtomicU64],
}

/// A cell of the prefix.
struct PrefixCell {
    cell: Cell,
    /// The neighbors within the prefix, and [`NO_CELL`] in place of the others.
    neighbors: [u8; 6],
    /// Whether a step leads out of the prefix.
    has_step_out: bool,
}

/// Up to [`LANES`] contexts with the same pieces except the lowest, which is on consecutive cells.
pub(super) struct ContextRun {
    geometry: &'static Geometry,
    prefix: CellSet,
    cells: Vec<PrefixCell>,
    /// For each cell of the prefix, the two cells of each jump over it.
    jumps_over: Vec<Vec<CellSet>>,
    /// The pieces of all contexts.
    upper: CellSet,
    /// Whether the contexts have a lowest piece. With one piece on the board, the only context is empty.
    has_lowest: bool,
    /// The cells below `upper`, all of which the lowest piece can be on. 0 without a lowest piece.
    lower_cells: usize,
    /// The cell of the lowest piece in each context. `0..1` without a lowest piece.
    lowest: Range<usize>,
    /// The sets of cells that jumps over `upper` connect.
    upper_components: Vec<CellSet>,
    /// Scratch space.
    components: Vec<CellSet>,
    // For each cell of the mover:
    /// The position of the state with the lowest piece on cell 0. For a mover on one of the `lower_cells`, the
    /// position of the first of the states whose two lowest pieces are on these cells.
    positions: [u64; MAX_CELLS],
    /// The distance of each state, and [`NO_STATE`] if there is none.
    distances: [Lanes; MAX_CELLS],
    /// The distance of each state, and 0 if there is none.
    distances_or_zero: [Lanes; MAX_CELLS],
    /// By how much a move can decrease the distance of each state, or 0.
    decreases: [Lanes; MAX_CELLS],
}

impl ContextRun {
    /// Creates a run of contexts of a prefix, without contexts.
    pub fn new(prefix: Prefix) -> ContextRun {
        let geometry = prefix.board().geometry();
        let cells = prefix.cells().iter().map(|cell| {
            let mut neighbors = [NO_CELL as u8; 6];
            let inside = geometry.neighbors(cell) & prefix.cells();
            neighbors.iter_mut().zip(inside).for_each(|(place, neighbor)| *place = neighbor.index() as u8);
            PrefixCell { cell, neighbors, has_step_out: inside != geometry.neighbors(cell) }
        });
        ContextRun {
            geometry,
            prefix: prefix.cells(),
            cells: cells.collect(),
            jumps_over: prefix.cells().iter().map(|over| jumps_over(geometry, over)).collect(),
            upper: CellSet::EMPTY,
            has_lowest: prefix.board().pieces() > 1,
            lower_cells: 0,
            lowest: 0..0,
            upper_components: Vec::new(),
            components: Vec::new(),
            positions: [0; MAX_CELLS],
            distances: [[NO_STATE; LANES]; MAX_CELLS],
            distances_or_zero: [[0; LANES]; MAX_CELLS],
            decreases: [[0; LANES]; MAX_CELLS],
        }
    }

    /// Returns the number of contexts with these pieces above the lowest.
    pub fn context_count(&self) -> usize {
        if self.has_lowest { self.lower_cells } else { 1 }
    }

    /// Sets the pieces of all contexts above the lowest.
    pub fn set_upper(&mut self, upper: CellSet, offsets: &BitOffsets) {
        self.upper = upper;
        self.upper_components.clear();
        for over in upper {
            let jumps = self.jumps_over[over.index()].iter().filter(|&&jump| (jump & upper).is_empty());
            jumps.for_each(|&jump| join(&mut self.upper_components, jump));
        }
        // The pieces above the mover are one place higher in the state than in the context.
        let lower = usize::from(self.has_lowest);
        let mut others: u64 = upper.iter().enumerate().map(|(i, cell)| choose(cell.index(), i + lower + 2)).sum();
        self.lower_cells = match self.has_lowest {
            true => upper.first().map_or(self.prefix.len(), |cell| cell.index()),
            false => 0,
        };
        self.positions[..self.lower_cells].fill(others.wrapping_sub(offsets.above[0]));
        let mut from = self.lower_cells;
        let ends = upper.iter().map(|cell| cell.index()).chain([self.prefix.len()]);
        for (below, end) in ends.enumerate().map(|(i, end)| (i + lower, end)) {
            for cell in from..end {
                self.positions[cell] = (others + choose(cell, below + 1)).wrapping_sub(offsets.above[cell]);
            }
            if end < self.prefix.len() {
                others = others - choose(end, below + 2) + choose(end, below + 1);
            }
            from = end + 1;
        }
    }

    /// Sets the contexts to those with the lowest piece on these cells, at most [`LANES`], and reads the
    /// distances of their states.
    #[simd]
    pub fn load<S: Simd>(&mut self, simd: S, lowest: Range<usize>, distances: &[u8]) {
        let present: Lanes = std::array::from_fn(|lane| if lane < lowest.len() { u8::MAX } else { 0 });
        let present = u8x16::load_array(simd, present);
        for place in &self.cells {
            let cell = place.cell.index();
            let (states, states_or_zero) = (&mut self.distances[cell], &mut self.distances_or_zero[cell]);
            if self.upper.contains(place.cell) {
                (*states, *states_or_zero) = ([NO_STATE; LANES], [0; LANES]);
                continue;
            }
            let row = match cell < self.lower_cells {
                true => row_of_lower_cell(distances, self.positions[cell], cell, lowest.clone()),
                false => lanes_at(distances, self.positions[cell] + lowest.start as u64),
            };
            let row = u8x16::load_array(simd, row);
            (row | !present).store_array(states);
            (row & present).store_array(states_or_zero);
            // The lowest piece occupies the cell in one context.
            if self.has_lowest && lowest.contains(&cell) {
                let lane = cell - lowest.start;
                (states[lane], states_or_zero[lane]) = (NO_STATE, 0);
            }
        }
        self.lowest = lowest;
    }

    /// Computes by how much moves decrease the distance of each state. Returns the smallest distance
    /// of a state with a move out of the prefix.
    #[simd]
    pub fn compare<S: Simd>(&mut self, simd: S) -> Option<u8> {
        let none = u8x16::splat(simd, NO_STATE);
        let mut boundary_layers = none;
        for &PrefixCell { cell, neighbors, has_step_out } in &self.cells {
            let nearest = neighbors.into_iter().fold(none, |nearest, neighbor| {
                nearest.min(u8x16::load_array_ref(simd, &self.distances[usize::from(neighbor) % MAX_CELLS]))
            });
            let distances = u8x16::load_array_ref(simd, &self.distances_or_zero[cell.index()]);
            distances.saturating_sub(nearest).store_array(&mut self.decreases[cell.index()]);
            if has_step_out {
                boundary_layers = boundary_layers.min(u8x16::load_array_ref(simd, &self.distances[cell.index()]));
            }
        }
        let mut boundary_layer = boundary_layers.reduce_min();
        for number in 0..self.upper_components.len() {
            let component = self.upper_components[number];
            boundary_layer = boundary_layer.min(self.compare_component(simd, component));
        }
        for lane in 0..self.lowest.len() {
            boundary_layer = boundary_layer.min(self.compare_changed_components(lane));
        }
        (boundary_layer != NO_STATE).then_some(boundary_layer)
    }

    /// Compares the distances of the states of a component of the pieces above the lowest, in the contexts
    /// in which it is a component. Returns the smallest distance of a state with a jump out of the prefix,
    /// or [`NO_STATE`].
    #[inline(always)]
    fn compare_component<S: Simd>(&mut self, simd: S, component: CellSet) -> u8 {
        let none = u8x16::splat(simd, NO_STATE);
        let inside = component & self.prefix;
        let nearest = inside
            .iter()
            .fold(none, |nearest, cell| nearest.min(u8x16::load_array_ref(simd, &self.distances[cell.index()])));
        let mut changed = [0; LANES];
        let near = component.iter().fold(component, |near, cell| near | self.geometry.neighbors(cell));
        for cell in near.iter().map(|cell| cell.index()).filter(|cell| self.lowest.contains(cell)) {
            changed[cell - self.lowest.start] = u8::MAX;
        }
        let nearest = nearest | u8x16::load_array(simd, changed);
        for cell in inside {
            let distances = u8x16::load_array_ref(simd, &self.distances_or_zero[cell.index()]);
            let decreases = &mut self.decreases[cell.index()];
            distances.saturating_sub(nearest).max(u8x16::load_array_ref(simd, decreases)).store_array(decreases);
        }
        if inside == component { NO_STATE } else { nearest.reduce_min() }
    }

    /// Compares the distances of the states of the components of a context that [`compare_component`] leaves
    /// out: those with a jump over the lowest piece, and those in which the lowest piece is in the way.
    /// Returns the smallest distance of a state with a jump out of the prefix, or [`NO_STATE`].
    ///
    /// [`compare_component`]: ContextRun::compare_component
    fn compare_changed_components(&mut self, lane: usize) -> u8 {
        if !self.has_lowest {
            return NO_STATE;
        }
        let lowest = Cell::new(self.lowest.start + lane);
        let context = self.upper.with(lowest);
        self.components.clear();
        let mut obstructed = CellSet::EMPTY;
        for &component in &self.upper_components {
            if component.contains(lowest) {
                obstructed = component;
            } else if !(component & self.geometry.neighbors(lowest)).is_empty() {
                self.components.push(component);
            }
        }
        if !obstructed.is_empty() {
            for over in self.upper {
                let jumps = self.jumps_over[over.index()].iter().filter(|&&jump| jump.is_subset(obstructed));
                jumps.filter(|&&jump| (jump & context).is_empty()).for_each(|&jump| join(&mut self.components, jump));
            }
        }
        let jumps = self.jumps_over[lowest.index()].iter().filter(|&&jump| (jump & context).is_empty());
        jumps.for_each(|&jump| join(&mut self.components, jump));

        let mut boundary_layer = NO_STATE;
        for &component in &self.components {
            let inside = component & self.prefix;
            let nearest = inside.iter().map(|cell| self.distances[cell.index()][lane]).min().unwrap_or(NO_STATE);
            for cell in inside {
                let decrease = self.distances[cell.index()][lane].saturating_sub(nearest);
                let most = &mut self.decreases[cell.index()][lane];
                *most = decrease.max(*most);
            }
            if inside != component {
                boundary_layer = boundary_layer.min(nearest);
            }
        }
        boundary_layer
    }

    /// Marks the states with a move that decreases the distance by one.
    ///
    /// # Errors
    /// If a move decreases the distance by two or more.
    #[simd]
    pub fn mark<S: Simd>(&self, simd: S, states: StatesByPosition) -> Result<(), LargeStep> {
        for place in &self.cells {
            let cell = place.cell.index();
            let decreases = u8x16::load_array_ref(simd, &self.decreases[cell]);
            let large = decreases.simd_gt(1).to_bitmask();
            if large != 0 {
                let lane = large.trailing_zeros() as usize;
                let rank = self.position(cell, lane).wrapping_add(states.offsets.above[cell]);
                return Err(LargeStep { rank, distance: self.distances[cell][lane] });
            }
            let decreasing = decreases.simd_gt(0).to_bitmask();
            // If the lowest piece is below the mover, the states have consecutive positions.
            let consecutive = match cell < self.lower_cells {
                true => decreasing & low_mask(cell.saturating_sub(self.lowest.start) as u64),
                false => decreasing,
            };
            if consecutive != 0 {
                let lane = consecutive.trailing_zeros();
                set_bits(states.descends, self.position(cell, lane as usize), consecutive >> lane);
            }
            let mut others = decreasing - consecutive;
            while others != 0 {
                set_bits(states.descends, self.position(cell, others.trailing_zeros() as usize), 1);
                others &= others - 1;
            }
        }
        Ok(())
    }

    /// Returns the position of the state with the mover on this cell.
    fn position(&self, cell: usize, lane: usize) -> u64 {
        let (start, lowest) = (self.positions[cell], self.lowest.start + lane);
        match cell < self.lower_cells {
            true => start + choose(cell.max(lowest), 2) + cell.min(lowest) as u64,
            false => start + lowest as u64,
        }
    }
}

/// Returns the distances from a position on. Lanes after the last distance are [`NO_STATE`].
#[inline]
fn lanes_at(distances: &[u8], position: u64) -> Lanes {
    let rest = &distances[position as usize..];
    match rest.first_chunk() {
        Some(lanes) => *lanes,
        None => std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or(NO_STATE)),
    }
}

/// Returns the distances of the states with the mover on one of the cells below `upper` and the lowest piece on each
/// of `lowest`. `start` is the position of the first state with both pieces on these cells. The lane in which both are
/// on one cell and the lanes after the last context are not specified.
#[inline]
fn row_of_lower_cell(distances: &[u8], start: u64, cell: usize, lowest: Range<usize>) -> Lanes {
    // The lowest piece is below the mover.
    let mut row = match cell > lowest.start {
        true => lanes_at(distances, start + choose(cell, 2) + lowest.start as u64),
        false => [NO_STATE; LANES],
    };
    // The mover is below the lowest piece.
    for above in lowest.start.max(cell + 1)..lowest.end {
        row[above - lowest.start] = distances[(start + choose(above, 2)) as usize + cell];
    }
    row
}

/// Sets bits from a position on, at most [`LANES`].
#[inline]
fn set_bits(words: &[AtomicU64], position: u64, bits: u64) {
    let (word, shift) = ((position / 64) as usize, position % 64);
    let set = |word: &AtomicU64, bits: u64| {
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    };
    set(&words[word], bits << shift);
    if shift > 64 - LANES as u64 && bits >> (64 - shift) != 0 {
        set(&words[word + 1], bits >> (64 - shift));
    }
}

/// Returns the two cells of each jump over a cell.
fn jumps_over(geometry: &Geometry, over: Cell) -> Vec<CellSet> {
    let ends = geometry.neighbors(over).iter().filter_map(|from| {
        let jump = geometry.jumps(from).iter().find(|jump| jump.over == over)?;
        // Each pair of cells is added once, from its lower cell.
        (from < jump.to).then(|| CellSet::single(from).with(jump.to))
    });
    ends.collect()
}

/// Adds a connected set of cells to the components of a graph.
fn join(components: &mut Vec<CellSet>, mut connected: CellSet) {
    components.retain(|&component| {
        let apart = (component & connected).is_empty();
        if !apart {
            connected |= component;
        }
        apart
    });
    components.push(connected);
}
