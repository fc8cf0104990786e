//! Ranks: the numbers of states in the combinatorial number system.

use std::fmt;

use super::cell::{Cell, CellSet};
use super::colex::{BINOMIALS, MAX_PIECES, binomials, choose, largest};
use super::state::State;

/// `LOW_HALF[i][n]` is C(n, i + 1) and `HIGH_HALF[i][n]` is C(64 + n, i + 1)
/// for `n` below 64. Both are 0 for `n` = 64, the number of trailing zeros of
/// an empty word.
static LOW_HALF: [[u64; 65]; MAX_PIECES] = half(0);
/// `HIGH_HALF` has twice the rows, because [`Rank::of`] reads up to
/// [`MAX_PIECES`] rows from any row up to that number. The additional rows are 0.
static HIGH_HALF: [[u64; 65]; 2 * MAX_PIECES] = half(64);

/// Returns the binomial coefficients of the 64 cells from `first` on.
const fn half<const ROWS: usize>(first: usize) -> [[u64; 65]; ROWS] {
    let full = binomials();
    let mut rows = [[0; 65]; ROWS];
    let mut i = 0;
    while i < ROWS && i < MAX_PIECES {
        let mut n = 0;
        while n < 64 {
            rows[i][n] = full[i + 1][first + n];
            n += 1;
        }
        i += 1;
    }
    rows
}

/// The index of a state in a table: Σ C(cᵢ, i + 1) over its cells
/// c₀ < c₁ < … in goal order. The goal has rank 0.
///
/// A rank does not contain the number of pieces. A rank identifies a state
/// among those with the same number of pieces.
///
/// ```
/// use sternhalma_data::{Cell, CellSet, Rank, State};
/// let cells: CellSet = [1, 4, 9].map(Cell::new).into_iter().collect();
/// let rank = Rank::of(State::from_cells(cells));
/// assert_eq!(rank, Rank(1 + 6 + 84)); // C(1,1) + C(4,2) + C(9,3)
/// assert_eq!(rank.state(3).cells(), cells);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank(pub u64);

impl Rank {
    /// Returns the rank of a state.
    ///
    /// # Panics
    /// If the state has more than 15 pieces.
    #[inline]
    pub fn of(state: State) -> Rank {
        let cells = state.cells();
        assert!(cells.len() <= MAX_PIECES, "an army has at most 15 pieces");
        let (mut low, mut high) = (cells.bits() as u64, (cells.bits() >> 64) as u64);
        // The lowest piece of the high half has this index in the army.
        let below = low.count_ones() as usize;
        let mut rank = 0;
        // Both halves take one step per piece, whichever half the piece is in,
        // so that no branch can be mispredicted. An exhausted half reads the
        // zero at the end of a row.
        let rows = LOW_HALF.iter().zip(&HIGH_HALF[below..]);
        for (low_row, high_row) in rows.take(cells.len()) {
            rank += low_row[low.trailing_zeros() as usize] + high_row[high.trailing_zeros() as usize];
            low &= low.wrapping_sub(1);
            high &= high.wrapping_sub(1);
        }
        Rank(rank)
    }

    /// Returns the state of `pieces` cells with this rank.
    ///
    /// Cost: three table look-ups per piece, without branches on the rank.
    /// [`States`](crate::board::States) visits consecutive ranks at a lower cost.
    ///
    /// # Panics
    /// If `pieces` is above 15, or if no state on 121 cells has this rank.
    #[inline]
    pub fn state(self, pieces: usize) -> State {
        State::from_cells(self.cells(pieces).collect())
    }

    /// Returns the cells of the state of `pieces` cells with this rank, the highest first, as
    /// [`state`](Rank::state) does.
    ///
    /// # Panics
    /// If `pieces` is above 15, or if no state on 121 cells has this rank.
    #[inline]
    pub fn cells(self, pieces: usize) -> impl Iterator<Item = Cell> {
        assert!(self.0 < BINOMIALS[pieces][Cell::LIMIT], "no state of {pieces} pieces has rank {self}");
        let mut rest = self.0;
        (1..=pieces).rev().map(move |k| {
            let cell;
            (cell, rest) = largest(rest, k);
            Cell::new(cell)
        })
    }

    /// Returns the rank of the state with these cells in goal order, which ascend.
    ///
    /// # Panics
    /// If there are more than 15 cells.
    #[inline]
    pub fn of_ascending(cells: impl IntoIterator<Item = Cell>) -> Rank {
        let terms = cells.into_iter().enumerate().map(|(index, cell)| Rank::term(index, cell));
        Rank(terms.fold(0, u64::wrapping_add))
    }

    /// Returns what the piece on a cell in goal order adds to the rank: C(cell, index + 1). `index` is
    /// the number of pieces on smaller cells.
    ///
    /// # Panics
    /// If the index is above 14.
    #[inline(always)]
    pub fn term(index: usize, cell: Cell) -> u64 {
        BINOMIALS[index + 1][cell.index()]
    }

