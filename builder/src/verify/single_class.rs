//! The proof of one context class, independent of all others.
//!
//! Most states have a smaller successor in a context of their own class. The others are checked one
//! at a time: a fixed piece moves, and the distance of the successor is looked up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use rayon::prelude::*;
use sternhalma_data::{Cell, CellSet, Geometry, Move, Prefix, Rank, State, Table, TableInfo};

use super::checkpoint::Checkpoint;
use super::class_loader::ClassLoader;
use super::distance_windows::DistanceWindows;
use super::proof::{Proof, atomic_bitmap, histogram, wrong_table, zeroed_bytes};
use super::streams::stream_memory;
use crate::error::{BuilderError, Result};
use crate::external::{LoadedSegment, Partitioning, max_words};
use crate::observer::Observer;

/// The memory for the proof of one class after the other.
pub struct SingleClassProver<'a> {
    table: &'a Table,
    partitioning: &'a Partitioning<Prefix>,
    loader: ClassLoader<'a>,
    distances: Vec<u8>,
    /// The states with a successor of smaller distance; empty between classes.
    descends: Vec<AtomicU64>,
    /// A cache per thread.
    windows: Vec<Mutex<DistanceWindows<'a>>>,
    observer: &'a dyn Observer,
}

/// What the proof of a class has found.
pub struct ProvenClass {
    contexts: u64,
    /// The distance of the goal, if it is a state of the class.
    goal: Option<u8>,
    /// The smallest distance of a state with a move out of the prefix.
    boundary_layer: Option<u8>,
    /// The number of states at each distance.
    states_at: [u64; 256],
}

impl ProvenClass {
    /// Counts the class in the state of a proof.
    pub fn count_in(&self, checkpoint: &mut Checkpoint) {
        checkpoint.classes += 1;
        checkpoint.steps += self.contexts;
        checkpoint.goal = self.goal.unwrap_or(checkpoint.goal);
        checkpoint.boundary_layer = checkpoint.boundary_layer.into_iter().chain(self.boundary_layer).min();
        checkpoint.states_at.iter_mut().zip(self.states_at).for_each(|(all, states)| *all += states);
    }
}

impl<'a> SingleClassProver<'a> {
    /// Creates a prover for the current thread pool.
    pub fn new(
        table: &'a Table,
        partitioning: &'a Partitioning<Prefix>,
        loader: ClassLoader<'a>,
        observer: &'a dyn Observer,
    ) -> SingleClassProver<'a> {
        SingleClassProver {
            table,
            partitioning,
            loader,
            distances: zeroed_bytes(64 * partitioning.max_words()),
            descends: atomic_bitmap(partitioning.max_words()),
            windows: (0..rayon::current_num_threads()).map(|_| Mutex::new(DistanceWindows::new(table))).collect(),
            observer,
        }
    }

    /// Returns the memory of a prover of classes with this many fixed pieces, in bytes.
    pub fn memory(info: &TableInfo, fixed_pieces: usize, threads: usize) -> u64 {
        // A byte and a bit per state.
        let states = 64 * max_words(&info.spec.prefix, fixed_pieces) as u64 * 9 / 8;
        states + threads as u64 * (DistanceWindows::MEMORY + stream_memory(info) + (256 << 10))
    }

    /// Proves that no move within the contexts of the class of a partition changes the distance by two or more, and that
    /// every state of the partition except the goal has a successor with a distance smaller by one.
    pub fn prove(&mut self, partition: u64) -> Result<ProvenClass> {
        let SingleClassProver {
            table,
            partitioning,
            ref loader,
            ref mut distances,
            ref descends,
            ref windows,
            observer,
        } = *self;
        let class = partitioning.class(partition, table.board().pieces() - 1);
        loader.load(&class, distances)?;
        let proof = Proof::new(table, &class.positions, distances, descends);
        let boundary_layer = proof.walk_all(class.groups.clone(), observer)?;
        let own = partitioning.own_segments(&class);
        let fixed = FixedPieces { table, geometry: table.board().geometry(), pieces: partitioning.pieces(partition) };
        own.par_iter().try_for_each(|segment| {
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            let windows = &mut *windows_of_thread(windows);
            fixed.check(&proof, segment, partitioning.first_index(segment.number), windows)
        })?;
        descends[..class.words].par_iter().with_min_len(1 << 12).for_each(|word| word.store(0, Relaxed));
        let states = own.last().map_or(0, |segment| segment.bits().end);
        let has_goal = own.first().is_some_and(|segment| partitioning.first_index(segment.number) == 0);
        Ok(ProvenClass {
            contexts: class.groups.end - class.groups.start,
            goal: has_goal.then(|| distances[0]),
            boundary_layer,
            states_at: histogram(&distances[..states]),
        })
    }
}

