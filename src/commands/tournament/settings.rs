//! What a tournament plays, from flags and a TOML file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::Value;
use sternhalma_engine::PLY_LIMIT;
use sternhalma_ggp::PolicyText;
use sternhalma_ggp::arena::{Budget, Entrant, RoundSpec, Schedule, Shard, SprtSpec, TimeControl};

use crate::args::limits::{DEFAULT_BUDGET, LimitArgs};

/// The games of a pairing when a test may end it before.
const MOST_GAMES: u64 = 100_000;

/// All that can be said of a tournament, on the command line or in a file,
/// where names have the same hyphens. Flags go before the file.
#[derive(Args, Deserialize, Clone, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// Cells along an edge of the board [default: 9]
    #[arg(long)]
    pub side: Option<u64>,
    /// Pieces of an army [default: 6]
    #[arg(long)]
    pub pieces: Option<u64>,
    /// A rulesheet to play instead of Chinese Checkers
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// How a rulesheet is played [default: by its network, or by proof if it has none]
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
    /// Who plays whom [default: round-robin]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Games of a pairing, in pairs with sides changed [default: 20; with --sprt at most 100000]
    #[arg(long)]
    pub games: Option<u64>,
    /// Random plies before the players take over [default: 2]
    #[arg(long, value_name = "PLIES")]
    pub opening_plies: Option<u32>,
    /// A file of openings, one a line, each played by all pairings
    #[arg(long, value_name = "FILE")]
    pub openings: Option<PathBuf>,
    /// Fixes openings and random numbers [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// The ply at which a game is a draw [default: 1000]
    #[arg(long, value_name = "PLIES")]
    pub ply_limit: Option<u32>,
    /// End a game once the armies are separated: the table says who is nearer
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub adjudicate: Option<bool>,
    /// Players of rulesheets think in every step by the budget of a move, those that wait too
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub ponder: Option<bool>,
    /// The start clock, in which players of rulesheets think before a game: so many times the budget of a move [default: 0]
    #[arg(long, value_name = "RATIO")]
    pub start: Option<f64>,
    /// Games of a rulesheet at a time in lock step, on all threads together: faster where all budgets are counts [default of the flag: 128 a thread]
    #[arg(long, num_args = 0..=1, default_missing_value = "0", value_name = "GAMES")]
    pub lock_step: Option<usize>,
    /// Milliseconds that a move may come late [default: 100]
    #[arg(long, value_name = "MS")]
    pub margin: Option<u64>,
    /// Seconds beyond its time after which a player that has not answered hangs [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub patience: Option<f64>,
    /// TerminationCounts a pairing once a sequential test tells whether the first player's normalised Elo is LOW (H0) or HIGH (H1)
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, value_parser = strengths)]
    pub sprt: Option<[f64; 2]>,
    /// How often the test may accept H1 where H0 is true [default: 0.05]
    #[arg(long)]
    pub alpha: Option<f64>,
    /// How often the test may accept H0 where H1 is true [default: 0.05]
    #[arg(long)]
    pub beta: Option<f64>,
    /// Players of your own, in TOML like the ones that ship
    #[arg(long = "players", value_name = "FILE")]
    pub players: Option<PathBuf>,
    /// The distance table [default: the whole table of the board in the tables directory]
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    #[command(flatten)]
    #[serde(skip)]
    pub limits: LimitArgs,
    /// A clock for all moves of a game, in seconds, and what each adds, like `60+0.5`; of a file of games, without a value, the clocks that it tells
    #[arg(long, value_name = "BASE+INCREMENT")]
    #[serde(skip)]
    pub time: Option<Option<TimeControl>>,
    /// In a file: what a player may spend.
    #[arg(skip)]
    pub budget: Budget,
    /// In a file: who plays whom, by name.
    #[arg(skip)]
    pub pairings: Vec<[String; 2]>,
    /// In a file: who takes part.
    #[arg(skip)]
    pub player: Vec<Player>,
    /// In a file: budgets under which all pairings are played.
    #[arg(skip)]
    pub round: Vec<RoundSettings>,
}

/// How a rulesheet is played.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// By its network
    Sequential,
    /// By proof
    Prover,
}

/// Who plays whom.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Everybody against everybody
    RoundRobin,
    /// The first player against all others
    Gauntlet,
}

/// A player of a tournament.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Player {
    name: Option<String>,
    /// A player of the engine, or a policy where a rulesheet is played, as text
    /// or as a table; the name if it is not told.
    player: Option<PolicyText>,
    /// A program that speaks the engine protocol.
    command: Option<String>,
    /// Options that the program is given.
    pub options: BTreeMap<String, String>,
    /// The directory in which the program runs.
    pub dir: Option<PathBuf>,
    /// Its own distance table.
    pub table: Option<PathBuf>,
    budget: Budget,
}

