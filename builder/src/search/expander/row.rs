//! The expansion of a row: all placements of one army beside fixed pieces of another.
//!
//! The fixed pieces are obstacles of the [`Field`], and all contexts of the row form one group without upper pieces.

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;
use sternhalma_data::board::{choose, rank_above};
use sternhalma_data::{Cell, CellSet, States};

use super::group::{ContextGroup, GroupScratch, Lanes, any_set, chain_jumps, lanes, or, single_jumps};
use super::tables::{BATCH_WORDS, Field, FieldSize, GroupTables};
use crate::bits::or_run;
use crate::ranks::{BitOffsets, MAX_CELLS};

/// The expansion of rows of placements of two or more pieces.
pub(crate) struct RowExpander {
    tables: GroupTables,
    runs: Vec<PieceRun>,
}

/// The placements that share a mover and the pieces above it. The pieces below it, at least two, take all cells there, so
/// both the placements and their contexts are consecutive.
struct PieceRun {
    mover: u8,
    /// The first placement.
    start: u64,
    /// The first context.
    context: u64,
    len: u64,
}

impl PieceRun {
    /// Returns all runs of a row.
    fn all(cells: usize, pieces: usize) -> Vec<PieceRun> {
        let mut runs = Vec::new();
        for below in 2..pieces {
            // The mover is the lowest of these pieces.
            for (_, upper) in States::of_ranks(pieces - below, 0..choose(cells, pieces - below)) {
                let upper = upper.cells();
                let mover = upper.first().expect("the mover is one of the pieces");
                let len = choose(mover.index(), below);
                if len > 0 {
                    let (start, context) = (rank_above(upper, below), rank_above(upper.without(mover), below));
                    runs.push(PieceRun { mover: mover.index() as u8, start, context, len });
                }
            }
        }
        runs
    }
}

/// The buffers of one thread.
pub(crate) struct RowScratch(GroupScratch);

impl RowExpander {
    /// Prepares the expansion of rows of `pieces` pieces, at least two, on `cells` free cells.
    pub fn new(cells: usize, pieces: usize) -> RowExpander {
        let size = FieldSize { cells, within: cells, pieces };
        let tables = GroupTables::new(size, pieces - 1).without_runs();
        RowExpander { tables, runs: PieceRun::all(cells, pieces) }
    }

    pub fn scratch(&self) -> RowScratch {
        RowScratch(GroupScratch::new(self.tables.size.cells))
    }

    /// Sets `out` to the wanted placements from which one move leads to a target.
    ///
    /// A placement that is itself a target may be missing if the move is a chain of two or more jumps.
    pub fn sources(&self, field: &Field, moves: &RowMoves, out: &mut [u64], scratch: &mut RowScratch) {
        let group = ContextGroup::new(&self.tables, field, CellSet::EMPTY, self.tables.size.cells, &BitOffsets::ZERO);
        dispatch!(level(), simd => group.sources(simd, &self.runs, moves, out, &mut scratch.0));
    }
}

/// The moves that are sought in a row, in bitmaps with one bit per placement and a spare word.
pub(crate) struct RowMoves<'a> {
    /// The placements after the moves.
    pub targets: &'a [u64],
    /// The placements before the moves.
    pub wanted: &'a [u64],
    /// A piece on one of these cells does not leave them.
    pub locked: CellSet,
}

impl ContextGroup<'_> {
    #[simd]
    fn sources<S: Simd>(
        &self,
        simd: S,
        runs: &[PieceRun],
        moves: &RowMoves,
        out: &mut [u64],
        scratch: &mut GroupScratch,
    ) {
        let RowMoves { targets, wanted, locked } = *moves;
        out.fill(0);
        self.clear_slices(scratch);
        self.gather_below(simd, targets, self.below_start, scratch);
        for run in runs {
            let slice = &mut scratch.bit_slices[usize::from(run.mover) * scratch.stride..][..scratch.stride];
            or_run(slice, run.context, targets, run.start, run.len);
        }
        self.jumps(&mut scratch.jumps);
        for at in (0..self.words()).step_by(BATCH_WORDS) {
            match self.words() - at {
                1 => self.source_words::<S, 1>(simd, at, locked, scratch),
                2 => self.source_words::<S, 2>(simd, at, locked, scratch),
                3 | 4 => self.source_words::<S, 4>(simd, at, locked, scratch),
                _ => self.source_words::<S, BATCH_WORDS>(simd, at, locked, scratch),
            }
        }
        for triangle in self.triangles(self.below_start) {
            if any_set(wanted, triangle.start, triangle.states) {
                let packed = self.pack_triangle(simd, triangle, scratch);
                or_run(out, triangle.start, packed, 0, triangle.states);
            }
        }
        for run in runs {
            let slice = &scratch.bit_slices[usize::from(run.mover) * scratch.stride..][..scratch.stride];
            or_run(out, run.start, slice, run.context, run.len);
        }
        out.iter_mut().zip(wanted).for_each(|(out, wanted)| *out &= wanted);
    }

    /// Replaces the states of some words of every slice with those from which one move leads to them.
    #[simd]
    fn source_words<S: Simd, const W: usize>(&self, simd: S, at: usize, locked: CellSet, scratch: &mut GroupScratch) {
        let cells = self.tables.size.cells;
        let mut before = [Lanes([0u64; W]); MAX_CELLS];
        let mut occupied = [Lanes([0u64; W]); MAX_CELLS];
        let mut any = [0u64; W];
        for cell in 0..cells {
            let states = lanes(&scratch.bit_slices[cell * scratch.stride + at..]);
            before[cell] = Lanes(states);
            occupied[cell] = Lanes(lanes(&self.tables.occupied[cell][at..]));
            any = or(any, states);
        }
        if any == [0; W] {
            return;
        }
        scratch.jumps.select_possible(&occupied);
        let mut spread = |from: &[Lanes<W>; MAX_CELLS], to: CellSet| {
            let mut reached = *from;
            chain_jumps(simd, &mut reached, &occupied, &scratch.jumps);
            let mut near = [Lanes([0u64; W]); MAX_CELLS];
            single_jumps(simd, &mut near, from, &occupied, &scratch.jumps);
            for cell in to {
                let cell = cell.index();
                let (before, taken) = (from[cell].0, occupied[cell].0);
                let mut steps = near[cell].0;
                for &neighbor in self.field.neighbors(cell) {
                    steps = or(steps, from[usize::from(neighbor)].0);
                }
                let mut sources = [0; W];
                for i in 0..W {
                    sources[i] = (steps[i] | reached[cell].0[i] & !before[i]) & !taken[i];
                }
                scratch.bit_slices[cell * scratch.stride + at..][..W].copy_from_slice(&sources);
            }
        };
        let all = CellSet::first_cells(cells);
        spread(&before, all - locked);
        if !locked.is_empty() {
            (0..cells).filter(|&cell| !locked.contains(Cell::new(cell))).for_each(|cell| before[cell] = Lanes([0; W]));
            spread(&before, locked);
        }
    }
}
