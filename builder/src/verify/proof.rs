//! The proof that a table is right.
//!
//! The proof needs no search. Let `D` be the distances of the table. Suppose that
//! only the goal has `D` = 0, that no move changes `D` by two or more, and
//! that every other state has a move that decreases `D` by one. Then `D` is the
//! distance: each move of a path lowers `D` by at most one, and the decreasing
//! moves form a path of `D` moves. A mod-3 table is consistent with
//! several `D`, so it is first unfolded from the goal, which determines `D`.
//!
//! Moves are enumerated by context, which consists of the pieces that a move
//! leaves in place. A move connects two cells if they are neighbors, or if
//! jumps over the context's pieces connect them. Jumps are reversible.
//! The [`search`](crate::search) generates moves in another way.
//!
//! A mirrored table stores one distance for both states of a mirrored pair. The proof in memory
//! therefore walks only one context of each mirrored pair of contexts, and requires a decreasing
//! move of only one state of each pair. The other state has the mirror image of this move.

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use sternhalma_data::board::{Symmetry, choose};
use sternhalma_data::{Cell, CellSet, Geometry, Prefix, Rank, State, States, Table};

use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};
use crate::ranks::BitOffsets;

/// The contexts that a thread takes at a time.
const GRAIN: u64 = 1 << 14;

/// The canonical states that a thread takes at a time.
const STATES_GRAIN: u64 = 1 << 16;

/// Returns a bitmap of `words` words.
pub(super) fn atomic_bitmap(words: usize) -> Vec<AtomicU64> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

/// Returns the number of states in each layer.
pub(super) fn count_layers(distances: &[u8]) -> Vec<u64> {
    layers_of(&histogram(distances))
}

/// Returns the number of states at each distance.
pub(super) fn histogram(distances: &[u8]) -> [u64; 256] {
    let count = |part: &[u8]| {
        let mut counts = [0u64; 256];
        part.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        counts
    };
    let add = |a: [u64; 256], b: [u64; 256]| std::array::from_fn(|i| a[i] + b[i]);
    distances.par_chunks(1 << 20).map(count).reduce(|| [0; 256], add)
}

/// Returns the counts up to the last one that is not zero.
pub(super) fn layers_of(counts: &[u64; 256]) -> Vec<u64> {
    let layers = counts.iter().rposition(|&states| states > 0).map_or(0, |last| last + 1);
    counts[..layers].to_vec()
}

/// Returns the error for wrong contents of a table.
pub(super) fn wrong_table(table: &Table, what: impl Into<String>) -> BuilderError {
    BuilderError::WrongTable { path: table.path().to_owned(), what: what.into() }
}

/// Compares the header of a table with the proven distance of the goal, the
/// number of states per layer, and the first layer with a move out of the prefix.
///
/// # Errors
/// If one of them differs.
pub(super) fn compare_with_header(table: &Table, goal: u8, layers: &[u64], boundary_layer: Option<u8>) -> Result<()> {
    let info = table.info();
    let (found, header) = (boundary_layer.map(u32::from), info.boundary_layer);
    if goal != 0 {
        return Err(wrong_table(table, format!("the goal has distance {goal}")));
    }
    if layers != info.layers {
        return Err(wrong_table(table, "the layers in the header are not those of its distances"));
    }
    if found != header {
        let [found, header] = [found, header].map(|layer| layer.map_or("none".to_owned(), |layer| layer.to_string()));
        let what = format!("the first layer with a move out of the prefix is {found}, but {header} in the header");
        return Err(wrong_table(table, what));
    }
    Ok(())
}

/// Proves the contents of a table in memory.
pub(super) fn prove_in_memory(table: &Table, observer: &dyn Observer) -> Result<()> {
    let distances = table.distances()?;
    let descends = atomic_bitmap(distances.len().div_ceil(64));
    let symmetry = table.symmetry();
    let proof = Proof { symmetry, ..Proof::new(table, &BitOffsets::ZERO, &distances, &descends) };
    let contexts = choose(table.prefix().within(), table.prefix().board().pieces() - 1);
    observer.begin(BuildPhase::Prove, contexts);
    let boundary_layer = proof.walk_all(0..contexts, observer)?;
    // The goal, with rank 0, needs no successor.
    descends[0].fetch_or(1, Relaxed);
    let without_descent = match symmetry {
        Some(symmetry) => first_pair_without_descent(&descends, symmetry),
        None => first_without_descent(&descends, distances.len()),
    };
    if let Some(rank) = without_descent {
        return Err(proof.no_descent(rank as u64, rank));
    }
    compare_with_header(table, distances[0], &count_layers(&distances), boundary_layer)
}

