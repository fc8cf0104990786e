//! What a player may spend on a move.

use clap::Args;
use sternhalma_ggp::Limits;
use sternhalma_ggp::arena::Budget;

/// What a player may spend on a move if nothing else is told.
pub const DEFAULT_BUDGET: Budget =
    Budget { nodes: Some(100_000), playouts: None, depth: None, movetime: None, time: None };

/// What a player may spend on a move; it ends at whichever comes first.
#[derive(Args, Clone, Default)]
pub struct LimitArgs {
    /// Node expansions a move [default: 100000, if no other limit is given]
    #[arg(long)]
    nodes: Option<u64>,
    /// Playouts a move
    #[arg(long)]
    playouts: Option<u64>,
    /// Plies of alpha-beta search
    #[arg(long)]
    depth: Option<u32>,
    /// Milliseconds a move
    #[arg(long, value_name = "MS")]
    movetime: Option<u64>,
}

impl LimitArgs {
    /// What is told.
    pub fn budget(&self) -> Budget {
        let LimitArgs { nodes, playouts, depth, movetime } = *self;
        Budget { nodes, playouts, depth, movetime, time: None }
    }

    /// The limits, or the default if none is told.
    pub fn limits(&self) -> Limits {
        self.budget().or(DEFAULT_BUDGET).limits()
    }
}