    /// Returns the rank after the piece on `from` has moved to the empty cell
    /// `to`. `state` is the state before the move.
    ///
    /// Cost: proportional to the number of pieces between the two cells.
    #[inline]
    pub fn after_move(self, state: State, from: Cell, to: Cell) -> Rank {
        let cells = state.cells();
        let place = |cell: Cell| (cells & CellSet::first_cells(cell.index())).len();
        let (lower, upper) = (from.min(to), from.max(to));
        let between = cells & (CellSet::first_cells(upper.index()) - CellSet::first_cells(lower.index() + 1));
        let mut index = place(lower);
        let mut rank = self.0;
        // The move changes the index of each passed piece by one.
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

impl State {
    /// Returns the rank of the state.
    ///
    /// # Panics
    /// If the state has more than 15 pieces.
    #[inline]
    pub fn rank(self) -> Rank {
        Rank::of(self)
    }
}

/// Returns the rank of the first state with these pieces and `below` pieces below them.
///
/// # Panics
/// If there are more than 15 pieces.
pub fn rank_above(pieces: CellSet, below: usize) -> u64 {
    pieces.iter().enumerate().map(|(i, cell)| choose(cell.index(), below + i + 1)).sum()
}

/// All pieces of an army except one, prepared so that the rank for any cell of
/// the missing piece costs one table look-up. Use a partial rank to rank every
/// move of one piece.
///
/// ```
/// use sternhalma_data::board::PartialRank;
/// use sternhalma_data::{Cell, CellSet, Rank};
/// let others: CellSet = [1, 9].map(Cell::new).into_iter().collect();
/// let others = PartialRank::new(others);
/// assert_eq!(others.rank_with(Cell::new(4)), Rank(1 + 6 + 84));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PartialRank {
    cells: CellSet,
    /// The contribution of the other pieces to the rank, by the number of them
    /// that are below the missing piece.
    sums: [u64; MAX_PIECES],
}

impl PartialRank {
    /// Prepares the pieces of an army except one, given in goal order.
    ///
    /// # Panics
    /// If there are more than 14 cells.
    #[inline]
    pub fn new(cells: CellSet) -> PartialRank {
        let mut sums = [0; MAX_PIECES];
        // If the missing piece is below all others, their indices are one higher.
        for (index, cell) in cells.iter().enumerate() {
            sums[0] += BINOMIALS[index + 2][cell.index()];
        }
        for (index, cell) in cells.iter().enumerate() {
            let (as_lower, as_upper) = (BINOMIALS[index + 1][cell.index()], BINOMIALS[index + 2][cell.index()]);
            sums[index + 1] = sums[index].wrapping_sub(as_upper).wrapping_add(as_lower);
        }
        PartialRank { cells, sums }
    }

