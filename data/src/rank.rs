//! Ranks: states numbered by the combinatorial number system.

use std::fmt;
use std::ops::Range;

use crate::board::Prefix;
use crate::cell::{Cell, CellSet};

/// The most pieces an army has.
pub(crate) const MOST_PIECES: usize = 15;

/// `BINOMIALS[k][n]` is C(n, k), or `u64::MAX` where that does not fit.
static BINOMIALS: [[u64; ROW]; MOST_PIECES + 1] = binomials();

/// Above the cells of any board, and a power of two, so that `index % ROW`
/// needs no check.
const ROW: usize = 128;

const fn binomials() -> [[u64; ROW]; MOST_PIECES + 1] {
    let mut table = [[0u64; ROW]; MOST_PIECES + 1];
    let mut n = 0;
    while n < ROW {
        table[0][n] = 1;
        let mut k = 1;
        while k <= MOST_PIECES && n > 0 {
            table[k][n] = table[k - 1][n - 1].saturating_add(table[k][n - 1]);
            k += 1;
        }
        n += 1;
    }
    table
}

/// `LOW_HALF[i][n]` is C(n, i + 1) and `HIGH_HALF[i][n]` C(64 + n, i + 1), for
/// `n` below 64, and 0 for 64.
static LOW_HALF: [[u64; 65]; MOST_PIECES] = half(0);
static HIGH_HALF: [[u64; 65]; 2 * MOST_PIECES] = half(64);

const fn half<const ROWS: usize>(first: usize) -> [[u64; 65]; ROWS] {
    let full = binomials();
    let mut rows = [[0; 65]; ROWS];
    let mut i = 0;
    while i < ROWS && i < MOST_PIECES {
        let mut n = 0;
        while n < 64 {
            rows[i][n] = full[i + 1][first + n];
            n += 1;
        }
        i += 1;
    }
    rows
}

/// C(n, k) for `n` up to 127 and `k` up to 15; `None` if it exceeds 64 bits.
///
/// # Panics
/// If `n` or `k` is larger.
#[inline]
pub fn binomial(n: usize, k: usize) -> Option<u64> {
    Some(BINOMIALS[k][n]).filter(|&count| count != u64::MAX)
}

/// The place of a state in a table: Σ C(cᵢ, i + 1) over its cells
/// c₀ < c₁ < …, seen from the goal tip. The goal itself has rank 0.
///
/// A rank says nothing of the number of pieces; two states of a table have
/// the same.
///
/// ```
/// use sternhalma_data::{Cell, CellSet, Rank};
/// let state: CellSet = [1, 4, 9].map(Cell::new).into_iter().collect();
/// let rank = Rank::of(state);
/// assert_eq!(rank, Rank(1 + 6 + 84)); // C(1,1) + C(4,2) + C(9,3)
/// assert_eq!(rank.state(3), state);
/// let moved = rank.after_move(state, Cell::new(4), Cell::new(12));
/// assert_eq!(moved, Rank::of(state.without(Cell::new(4)).with(Cell::new(12))));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank(pub u64);

impl Rank {
    /// The rank of a state given as its cells, seen from the goal tip.
    ///
    /// # Panics
    /// If there are more than 15 cells.
    #[inline]
    pub fn of(state: CellSet) -> Rank {
        let (mut low, mut high) = (state.bits() as u64, (state.bits() >> 64) as u64);
        let below = low.count_ones() as usize;
        let mut rank = 0;
        // Both halves are gone through as often as there are pieces, whichever
        // half they are in, so that there is no branch to mispredict. A half
        // that is used up reads the zero at the end of a row.
        let rows = LOW_HALF.iter().zip(&HIGH_HALF[below..]);
        for (low_row, high_row) in rows.take(state.len()) {
            rank += low_row[low.trailing_zeros() as usize] + high_row[high.trailing_zeros() as usize];
            low &= low.wrapping_sub(1);
            high &= high.wrapping_sub(1);
        }
        debug_assert!(low | high == 0, "an army has at most 15 pieces");
        Rank(rank)
    }

    /// The state of `pieces` cells with this rank. Cost: a binary search a
    /// piece; [`States`] walks many ranks in order for far less.
    ///
    /// # Panics
    /// If `pieces` is above 15 or the rank needs a cell beyond the 121st.
    pub fn state(self, pieces: usize) -> CellSet {
        let mut rest = self.0;
        let mut state = CellSet::EMPTY;
        for k in (1..=pieces).rev() {
            let cell = BINOMIALS[k].partition_point(|&count| count <= rest) - 1;
            rest -= BINOMIALS[k][cell];
            state = state.with(Cell::new(cell));
        }
        debug_assert_eq!(rest, 0);
        state
    }

