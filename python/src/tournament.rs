//! Tournaments.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;
use sternhalma_builder::thread_count;
use sternhalma_data::RuleSet;
use sternhalma_engine::arena::{BoardBackend, BoardPlayer, ExternalCommand, introduce, machine_rate};
use sternhalma_engine::external::ProgramCommand;
use sternhalma_engine::{ChineseCheckers, Config, Distances, Filter, GameSetup, Roster, WeightsFiles};
use sternhalma_ggp::arena::{
    ArenaError, Backend, Budget, Entrant, GameLog, GameRecord, Openings, Origin, Pairings, RulesEngine, Schedule,
    Standings, TimeControl, Tournament, TournamentSpec, check_policies, rules_backend,
};
use sternhalma_ggp::gdl::{CheckOptions, Code, GAMES, Rulesheet, read_rulesheet};
use sternhalma_ggp::messages::{excerpt, shorten_quotes};
use sternhalma_ggp::{MemoryBudget, Policy};

use crate::board::Board;
use crate::errors::{board_error, exceptions, message, unread_rulesheet};
use crate::play::{Player, parse_rules};
use crate::program::{Program, patience_of, program_error};
use crate::results::{Results, log_error};
use crate::table::{PlayerTable, player_distances};
use crate::work::watch;

/// The text before the command line of a program.
const PROGRAM: &str = "ugi:";

/// A player of a tournament.
#[derive(FromPyObject)]
enum Contender {
    Player(Py<Player>),
    Program(Py<Program>),
    Text(String),
}

/// The arguments of a tournament.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arguments {
    players: Vec<Contender>,
    /// By player: the name in results, if the user has given one.
    names: Vec<Option<String>>,
    board: Board,
    table: Option<PlayerTable>,
    adjudicate: bool,
    /// The name of the rule set of Chinese Checkers.
    rules: String,
    rulesheet: Option<PathBuf>,
    engine: String,
    lock_step: Option<usize>,
    lenient: bool,
    format: String,
    games: Option<u64>,
    nodes: Option<u64>,
    playouts: Option<u64>,
    depth: Option<u32>,
    milliseconds: Option<u64>,
    clock: Option<String>,
    opening_plies: u32,
    openings: Vec<String>,
    ply_limit: u32,
    seed: u64,
    sprt: Option<[f64; 2]>,
    alpha: f64,
    beta: f64,
    patience: f64,
    memory: u64,
}

fn wrong(text: impl std::fmt::Display) -> PyErr {
    exceptions::TournamentError::new_err(shorten_quotes(&text.to_string()))
}

/// Returns the exception for an error of the arena.
fn arena_error(error: ArenaError) -> PyErr {
    match error {
        ArenaError::Log(error) => log_error(error),
        ArenaError::Start { player, fault } => program_error(&player, &fault),
        error => wrong(message(&error)),
    }
}

impl Contender {
    /// Returns the name in results of a player without a name of its own.
    fn label(&self) -> String {
        match self {
            Contender::Player(player) => player.get().text().to_owned(),
            Contender::Program(program) => program.get().command().text().to_owned(),
            Contender::Text(text) => text.strip_prefix(PROGRAM).unwrap_or(text).trim().to_owned(),
        }
    }
}

impl Contender {
    /// Returns the player of a text that names a built-in one.
    fn config(&self) -> PyResult<Option<Config>> {
        match self {
            Contender::Text(text) if !text.starts_with(PROGRAM) => {
                let config = Roster::built_in().config(text);
                config.map(Some).map_err(|error| exceptions::NotationError::new_err(message(&error)))
            }
            _ => Ok(None),
        }
    }
}

impl Arguments {
    fn budget(&self) -> PyResult<Budget> {
        let time = self.clock.as_deref().map(str::parse::<TimeControl>).transpose();
        let time = time.map_err(|error| exceptions::ArgumentError::new_err(message(&error)))?;
        let (nodes, playouts, depth) = (self.nodes, self.playouts, self.depth);
        Ok(Budget { nodes, playouts, depth, movetime: self.milliseconds, time })
    }

