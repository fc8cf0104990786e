//! Level-synchronous breadth-first search in memory.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::board::{MirroredRuns, Symmetry};
use sternhalma_data::{CellSet, Distance, Prefix, TableSpec};

use super::distance_planes::{Bitmap, DistancePlanes, STRIPE, new_bitmap};
use super::expander::{Expander, LayerBitmaps};
use super::occupancy::{BLOCK, Occupancy};
use crate::bits::words_for;
use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};
use crate::ranks::BitOffsets;

/// Groups that a thread takes at a time.
const GRAIN: u64 = 16;

/// The result of a breadth-first search.
pub(crate) struct BfsResult {
    pub planes: DistancePlanes,
    /// Maps ranks to positions in the planes. `None` if the planes hold all states by rank.
    pub runs: Option<MirroredRuns>,
    /// The number of states at each distance.
    pub layers: Vec<u64>,
    /// The smallest distance of a state with a move out of the prefix.
    pub boundary_layer: Option<u32>,
    /// The number of successors of all layers. A successor counts once for
    /// each context that it shares with a state of the layer.
    pub successors: u64,
}

/// Returns an upper bound of the memory that [`breadth_first_search`] and the
/// writing of its table take, in bytes.
///
/// The bound holds for distances below [`MAX_LAYERS`](super::MAX_LAYERS).
pub(crate) fn memory_needed(spec: TableSpec, symmetry: Option<&Symmetry>, threads: usize) -> u64 {
    const PROGRAM: u64 = 16 << 20;
    const THREAD: u64 = 8 << 20;
    let bitmap = 8 * words_for(symmetry.map_or(spec.prefix.states(), Symmetry::states)) as u64;
    // The layer and the next one, and the planes.
    let bitmaps = 2 + DistancePlanes::bitmaps(spec.encoding);
    let slice_pieces = Expander::best_slice_pieces(spec.prefix);
    let runs = symmetry.map_or(0, |symmetry| Expander::reduced_memory(symmetry, slice_pieces));
    (bitmaps * bitmap + 3 * Occupancy::memory(bitmap) + PROGRAM + runs)
        .saturating_add(THREAD.saturating_mul(threads as u64))
}

/// Finds the distance of every state of the prefix, one layer after another.
/// With a symmetry, it searches and returns only canonical states.
///
/// # Errors
/// If the memory cannot be allocated, if a distance exceeds [`Distance::MAX`], or
/// if the observer cancels the search.
pub(crate) fn breadth_first_search(
    spec: TableSpec,
    symmetry: Option<Symmetry>,
    pool: &ThreadPool,
    observer: &dyn Observer,
) -> Result<BfsResult> {
    let out_of_memory =
        |_| BuilderError::OutOfMemory { needed: memory_needed(spec, symmetry.as_ref(), pool.current_num_threads()) };
    let states = symmetry.as_ref().map_or(spec.prefix.states(), Symmetry::states);
    let new_bitmap = || pool.install(|| new_bitmap(states)).map_err(out_of_memory);
    let mut planes = pool.install(|| DistancePlanes::new(states, spec.encoding)).map_err(out_of_memory)?;
    let (mut layers, mut boundary_layer, mut successors) = (Vec::new(), None, 0);
    let expander = LayerExpander::new(spec.prefix, symmetry.clone());
    let mut frontier = new_bitmap()?;
    let mut next: Vec<AtomicU64> = new_bitmap()?.into_iter().map(AtomicU64::new).collect();
    let symmetric = symmetry.as_ref().map(Symmetry::symmetric_reduced_ranks);
    // The goal has rank 0.
    *next[0].get_mut() = 1;
    let [mut occupancy, mut next_occupancy] = [(); 2].map(|()| Occupancy::new(frontier.len()));
    next_occupancy.mark(0);
    let mut unseen_blocks = Occupancy::full(frontier.len());
    let mut seen = 0;
    loop {
        let canonical =
            pool.install(|| advance_frontier((&mut next, &mut next_occupancy), (&mut frontier, &mut occupancy)));
        if canonical == 0 {
            break;
        }
        let count = symmetric.as_ref().map_or(canonical, |symmetric| 2 * canonical - count_in(&frontier, symmetric));
        let distance = u8::try_from(layers.len()).ok().filter(|&distance| distance <= Distance::MAX.0);
        let distance = distance.ok_or(BuilderError::DistanceTooLarge)?;
        // The layer is seen before it is expanded, so it does not reach itself.
        pool.install(|| planes.add(&frontier, &occupancy, distance)).map_err(out_of_memory)?;
        // Only blocks with states of the layer can have lost their last unseen state.
        pool.install(|| unseen_blocks.retain(|block| !occupancy.contains(block) || planes.any_unseen(block)));
        layers.push(count);
        seen += count;
        observer.layer(u32::from(distance), count, seen, spec.prefix.states());

        let escapes = AtomicBool::new(false);
        let layer = LayerBitmaps {
            offsets: &BitOffsets::ZERO,
            intervals: None,
            frontier: &frontier,
            occupancy: &occupancy,
            seen: planes.seen(),
            unseen_blocks: Some(&unseen_blocks),
            next: &next,
            next_occupancy: &next_occupancy,
            escapes: &escapes,
        };
        observer.begin(BuildPhase::Layer(u32::from(distance) + 1), expander.groups());
        successors += expander.expand(&layer, pool, observer);
        if observer.cancelled() {
            return Err(BuilderError::Cancelled);
        }
        if escapes.into_inner() {
            boundary_layer.get_or_insert(u32::from(distance));
        }
    }
    // The cells of a prefix are connected and the pieces are alike, so steps
    // alone lead from any state to any other.
    assert_eq!(seen, spec.prefix.states(), "every state of a prefix is reachable");
    Ok(BfsResult { planes, runs: expander.into_runs(), layers, boundary_layer, successors })
}