/// Returns the cache of the current thread. A thread waits for no other task while it holds its cache.
fn windows_of_thread<'a, 'b>(windows: &'a [Mutex<DistanceWindows<'b>>]) -> MutexGuard<'a, DistanceWindows<'b>> {
    let index = rayon::current_thread_index().expect("this runs in the pool");
    windows[index].lock().expect("no thread panics while it holds its cache")
}

/// The moves of the fixed pieces of a class, which lead to states of other classes.
struct FixedPieces<'a> {
    table: &'a Table,
    geometry: &'static Geometry,
    pieces: CellSet,
}

impl FixedPieces<'_> {
    /// Checks that all states of a segment except the goal have a successor with a smaller distance.
    /// All contexts of the class must have been walked.
    fn check(
        &self,
        proof: &Proof,
        loaded: &LoadedSegment,
        first_rank: u64,
        windows: &mut DistanceWindows,
    ) -> Result<()> {
        let segment = &loaded.segment;
        // One move often decreases the distances of many consecutive states. Trying it first avoids look-ups in
        // other windows.
        let mut previous_move = None;
        for at in segment.words() {
            let descends = proof.states.descends[loaded.at + at - segment.words().start].load(Relaxed);
            let mut missing = segment.mask(at) & !descends;
            while missing != 0 {
                let bit = 64 * at as u64 + u64::from(missing.trailing_zeros());
                missing &= missing - 1;
                let rank = first_rank + bit - segment.bits.start;
                let position = loaded.bits().start + (rank - first_rank) as usize;
                let distance = proof.states.distances[position];
                if rank == 0 && distance != 0 {
                    return Err(wrong_table(self.table, format!("the goal has distance {distance}")));
                }
                if rank != 0 {
                    previous_move = self.descent(rank, distance, previous_move, windows)?;
                    if previous_move.is_none() {
                        return Err(proof.no_descent(rank, position));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns a move of a fixed piece that decreases the distance by one, if there is one. The previous move, which
    /// decreased the distance of another state, is tried first.
    ///
    /// # Errors
    /// If a move decreases the distance by two or more, or a distance cannot be read.
    fn descent(
        &self,
        rank: u64,
        distance: u8,
        previous_move: Option<Move>,
        windows: &mut DistanceWindows,
    ) -> Result<Option<Move>> {
        let state = Rank(rank).state(self.table.board().pieces()).cells();
        let within = self.table.prefix().cells();
        let mut is_nearer = |mv: Move| {
            let after = state.without(mv.from).with(mv.to);
            let nearer = windows.distance(State::from_cells(after).rank().0)?;
            if nearer.saturating_add(1) < distance {
                let what = format!("a move from the state of rank {rank} changes the distance {distance} to {nearer}");
                return Err(wrong_table(self.table, what));
            }
            Ok(nearer < distance)
        };
        let destinations = |from: Cell| self.geometry.destinations(state.without(from), from) & within;
        if let Some(mv) = previous_move
            && destinations(mv.from).contains(mv.to)
            && is_nearer(mv)?
        {
            return Ok(Some(mv));
        }
        // Steps are cheaper to generate than jumps.
        for from in self.pieces {
            for to in (self.geometry.neighbors(from) & within) - state {
                let mv = Move { from, to };
                if is_nearer(mv)? {
                    return Ok(Some(mv));
                }
            }
        }
        for from in self.pieces {
            for to in destinations(from) - self.geometry.neighbors(from) {
                let mv = Move { from, to };
                if is_nearer(mv)? {
                    return Ok(Some(mv));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sternhalma_data::{Board, Encoding, Prefix};
    use sternhalma_testutil::Reference;

    #[test]
    fn a_state_that_only_a_fixed_piece_can_bring_nearer_is_proven() {
        // Only the piece at the back is away from the goal.
        let prefix = Prefix::whole(Board::new(4, 3).unwrap());
        let reference = Reference::search(prefix);
        let state = State::from_cells([0, 1, 15].into_iter().map(Cell::new).collect());
        assert!(reference.distances[state.rank().0 as usize] > 1);
        let dir = tempfile::tempdir().unwrap();
        let table = reference.write(&dir.path().join("table.sht"), Encoding::Byte);
        let fixed =
            FixedPieces { table: &table, geometry: prefix.board().geometry(), pieces: CellSet::single(Cell::new(15)) };
        let distance = reference.distances[state.rank().0 as usize];
        let descent = |distance: u8, previous_move: Option<Move>| {
            fixed.descent(state.rank().0, distance, previous_move, &mut DistanceWindows::new(&table)).unwrap()
        };
        let found = descent(distance, None).unwrap();
        assert_eq!(descent(distance, Some(found)), Some(found));
        // An illegal move and a move to a state that is not nearer are not returned.
        for to in [Cell::new(0), Cell::new(15), Cell::new(3)] {
            assert!(descent(distance, Some(Move { from: Cell::new(15), to })).is_some_and(|mv| mv.to != to));
        }
        assert_eq!(descent(distance - 1, Some(found)), None);
    }
}
