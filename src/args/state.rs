//! States of one army.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, CellSet, Move, Rank, Side};

/// The side whose army a state is.
#[derive(Args, Clone, Copy)]
pub struct SideArg {
    /// Side of the pieces: `x` starts at a1, `o` in the opposite corner
    #[arg(long = "player", value_name = "x|o", default_value = "x")]
    side: Side,
}

impl SideArg {
    /// Parses a state and converts it to goal order.
    pub fn parse(self, board: Board, text: &str) -> Result<CellSet> {
        let army = board.parse_army(text, self.side)?;
        Ok(self.side.goal_view(board.cells(), army))
    }

    /// Returns the names of the cells of a state in goal order.
    pub fn cells_text(self, board: Board, state: CellSet) -> String {
        board.geometry().cells_text(self.side.goal_view(board.cells(), state))
    }

    /// Returns the names of the cells of the state with this rank.
    pub fn rank_text(self, board: Board, rank: Rank) -> String {
        self.cells_text(board, rank.state(board.pieces()))
    }

    /// Returns the name of a move in goal order.
    pub fn move_text(self, board: Board, mv: Move) -> String {
        let turn = |cell| self.side.goal_view_cell(board.cells(), cell);
        board.geometry().move_text(Move { from: turn(mv.from), to: turn(mv.to) })
    }
}
