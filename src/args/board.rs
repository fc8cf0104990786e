//! Boards and positions.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, Position};

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
