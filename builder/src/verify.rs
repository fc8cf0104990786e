//! Checking a table file, and proving what it says.
//!
//! The proof needs no search. Let `D` be the distances a table gives. If the
//! goal alone has `D` = 0, no move changes `D` by two or more, and every other
//! state has a move to a state with one less, then `D` is the distance: a path
//! lowers `D` by at most one a move, and following the nearer states is a path
//! of `D` moves. A mod-3 table agrees with many `D` locally, so it is first
//! unfolded from the goal, which fixes one, and that one is proven.
//!
//! The moves are enumerated context by context, a context being the pieces a
//! move leaves alone ([`expand`](crate::expand) does the same by other means):
//! two cells are a move apart if they are neighbours, or if jumps over the
//! context's pieces join them, and jumps can be taken back.

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sternhalma_data::{Cell, CellSet, Geometry, Prefix, States, Table, binomial};

use crate::error::VerifyError;
use crate::monitor::{Monitor, Stage};

/// Contexts a thread takes at a time.
const GRAIN: u64 = 1 << 14;

/// Checks every block of a table against its checksum; if `deep`, proves that
/// each distance in it is right, along paths inside the prefix, and that
/// layers and escape layer are as the header says.
///
/// Memory of the proof: a bit a state, and a byte a state unless the table is
/// of bytes. `threads` of 0 are one a core.
///
/// # Errors
/// If the table is damaged or wrong, or the monitor cancels the work.
pub fn verify(table: &Table, deep: bool, threads: usize, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    pool.install(|| {
        check_blocks(table, monitor)?;
        if deep { prove(table, monitor) } else { Ok(()) }
    })
}

fn check_blocks(table: &Table, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let blocks = table.layout().blocks();
    monitor.begin(Stage::Check, blocks);
    (0..blocks).into_par_iter().try_for_each(|number| {
        if monitor.cancelled() {
            return Err(VerifyError::Cancelled);
        }
        table.check_block(number)?;
        monitor.advance(1);
        Ok(())
    })
}

fn prove(table: &Table, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let wrong = |what: String| VerifyError::Wrong { path: table.path().display().to_string(), what };
    let distances = table.distances()?;
    let layers = count_layers(&distances);
    if layers != table.contents().layers {
        return Err(wrong("the header's layers are not those of its distances".to_owned()));
    }
    let proof = Proof::new(table.prefix(), &distances);
    let contexts = proof.contexts();
    monitor.begin(Stage::Prove, contexts);
    let batches = (0..contexts.div_ceil(GRAIN)).into_par_iter();
    let escape_layer = batches
        .map(|batch| {
            if monitor.cancelled() {
                return Err(VerifyError::Cancelled);
            }
            let range = batch * GRAIN..contexts.min((batch + 1) * GRAIN);
            let steps = range.end - range.start;
            let escape_layer = proof.walk(range).map_err(wrong)?;
            monitor.advance(steps);
            Ok(escape_layer)
        })
        .try_reduce(|| None, |a, b| Ok(a.into_iter().chain(b).min()))?;
    proof.every_state_descends().map_err(wrong)?;
    if escape_layer.map(u32::from) != table.contents().escape_layer {
        return Err(wrong(format!("its first layer with a way out is {escape_layer:?}, not as the header says")));
    }
    Ok(())
}

fn count_layers(distances: &[u8]) -> Vec<u64> {
    let count = |part: &[u8]| {
        let mut counts = [0u64; 256];
        part.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        counts
    };
    let add = |a: [u64; 256], b: [u64; 256]| std::array::from_fn(|i| a[i] + b[i]);
    let counts = distances.par_chunks(1 << 20).map(count).reduce(|| [0; 256], add);
    let layers = counts.iter().rposition(|&states| states > 0).map_or(0, |last| last + 1);
    counts[..layers].to_vec()
}

struct Proof<'a> {
    prefix: Prefix,
    geometry: &'static Geometry,
    distances: &'a [u8],
    /// The states with a move to one nearer.
    descends: Vec<AtomicU64>,
}

/// The states of one context, the mover on each of its free cells.
struct Context {
    pieces: CellSet,
    /// By cell: the rank of the state with the mover there.
    ranks: [u64; Cell::LIMIT],
    /// By distance: the cells of the mover. Empty sets outside `range`.
    levels: [CellSet; 256],
    range: RangeInclusive<usize>,
}

