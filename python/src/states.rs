//! States as rows of cells: the conversions between arrays and the types of `sternhalma_data`.

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use pyo3::{PyErr, PyResult};
use sternhalma_cpu::level;
use sternhalma_data::{Board, Cell, CellSet, NotationError, Rank, Side, State};
use sternhalma_ggp::messages::excerpt;

use crate::errors::{exceptions, message};

/// Returns the side that `x` or `o` names.
pub fn parse_player(player: &str) -> PyResult<Side> {
    let wrong =
        |_| exceptions::NotationError::new_err(format!("expected the player 'x' or 'o', got {:?}", excerpt(player)));
    player.parse().map_err(wrong)
}

/// Returns the exception for a text that is no state, cell or move.
pub fn notation_error(error: &NotationError) -> PyErr {
    exceptions::NotationError::new_err(message(error))
}

/// The conversion of the cells of an army, which are in board order, to its state.
#[derive(Clone, Copy)]
pub struct Reader {
    board: Board,
    /// The last cell if goal order is the reverse of board order, and `None` if both are the same.
    last: Option<u8>,
}

impl Reader {
    /// Creates the conversion for the armies of a player.
    pub fn new(board: Board, side: Side) -> Reader {
        // The board is turned for the player whose goal is opposite to a1.
        let is_turned = Cell::new(0).to_goal_order(board, side) != Cell::new(0);
        Reader { board, last: is_turned.then(|| (board.cells() - 1) as u8) }
    }

    /// Returns the state of the army on these cells, or `None` if they are not different cells of the board. The
    /// number of cells is that of the board's pieces.
    #[inline(always)]
    pub fn state(&self, cells: &[u8]) -> Option<State> {
        let (mut low, mut high, mut most) = (0u64, 0u64, 0u8);
        for &cell in cells {
            // A cell that is not on the board stays above all cells.
            let cell = self.last.map_or(cell, |last| last.wrapping_sub(cell));
            let bit = 1 << (cell & 63);
            let upper = u64::from(cell >> 6 & 1).wrapping_neg();
            low |= bit & !upper;
            high |= bit & upper;
            most = most.max(cell);
        }
        let different = (low.count_ones() + high.count_ones()) as usize == cells.len();
        let valid = different && usize::from(most) < self.board.cells();
        valid.then(|| State::from_cells(CellSet::from_bits(u128::from(high) << 64 | u128::from(low))))
    }

    /// Writes the ranks of rows of cells to `out`. Returns the number of the first row that is no army, if there is
    /// one.
    pub fn ranks(&self, rows: &[u8], out: &mut [u64]) -> Option<usize> {
        dispatch!(level(), simd => rank_rows(simd, self, rows, out))
    }

    /// Writes the cells of some ranks to the rows of `out`, in ascending order. Returns the number of the first rank
    /// that no state has, if there is one.
    pub fn rows(&self, ranks: &[u64], out: &mut [u8]) -> Option<usize> {
        dispatch!(level(), simd => unrank_rows(simd, self, ranks, out))
    }

    /// Returns the rank of the army on these cells, or `None` if they are no army.
    #[inline(always)]
    fn rank<const N: usize>(&self, cells: &[u8; N]) -> Option<u64> {
        match self.rank_of_ascending(cells) {
            None if N <= 8 => self.rank_of_few(cells),
            None => self.state(cells).map(|state| Rank::of(state).0),
            rank => rank,
        }
    }

    /// Returns the rank of the army on these cells, or `None` if their order does not ascend.
    #[inline(always)]
    fn rank_of_ascending<const N: usize>(&self, cells: &[u8; N]) -> Option<u64> {
        let mut ascends = usize::from(cells[N - 1]) < self.board.cells();
        for piece in 1..N {
            ascends &= cells[piece - 1] < cells[piece];
        }
        if !ascends {
            return None;
        }
        let mut rank = 0;
        for (piece, &cell) in cells.iter().enumerate() {
            rank += match self.last {
                None => Rank::term(piece, Cell::new(usize::from(cell))),
                Some(last) => Rank::term(N - 1 - piece, Cell::new(usize::from(last - cell))),
            };
        }
        Some(rank)
    }