fn is_set(words: &[AtomicU64], bit: usize) -> bool {
    words[bit / 64].load(Relaxed) >> (bit % 64) & 1 != 0
}

/// Returns the rank of the first of `states` states whose bit is not set.
fn first_without_descent(words: &[AtomicU64], states: usize) -> Option<usize> {
    (0..states).into_par_iter().find_first(|&rank| !is_set(words, rank))
}

/// Returns the rank of the first canonical state such that neither its bit nor that of its mirror image is set.
fn first_pair_without_descent(words: &[AtomicU64], symmetry: &Symmetry) -> Option<usize> {
    let pieces = symmetry.prefix().board().pieces();
    let is_missing = |rank: usize| {
        let mirrored = symmetry.mirror(Rank(rank as u64).state(pieces).cells());
        !is_set(words, Rank::of(State::from_cells(mirrored)).0 as usize)
    };
    let batches = (0..symmetry.states().div_ceil(STATES_GRAIN)).into_par_iter();
    batches.find_map_first(|batch| {
        let mut reduced = batch * STATES_GRAIN;
        let end = symmetry.states().min(reduced + STATES_GRAIN);
        while reduced < end {
            let stretch = symmetry.stretch(reduced);
            let first = Rank::of(stretch.first).0 as usize;
            let states = stretch.states.min(end - reduced);
            let mut ranks = first..first + states as usize;
            if let Some(rank) = ranks.find(|&rank| !is_set(words, rank) && is_missing(rank)) {
                return Some(rank);
            }
            reduced += states;
        }
        None
    })
}

/// A proof of all states of a table, or of those that a context class involves.
pub(super) struct Proof<'a> {
    table: &'a Table,
    prefix: Prefix,
    geometry: &'static Geometry,
    /// The symmetry if only one context of each mirrored pair is walked.
    symmetry: Option<&'a Symmetry>,
    /// The positions of states in `distances` and `descends`.
    offsets: &'a BitOffsets,
    pub distances: &'a [u8],
    /// The states with a successor of smaller distance.
    pub descends: &'a [AtomicU64],
}

/// The states of one context, with the mover on each of the free cells.
struct ContextStates {
    pieces: CellSet,
    /// For each cell of the mover, the position of the state.
    positions: [u64; Cell::LIMIT],
    /// For each distance, the cells of the mover. The sets outside `range` are empty.
    levels: [CellSet; 256],
    range: RangeInclusive<usize>,
}

