//! Level-synchronous breadth-first search in memory.

use std::collections::TryReserveError;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::board::binomial;
use sternhalma_data::{CellSet, Encoding, Prefix};

use crate::error::BuildError;
use crate::expand::{Expander, Layer, Places};
use crate::labels::{Bitmap, Labels, STRIPE, bitmap};
use crate::memory::{PLANE_BYTES, memory_needed};
use crate::monitor::{Monitor, Stage};

/// Groups a thread takes at a time.
const GRAIN: u64 = 16;

/// The largest distance a table holds.
const FARTHEST: u8 = 254;

/// Everything breadth-first search finds of a prefix.
pub(crate) struct Found {
    pub labels: Labels,
    /// How many states there are at each distance.
    pub layers: Vec<u64>,
    pub boundary_layer: Option<u32>,
    /// How many successors all layers have, counted once for each context
    /// that they share with a state of the layer.
    pub successors: u64,
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
    let mut found = Found {
        labels: Labels::new(states, encoding).map_err(out_of_memory)?,
        layers: Vec::new(),
        boundary_layer: None,
        successors: 0,
    };
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
        let layer = Layer {
            places: &Places::ALL,
            frontier: &frontier,
            seen: found.labels.seen(),
            next: &next,
            escapes: &escapes,
        };
        monitor.begin(Stage::Layer(u32::from(distance) + 1), expander.groups());
        found.successors += expander.expand(&layer, pool, monitor);
        if monitor.cancelled() {
            return Err(BuildError::Cancelled);
        }
        if escapes.into_inner() {
            found.boundary_layer.get_or_insert(u32::from(distance));
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
            _ => Expansion::Contexts(Expander::new(prefix, lanes(prefix, PLANE_BYTES))),
        }
    }

    fn groups(&self) -> u64 {
        match self {
            Expansion::Single(_) => 1,
            Expansion::Contexts(expander) => expander.groups(),
        }
    }

    /// Returns the number of successors.
    fn expand(&self, layer: &Layer, pool: &ThreadPool, monitor: &dyn Monitor) -> u64 {
        let expander = match self {
            Expansion::Single(prefix) => return expand_single(*prefix, layer),
            Expansion::Contexts(expander) => expander,
        };
        let groups = expander.groups();
        let (untaken, successors) = (AtomicU64::new(0), AtomicU64::new(0));
        pool.broadcast(|_| {
            let mut scratch = expander.scratch();
            loop {
                let first = untaken.fetch_add(GRAIN, Relaxed);
                if first >= groups || monitor.cancelled() {
                    break;
                }
                let end = groups.min(first + GRAIN);
                (first..end).for_each(|group| expander.expand_group(group, layer, &mut scratch));
                monitor.advance(end - first);
            }
            successors.fetch_add(scratch.take_successors(), Relaxed);
        });
        successors.into_inner()
    }
}

/// As many lanes as give planes of no more than so many bytes, and if possible
/// one piece that tells groups apart, so that there is work for all threads.
pub(crate) fn lanes(prefix: Prefix, most_bytes: u64) -> usize {
    let still = prefix.board().pieces() - 1;
    let plane_bytes = |lanes: usize| {
        let room = prefix.within() - (still - lanes);
        binomial(room, lanes).map_or(u64::MAX, |contexts| contexts / 8) * prefix.board().cells() as u64
    };
    (1..still).rev().find(|&lanes| plane_bytes(lanes) <= most_bytes).unwrap_or(1)
}

fn expand_single(prefix: Prefix, layer: &Layer) -> u64 {
    let standing: CellSet = prefix
        .cells()
        .iter()
        .filter(|cell| layer.frontier[cell.index() / 64] >> (cell.index() % 64) & 1 != 0)
        .collect();
    let mut reached = CellSet::EMPTY;
    for cell in standing {
        for mv in prefix.board().geometry().army_moves(CellSet::single(cell), CellSet::EMPTY) {
            match prefix.cells().contains(mv.to) {
                true => layer.reach(mv.to.index() as u64, 1),
                false => layer.escapes.store(true, Relaxed),
            }
            reached = reached.with(mv.to);
        }
    }
    (reached - standing).len() as u64
}
