//! `tournament show` and `tournament merge`: the results in logs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use sternhalma_engine::record::check_logged;
use sternhalma_files::OutputFile;
use sternhalma_ggp::arena::{
    GameLog, GameRecord, MergedLogs, Schedule, SeriesInfo, Standings, merge_directories, merge_logs,
};

use super::game::{self, GameFormat};
use super::{series, single};
use crate::args::output::OutputPath;
use crate::args::tournament::TournamentOptions;
use crate::context::CommandContext;
use crate::output::CommandOutcome;
use crate::resources::report_memory_limited;
use crate::values::count;

/// Merge the logs of the parts of a tournament, and print the results
///
/// The logs of directories are merged by game. The game of a log is its file
/// name up to the first dot.
#[derive(Args)]
pub struct MergeArgs {
    /// Logs, or directories of logs
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// New log, compressed if its name ends in `.zst`; for directories, a new directory of compressed logs
    #[arg(short, long, value_name = "FILE")]
    output: Option<OutputPath>,
    /// Replace the file if it exists, or these logs in the directory
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    results: ResultArgs,
}

/// Print the results in a log, which may still be written, or one of its games
#[derive(Args)]
pub struct ShowArgs {
    /// Log, or directory with the logs of several games
    log: PathBuf,
    /// Replay the game with this number, in the order in which games start
    #[arg(long, value_name = "N", value_parser = count::<u64>(1))]
    game: Option<u64>,
    /// Print the game, or all games, as records (docs/reference/game-records.md)
    #[arg(long, conflicts_with_all = ["json", "file"])]
    record: bool,
    #[command(flatten)]
    results: ResultArgs,
}

#[derive(Args)]
struct ResultArgs {
    /// For directories: the series file, which contains published results
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ResultArgs {
    /// Refuses a series file, which does not go with single logs.
    fn refuse_file(&self) -> Result<()> {
        if self.file.is_some() {
            bail!("a series file needs directories of logs, and this is a log");
        }
        Ok(())
    }

    /// Prints the results of one log.
    fn print(&self, schedule: Schedule, records: &[GameRecord]) -> Result<CommandOutcome> {
        let standings = Standings::with_games(schedule, records);
        report_memory_limited(None, &standings);
        single::print(&standings, self.json)
    }

    /// Returns what the series file contains for the report.
    fn series_info(&self) -> Result<SeriesInfo> {
        let Some(path) = &self.file else { return Ok(SeriesInfo::default()) };
        let file = TournamentOptions::read(path)?;
        if !file.is_series() {
            bail!("{}: it is not a series file: there is no [[game]]", path.display());
        }
        Ok(file.series_info())
    }

    /// Prints the results of the games of a series, by name, beside the published
    /// results of the series file.
    fn print_games(&self, info: &SeriesInfo, games: Vec<(String, MergedLogs)>) -> Result<CommandOutcome> {
        let results: Vec<(String, Standings)> = games
            .into_iter()
            .map(|(name, (schedule, records))| (name, Standings::with_games(schedule, &records)))
            .collect();
        results.iter().for_each(|(name, standings)| report_memory_limited(Some(name), standings));
        series::print(info, results, self.json)
    }
}

pub fn show(args: &ShowArgs) -> Result<CommandOutcome> {
    if args.log.is_dir() {
        if args.game.is_some() || args.record {
            bail!("{}: --game and --record need a log, and this is a directory", args.log.display());
        }
        let info = args.results.series_info()?;
        return args.results.print_games(&info, merge_directories(std::slice::from_ref(&args.log), &check_logged)?);
    }
    let (schedule, records) = GameLog::read_checked(&args.log, &check_logged)?;
    schedule.check()?;
    if let Some(number) = args.game {
        let format = match (args.record, args.results.json) {
            (true, _) => GameFormat::Record,
            (false, true) => GameFormat::Json,
            (false, false) => GameFormat::Boards,
        };
        return game::show(&schedule, &records, number, format);
    }
    args.results.refuse_file()?;
    if args.record {
        return game::show_records(&schedule, &records);
    }
    args.results.print(schedule, &records)
}

pub fn merge(ctx: &CommandContext, args: &MergeArgs) -> Result<CommandOutcome> {
    let inputs: Vec<&Path> = args.logs.iter().map(PathBuf::as_path).collect();
    if !args.logs.iter().any(|path| path.is_dir()) {
        args.results.refuse_file()?;
        let output = args.output.as_ref().map(|output| ctx.output(output, args.force, &inputs)).transpose()?;
        let (schedule, records) = merge_logs(&args.logs, &check_logged)?;
        if let Some(output) = output {
            GameLog::write(output, &schedule, &records)?;
        }
        return args.results.print(schedule, &records);
    }
    let info = args.results.series_info()?;
    let games = merge_directories(&args.logs, &check_logged)?;
    if let Some(output) = &args.output {
        if !(args.force && output.is_dir()) {
            std::fs::create_dir(output)
                .with_context(|| format!("{}: cannot create the directory", output.display()))?;
        }
        let create = |(name, _): &(String, _)| ctx.output(&series::compressed_log(output, name), args.force, &inputs);
        let files: Vec<OutputFile> = games.iter().map(create).collect::<Result<_>>()?;
        for (file, (_, (schedule, records))) in files.into_iter().zip(&games) {
            GameLog::write(file, schedule, records)?;
        }
    }
    args.results.print_games(&info, games)
}
