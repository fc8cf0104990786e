//! States on the command line.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, CellSet, Player, Rank};

/// Which player's army a state is.
#[derive(Args, Clone, Copy)]
pub struct Seen {
    /// Whose pieces: `x` starts at a1, `o` in the opposite corner
    #[arg(long, value_name = "x|o", default_value = "x")]
    player: Player,
}

impl Seen {
    /// Reads a state and turns it to the view of its goal tip.
    pub fn parse(self, board: Board, text: &str) -> Result<CellSet> {
        let army = board.parse_army(text, self.player)?;
        Ok(self.player.goal_view(board.cells(), army))
    }

    /// The cells of a state seen from the goal tip, by their names.
    pub fn cells_text(self, board: Board, state: CellSet) -> String {
        board.geometry().cells_text(self.player.goal_view(board.cells(), state))
    }

    /// The state of this rank, by the names of its cells.
    pub fn rank_text(self, board: Board, rank: Rank) -> String {
        self.cells_text(board, rank.state(board.pieces()))
    }

    /// A move seen from the goal tip, by the names of its cells.
    pub fn move_text(self, board: Board, mv: sternhalma_data::Move) -> String {
        let turn = |cell| self.player.goal_view_cell(board.cells(), cell);
        board.geometry().move_text(sternhalma_data::Move { from: turn(mv.from), to: turn(mv.to) })
    }
}
