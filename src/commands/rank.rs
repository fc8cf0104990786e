use anyhow::Result;
use serde_json::{Value, json};
use sternhalma_data::{Board, Rank};

use crate::args::board::BoardArgs;
use crate::args::state::SideArg;
use crate::output::{self, CommandOutcome};

/// Print the rank of a state
#[derive(clap::Args)]
pub struct RankArgs {
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    side: SideArg,
    /// State: cells or a position string
    state: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print the cells of the state with a rank
#[derive(clap::Args)]
pub struct UnrankArgs {
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    side: SideArg,
    /// Rank; 0 is the goal
    rank: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_rank(args: &RankArgs) -> Result<CommandOutcome> {
    let board = args.board.board()?;
    let rank = args.side.parse(board, &args.state)?.rank();
    output::answer(args.json, &rank_json(board, args.side, rank), || rank.to_string())
}

pub fn run_unrank(args: &UnrankArgs) -> Result<CommandOutcome> {
    let board = args.board.board()?;
    let rank = board.parse_rank(args.rank.strip_prefix('#').unwrap_or(&args.rank))?;
    output::answer(args.json, &rank_json(board, args.side, rank), || args.side.rank_text(board, rank))
}

fn rank_json(board: Board, side: SideArg, rank: Rank) -> Value {
    json!({ "state": side.rank_text(board, rank), "rank": rank.0 })
}