/// A round as a file has it.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoundSettings {
    name: String,
    #[serde(default)]
    budget: Budget,
    games: Option<u64>,
}

/// What plays: text that is still to be read.
#[derive(Clone, Copy)]
pub enum Plays<'a> {
    BuiltIn(&'a str),
    Program(&'a str),
}

impl Player {
    /// From the command line: the name of a player, or `ugi:COMMAND`.
    pub fn named(text: &str) -> Player {
        let command = text.strip_prefix("ugi:").map(|command| command.trim().to_owned());
        let player = command.is_none().then(|| PolicyText(text.to_owned()));
        Player { player, command, ..Player::default() }
    }

    pub fn plays(&self) -> Result<Plays<'_>> {
        match (&self.player, &self.command, &self.name) {
            (None, Some(command), _) => Ok(Plays::Program(command)),
            (Some(PolicyText(player)), None, _) | (None, None, Some(player)) => Ok(Plays::BuiltIn(player)),
            _ => bail!("a player has a `name`, and a `player` or a `command` that says what plays"),
        }
    }

    /// The same under another name.
    pub fn called(self, name: String) -> Player {
        Player { name: Some(name), ..self }
    }

    /// The name in results.
    pub fn label(&self) -> String {
        let player = self.player.iter().map(|PolicyText(text)| text);
        self.name.iter().chain(player).chain(&self.command).next().cloned().unwrap_or_default()
    }
}

/// Two numbers with a comma between them.
fn strengths(text: &str) -> Result<[f64; 2]> {
    let (low, high) = text.split_once(',').context("two numbers with a comma between them are wanted")?;
    Ok([low.trim().parse()?, high.trim().parse()?])
}

/// The settings of which each field is the first that is told.
macro_rules! first_told {
    ($flags:expr, $file:expr; $($field:ident),*) => {
        Settings { $($field: $flags.$field.or($file.$field),)* ..$file }
    };
}

impl Settings {
    /// The settings of a file in this directory, from where its paths are seen.
    pub fn seen_from(mut self, dir: &Path) -> Settings {
        let settings = &mut self;
        // A table may also be one of the tables directory.
        let tables = settings.player.iter_mut().map(|player| &mut player.table).chain([&mut settings.table]).flatten();
        tables.filter(|table| dir.join(&**table).exists()).for_each(|table| *table = dir.join(&*table));
        settings.player.iter_mut().filter_map(|player| player.dir.as_mut()).for_each(|told| *told = dir.join(&*told));
        for file in [&mut settings.rules, &mut settings.openings, &mut settings.players].into_iter().flatten() {
            *file = dir.join(&*file);
        }
        self
    }

