use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use sternhalma_data::table::Coverage;
use sternhalma_data::{Board, Table};
use sternhalma_engine::record::AnnotatedGame;
use sternhalma_engine::{Config, Distances, EnginePlayer, GameSetup, board_of};
use sternhalma_server::SavedGame;

use super::tournament::read_logged;
use crate::args::limits::{LimitArgs, MemoryArgs};
use crate::args::output::OutputPath;
use crate::args::player::{player_config, players_file, roster};
use crate::args::position::read_record;
use crate::context::{CommandContext, verified};
use crate::output::{CommandOutcome, counted, print_line, status};
use crate::progress::SearchProgress;
use crate::values::count;

/// Write a game with its analysis as a page that opens without a server
///
/// The page is one file. It contains the moves with their comments, variations
/// and values, and the distances of the best table of the board, if there is
/// one. Prints the path of the new file.
#[derive(clap::Args)]
pub struct Args {
    /// Game record (docs/reference/game-records.md), or tournament log with --game
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Game of a tournament log, by its number in the order in which games start
    #[arg(long, value_name = "N", value_parser = count::<u64>(1))]
    game: Option<u64>,
    /// File to write; `-` is stdout
    #[arg(short, long, value_name = "FILE|-")]
    output: OutputPath,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Distance table [default: the best table of the board in the tables directory]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Player that searches every position [default: only the values of the record]
    #[arg(long, value_name = "PLAYER", help_heading = "Players")]
    player: Option<String>,
    /// TOML file of your own players
    #[arg(long = "players", value_name = "FILE", value_parser = players_file, requires = "player", help_heading = "Players")]
    players: Option<PathBuf>,
    /// Seed of the player
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u64>(0), help_heading = "Players")]
    seed: u64,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let game = match args.game {
        Some(number) => read_logged(&args.record, number)?,
        None => read_record(&args.record)?,
    };
    let board = board_of(&game.start)?;
    let read_player = |name: &String| player_config(&roster(args.players.as_deref())?, name);
    let config = args.player.as_ref().map(read_player).transpose()?;
    let table = args.open_table(ctx, board)?;
    let inputs: Vec<&Path> = table.iter().map(|table| table.path()).chain([&*args.record]).collect();
    let create = || ctx.output(&args.output, args.force, &inputs);
    let file = if args.output.is_stdout() { None } else { Some(create()?) };
    let player = config.map(|config| args.player(&config, &game, board, table.clone())).transpose()?;
    let name = table.as_ref().map(|table| table_name(table.path()));
    let named = name.as_deref().zip(table.as_deref());
    let failed = || args.record.display().to_string();
    let mut saved = SavedGame::new(&game, named).with_context(failed)?;
    if let Some(player) = player {
        args.search(ctx, player, &mut saved)?;
    }
    let page = saved.page()?;
    let Some(mut file) = file else {
        std::io::stdout().write_all(page.as_bytes())?;
        return Ok(CommandOutcome::Answered);
    };
    file.write_all(page.as_bytes()).with_context(|| format!("{}: cannot write", args.output.display()))?;
    file.finish()?;
    status!("{}, {}", counted(saved.positions(), "position"), HumanBytes(page.len() as u64));
    print_line(&args.output.display().to_string())?;
    Ok(CommandOutcome::Answered)
}

impl Args {
    /// Opens the given table, or the best one of the board. Reports if there is none.
    fn open_table(&self, ctx: &CommandContext, board: Board) -> Result<Option<Arc<Table>>> {
        // Players check nothing when they look up states.
        let options = Table::options().verify_blocks(self.player.is_none());
        let table = match &self.table {
            Some(name) => ctx.tables.open(name, options)?,
            None => match ctx.tables.lookup(board, Coverage::Prefix)? {
                Some(table) => ctx.tables.load(table, options)?,
                None => {
                    let advice = ctx.tables.advice_for_board(board, Coverage::Prefix);
                    status!("no distance table of {board}: the page has no distances; {advice}");
                    return Ok(None);
                }
            },
        };
        let table = if self.player.is_some() { verified(table)? } else { table };
        if table.board() != board {
            bail!("{}: the table is of {}, and the game of {board}", table.path().display(), table.board());
        }
        Ok(Some(Arc::new(table)))
    }

    /// Creates the player that searches positions of a game.
    fn player(
        &self,
        config: &Config,
        game: &AnnotatedGame,
        board: Board,
        table: Option<Arc<Table>>,
    ) -> Result<Box<dyn EnginePlayer>> {
        let distances = table.map_or_else(|| Distances::estimated(board), Distances::new);
        let setup = GameSetup { board, rules: game.rules, ply_limit: game.ply_limit };
        Ok(config.prepare(setup, Some(&distances))?.start(&self.memory.budget())?)
    }

    /// Searches all positions.
    fn search(&self, ctx: &CommandContext, player: Box<dyn EnginePlayer>, saved: &mut SavedGame) -> Result<()> {
        let stop = ctx.stop()?;
        let mut progress = SearchProgress::new(saved.positions() as u64);
        saved.search(player, self.seed, self.limits.limits(), &stop, &mut || progress.advance());
        progress.finish();
        if stop.load(Relaxed) {
            bail!("interrupted: no page was written");
        }
        Ok(())
    }
}

/// Returns the name of a table: its file name without the extension.
fn table_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
