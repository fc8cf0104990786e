//! States on the command line.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, CellSet, Player, Position, Rank};

/// Which player's army a state is.
#[derive(Args, Clone, Copy)]
pub struct Seen {
    /// Whose pieces: `x` starts at a1, `o` in the opposite corner
    #[arg(long, value_name = "x|o", default_value = "x")]
    player: Player,
}

/// The board of a command that reads no table.
#[derive(Args, Clone, Copy)]
pub struct BoardArgs {
    /// Pieces of an army
    #[arg(long, default_value_t = 6)]
    pieces: u64,
    /// Cells along an edge of the board
    #[arg(long, default_value_t = 9)]
    side: u64,
}

impl BoardArgs {
    pub fn board(self) -> Result<Board> {
        Ok(Board::new(self.side, self.pieces)?)
    }
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

/// The position of a command that plays or counts moves.
#[derive(Args, Clone)]
pub struct PositionArgs {
    /// A position string, in quotes or not; the initial position if none is given
    #[arg(num_args = 0..)]
    position: Vec<String>,
    #[command(flatten)]
    board: BoardArgs,
}

impl PositionArgs {
    pub fn position(&self) -> Result<Position> {
        if !self.position.is_empty() {
            return Ok(self.position.join(" ").parse()?);
        }
        Ok(Position::initial(self.board.board()?.for_two()?))
    }
}
