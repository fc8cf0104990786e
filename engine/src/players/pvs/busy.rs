//! The moves that threads of a search are searching.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sternhalma_data::Move;

/// The number of moves that can be busy at the same time without conflicts; a power of two.
const PLACES: usize = 1 << 12;

/// The moves that are searched now, by all threads, as in ABDADA [Weill 1996]. A thread searches such a move after
/// the other moves of its node, when its value is probably in the transposition table.
///
/// A place has one move, so some busy moves are missing. This only changes the order of the search.
pub(super) struct BusyMoves(Vec<AtomicU64>);

impl BusyMoves {
    pub fn new() -> BusyMoves {
        BusyMoves(std::iter::repeat_with(AtomicU64::default).take(PLACES).collect())
    }

    /// Returns the number of a move of the state with a key, and its place.
    #[inline]
    fn find(&self, key: u64, Move { from, to }: Move) -> (u64, &AtomicU64) {
        let mv = (from.index() << 7 | to.index()) as u64 + 1;
        let number = key ^ mv.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (number, &self.0[number as usize % PLACES])
    }

    /// Returns whether a thread searches a move of the state with a key.
    #[inline]
    pub fn contains(&self, key: u64, mv: Move) -> bool {
        let (number, place) = self.find(key, mv);
        place.load(Relaxed) == number
    }

    /// Marks a move of the state with a key as busy until the mark is dropped.
    #[inline]
    pub fn mark(&self, key: u64, mv: Move) -> BusyMark<'_> {
        let (number, place) = self.find(key, mv);
        place.store(number, Relaxed);
        BusyMark { number, place }
    }
}

/// A busy move, until this is dropped.
pub(super) struct BusyMark<'a> {
    number: u64,
    place: &'a AtomicU64,
}

impl Drop for BusyMark<'_> {
    #[inline]
    fn drop(&mut self) {
        // Another move may have the place now.
        if self.place.load(Relaxed) == self.number {
            self.place.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sternhalma_data::Cell;

    #[test]
    fn moves_are_busy_while_they_are_marked() {
        let busy = BusyMoves::new();
        let mv = |from, to| Move { from: Cell::new(from), to: Cell::new(to) };
        let _first = busy.mark(7, mv(1, 2));
        {
            let _second = busy.mark(7, mv(2, 1));
            assert!(busy.contains(7, mv(1, 2)) && busy.contains(7, mv(2, 1)));
        }
        let others = [(8, mv(1, 2)), (7, mv(2, 1)), (7, mv(1, 3)), (7, mv(0, 2))];
        assert!(busy.contains(7, mv(1, 2)) && others.iter().all(|&(key, mv)| !busy.contains(key, mv)));
    }

    #[test]
    fn the_last_of_two_moves_with_one_place_is_busy() {
        let busy = BusyMoves::new();
        let mv = Move { from: Cell::new(3), to: Cell::new(4) };
        // Keys with the same low bits have the same place.
        let key = |number: u64| number << 40 | 5;
        let first = busy.mark(key(1), mv);
        let second = busy.mark(key(2), mv);
        assert!(!busy.contains(key(1), mv) && busy.contains(key(2), mv));
        drop(first);
        assert!(busy.contains(key(2), mv));
        drop(second);
        assert!(!busy.contains(key(2), mv));
    }
}
