//! Level-synchronous breadth-first search in memory.

use std::collections::TryReserveError;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::{CellSet, Encoding, Prefix, Rank, army_moves, binomial};

use crate::bits::words_for;
use crate::error::BuildError;
use crate::expand::{Expander, Layer};
use crate::labels::{Bitmap, Labels, STRIPE, bitmap};
use crate::monitor::{Monitor, Stage};

/// Groups a thread takes at a time.
const GRAIN: u64 = 16;

/// The largest distance a table holds.
const FARTHEST: u8 = 254;

/// The planes of a group are to fit in a core's cache of the second level.
const PLANE_BYTES: u64 = 1 << 20;

/// Everything breadth-first search finds of a prefix.
pub(crate) struct Found {
    pub labels: Labels,
    /// How many states there are at each distance.
    pub layers: Vec<u64>,
    pub escape_layer: Option<u32>,
}

/// An upper bound of the bytes of memory that a build in memory takes.
pub fn memory_needed(prefix: Prefix, encoding: Encoding, threads: usize) -> u64 {
    let bitmap = 8 * words_for(prefix.states()) as u64;
    // The layer and the next one, and the labels: distances are below 64.
    let bitmaps = match encoding {
        Encoding::Mod3 => 2 + 2,
        _ => 2 + 1 + 6,
    };
    const PROGRAM: u64 = 16 << 20;
    const THREAD: u64 = 8 << 20;
    (bitmaps * bitmap + PROGRAM).saturating_add(THREAD.saturating_mul(threads as u64))
}

/// Finds the distance of every state of the prefix.
pub(crate) fn search(
    prefix: Prefix,
    encoding: Encoding,
    pool: &ThreadPool,
    monitor: &dyn Monitor,
) -> Result<Found, BuildError> {
    let out_of_memory =
        |_: TryReserveError| BuildError::Memory { needed: memory_needed(prefix, encoding, pool.current_num_threads()) };
    let states = prefix.states();
    let mut found =
        Found { labels: Labels::new(states, encoding).map_err(out_of_memory)?, layers: Vec::new(), escape_layer: None };
    let expander = Expansion::new(prefix);
    let mut frontier = bitmap(states).map_err(out_of_memory)?;
    let mut next: Vec<AtomicU64> = bitmap(states).map_err(out_of_memory)?.into_iter().map(AtomicU64::new).collect();
    // The goal has rank 0.
    *next[0].get_mut() = 1;
    let mut seen = 0;
    loop {
        let count = pool.install(|| take(&mut next, &mut frontier));
        if count == 0 {
            break;
        }
        let distance = u8::try_from(found.layers.len()).ok().filter(|&d| d <= FARTHEST).ok_or(BuildError::TooFar)?;
        pool.install(|| found.labels.add(&frontier, distance)).map_err(out_of_memory)?;
        found.layers.push(count);
        seen += count;
        monitor.layer(u32::from(distance), count, seen, states);

        let escapes = AtomicBool::new(false);
        let layer = Layer { frontier: &frontier, seen: found.labels.seen(), next: &next, escapes: &escapes };
        monitor.begin(Stage::Layer(u32::from(distance) + 1), expander.groups());
        expander.expand(&layer, pool, monitor);
        if monitor.cancelled() {
            return Err(BuildError::Cancelled);
        }
        if escapes.into_inner() {
            found.escape_layer.get_or_insert(u32::from(distance));
        }
    }
    // The cells of a prefix hang together, and pieces are alike, so that any
    // state can be turned into any other by steps.
    assert_eq!(seen, states, "every state of a prefix can be reached");
    Ok(found)
}

/// Moves the next layer into the frontier, empties it, and counts its states.
fn take(next: &mut [AtomicU64], frontier: &mut Bitmap) -> u64 {
    let stripes = next.par_chunks_mut(STRIPE).zip(frontier.par_chunks_mut(STRIPE));
    let counts = stripes.map(|(next, frontier)| {
        let mut count = 0;
        for (next, frontier) in next.iter_mut().zip(frontier) {
            *frontier = mem::take(next.get_mut());
            count += u64::from(frontier.count_ones());
        }
        count
    });
    counts.sum()
}

/// How the layers of a prefix are expanded.
enum Expansion {
    /// A single piece has no contexts to tell apart.
    Single(Prefix),
    Contexts(Expander),
}

impl Expansion {
    fn new(prefix: Prefix) -> Expansion {
        match prefix.board().pieces() {
            1 => Expansion::Single(prefix),
            _ => Expansion::Contexts(Expander::new(prefix, lanes(prefix))),
        }
    }

    fn groups(&self) -> u64 {
        match self {
            Expansion::Single(_) => 1,
            Expansion::Contexts(expander) => expander.groups(),
        }
    }

    fn expand(&self, layer: &Layer, pool: &ThreadPool, monitor: &dyn Monitor) {
        let expander = match self {
            Expansion::Single(prefix) => return expand_single(*prefix, layer),
            Expansion::Contexts(expander) => expander,
        };
        let groups = expander.groups();
        let untaken = AtomicU64::new(0);
        pool.broadcast(|_| {
            let mut scratch = expander.scratch();
            loop {
                let first = untaken.fetch_add(GRAIN, Relaxed);
                if first >= groups || monitor.cancelled() {
                    return;
                }
                let end = groups.min(first + GRAIN);
                (first..end).for_each(|group| expander.expand_group(group, layer, &mut scratch));
                monitor.advance(end - first);
            }
        });
    }
}

/// As many lanes as fit in the cache, and if possible one piece that tells
/// groups apart, so that there is work for all threads.
fn lanes(prefix: Prefix) -> usize {
    let still = prefix.board().pieces() - 1;
    let plane_bytes = |lanes: usize| {
        let room = prefix.within() - (still - lanes);
        binomial(room, lanes).map_or(u64::MAX, |contexts| contexts / 8) * prefix.board().cells() as u64
    };
    (1..still).rev().find(|&lanes| plane_bytes(lanes) <= PLANE_BYTES).unwrap_or(1)
}

fn expand_single(prefix: Prefix, layer: &Layer) {
    for cell in prefix.cells() {
        let state = CellSet::single(cell);
        if layer.frontier[cell.index() / 64] >> (cell.index() % 64) & 1 == 0 {
            continue;
        }
        for mv in army_moves(prefix.board().geometry(), state, CellSet::EMPTY) {
            match prefix.cells().contains(mv.to) {
                true => layer.reach(Rank::of(CellSet::single(mv.to)).0, 1),
                false => layer.escapes.store(true, Relaxed),
            }
        }
    }
}