    /// Returns the rank of the army with the missing piece on an empty cell.
    #[inline]
    pub fn rank_with(&self, cell: Cell) -> Rank {
        let below = (self.cells & CellSet::first_cells(cell.index())).len();
        Rank(self.sums[below] + BINOMIALS[below + 1][cell.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Board, Prefix, States, binomial};
    use proptest::prelude::*;

    /// Returns all states by counting up the bits of a word, which is the order of ranks.
    fn states_by_counting(size: u64, pieces: u64) -> Vec<State> {
        let cells = size * size;
        let words = (0u128..1 << cells).filter(|bits| u64::from(bits.count_ones()) == pieces);
        words.map(|bits| State::from_cells(CellSet::from_bits(bits))).collect()
    }

    #[test]
    fn ranks_of_small_boards_follow_the_order_of_the_bits() {
        for (size, most) in [(3, 8), (4, 6)] {
            for pieces in 1..=most {
                let board = Board::new(size, pieces).unwrap();
                let oracle = states_by_counting(size, pieces);
                assert_eq!(oracle.len() as u64, board.states());
                for (rank, (&state, visited)) in oracle.iter().zip(States::all(Prefix::whole(board))).enumerate() {
                    let rank = Rank(rank as u64);
                    assert_eq!((Rank::of(state), rank.state(board.pieces()), visited), (rank, state, (rank, state)));
                }
            }
        }
    }

    #[test]
    fn every_state_of_size_five_ranks_and_unranks() {
        for pieces in 1..=6 {
            let prefix = Prefix::whole(Board::new(5, pieces).unwrap());
            let mut count = 0;
            for (rank, state) in States::all(prefix) {
                assert_eq!((rank, state.cells().len() as u64), (Rank(count), pieces));
                assert_eq!((Rank::of(state), rank.state(pieces as usize)), (rank, state));
                count += 1;
            }
            assert_eq!(count, prefix.states());
        }
    }

    #[test]
    fn ranks_after_moves_match_full_ranks_on_size_four() {
        for pieces in 1..=5 {
            let prefix = Prefix::whole(Board::new(4, pieces).unwrap());
            for (rank, state) in States::all(prefix) {
                for from in state.cells() {
                    for to in prefix.cells() - state.cells() {
                        let moved = Rank::of(State::from_cells(state.cells().without(from).with(to)));
                        assert_eq!(rank.after_move(state, from, to), moved);
                    }
                }
            }
        }
    }

    #[test]
    fn partial_ranks_match_full_ranks_on_size_five() {
        for pieces in 1..=5 {
            let prefix = Prefix::whole(Board::new(5, pieces).unwrap());
            for (rank, state) in States::all(prefix) {
                for cell in state.cells() {
                    assert_eq!(PartialRank::new(state.cells().without(cell)).rank_with(cell), rank);
                }
            }
        }
    }

    #[test]
    fn ten_pieces_fill_their_range_exactly() {
        let board = Board::new(9, 10).unwrap();
        let last = State::start(board);
        assert_eq!(Rank::of(last), Rank(1_878_392_407_319));
        assert_eq!(Rank(1_878_392_407_319).state(10), last);
        assert_eq!(board.states(), 1_878_392_407_320);
    }

    /// Returns the cells of a rank by comparing it with all binomial coefficients.
    fn state_by_search(rank: Rank, pieces: usize) -> State {
        let mut rest = rank.0;
        let cells = (1..=pieces).rev().map(|k| {
            let cell = (0..121).rev().find(|&n| binomial(n, k).unwrap() <= rest).unwrap();
            rest -= binomial(cell, k).unwrap();
            Cell::new(cell)
        });
        State::from_cells(cells.collect())
    }

    #[test]
    fn states_around_every_binomial_coefficient_match_a_search() {
        for pieces in 1..=15 {
            let states = binomial(121, pieces).unwrap();
            for n in 0..=121 {
                let count = binomial(n, pieces).unwrap();
                for rank in (count.saturating_sub(2)..count + 3).filter(|&rank| rank < states).map(Rank) {
                    assert_eq!(rank.state(pieces), state_by_search(rank, pieces), "{rank}, {pieces} pieces");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "no state of 6 pieces")]
    fn ranks_beyond_the_largest_board_have_no_state() {
        let _ = Rank(binomial(121, 6).unwrap()).state(6);
    }

    #[test]
    #[should_panic(expected = "at most 15 pieces")]
    fn more_than_fifteen_pieces_have_no_rank() {
        let _ = Rank::of(State::from_cells(CellSet::first_cells(16)));
    }

    #[test]
    #[should_panic(expected = "no state of 0 pieces")]
    fn only_rank_0_has_no_pieces() {
        let _ = Rank(1).state(0);
    }

    fn army(size: u64, pieces: usize) -> impl Strategy<Value = CellSet> {
        proptest::sample::subsequence((0..size as usize * size as usize).collect::<Vec<_>>(), pieces)
            .prop_map(|cells| cells.into_iter().map(Cell::new).collect())
    }

    proptest! {
        #[test]
        fn ranks_on_large_boards_invert(cells in prop_oneof![army(9, 6), army(9, 10), army(11, 15)]) {
            let sum: u64 = cells.iter().enumerate().map(|(i, c)| binomial(c.index(), i + 1).unwrap()).sum();
            let state = State::from_cells(cells);
            prop_assert_eq!(Rank::of(state), Rank(sum));
            prop_assert_eq!(Rank::of(state).state(cells.len()), state);
            prop_assert_eq!(Rank::of_ascending(cells), Rank(sum));
            let terms = cells.iter().enumerate().map(|(index, cell)| Rank::term(index, cell));
            prop_assert_eq!(terms.sum::<u64>(), sum);
            let descending: Vec<Cell> = Rank(sum).cells(cells.len()).collect();
            prop_assert!(descending.iter().rev().copied().eq(cells));
            for cell in cells {
                prop_assert_eq!(PartialRank::new(cells.without(cell)).rank_with(cell), Rank(sum));
            }
        }

        #[test]
        fn consecutive_states_match_their_ranks_on_size_nine(start in 0u64..1_878_392_407_000) {
            for (rank, state) in States::of_ranks(10, start..start + 300) {
                prop_assert_eq!(Rank::of(state), rank);
            }
        }

        #[test]
        fn states_of_random_ranks_match_a_search(pieces in 1usize..=15, rank in 0u64..1 << 62) {
            let rank = Rank(rank % binomial(121, pieces).unwrap());
            prop_assert_eq!(rank.state(pieces), state_by_search(rank, pieces));
        }

        #[test]
        fn ranks_after_moves_match_full_ranks_on_size_nine(
            cells in army(9, 10),
            from in 0usize..10,
            to in 0usize..71,
        ) {
            let from = cells.iter().nth(from).unwrap();
            let to = (CellSet::first_cells(81) - cells).iter().nth(to).unwrap();
            let moved = Rank::of(State::from_cells(cells.without(from).with(to)));
            prop_assert_eq!(Rank::of(State::from_cells(cells)).after_move(State::from_cells(cells), from, to), moved);
        }
    }
}