    /// The rank after the piece on `from` has moved to the empty cell `to`,
    /// where `state` is the state before. Cost: the cells between the two.
    #[inline]
    pub fn after_move(self, state: CellSet, from: Cell, to: Cell) -> Rank {
        let place = |cell: Cell| (state & CellSet::first_cells(cell.index())).len();
        let (lower, upper) = (from.min(to), from.max(to));
        let between = state & (CellSet::first_cells(upper.index()) - CellSet::first_cells(lower.index() + 1));
        let mut index = place(lower);
        let mut rank = self.0;
        // A piece that is passed changes its position in the order by one.
        if from < to {
            rank = rank.wrapping_sub(BINOMIALS[index + 1][from.index()]);
            for cell in between {
                index += 1;
                rank =
                    rank.wrapping_sub(BINOMIALS[index + 1][cell.index()]).wrapping_add(BINOMIALS[index][cell.index()]);
            }
            rank = rank.wrapping_add(BINOMIALS[index + 1][to.index()]);
        } else {
            rank = rank.wrapping_add(BINOMIALS[index + 1][to.index()]);
            for cell in between {
                index += 1;
                rank =
                    rank.wrapping_sub(BINOMIALS[index][cell.index()]).wrapping_add(BINOMIALS[index + 1][cell.index()]);
            }
            rank = rank.wrapping_sub(BINOMIALS[index + 1][from.index()]);
        }
        Rank(rank)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The pieces of an army but one, and the rank of the army by where that one
/// stands: for all moves of a piece, much less than ranks made anew.
///
/// ```
/// use sternhalma_data::{Cell, CellSet, PartialRank, Rank};
/// let others: CellSet = [1, 9].map(Cell::new).into_iter().collect();
/// let others = PartialRank::new(others);
/// assert_eq!(others.rank_with(Cell::new(4)), Rank(1 + 6 + 84));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PartialRank {
    cells: CellSet,
    /// By how many of the others stand below the piece: what they add to the rank.
    sums: [u64; MOST_PIECES],
}

impl PartialRank {
    /// All pieces but one, as the goal tip sees them.
    ///
    /// # Panics
    /// If there are more than 14 cells.
    #[inline]
    pub fn new(cells: CellSet) -> PartialRank {
        let mut sums = [0; MOST_PIECES];
        // With the piece below all of them, each is one further up the order.
        for (index, cell) in cells.iter().enumerate() {
            sums[0] += BINOMIALS[index + 2][cell.index()];
        }
        for (index, cell) in cells.iter().enumerate() {
            let (as_lower, as_upper) = (BINOMIALS[index + 1][cell.index()], BINOMIALS[index + 2][cell.index()]);
            sums[index + 1] = sums[index].wrapping_sub(as_upper).wrapping_add(as_lower);
        }
        PartialRank { cells, sums }
    }

    /// The rank of the army with its last piece on an empty cell.
    #[inline]
    pub fn rank_with(&self, cell: Cell) -> Rank {
        let below = (self.cells & CellSet::first_cells(cell.index())).len();
        Rank(self.sums[below] + BINOMIALS[below + 1][cell.index()])
    }
}

/// The states of a range of ranks in order, each with its rank.
///
/// ```
/// use sternhalma_data::{Board, Prefix, States};
/// let prefix = Prefix::whole(Board::new(3, 2)?);
/// assert_eq!(States::all(prefix).count(), 36);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Debug)]
pub struct States {
    next: u64,
    end: u64,
    /// All pieces of the next state but the lowest.
    upper: u128,
    /// The lowest piece of the next state.
    lowest: u128,
}

impl States {
    /// All states of a prefix.
    pub fn all(prefix: Prefix) -> States {
        States::of_ranks(prefix.board().pieces(), 0..prefix.states())
    }

    /// The states of `pieces` cells with these ranks.
    ///
    /// # Panics
    /// As [`Rank::state`] does, if the range is not empty.
    pub fn of_ranks(pieces: usize, ranks: Range<u64>) -> States {
        let bits = match ranks.is_empty() {
            true => 1,
            false => Rank(ranks.start).state(pieces).bits(),
        };
        let lowest = bits & bits.wrapping_neg();
        States { next: ranks.start, end: ranks.end.max(ranks.start), upper: bits ^ lowest, lowest }
    }

    /// The next subset in colexicographic order once the lowest piece stands
    /// against the second: the run of adjacent pieces from there loses its top
    /// to the cell above, and the rest of it falls to the lowest cells.
    #[cold]
    #[inline(never)]
    fn carry(&mut self) {
        let bits = self.upper | self.lowest;
        let above = bits.wrapping_add(self.lowest);
        let run = bits & !above;
        let fallen = run >> (run.trailing_zeros() + 1);
        let bits = above | fallen;
        self.lowest = bits & bits.wrapping_neg();
        self.upper = bits ^ self.lowest;
    }
}

impl Iterator for States {
    type Item = (Rank, CellSet);

