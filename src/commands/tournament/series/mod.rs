//! Files of games: a series of tournaments, one a game.

mod file;
mod report;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sternhalma_ggp::arena::{Budget, Standings};

use super::plan::{self, PLAN_TIME, Plan};
use super::settings::{Player, Settings};
use super::{Args, check_budgets, held, open};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
pub use file::{File, Series};
use report::{Report, markdown};

/// Plays a file of games, or plans it.
pub fn run(ctx: &CommandContext, args: &Args, flags: Settings, series: &Series) -> Result<CommandOutcome> {
    let games = tournaments(args, flags, series)?;
    match args.plan {
        true => plan(ctx, args, &games),
        false => play(ctx, args, series, &games),
    }
}

/// The tournaments that are asked for, by the names of their games. Games
/// without a rulesheet are told and left out.
fn tournaments(args: &Args, flags: Settings, series: &Series) -> Result<Vec<(String, Settings)>> {
    let mut foreign: Vec<String> = flags.of_one_game().iter().map(|name| format!("--{name}")).collect();
    foreign.extend(flags.player.iter().map(Player::label));
    if !foreign.is_empty() {
        bail!("a file of games has its players, pairings and rulesheets: leave out {}", foreign.join(", "));
    }
    let real_clocks = flags.time == Some(None);
    let flags = Settings { time: flags.time.filter(Option::is_some), ..flags };
    let told = flags.flag_budget()?;
    if real_clocks && told != Budget::default() {
        bail!("--time plays by the clocks of the file; leave out {told}");
    }
    let mut found = Vec::new();
    for game in series.chosen(&args.game, args.all)? {
        let rules = match series.rulesheet(game) {
            Ok(rules) => rules,
            Err(why) => {
                status!("{why}");
                continue;
            }
        };
        let mut file = series.settings(game, rules, args.all)?;
        if real_clocks {
            file.budget = Budget { movetime: Some(series.clock(game)?), ..Budget::default() };
        }
        // Games in lock step have no clocks.
        file.lock_step = file.lock_step.filter(|_| !real_clocks && !told.is_timed());
        found.push((game.name.clone(), flags.clone().over(file)?));
    }
    if found.is_empty() {
        bail!("there is no game to play");
    }
    Ok(found)
}

fn play(ctx: &CommandContext, args: &Args, series: &Series, games: &[(String, Settings)]) -> Result<CommandOutcome> {
    let dir = args.run.log.as_deref();
    if let Some(dir) = dir {
        std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot make the directory", dir.display()))?;
    }
    let stop = ctx.stop()?;
    let mut found = Vec::new();
    for (name, settings) in games {
        let play = || -> Result<Standings> {
            let room = open(ctx, settings)?;
            let schedule = settings.schedule(room.game(), room.roles(), room.players(), args.shard)?;
            status!("{name}: {} games", schedule.total());
            held(&*room, schedule, dir.map(|dir| log(dir, name)).as_deref(), args.run.threads(), &stop)
        };
        found.push((name.clone(), play().with_context(|| name.clone())?));
        if stop.load(Relaxed) {
            break;
        }
    }
    let over =
        found.len() == games.len() && found.iter().all(|(_, standings)| standings.played() >= standings.expected());
    print(Some(series), found, args.json)?;
    if !over && stop.load(Relaxed) {
        let how = if dir.is_some() { "the same command goes on" } else { "with --log it could go on" };
        bail!("interrupted: {how}");
    }
    Ok(CommandOutcome::Answered)
}

/// The log of a game in a directory: the packed one, if there is one.
fn log(dir: &Path, game: &str) -> PathBuf {
    let packed = packed_log(dir, game);
    if packed.exists() { packed } else { packed.with_extension("") }
}

/// The packed log of a game in a directory.
pub fn packed_log(dir: &Path, game: &str) -> PathBuf {
    dir.join(format!("{game}.ndjson.zst"))
}

/// Prints the tournaments of some games, with what a file tells of them.
pub fn print(series: Option<&Series>, found: Vec<(String, Standings)>, json: bool) -> Result<()> {
    let report = Report::new(series, found);
    match json {
        true => output::print_json(&report),
        false => output::print_line(&report.text()),
    }
}

/// What a file of games will take.
#[derive(Serialize)]
struct SeriesPlan {
    games: Vec<GamePlan>,
    /// Pairings of games.
    cells: usize,
    /// In all games.
    all: Plan,
}

#[derive(Serialize)]
struct GamePlan {
    game: String,
    cells: usize,
    #[serde(flatten)]
    plan: Plan,
}

fn plan(ctx: &CommandContext, args: &Args, games: &[(String, Settings)]) -> Result<CommandOutcome> {
    let stop = ctx.stop()?;
    let threads = args.run.threads();
    let share: Duration = PLAN_TIME / games.len() as u32;
    let plan = |(name, settings): &(String, Settings)| -> Result<GamePlan> {
        let room = open(ctx, settings)?;
        let schedule = settings.schedule(room.game(), room.roles(), room.players(), args.shard)?;
        check_budgets(&*room, &schedule)?;
        let log = args.run.log.as_deref().map(|dir| log(dir, name));
        let plan = plan::plan(&*room, &schedule, log.as_deref(), threads, &stop, share)?;
        Ok(GamePlan { game: name.clone(), cells: schedule.pairings.len(), plan })
    };
    let games = games.iter().map(|game| plan(game).with_context(|| game.0.clone())).collect::<Result<Vec<_>>>()?;
    let cells = games.iter().map(|game| game.cells).sum();
    let all = Plan::sum(games.iter().map(|game| &game.plan), threads);
    let plan = SeriesPlan { games, cells, all };
    match args.json {
        true => output::print_json(&plan)?,
        false => output::print_line(&plan.text())?,
    }
    Ok(CommandOutcome::Answered)
}

impl SeriesPlan {
    fn text(&self) -> String {
        let row = |name: &str, cells: usize, plan: &Plan| {
            let mut row = vec![name.to_owned(), cells.to_string()];
            row.extend(plan.row());
            row
        };
        let head = ["game", "cells", "games", "played", "simulations to go", "hours to go"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.games.iter().map(|game| row(&game.game, game.cells, &game.plan)));
        rows.push(row("all", self.cells, &self.all));
        markdown(&rows)
    }
}
