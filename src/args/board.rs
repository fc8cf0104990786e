//! Boards.

use anyhow::Result;
use clap::Args;
use sternhalma_data::Board;

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
