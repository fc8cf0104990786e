//! States of one army.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, Rank, Side, State};

/// The side whose army a state is.
#[derive(Args, Clone, Copy)]
pub struct SideArg {
    /// Side of the pieces: `x` starts at a1, `o` in the opposite corner
    #[arg(long = "player", value_name = "x|o", default_value = "x", help_heading = "Board")]
    side: Side,
}

impl SideArg {
    pub fn side(self) -> Side {
        self.side
    }

    /// Parses a state and converts it to goal order.
    pub fn parse(self, board: Board, text: &str) -> Result<State> {
        Ok(board.parse_state(text, self.side)?)
    }

    /// Returns the names of the cells of a state.
    pub fn cells_text(self, board: Board, state: State) -> String {
        board.state_text(state, self.side)
    }

    /// Returns the names of the cells of the state with this rank.
    pub fn rank_text(self, board: Board, rank: Rank) -> String {
        self.cells_text(board, rank.state(board.pieces()))
    }
}