    fn schedule(&self) -> PyResult<Schedule> {
        let names = self.names.iter().zip(&self.players);
        let names = names.map(|(name, player)| name.clone().unwrap_or_else(|| player.label()));
        let pairings = match self.format.as_str() {
            "round-robin" => Pairings::RoundRobin,
            "gauntlet" => Pairings::Gauntlet,
            other => {
                return Err(wrong(format!(
                    "expected the format 'round-robin' or 'gauntlet', got {:?}",
                    excerpt(other)
                )));
            }
        };
        let spec = TournamentSpec {
            entrants: names.map(Entrant::named).collect(),
            pairings,
            games: self.games,
            budget: self.budget()?,
            opening_plies: Some(self.opening_plies),
            openings: self.openings.clone(),
            ply_limit: Some(self.ply_limit),
            adjudicate: self.adjudicate,
            patience: Some(patience_of(self.patience)?),
            seed: Some(self.seed),
            sprt: self.sprt,
            // Their defaults are given too, also without a test.
            alpha: self.sprt.map(|_| self.alpha),
            beta: self.sprt.map(|_| self.beta),
            ..TournamentSpec::default()
        };
        spec.schedule().map_err(wrong)
    }

    /// Opens the players and the game, and starts each external program.
    fn open(&self, stop: &AtomicBool) -> PyResult<Tournament> {
        let memory = MemoryBudget::new(self.memory);
        let mut schedule = self.schedule()?;
        let backend = match &self.rulesheet {
            Some(path) => self.rules_backend(path, &schedule, &memory)?,
            None => Box::new(self.board_backend(&mut schedule, stop)?.within(&memory)),
        };
        let program = format!("sternhalma-python {}", env!("CARGO_PKG_VERSION"));
        let tournament = Tournament::new(backend, schedule).map_err(arena_error)?;
        Ok(tournament.with_origin(Origin { program, machine_rate: machine_rate() }))
    }

    fn rules_backend(&self, path: &Path, schedule: &Schedule, memory: &MemoryBudget) -> PyResult<Box<dyn Backend>> {
        let place = |text: String| wrong(format!("{}: {text}", excerpt(&path.to_string_lossy())));
        let names = RuleSet::OPTION_NAMES.into_iter().chain(GAMES.iter().map(|game| game.name));
        let text = read_rulesheet(path).map_err(|error| {
            let sets = RuleSet::OPTION_NAMES.join(" and ");
            wrong(format!("{}; the rule sets are {sets}", unread_rulesheet(path, &error, names)))
        })?;
        let engine = match (self.engine.as_str(), self.lock_step) {
            ("auto" | "network", Some(games)) => RulesEngine::LockStep(games),
            ("auto", None) => RulesEngine::Auto,
            ("network", None) => RulesEngine::Network,
            ("prover", None) => RulesEngine::Prover,
            ("prover", Some(_)) => return Err(wrong("games in lock step need the network, not the prover")),
            (other, _) => {
                return Err(wrong(format!(
                    "expected the engine 'auto', 'network' or 'prover', got {:?}",
                    excerpt(other)
                )));
            }
        };
        let policy = |player: &Contender| match player {
            Contender::Text(text) if !text.starts_with(PROGRAM) => {
                text.parse::<Policy>().map_err(|error| exceptions::NotationError::new_err(message(&error)))
            }
            other => Err(wrong(format!("{}: only policies play rulesheets", other.label()))),
        };
        let policies = self.players.iter().map(policy).collect::<PyResult<Vec<Policy>>>()?;
        check_policies(schedule, engine, &policies).map_err(arena_error)?;
        let sheet = match self.lenient {
            true => Rulesheet::parse(&text).map_err(|error| place(message(&error)))?,
            false => {
                let (sheet, _) = Rulesheet::parse_valid(&text, &CheckOptions::before_play()).map_err(|invalid| {
                    // No engine plays a text that cannot be parsed.
                    let hint = match invalid.first.code {
                        Code::Syntax => "",
                        _ => " lenient=True plays the rulesheet despite its errors",
                    };
                    place(format!("{}{hint}", message(&invalid)))
                })?;
                sheet
            }
        };
        rules_backend(&sheet, engine, policies, memory).map_err(|error| place(message(&error)))
    }

