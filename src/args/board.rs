//! Boards and positions.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, Position};

/// The default size of a board.
pub const DEFAULT_SIZE: u64 = 9;

/// The default number of pieces per army.
pub const DEFAULT_PIECES: u64 = 6;

/// The board of a command that reads no table.
#[derive(Args, Clone, Copy)]
pub struct BoardArgs {
    /// Pieces per army
    #[arg(long, default_value_t = DEFAULT_PIECES)]
    pieces: u64,
    /// Cells along an edge of the board
    #[arg(long = "side", default_value_t = DEFAULT_SIZE)]
    size: u64,
}

impl BoardArgs {
    pub fn board(self) -> Result<Board> {
        Ok(Board::new(self.size, self.pieces)?)
    }
}

/// The position of a command that plays or counts moves.
#[derive(Args, Clone)]
pub struct PositionArgs {
    /// Position string, with or without quotes [default: the initial position]
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