fn count_in(bitmap: &[u64], positions: &[u64]) -> u64 {
    positions.iter().map(|&at| bitmap[(at / 64) as usize] >> (at % 64) & 1).sum()
}

/// Moves the layer in `next` to `frontier`, clears `next`, and returns the number of
/// states in the layer. Each bitmap has its summary.
fn advance_frontier(next: (&mut [AtomicU64], &mut Occupancy), frontier: (&mut Bitmap, &mut Occupancy)) -> u64 {
    let ((next, next_occupancy), (frontier, occupancy)) = (next, frontier);
    let stripes = next.par_chunks_mut(STRIPE).zip(frontier.par_chunks_mut(STRIPE));
    let counts = stripes.enumerate().map(|(stripe, (next, frontier))| {
        let mut count = 0;
        let blocks = stripe * (STRIPE / BLOCK)..;
        for (block, (next, frontier)) in blocks.zip(next.chunks_mut(BLOCK).zip(frontier.chunks_mut(BLOCK))) {
            if !next_occupancy.contains(block) {
                if occupancy.contains(block) {
                    frontier.fill(0);
                }
                continue;
            }
            for (next, frontier) in next.iter_mut().zip(frontier) {
                *frontier = mem::take(next.get_mut());
                count += u64::from(frontier.count_ones());
            }
        }
        count
    });
    let count = counts.sum();
    mem::swap(next_occupancy, occupancy);
    next_occupancy.clear();
    count
}

/// The expander for a number of pieces.
enum LayerExpander {
    /// A single piece has only one context.
    Single(Prefix),
    Contexts(Box<Expander>),
}

impl LayerExpander {
    /// Returns the expander for a prefix. A single piece has no other pieces to
    /// form a context, so it has its own expander.
    fn new(prefix: Prefix, symmetry: Option<Symmetry>) -> LayerExpander {
        let slice_pieces = Expander::best_slice_pieces(prefix);
        match (prefix.board().pieces(), symmetry) {
            (1, _) => LayerExpander::Single(prefix),
            (_, None) => LayerExpander::Contexts(Box::new(Expander::new(prefix, slice_pieces))),
            (_, Some(symmetry)) => LayerExpander::Contexts(Box::new(Expander::reduced(symmetry, slice_pieces))),
        }
    }

    fn into_runs(self) -> Option<MirroredRuns> {
        match self {
            LayerExpander::Single(_) => None,
            LayerExpander::Contexts(expander) => expander.runs,
        }
    }

    fn groups(&self) -> u64 {
        match self {
            LayerExpander::Single(_) => 1,
            LayerExpander::Contexts(expander) => expander.groups(),
        }
    }

    /// Adds the successors of a layer to the next one, and returns their number.
    fn expand(&self, layer: &LayerBitmaps, pool: &ThreadPool, observer: &dyn Observer) -> u64 {
        let expander = match self {
            LayerExpander::Single(prefix) => return expand_single(*prefix, layer),
            LayerExpander::Contexts(expander) => expander,
        };
        let groups = expander.groups();
        let (untaken, successors) = (AtomicU64::new(0), AtomicU64::new(0));
        pool.broadcast(|_| {
            let mut scratch = expander.scratch();
            loop {
                let first = untaken.fetch_add(GRAIN, Relaxed);
                if first >= groups || observer.cancelled() {
                    break;
                }
                let end = groups.min(first + GRAIN);
                (first..end).for_each(|group| expander.expand_group(group, layer, &mut scratch));
                observer.advance(end - first);
            }
            successors.fetch_add(scratch.take_successors(), Relaxed);
        });
        successors.into_inner()
    }
}

fn expand_single(prefix: Prefix, layer: &LayerBitmaps) -> u64 {
    let frontier: CellSet = prefix
        .cells()
        .iter()
        .filter(|cell| layer.frontier[cell.index() / 64] >> (cell.index() % 64) & 1 != 0)
        .collect();
    let mut reached = CellSet::EMPTY;
    for cell in frontier {
        for mv in prefix.board().geometry().army_moves(CellSet::single(cell), CellSet::EMPTY) {
            if prefix.cells().contains(mv.to) {
                layer.reach_word(mv.to.index() / 64, 1 << (mv.to.index() % 64));
            } else {
                layer.escapes.store(true, Relaxed);
            }
            reached = reached.with(mv.to);
        }
    }
    (reached - frontier).len() as u64
}