    fn board_backend(&self, schedule: &mut Schedule, stop: &AtomicBool) -> PyResult<BoardBackend> {
        let board = self.board.0.for_two();
        let board = board.map_err(board_error)?;
        let setup = GameSetup { board, rules: parse_rules(&self.rules)?, ply_limit: schedule.ply_limit };
        let configs = self.players.iter().map(Contender::config).collect::<PyResult<Vec<_>>>()?;
        let needs_table = schedule.adjudicate || configs.iter().flatten().any(Config::needs_table);
        let distances = player_distances(board, self.table.as_ref(), needs_table)?;
        if schedule.adjudicate && distances.table().is_none() {
            return Err(wrong("adjudicate=True needs a table"));
        }
        let openings = Openings::new(&ChineseCheckers::of(setup, Filter::All), schedule);
        let openings = openings.map_err(|error| arena_error(error.into()))?;
        let weights = WeightsFiles::default();
        let players = self.players.iter().zip(configs);
        let players = players.map(|(player, config)| self.board_player(setup, player, config, &distances, &weights));
        let mut players = players.collect::<PyResult<Vec<_>>>()?;
        let is_named: Vec<bool> = self.names.iter().map(Option::is_some).collect();
        introduce(&mut players, &is_named, schedule, stop, |_, _| ()).map_err(arena_error)?;
        let adjudicator = schedule.adjudicate.then_some(distances);
        Ok(BoardBackend::new(setup, players, adjudicator).with_openings(openings))
    }

    fn board_player(
        &self,
        setup: GameSetup,
        contender: &Contender,
        config: Option<Config>,
        distances: &Distances,
        weights: &WeightsFiles,
    ) -> PyResult<BoardPlayer> {
        let board = setup.board;
        let prepared = match contender {
            Contender::Program(program) => return Ok(BoardPlayer::External(Box::new(program.get().external()))),
            Contender::Text(text) => match config {
                Some(config) => {
                    let prepared = config.prepare_from(setup, Some(distances), weights);
                    prepared.map_err(|error| wrong(format!("{}: {error}", contender.label())))?
                }
                None => {
                    let patience = patience_of(self.patience)?;
                    let command = text.strip_prefix(PROGRAM).unwrap_or(text).trim();
                    let command = ProgramCommand::new(command, Vec::new(), None);
                    let command = command.map_err(|error| wrong(message(&error)))?;
                    return Ok(BoardPlayer::External(Box::new(ExternalCommand::new(command, patience, None))));
                }
            },
            Contender::Player(player) => match player.get().prepared() {
                prepared if prepared.setup().board == board => prepared.for_games(setup),
                prepared => {
                    let (label, other) = (contender.label(), prepared.setup().board);
                    return Err(wrong(format!("{label}: the player is of {other}, and the tournament of {board}")));
                }
            },
        };
        Ok(BoardPlayer::BuiltIn(Box::new(prepared)))
    }
}

/// Plays a tournament and returns its results. `progress` is called with "games", the number of played games and the
/// number of all games.
#[pyfunction]
#[pyo3(signature = (arguments, *, log, threads, progress))]
pub fn tournament(
    py: Python<'_>,
    arguments: Arguments,
    log: Option<PathBuf>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let threads = NonZeroUsize::new(thread_count(threads)).unwrap_or(NonZeroUsize::MIN);
    let [played, expected] = [0, 0].map(AtomicU64::new);
    let stop = AtomicBool::new(false);
    let mut last = (0, 0);
    let mut report = |py: Python<'_>| {
        let now = (played.load(Relaxed), expected.load(Relaxed));
        if let Some(progress) = progress.filter(|_| now != last) {
            progress.call1(("games", now.0, now.1))?;
        }
        last = now;
        py.check_signals()
    };
    let work = || {
        let tournament = arguments.open(&stop)?;
        let mut records: Vec<GameRecord> = Vec::new();
        let count = |standings: &Standings| {
            played.store(standings.played(), Relaxed);
            expected.store(standings.expected(), Relaxed);
        };
        let run = tournament.run(log.as_deref(), threads, &stop, |record, standings| {
            count(standings);
            if log.is_none() {
                records.push(record.clone());
            }
        });
        count(&run.map_err(arena_error)?);
        let (schedule, records) = match &log {
            Some(path) => GameLog::read(path).map_err(log_error)?,
            None => (tournament.schedule().clone(), records),
        };
        Ok::<_, PyErr>(Results::new(schedule, records))
    };
    let results = watch(py, || report(py), || stop.store(true, Relaxed), work)?;
    let results = results?;
    report(py)?;
    Ok(results)
}