    #[inline]
    fn next(&mut self) -> Option<(Rank, CellSet)> {
        if self.next == self.end {
            return None;
        }
        let item = (Rank(self.next), CellSet::from_valid_bits(self.upper | self.lowest));
        self.next += 1;
        // The state after the last may lie beyond the last cell; it is never used.
        let raised = self.lowest << 1;
        if raised & self.upper == 0 {
            self.lowest = raised
        } else {
            self.carry()
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Board;
    use proptest::prelude::*;

    /// All states by counting up the bits of a word: the order of ranks.
    fn states_by_counting(side: u64, pieces: u64) -> Vec<CellSet> {
        let cells = side * side;
        let words = (0u128..1 << cells).filter(|bits| u64::from(bits.count_ones()) == pieces);
        words.map(CellSet::from_bits).collect()
    }

    #[test]
    fn ranks_of_small_boards_are_the_order_of_the_bits() {
        for (side, most) in [(3, 8), (4, 6)] {
            for pieces in 1..=most {
                let board = Board::new(side, pieces).unwrap();
                let oracle = states_by_counting(side, pieces);
                assert_eq!(oracle.len() as u64, board.states());
                for (rank, (&state, walked)) in oracle.iter().zip(States::all(Prefix::whole(board))).enumerate() {
                    let rank = Rank(rank as u64);
                    assert_eq!((Rank::of(state), rank.state(board.pieces()), walked), (rank, state, (rank, state)));
                }
            }
        }
    }

    #[test]
    fn every_state_of_side_five_unranks_and_is_walked() {
        for pieces in 1..=6 {
            let prefix = Prefix::whole(Board::new(5, pieces).unwrap());
            let mut count = 0;
            for (rank, state) in States::all(prefix) {
                assert_eq!((rank, state.len() as u64), (Rank(count), pieces));
                assert_eq!((Rank::of(state), rank.state(pieces as usize)), (rank, state));
                count += 1;
            }
            assert_eq!(count, prefix.states());
        }
    }

    #[test]
    fn moved_ranks_are_fresh_ranks_on_side_four() {
        for pieces in 1..=5 {
            let prefix = Prefix::whole(Board::new(4, pieces).unwrap());
            for (rank, state) in States::all(prefix) {
                for from in state {
                    for to in prefix.cells() - state {
                        let moved = Rank::of(state.without(from).with(to));
                        assert_eq!(rank.after_move(state, from, to), moved);
                    }
                }
            }
        }
    }

    #[test]
    fn an_army_has_its_rank_wherever_its_last_piece_stands() {
        for pieces in 1..=5 {
            let prefix = Prefix::whole(Board::new(5, pieces).unwrap());
            for (rank, state) in States::all(prefix) {
                for cell in state {
                    assert_eq!(PartialRank::new(state.without(cell)).rank_with(cell), rank);
                }
            }
        }
    }

    #[test]
    fn ten_pieces_fill_their_range_exactly() {
        let board = Board::new(9, 10).unwrap();
        let last = CellSet::first_cells(81) - CellSet::first_cells(71);
        assert_eq!(Rank::of(last), Rank(1_878_392_407_319));
        assert_eq!(Rank(1_878_392_407_319).state(10), last);
        assert_eq!(board.states(), 1_878_392_407_320);
    }

    fn army(side: u64, pieces: usize) -> impl Strategy<Value = CellSet> {
        proptest::sample::subsequence((0..side as usize * side as usize).collect::<Vec<_>>(), pieces)
            .prop_map(|cells| cells.into_iter().map(Cell::new).collect())
    }

    proptest! {
        #[test]
        fn ranks_on_large_boards_invert(state in prop_oneof![army(9, 6), army(9, 10), army(11, 15)]) {
            let sum: u64 = state.iter().enumerate().map(|(i, c)| binomial(c.index(), i + 1).unwrap()).sum();
            prop_assert_eq!(Rank::of(state), Rank(sum));
            prop_assert_eq!(Rank::of(state).state(state.len()), state);
            for cell in state {
                prop_assert_eq!(PartialRank::new(state.without(cell)).rank_with(cell), Rank(sum));
            }
        }

        #[test]
        fn walking_is_unranking_on_side_nine(start in 0u64..1_878_392_407_000) {
            for (rank, state) in States::of_ranks(10, start..start + 300) {
                prop_assert_eq!(Rank::of(state), rank);
            }
        }

        #[test]
        fn moved_ranks_are_fresh_ranks_on_side_nine(state in army(9, 10), from in 0usize..10, to in 0usize..71) {
            let from = state.iter().nth(from).unwrap();
            let to = (CellSet::first_cells(81) - state).iter().nth(to).unwrap();
            let moved = Rank::of(state.without(from).with(to));
            prop_assert_eq!(Rank::of(state).after_move(state, from, to), moved);
        }
    }
}
