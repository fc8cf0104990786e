//! `tournament show` and `tournament merge`: what logs tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use sternhalma_ggp::arena::{GameId, GameLog, GameRecord, Schedule, Standings};

use super::room::shorten;
use super::{print, series};

use crate::output::CommandOutcome;

/// Join the logs of the parts of a tournament, and print what they tell
///
/// Of directories the logs of each game are joined, whose name is that of the
/// file up to its first dot.
#[derive(Args)]
pub struct MergeArgs {
    /// The logs, or directories of logs
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// The log to write, packed if it ends in `.zst`, or the directory of packed logs; there may be none of that name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    told: ToldArgs,
}

/// Print what the log of a tournament tells, also while it is played
#[derive(Args)]
pub struct ShowArgs {
    /// The log, or a directory of logs, one or several a game
    log: PathBuf,
    #[command(flatten)]
    told: ToldArgs,
}

#[derive(Args)]
struct ToldArgs {
    /// Of directories: the file of games, which has the paper's figures
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ToldArgs {
    fn print(&self, schedule: Schedule, records: &[GameRecord]) -> Result<CommandOutcome> {
        if self.file.is_some() {
            bail!("a file of games tells of directories of logs, and this is a log");
        }
        print(&standings(schedule, records), self.json)?;
        Ok(CommandOutcome::Answered)
    }

    fn print_games(&self, games: Vec<(String, Joined)>) -> Result<CommandOutcome> {
        let file = self.file.as_deref().map(series::Series::read).transpose()?;
        let found = games.into_iter().map(|(name, (schedule, records))| (name, standings(schedule, &records)));
        series::print(file.as_ref(), found.collect(), self.json)?;
        Ok(CommandOutcome::Answered)
    }
}

fn standings(schedule: Schedule, records: &[GameRecord]) -> Standings {
    let mut standings = Standings::new(schedule);
    records.iter().for_each(|record| {
        standings.add(record);
    });
    standings
}

pub fn show(args: &ShowArgs) -> Result<CommandOutcome> {
    if args.log.is_dir() {
        return args.told.print_games(joined_by_game(std::slice::from_ref(&args.log))?);
    }
    let (schedule, records) = GameLog::read(&args.log)?;
    schedule.check()?;
    args.told.print(schedule, &records)
}

pub fn merge(args: &MergeArgs) -> Result<CommandOutcome> {
    if !args.logs.iter().any(|path| path.is_dir()) {
        let (schedule, records) = joined(&args.logs)?;
        if let Some(output) = &args.output {
            GameLog::create(output, &schedule, &records)?;
        }
        return args.told.print(schedule, &records);
    }
    let games = joined_by_game(&args.logs)?;
    if let Some(output) = &args.output {
        std::fs::create_dir(output).with_context(|| format!("{}: cannot make the directory", output.display()))?;
        for (name, (schedule, records)) in &games {
            GameLog::create(&series::packed_log(output, name), schedule, records)?;
        }
    }
    args.told.print_games(games)
}

/// A tournament, and its games from several logs.
type Joined = (Schedule, Vec<GameRecord>);

/// The games of directories.
fn joined_by_game(dirs: &[PathBuf]) -> Result<Vec<(String, Joined)>> {
    let mut logs: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for dir in dirs {
        for (game, path) in logs_of(dir)? {
            logs.entry(game).or_default().push(path);
        }
    }
    if logs.is_empty() {
        bail!("{}: there is no log in it, `*.ndjson` or `*.ndjson.zst`", dirs[0].display());
    }
    logs.into_iter().map(|(game, paths)| Ok((game, joined(&paths)?))).collect()
}

/// The logs of a directory, in order of their names, and the games they are of.
fn logs_of(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let cannot = || format!("{}: cannot read the directory", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".ndjson") || name.ends_with(".ndjson.zst") {
            let game = name.split('.').next().unwrap_or_default().to_owned();
            found.push((game, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether two records are of the same game, though it may have been played twice.
fn is_the_same(a: &GameRecord, b: &GameRecord) -> bool {
    (&a.opening, &a.moves, &a.goals) == (&b.opening, &b.moves, &b.goals)
}

/// The games of all parts of a tournament.
fn joined(logs: &[PathBuf]) -> Result<Joined> {
    let mut whole: Option<Schedule> = None;
    let mut records: Vec<GameRecord> = Vec::new();
    for path in logs {
        let (mut schedule, found) = GameLog::read(path)?;
        schedule.shard = None;
        shorten(&mut schedule.game);
        schedule.check().with_context(|| path.display().to_string())?;
        if whole.as_ref().is_some_and(|whole| *whole != schedule) {
            bail!("{}: it is of another tournament than {}", path.display(), logs[0].display());
        }
        whole = Some(schedule);
        records.extend(found);
    }
    let schedule = whole.context("there is no log to merge")?;
    records.sort_by_key(|record| record.id);
    let two = records.windows(2).find(|two| two[0].id == two[1].id && !is_the_same(&two[0], &two[1]));
    if let Some([GameRecord { id, .. }, _]) = two {
        bail!(
            "{}: game {} of pairing {} in round {} was played in two ways; leave one log out",
            logs[0].display(),
            id.game,
            id.pairing,
            id.round
        );
    }
    records.dedup_by_key(|record: &mut GameRecord| -> GameId { record.id });
    Ok((schedule, records))
}
