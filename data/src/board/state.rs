//! States of one army in goal order, and the conversions to board order.

use super::cell::{Cell, CellSet};
use super::moves::Move;
use super::setup::Board;
use super::side::Side;

/// One army alone on the board, in *goal order*: cell 0 is the tip of its
/// goal. Tables are indexed by states.
///
/// Positions, moves and cell names use *board order*, in which cell 0 is `a1`
/// for both players. The goal of `o` is at `a1`, so both orders agree for `o`.
/// For `x` the board is rotated by 180°. One table therefore serves both
/// players.
///
/// ```
/// use sternhalma_data::{Board, Position, Side, State};
/// let board = Board::new(9, 6)?;
/// let position = Position::initial(board);
/// for side in [Side::X, Side::O] {
///     let state = State::from_army(board, side, position.army(side));
///     assert_eq!(state, State::start(board));
///     assert_eq!(state.to_army(board, side), position.army(side));
///     assert_eq!(State::goal(board).to_army(board, side), position.army(side.other()));
/// }
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State(CellSet);

impl State {
    /// Returns the state in which the army fills its goal. Its rank is 0 if the goal has the first cells.
    #[inline]
    pub const fn goal(board: Board) -> State {
        State(board.home(Side::X))
    }

    /// Returns the state in which the army fills its home, the corner opposite
    /// the goal. No state of the board has a larger rank if the goal has the first cells.
    #[inline]
    pub const fn start(board: Board) -> State {
        State(board.home(Side::O))
    }

    /// Returns the state of a player's army, given in board order.
    #[inline]
    pub const fn from_army(board: Board, side: Side, army: CellSet) -> State {
        match side {
            Side::X => State(army.rotate_180(board.cells())),
            Side::O => State(army),
        }
    }

    /// Returns the cells of a player's army in board order.
    #[inline]
    pub const fn to_army(self, board: Board, side: Side) -> CellSet {
        State::from_army(board, side, self.0).0
    }

    /// Returns the state with these cells, which are already in goal order.
    #[inline]
    pub const fn from_cells(cells: CellSet) -> State {
        State(cells)
    }

    /// Returns the cells in goal order.
    #[inline]
    pub const fn cells(self) -> CellSet {
        self.0
    }

    /// Returns the state after a move in goal order.
    #[inline]
    #[must_use]
    pub const fn after(self, mv: Move) -> State {
        State(self.0.without(mv.from).with(mv.to))
    }
}

impl Cell {
    /// Converts a cell from board order to the goal order of a player.
    ///
    /// For `O` both orders are the same. For `X` the order of the cells is
    /// reversed, which rotates the board by 180°.
    #[inline]
    #[must_use]
    pub const fn to_goal_order(self, board: Board, side: Side) -> Cell {
        match side {
            Side::X => Cell::new(board.cells() - 1 - self.index()),
            Side::O => self,
        }
    }

    /// Converts a cell from the goal order of a player to board order.
    #[inline]
    #[must_use]
    pub const fn to_board_order(self, board: Board, side: Side) -> Cell {
        // A rotation by 180° is its own inverse.
        self.to_goal_order(board, side)
    }
}

impl Move {
    /// Converts a move from board order to the goal order of a player.
    #[inline]
    #[must_use]
    pub(crate) const fn to_goal_order(self, board: Board, side: Side) -> Move {
        Move { from: self.from.to_goal_order(board, side), to: self.to.to_goal_order(board, side) }
    }

    /// Converts a move from the goal order of a player to board order.
    #[inline]
    #[must_use]
    pub(crate) const fn to_board_order(self, board: Board, side: Side) -> Move {
        self.to_goal_order(board, side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_invert_each_other_and_agree() {
        for size in 3..=11 {
            let board = Board::new(size, 3).unwrap();
            let cells = || (0..board.cells()).map(Cell::new);
            for side in [Side::X, Side::O] {
                assert_eq!(State::from_army(board, side, board.home(side)), State::start(board));
                assert_eq!(State::from_army(board, side, board.goal(side)), State::goal(board));
                for cell in cells() {
                    let converted = cell.to_goal_order(board, side);
                    assert_eq!(converted.to_board_order(board, side), cell);
                    let state = State::from_army(board, side, cell.into());
                    assert_eq!((state.cells(), state.to_army(board, side)), (converted.into(), cell.into()));
                }
            }
        }
    }
}