    /// Returns the rank of the army on at most 8 cells, in any order, or `None` if they are no army.
    ///
    /// The cells are the bytes of a word. Subtracting a cell from all bytes at once clears the highest bit of those
    /// that are smaller. Their number is the index of the cell.
    #[inline(always)]
    fn rank_of_few<const N: usize>(&self, cells: &[u8; N]) -> Option<u64> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHEST: u64 = ONES << 7;
        let used = u64::MAX >> 64usize.saturating_sub(8 * N);
        let mut word = 0;
        for (piece, &cell) in cells.iter().enumerate() {
            word |= u64::from(cell) << (8 * piece);
        }
        let last = self.board.cells() as u64 - 1;
        let above = ((word & !HIGHEST) + (127 - last) * ONES) | word;
        if above & HIGHEST & used != 0 {
            return None;
        }
        // No byte borrows from the next one. Bytes without a cell become larger than all cells.
        let turned = if self.last.is_some() { ((last * ONES) & used) - word } else { word };
        let word = turned | (!used & !HIGHEST);
        let (mut rank, mut indices) = (0, 0u32);
        for piece in 0..N {
            let cell = word >> (8 * piece) & 0xff;
            let index = (!((word | HIGHEST) - cell * ONES) & HIGHEST).count_ones();
            indices |= 1 << index;
            rank += Rank::term(index as usize, Cell::new(cell as usize));
        }
        // Two pieces on one cell have the same index.
        (indices.count_ones() as usize == N).then_some(rank)
    }

    /// Returns a row of an array of cells.
    #[inline(always)]
    pub fn row<'a>(&self, rows: &'a [u8], number: usize) -> &'a [u8] {
        &rows[number * self.board.pieces()..][..self.board.pieces()]
    }

    /// Returns the exception for a row that is no army.
    pub fn error(&self, rows: &[u8], number: usize) -> PyErr {
        exceptions::StateError::new_err(format!("state {number}: {}", self.fault(self.row(rows, number))))
    }

    /// Returns the reason why cells are no army.
    pub fn fault(&self, cells: &[u8]) -> String {
        let (side, last) = (self.board.size(), self.board.cells() - 1);
        match cells.iter().find(|&&cell| usize::from(cell) > last) {
            Some(cell) => format!("the board {side}x{side} has no cell {cell}; its cells are 0 to {last}"),
            None => format!("two pieces are on the same cell: {cells:?}"),
        }
    }
}

#[simd]
fn rank_rows<S: Simd>(_: S, reader: &Reader, rows: &[u8], out: &mut [u64]) -> Option<usize> {
    // Loops of a fixed length are unrolled.
    macro_rules! with_pieces {
        ($($pieces:literal)*) => {
            match reader.board.pieces() {
                $($pieces => rank_arrays(reader, rows.as_chunks::<$pieces>().0, out),)*
                _ => unreachable!("an army has 1 to 15 pieces"),
            }
        };
    }
    with_pieces!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
}

#[inline(always)]
fn rank_arrays<const N: usize>(reader: &Reader, rows: &[[u8; N]], out: &mut [u64]) -> Option<usize> {
    // Closures of iterators may stay out of line, where they are compiled for the lowest instruction set.
    for (row, (cells, out)) in rows.iter().zip(out).enumerate() {
        match reader.rank(cells) {
            Some(rank) => *out = rank,
            None => return Some(row),
        }
    }
    None
}

#[simd]
fn unrank_rows<S: Simd>(_: S, reader: &Reader, ranks: &[u64], out: &mut [u8]) -> Option<usize> {
    let (board, pieces) = (reader.board, reader.board.pieces());
    out.chunks_exact_mut(pieces).zip(ranks).position(|(out, &rank)| {
        if rank >= board.states() {
            return true;
        }
        // The cells descend in goal order, which is the reverse of board order for one of the players.
        let cells = Rank(rank).cells(pieces).map(|cell| cell.index() as u8);
        match reader.last {
            None => out.iter_mut().rev().zip(cells).for_each(|(out, cell)| *out = cell),
            Some(last) => out.iter_mut().zip(cells).for_each(|(out, cell)| *out = last - cell),
        }
        false
    })
}

/// Returns the exception for a rank that no state of the board has.
pub fn rank_error(board: Board, rank: u64, number: usize) -> PyErr {
    let most = board.states() - 1;
    let text = format!("state {number}: no state has rank {rank}; the ranks of {board} are 0 to {most}");
    exceptions::StateError::new_err(text)
}

/// Returns the state of a rank, or `None` if the board has none.
#[inline]
pub fn state_of_rank(board: Board, rank: u64) -> Option<State> {
    (rank < board.states()).then(|| Rank(rank).state(board.pieces()))
}
