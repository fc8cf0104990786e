//! Boards in the output of commands.

use sternhalma_data::board::Drawing;
use sternhalma_data::{Board, CellSet, Move, Position, Side};

use crate::output::uses_color;

/// Returns a drawing in the colors of stdout.
pub fn drawing() -> Drawing {
    Drawing::new().color(uses_color())
}

/// Draws the army of one side alone on the board.
pub fn draw_army(board: Board, side: Side, army: CellSet, last: Option<Move>) -> String {
    drawing().last_move(last).draw(&lone_army(board, side, army))
}

/// Returns the position of one army alone on the board.
pub fn lone_army(board: Board, side: Side, army: CellSet) -> Position {
    let (x, o) = if side == Side::X { (army, CellSet::EMPTY) } else { (CellSet::EMPTY, army) };
    Position::new(board.geometry(), x, o, side, 0).expect("an army alone fits its board")
}
