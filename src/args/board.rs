//! Boards and positions.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, Position};

use crate::values::{DEFAULT_PIECES, DEFAULT_SIZE, count};

/// The board of a command that reads no table.
#[derive(Args, Clone, Copy)]
pub struct BoardArgs {
    /// Pieces per army
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PIECES, value_parser = count::<u64>(0), help_heading = "Board")]
    pieces: u64,
    /// Cells along an edge of the board
    #[arg(long = "side", value_name = "N", default_value_t = DEFAULT_SIZE, value_parser = count::<u64>(0), help_heading = "Board")]
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
    /// Position string, with or without quotes, player and ply; or `startpos` [default: startpos]
    #[arg(num_args = 0..)]
    position: Vec<String>,
    #[command(flatten)]
    board: BoardArgs,
}

impl PositionArgs {
    /// Returns the position. A position string is on a board of its own size.
    pub fn position(&self) -> Result<Position> {
        let text = self.position.join(" ");
        if text.contains('/') {
            return Ok(text.parse()?);
        }
        let board = self.board.board()?.for_two()?;
        Ok(board.parse_position(if text.is_empty() { "startpos" } else { &text })?)
    }
}
