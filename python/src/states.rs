//! States as rows of cells: the conversions between arrays and the types of `sternhalma_data`.

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use pyo3::{PyErr, PyResult};
use sternhalma_cpu::level;
use sternhalma_data::{Board, Cell, CellSet, NotationError, Rank, Side, State};

use crate::errors::exceptions;

/// Returns the side that `x` or `o` names.
pub fn parse_player(player: &str) -> PyResult<Side> {
    player
        .parse()
        .map_err(|_| exceptions::NotationError::new_err(format!("expected the player 'x' or 'o', got {player:?}")))
}

/// Returns the exception for a text that is no state, cell or move.
pub fn notation_error(error: &NotationError) -> PyErr {
    exceptions::NotationError::new_err(error.to_string())
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

    /// Returns the rank of the army on these cells, or `None` if their order does not ascend.
    #[inline(always)]
    fn rank_of_ascending(&self, cells: &[u8]) -> Option<u64> {
        let ascends = cells.windows(2).fold(true, |all, pair| all & (pair[0] < pair[1]));
        if !ascends || cells.last().is_none_or(|&cell| usize::from(cell) >= self.board.cells()) {
            return None;
        }
        let rank = match self.last {
            None => Rank::of_ascending(cells.iter().map(|&cell| Cell::new(usize::from(cell)))),
            Some(last) => Rank::of_ascending(cells.iter().rev().map(|&cell| Cell::new(usize::from(last - cell)))),
        };
        Some(rank.0)
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
    rows.chunks_exact(reader.board.pieces()).zip(out).position(|(cells, out)| {
        let rank = reader.rank_of_ascending(cells).or_else(|| reader.state(cells).map(|state| Rank::of(state).0));
        *out = rank.unwrap_or(0);
        rank.is_none()
    })
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