    /// What is told that is of one game, or that a file of games has in another way.
    pub fn of_one_game(&self) -> Vec<&'static str> {
        let told = [
            ("rules", self.rules.is_some()),
            ("players", self.players.is_some()),
            ("side", self.side.is_some()),
            ("pieces", self.pieces.is_some()),
            ("table", self.table.is_some()),
            ("adjudicate", self.adjudicate.is_some()),
            ("openings", self.openings.is_some()),
            ("format", self.format.is_some()),
            ("round", !self.round.is_empty()),
        ];
        told.into_iter().filter(|(_, told)| *told).map(|(name, _)| name).collect()
    }

    /// These flags, and what a file says beyond them.
    pub fn over(self, mut file: Settings) -> Result<Settings> {
        let told = self.flag_budget()?;
        if told != Budget::default() {
            if !file.round.is_empty() {
                bail!("the rounds of the file have budgets of their own; give no limit on the command line");
            }
            file.budget = told;
        }
        if self.games.is_some() {
            file.round.iter_mut().for_each(|round| round.games = None);
        }
        if !self.player.is_empty() {
            file.player = self.player;
            file.pairings.clear();
        }
        if self.format.is_some() {
            file.pairings.clear();
        }
        Ok(
            first_told!(self, file; side, pieces, rules, engine, format, games, opening_plies, openings, seed, ply_limit,
            adjudicate, ponder, start, lock_step, margin, patience, sprt, alpha, beta, players, table),
        )
    }

    /// The limits of the command line.
    pub fn flag_budget(&self) -> Result<Budget> {
        let time = match self.time {
            Some(None) => bail!("--time needs a clock, like `--time 60+0.5`; only a file of games tells clocks itself"),
            told => told.flatten(),
        };
        Ok(Budget { time, ..self.limits.budget() })
    }

    /// How long after its time a player may still answer.
    pub fn patience(&self) -> Result<Duration> {
        let told = self.patience.unwrap_or(60.0);
        match (0.0..=1e6).contains(&told) {
            true => Ok(Duration::from_secs_f64(told)),
            false => bail!("the patience is a number of seconds from 0 to a million, not {told}"),
        }
    }

    /// The start clock, in budgets of a move.
    fn start(&self) -> Result<f64> {
        let told = self.start.unwrap_or(0.0);
        match (0.0..=1e6).contains(&told) {
            true => Ok(told),
            false => bail!("the start clock is a number of budgets from 0 to a million, not {told}"),
        }
    }

    /// The ply at which games are drawn.
    pub fn ply_limit(&self) -> u32 {
        self.ply_limit.unwrap_or(PLY_LIMIT)
    }

    /// The schedule, of a game that its room describes, for players as their room describes them.
    pub fn schedule(&self, game: Value, roles: usize, players: Vec<Value>, shard: Option<Shard>) -> Result<Schedule> {
        let entrants: Vec<Entrant> = (self.player.iter().zip(players))
            .map(|(told, player)| Entrant { name: told.label(), player, budget: told.budget })
            .collect();
        let patience = self.patience()?.as_millis() as u64;
        let schedule = Schedule {
            game,
            roles,
            pairings: self.pairings(&entrants)?,
            entrants,
            rounds: self.rounds()?,
            opening_plies: self.opening_plies.unwrap_or(2),
            openings: self.listed_openings()?,
            ply_limit: self.ply_limit(),
            adjudicate: self.adjudicate.unwrap_or(false),
            ponder: self.ponder.unwrap_or(false),
            start: self.start()?,
            margin: self.margin.unwrap_or(100),
            patience,
            seed: self.seed.unwrap_or(1),
            test: self.test()?,
            shard,
        };
        schedule.check()?;
        let counted = |budget: Budget| budget.playouts.or(budget.nodes).or(budget.movetime).is_some();
        let budgets = schedule.rounds.iter().map(|round| round.budget);
        let all = budgets.chain(
            schedule.entrants.iter().map(|entrant| entrant.budget).filter(|budget| *budget != Budget::default()),
        );
        if schedule.start > 0.0 && !all.into_iter().all(counted) {
            bail!("a start clock is so many budgets of playouts, nodes or movetime, and there is none");
        }
        Ok(schedule)
    }

    fn test(&self) -> Result<Option<SprtSpec>> {
        if self.sprt.is_none() && (self.alpha.is_some() || self.beta.is_some()) {
            bail!("alpha and beta are chances of error of a sequential test; --sprt LOW,HIGH says which");
        }
        let (alpha, beta) = (self.alpha.unwrap_or(0.05), self.beta.unwrap_or(0.05));
        Ok(self.sprt.map(|nelo| SprtSpec { nelo, alpha, beta }))
    }

    fn rounds(&self) -> Result<Vec<RoundSpec>> {
        let games = self.games.unwrap_or(if self.sprt.is_some() { MOST_GAMES } else { 20 });
        let budget = self.flag_budget()?.or(self.budget).or(DEFAULT_BUDGET);
        if self.round.is_empty() {
            return Ok(vec![RoundSpec { name: String::new(), budget, games }]);
        }
        let round = |round: &RoundSettings| RoundSpec {
            name: round.name.clone(),
            budget: round.budget.or(budget),
            games: round.games.unwrap_or(games),
        };
        Ok(self.round.iter().map(round).collect())
    }

    fn pairings(&self, entrants: &[Entrant]) -> Result<Vec<[usize; 2]>> {
        if self.pairings.is_empty() {
            return Ok(match self.format.unwrap_or(Format::RoundRobin) {
                Format::RoundRobin => Schedule::round_robin(entrants.len()),
                Format::Gauntlet => Schedule::gauntlet(entrants.len()),
            });
        }
        if self.format.is_some() {
            bail!("who plays whom is told by `pairings` or by a format, not by both");
        }
        let place = |name: &String| {
            let place = entrants.iter().position(|entrant| entrant.name == *name);
            place.with_context(|| format!("a pairing names `{name}`, who does not take part"))
        };
        self.pairings.iter().map(|[a, b]| Ok([place(a)?, place(b)?])).collect()
    }

    fn listed_openings(&self) -> Result<Vec<String>> {
        let Some(path) = &self.openings else { return Ok(Vec::new()) };
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let openings: Vec<String> = lines.map(str::to_owned).collect();
        if openings.is_empty() {
            bail!("{}: there is no opening in it", path.display());
        }
        Ok(openings)
    }
}
