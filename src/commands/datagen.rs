use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Result, bail};
use serde_json::json;
use sternhalma_data::table::Coverage;
use sternhalma_engine::GameSetup;
use sternhalma_engine::learned::LearnedWeights;
use sternhalma_ggp::MemoryBudget;
use sternhalma_trainer::{GameFile, SelfPlay, SelfPlayError, SelfPlaySetup, generate};

use crate::args::board::BoardArgs;
use crate::args::output::OutputPath;
use crate::args::player::{PlayerArgs, distances};
use crate::args::rule_set::GameRulesArgs;
use crate::args::threads::ThreadArgs;
use crate::args::tournament::OpeningsFile;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, counted, status};
use crate::progress::SearchProgress;
use crate::resources::search_memory;
use crate::values::{count, plies};

/// The default player: the transposition table is cleared for each game, so it is small.
const PLAYER: &str = "sternhalma,table_megabytes=4";

/// Generate games of self-play for the training of evaluations
///
/// Each game starts with random plies and ends when the armies have passed
/// each other. Moves are stored with the score of their search. The same
/// command resumes an interrupted run, and more --positions extend it. Games
/// do not depend on the number of threads.
#[derive(clap::Args)]
pub struct Args {
    /// File to write or extend
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,
    /// Positions in the file at the end; the last game is complete
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = count::<u64>(1))]
    positions: u64,
    /// Node expansions per move
    #[arg(long, value_name = "N", default_value = "400", value_parser = count::<u64>(1), help_heading = "Limits per move")]
    nodes: u64,
    /// Player
    #[arg(long, value_name = "PLAYER", default_value = PLAYER, help_heading = "Players")]
    player: String,
    /// Random plies before the player takes over: a number, or a range such as `4-10`
    #[arg(long, value_name = "PLIES", default_value = "4-10", value_parser = plies)]
    opening_plies: RangeInclusive<u32>,
    /// File of positions, one per line, that replace the initial position before the random plies
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    /// Seed of openings and players
    #[arg(long, value_name = "N", default_value = "1", value_parser = count::<u64>(0))]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    rules: GameRulesArgs,
    #[command(flatten)]
    players: PlayerArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let board = args.board.board()?.for_two()?;
    let game = GameSetup::new(board).with_rules(args.rules.rules).with_ply_limit(args.players.ply_limit);
    let config = args.players.config(&args.player)?;
    let memory = MemoryBudget::new(search_memory(None));
    let distances = distances(ctx, board, args.players.table(), Coverage::Prefix)?;
    let player = config.prepare(game, Some(&distances))?;
    let setup = SelfPlaySetup {
        parameters: toml::to_string(&config)?,
        weights: player.weights().map(LearnedWeights::checksum),
        seed: args.seed,
        opening_plies: [*args.opening_plies.start(), *args.opening_plies.end()],
        ..SelfPlaySetup::new(game, &args.player, args.nodes)
    };
    let openings = args.openings.as_deref().map(OpeningsFile::read).transpose()?;
    let texts = openings.as_ref().map_or_else(Vec::new, OpeningsFile::texts);
    let play = SelfPlay::new(setup, &texts, distances).map_err(|error| match (error, &openings) {
        (SelfPlayError::Openings(error), Some(openings)) => openings.locate(error),
        (error, _) => error.into(),
    })?;
    let stop = ctx.stop()?;
    // A run without a first game leaves no file.
    play.check_opening(0, &stop)?;
    let (mut file, opened) = GameFile::open(&args.output, play.setup())?;
    let path = args.output.display();
    if opened.removed > 0 {
        status!("{path}: removed {} after the last complete block", counted(opened.removed as usize, "byte"));
    }
    if file.positions() >= args.positions {
        status!("{path} is complete");
    } else {
        let mut progress = SearchProgress::resumed(file.positions(), args.positions);
        let threads = NonZeroUsize::new(args.threads.get()).unwrap_or(NonZeroUsize::MIN);
        let report = &mut |positions| progress.advance_to(positions);
        let generated = generate(&play, (&player, &memory), &mut file, args.positions, threads, &stop, report);
        progress.finish();
        generated?;
    }
    if stop.load(Relaxed) && file.positions() < args.positions {
        let positions = counted(file.positions() as usize, "position");
        bail!("interrupted after {positions}: the same command resumes");
    }
    let value = json!({ "games": file.games(), "positions": file.positions() });
    output::answer(args.json, &value, || {
        let [games, positions] =
            [(file.games(), "game"), (file.positions(), "position")].map(|(n, noun)| counted(n as usize, noun));
        format!("{games}, {positions}")
    })
}