impl<'a> Proof<'a> {
    fn new(prefix: Prefix, distances: &'a [u8]) -> Proof<'a> {
        let words = distances.len().div_ceil(64);
        let descends = (0..words).map(|_| AtomicU64::new(0)).collect();
        Proof { prefix, geometry: prefix.board().geometry(), distances, descends }
    }

    fn contexts(&self) -> u64 {
        choose(self.prefix.within(), self.prefix.board().pieces() - 1)
    }

    /// Checks all moves of some contexts. Returns the least distance of a
    /// state with a move out of the prefix.
    fn walk(&self, contexts: Range<u64>) -> Result<Option<u8>, String> {
        let mut context =
            Context { pieces: CellSet::EMPTY, ranks: [0; Cell::LIMIT], levels: [CellSet::EMPTY; 256], range: 0..=255 };
        let mut components = Vec::new();
        let mut escape_layer = None;
        for (_, pieces) in States::of_ranks(self.prefix.board().pieces() - 1, contexts) {
            self.load(pieces, &mut context);
            jump_components(self.geometry, pieces, &mut components);
            let escapes = self.check(&context, &components)?;
            escape_layer = escape_layer.into_iter().chain(escapes).min();
        }
        Ok(escape_layer.map(|distance| distance as u8))
    }

    /// Looks up the states of a context.
    fn load(&self, pieces: CellSet, context: &mut Context) {
        context.levels[context.range.clone()].fill(CellSet::EMPTY);
        context.pieces = pieces;
        let (mut least, mut most) = (u8::MAX, 0);
        // Pieces of the context above the mover stand one place higher in the state.
        let mut others: u64 = pieces.iter().enumerate().map(|(i, cell)| choose(cell.index(), i + 2)).sum();
        let mut from = 0;
        let ends = pieces.iter().map(|cell| cell.index()).chain([self.prefix.within()]);
        for (below, end) in ends.enumerate() {
            for cell in from..end {
                let rank = others + choose(cell, below + 1);
                let distance = self.distances[rank as usize];
                context.ranks[cell] = rank;
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
    /// and notes the states with a nearer one. Returns the least distance of a
    /// state with a move out of the prefix.
    fn check(&self, context: &Context, components: &[CellSet]) -> Result<Option<usize>, String> {
        let outside = CellSet::first_cells(self.geometry.cells()) - self.prefix.cells();
        let mut escapes = None;
        let mut descend = CellSet::EMPTY;
        // By steps: from each level only to itself, the one before and the one after.
        let (mut last, mut before_last) = (CellSet::EMPTY, CellSet::EMPTY);
        let mut around_last = CellSet::EMPTY;
        for distance in context.range.clone() {
            let level = context.levels[distance];
            let around = level.iter().fold(CellSet::EMPTY, |around, cell| around | self.geometry.neighbors(cell));
            if !(around & before_last).is_empty() {
                return Err(self.too_far(context, distance));
            }
            if !(around & outside).is_empty() {
                escapes = escapes.or(Some(distance));
            }
            descend |= level & around_last;
            (before_last, last) = (before_last | last, level);
            around_last = around;
        }
        // By jumps: all cells of a component are one move apart.
        for &component in components {
            let Some(nearest) = context.range.clone().find(|&d| !(component & context.levels[d]).is_empty()) else {
                continue;
            };
            let further = component - context.levels[nearest] - outside;
            if !further.is_empty() {
                let next = context.levels.get(nearest + 1).copied().unwrap_or_default();
                if !further.is_subset(next) {
                    return Err(self.too_far(context, nearest));
                }
                descend |= further;
            }
            if !(component & outside).is_empty() {
                escapes = escapes.into_iter().chain([nearest]).min();
            }
        }
        for cell in descend {
            let rank = context.ranks[cell.index()];
            let (word, bit) = (&self.descends[(rank / 64) as usize], 1 << (rank % 64));
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
        Ok(escapes)
    }

    fn too_far(&self, context: &Context, distance: usize) -> String {
        let cell = context.levels[distance].first().expect("the level has a state");
        let rank = context.ranks[cell.index()];
        format!("a move from the state of rank {rank} or one like it changes the distance {distance} by two or more")
    }

    /// Checks, after all contexts, that the goal has distance 0 and every
    /// other state a nearer one.
    fn every_state_descends(&self) -> Result<(), String> {
        if self.distances[0] != 0 {
            return Err(format!("the goal has distance {}", self.distances[0]));
        }
        let descends = |rank: usize| self.descends[rank / 64].load(Relaxed) >> (rank % 64) & 1 != 0;
        match (1..self.distances.len()).into_par_iter().find_first(|&rank| !descends(rank)) {
            None => Ok(()),
            Some(rank) => {
                Err(format!("the state of rank {rank} has distance {} and no nearer state", self.distances[rank]))
            }
        }
    }
}

fn choose(n: usize, k: usize) -> u64 {
    binomial(n, k).expect("counts of a board's states fit in 64 bits")
}

/// The sets of cells that jumps over the pieces of a context join.
fn jump_components(geometry: &Geometry, context: CellSet, components: &mut Vec<CellSet>) {
    components.clear();
    for over in context {
        for cell in geometry.neighbors(over) - context {
            // Each pair of cells across a piece is met once, from its lower one.
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