impl<'a> Proof<'a> {
    /// Creates a proof of the states with these distances.
    pub fn new(table: &'a Table, offsets: &'a BitOffsets, distances: &'a [u8], descends: &'a [AtomicU64]) -> Proof<'a> {
        let prefix = table.prefix();
        Proof { table, prefix, geometry: prefix.board().geometry(), symmetry: None, offsets, distances, descends }
    }

    /// Checks all moves of these contexts on all threads. Returns the smallest
    /// distance of a state with a move out of the prefix.
    pub fn walk_all(&self, contexts: Range<u64>, observer: &dyn Observer) -> Result<Option<u8>> {
        let batches = (0..(contexts.end - contexts.start).div_ceil(GRAIN)).into_par_iter();
        let walked = batches.map(|batch| {
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            let first = contexts.start + batch * GRAIN;
            let range = first..contexts.end.min(first + GRAIN);
            let steps = range.end - range.start;
            let boundary_layer = self.walk(range).map_err(|what| wrong_table(self.table, what))?;
            observer.advance(steps);
            Ok(boundary_layer)
        });
        walked.try_reduce(|| None, |a, b| Ok(a.into_iter().chain(b).min()))
    }

    /// Returns the error for a state without a successor of smaller distance.
    pub fn no_descent(&self, rank: u64, position: usize) -> BuilderError {
        let distance = self.distances[position];
        let what = format!("the state of rank {rank} has distance {distance} and no successor with a smaller one");
        wrong_table(self.table, what)
    }

    /// Checks all moves of these contexts. Returns the smallest distance of a
    /// state with a move out of the prefix.
    fn walk(&self, contexts: Range<u64>) -> std::result::Result<Option<u8>, String> {
        let mut context = ContextStates {
            pieces: CellSet::EMPTY,
            positions: [0; Cell::LIMIT],
            levels: [CellSet::EMPTY; 256],
            range: 0..=255,
        };
        let mut components = Vec::new();
        let mut boundary_layer = None;
        for (_, pieces) in States::of_ranks(self.prefix.board().pieces() - 1, contexts) {
            let pieces = pieces.cells();
            if self.symmetry.is_some_and(|symmetry| symmetry.compare_with_mirror(pieces).is_gt()) {
                continue;
            }
            self.load(pieces, &mut context);
            jump_components(self.geometry, pieces, &mut components);
            let escapes = self.check(&context, &components)?;
            boundary_layer = boundary_layer.into_iter().chain(escapes).min();
        }
        Ok(boundary_layer.map(|distance| distance as u8))
    }

    /// Fills in the states of a context.
    fn load(&self, pieces: CellSet, context: &mut ContextStates) {
        context.levels[context.range.clone()].fill(CellSet::EMPTY);
        context.pieces = pieces;
        let (mut least, mut most) = (u8::MAX, 0);
        // The pieces above the mover are one place higher in the state than in the context.
        let mut others: u64 = pieces.iter().enumerate().map(|(i, cell)| choose(cell.index(), i + 2)).sum();
        let mut from = 0;
        let ends = pieces.iter().map(|cell| cell.index()).chain([self.prefix.within()]);
        for (below, end) in ends.enumerate() {
            for cell in from..end {
                let position = (others + choose(cell, below + 1)).wrapping_sub(self.offsets.above[cell]);
                let distance = self.distances[position as usize];
                context.positions[cell] = position;
                let level = &mut context.levels[usize::from(distance)];
                *level = level.with(Cell::new(cell));
                (least, most) = (least.min(distance), most.max(distance));
            }
            if end < self.prefix.within() {
                others = others - choose(end, below + 2) + choose(end, below + 1);
            }
            from = end + 1;
        }
        context.range = usize::from(least)..=usize::from(most);
    }

    /// Checks that no move of a context changes the distance by two or more,
    /// and marks the states with a successor of smaller distance. Returns the
    /// smallest distance of a state with a move out of the prefix.
    fn check(&self, context: &ContextStates, components: &[CellSet]) -> std::result::Result<Option<usize>, String> {
        let outside = CellSet::first_cells(self.geometry.cells()) - self.prefix.cells();
        let mut escapes = None;
        let mut descend = CellSet::EMPTY;
        // Steps lead from each level only to the same, the previous and the next level.
        let (mut last, mut before_last) = (CellSet::EMPTY, CellSet::EMPTY);
        let mut around_last = CellSet::EMPTY;
        for distance in context.range.clone() {
            let level = context.levels[distance];
            let around = level.iter().fold(CellSet::EMPTY, |around, cell| around | self.geometry.neighbors(cell));
            if !(around & before_last).is_empty() {
                return Err(self.large_step(context, distance));
            }
            if !(around & outside).is_empty() {
                escapes = escapes.or(Some(distance));
            }
            descend |= level & around_last;
            (before_last, last) = (before_last | last, level);
            around_last = around;
        }
        // Jumps connect all cells of a component in one move.
        for &component in components {
            let Some(nearest) = context.range.clone().find(|&d| !(component & context.levels[d]).is_empty()) else {
                continue;
            };
            let further = component - context.levels[nearest] - outside;
            if !further.is_empty() {
                let next = context.levels.get(nearest + 1).copied().unwrap_or_default();
                if !further.is_subset(next) {
                    return Err(self.large_step(context, nearest));
                }
                descend |= further;
            }
            if !(component & outside).is_empty() {
                escapes = escapes.into_iter().chain([nearest]).min();
            }
        }
        for cell in descend {
            let position = context.positions[cell.index()];
            let (word, bit) = (&self.descends[(position / 64) as usize], 1 << (position % 64));
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
        Ok(escapes)
    }

    fn large_step(&self, context: &ContextStates, distance: usize) -> String {
        let cell = context.levels[distance].first().expect("the level has a state");
        let rank = context.positions[cell.index()].wrapping_add(self.offsets.above[cell.index()]);
        format!("a move from the state of rank {rank} or a similar one changes the distance {distance} by two or more")
    }
}

/// Computes the sets of cells that jumps over the pieces of a context connect.
fn jump_components(geometry: &Geometry, context: CellSet, components: &mut Vec<CellSet>) {
    components.clear();
    for over in context {
        for cell in geometry.neighbors(over) - context {
            // Each pair of cells is added once, from its lower cell.
            let across = geometry.jumps(cell).iter().find(|jump| jump.over == over).map(|jump| jump.to);
            let Some(to) = across.filter(|&to| cell < to && !context.contains(to)) else { continue };
            let mut joined = CellSet::single(cell).with(to);
            components.retain(|&component| {
                let apart = (component & joined).is_empty();
                if !apart {
                    joined |= component;
                }
                apart
            });
            components.push(joined);
        }
    }
}
