//! Rulesheets, their states, playouts and searches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rand::SeedableRng;
use rayon::prelude::*;
use sternhalma_ggp::gdl::network::{Lanes, LanesError, Network, NetworkGame, NetworkState, Playouts};
use sternhalma_ggp::gdl::{CheckOptions, GAMES, Goal, Reasoner, Rulesheet, Severity, find_move};
use sternhalma_ggp::policy::{PolicyGame, SearchTask};
use sternhalma_ggp::util::FluentSet;
use sternhalma_ggp::{Game as _, Limits, MemoryBudget, Policy, Rng, SearchResult, Turn, derive_seed};

use crate::errors::{exceptions, message, rulesheet_file_error};
use crate::work::{run_until_stopped, with_threads};

/// The number of playouts with one seed.
const PART: usize = 1 << 14;

/// A finding: the rule, the severity, the message, the line and the column.
type Finding = (&'static str, String, String, Option<u32>, Option<u32>);

/// Returns the errors and warnings about a rulesheet.
#[pyfunction]
#[pyo3(signature = (text, *, lenient))]
pub fn check(py: Python<'_>, text: &str, lenient: bool) -> Vec<Finding> {
    py.detach(|| checked(text, lenient)).0
}

/// Returns the findings about a rulesheet, and the rulesheet if none of them is an error.
fn checked(text: &str, lenient: bool) -> (Vec<Finding>, Option<Rulesheet>) {
    let (findings, sheet) = match Rulesheet::parse(text) {
        Ok(sheet) => (sheet.check(&CheckOptions { lenient, ..CheckOptions::default() }), Some(sheet)),
        Err(error) => (vec![error.into()], None),
    };
    let is_valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    let row = |finding: sternhalma_ggp::gdl::Finding| {
        let (line, column) = finding.place.map(|place| (place.line, place.column)).unzip();
        (finding.code.name(), finding.severity.to_string(), finding.message, line, column)
    };
    (findings.into_iter().map(row).collect(), sheet.filter(|_| is_valid))
}

/// Returns the texts of the rulesheets of this project by name.
#[pyfunction]
pub fn games() -> BTreeMap<&'static str, &'static str> {
    GAMES.iter().map(|game| (game.name, game.text)).collect()
}

/// Reads the text of a rulesheet: of a file, or of a rulesheet of this project by its name.
#[pyfunction]
pub fn read_rulesheet(path: PathBuf) -> PyResult<String> {
    sternhalma_ggp::gdl::read_rulesheet(&path).map_err(|error| rulesheet_file_error(&path, &error))
}

/// A rulesheet that is ready to be played.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct Game {
    game: Arc<NetworkGame>,
    /// The game in lanes, once it was needed. Python does not align objects as lanes need it.
    lanes: OnceLock<Result<Box<Lanes>, LanesError>>,
}

impl Game {
    /// Returns the game with its network.
    pub fn game(&self) -> &Arc<NetworkGame> {
        &self.game
    }

    fn network(&self) -> &Network {
        self.game.network()
    }

    /// Returns the number of a role.
    fn check_role(&self, role: usize) -> PyResult<usize> {
        let roles = self.network().roles.len();
        if role < roles {
            Ok(role)
        } else {
            Err(exceptions::ArgumentError::new_err(format!("there is no role {role} of {roles}")))
        }
    }
}

#[pymethods]
impl Game {
    /// Returns the findings about a rulesheet, and its game if none of them is an error.
    #[staticmethod]
    #[pyo3(signature = (text, *, lenient))]
    fn checked(py: Python<'_>, text: &str, lenient: bool) -> PyResult<(Vec<Finding>, Option<Game>)> {
        let wrong = |error: &dyn std::error::Error| exceptions::RulesheetError::new_err(message(error));
        let (findings, sheet) = py.detach(|| checked(text, lenient));
        let Some(sheet) = sheet else { return Ok((findings, None)) };
        let rules = sheet.rules().map_err(|error| wrong(&error))?;
        let network = run_until_stopped(py, |stop| Network::unless(rules, stop))?;
        let network = network.map_err(|error| wrong(&error))?;
        let game = Arc::new(NetworkGame::new(network).with_rules(rules.clone()));
        Ok((findings, Some(Game { game, lanes: OnceLock::new() })))
    }

    /// The names of the roles.
    #[getter]
    fn roles(&self) -> Vec<String> {
        self.network().roles.clone()
    }

    /// The names of the fluents.
    #[getter]
    fn fluents(&self) -> Vec<String> {
        self.network().fluents.clone()
    }

    /// The names of the moves of each role.
    #[getter]
    fn moves(&self) -> Vec<Vec<String>> {
        let network = self.network();
        let names = |role| network.netlist.possible_moves(role).map(|mv| network.moves[mv].clone()).collect();
        (0..network.roles.len()).map(names).collect()
    }

    /// Returns the initial state.
    fn initial(&self) -> GameState {
        GameState { game: self.game.clone(), state: self.game.initial() }
    }

    /// Returns the state with some fluents: truth values as uint8.
    fn state(&self, row: PyReadonlyArray1<'_, u8>) -> PyResult<GameState> {
        let row = row.as_slice()?;
        let fluents = self.network().fluents.len();
        if row.len() != fluents {
            return Err(exceptions::ArgumentError::new_err(format!("expected {fluents} fluents, got {}", row.len())));
        }
        let fluents = FluentSet::of(&row.iter().map(|&value| value != 0).collect::<Vec<_>>());
        Ok(GameState { game: self.game.clone(), state: self.game.state_from(&fluents) })
    }

    /// Plays random playouts. Returns scores as uint8 (playouts * roles,) and lengths as uint32.
    #[pyo3(signature = (count, *, seed, threads))]
    #[allow(clippy::type_complexity, reason = "the type names both arrays")]
    fn playouts<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u32>>)> {
        let parts = run_until_stopped(py, |stop| {
            let lanes = self
                .lanes
                .get_or_init(|| Lanes::new(&self.network().netlist).map(Box::new))
                .as_ref()
                .map_err(Clone::clone)?;
            let play = |lanes: &mut Box<Lanes>, part: usize| {
                if stop.load(Relaxed) {
                    return Ok(Playouts::default());
                }
                let mut rng = Rng::seed_from_u64(derive_seed(seed, part as u64));
                lanes.playouts(PART.min(count - part * PART), &mut rng)
            };
            let parts = 0..count.div_ceil(PART);
            let play_all = || parts.into_par_iter().map_init(|| lanes.clone(), play).collect::<Result<Vec<_>, _>>();
            with_threads(threads, play_all)
        })?;
        let parts = parts.map_err(|error: LanesError| match error {
            LanesError::OutOfMemory { .. } => exceptions::OutOfMemory::new_err(error.to_string()),
            error => exceptions::RulesheetError::new_err(message(&error)),
        })?;
        let scores: Vec<u8> = parts.iter().flat_map(|part| part.scores.iter().copied()).collect();
        let lengths: Vec<u32> = parts.iter().flat_map(|part| part.lengths.iter().copied()).collect();
        Ok((PyArray1::from_vec(py, scores), PyArray1::from_vec(py, lengths)))
    }

    /// Searches a state for a move of a role. Returns the move; the moves of the role with their visits and mean
    /// rewards; and the playouts and seconds of the search.
    #[pyo3(signature = (state, *, role, policy, playouts, seconds, seed, memory))]
    #[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python method")]
    fn search(
        &self,
        py: Python<'_>,
        state: &GameState,
        role: usize,
        policy: &str,
        playouts: Option<u64>,
        seconds: Option<f64>,
        seed: u64,
        memory: u64,
    ) -> PyResult<FoundMove> {
        let role = self.check_role(role)?;
        if !Arc::ptr_eq(&self.game, &state.game) {
            return Err(exceptions::ArgumentError::new_err(
                "the state is of another game; game.state(state.row) makes it again",
            ));
        }
        if self.game.is_terminal(&state.state) {
            return Err(exceptions::ArgumentError::new_err("the match is over"));
        }
        let policy: Policy = policy.parse().map_err(|error| exceptions::NotationError::new_err(message(&error)))?;
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|_| exceptions::ArgumentError::new_err("seconds: expected a number of 0 or more"))?;
        if playouts.is_none() && time.is_none() && policy != Policy::Random {
            return Err(exceptions::ArgumentError::new_err(
                "a search does not end without a limit: give playouts=1000 or seconds=, for example",
            ));
        }
        let limits = Limits { playouts, time, ..Limits::default() };
        let policy = policy.within(&MemoryBudget::new(memory));
        let found = run_until_stopped(py, |stop| self.find_move(state, role, &policy, limits, seed, stop))?;
        let name = |mv: u32| self.game.move_name(role, mv);
        let row = |(mv, stats): (u32, sternhalma_ggp::mcts::MoveStats)| {
            (name(mv), stats.visits, stats.mean().clamp(0.0, 1.0))
        };
        let spent = found.spent;
        Ok((name(found.best), found.moves.into_iter().map(row).collect(), spent.playouts, spent.time.as_secs_f64()))
    }
}

/// A move with its search: the move; the moves of the role with visits and mean rewards; playouts and seconds.
type FoundMove = (String, Vec<(String, u32, f64)>, u64, f64);

impl Game {
    /// Returns the move of a role that may have a choice in a state that is not terminal.
    fn find_move(
        &self,
        state: &GameState,
        role: usize,
        policy: &Policy,
        limits: Limits,
        seed: u64,
        stop: &AtomicBool,
    ) -> SearchResult<u32> {
        let (game, state) = (&*self.game, &state.state);
        if !game.turn(state).acting(game.roles()).contains(&role) {
            return SearchResult::without_search(game.engine().nth_legal(state, role, 0));
        }
        let mut agent = game.agent(policy, role, seed);
        agent.begin(game, state);
        agent.search(&SearchTask::new(game, state, limits, stop), role)
    }
}

/// A state of a game.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct GameState {
    game: Arc<NetworkGame>,
    state: NetworkState,
}

#[pymethods]
impl GameState {
    /// The names of the fluents that hold, in alphabetical order.
    #[getter]
    fn facts(&self) -> Vec<String> {
        self.game.facts(&self.state)
    }

    /// Whether the match is over.
    #[getter]
    fn terminal(&self) -> bool {
        self.game.is_terminal(&self.state)
    }

    /// The goal of each role, or `None` if there is not exactly one.
    #[getter]
    fn goals(&self) -> Vec<Option<u8>> {
        let goal = |goal| match goal {
            Goal::Value(value) => Some(value),
            _ => None,
        };
        self.game.engine().goals(&self.state).map(goal).collect()
    }

    /// The role that acts, or `None` if the match is over or all roles act.
    #[getter]
    fn player(&self) -> Option<usize> {
        match self.game.turn(&self.state) {
            Turn::One(role) if !self.game.is_terminal(&self.state) => Some(role),
            _ => None,
        }
    }

    /// The names of the legal moves of each role.
    #[getter]
    fn legal(&self) -> Vec<Vec<String>> {
        (0..self.game.roles()).map(|role| self.legal_names(role).1).collect()
    }

    /// Returns the fluents as uint8.
    fn row<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        let fluents = 0..self.game.network().fluents.len();
        PyArray1::from_iter(py, fluents.map(|fluent| u8::from(self.state.fluents().contains(fluent))))
    }

    /// Returns the state after one legal move of each role.
    fn play(&self, joint: Vec<String>) -> PyResult<GameState> {
        let roles = &self.game.network().roles;
        if self.game.is_terminal(&self.state) {
            return Err(exceptions::NotationError::new_err("the match is over"));
        }
        if joint.len() != roles.len() {
            let text = format!("expected a move of each of the {} roles, got {}", roles.len(), joint.len());
            return Err(exceptions::ArgumentError::new_err(text));
        }
        let mut moves = Vec::new();
        for (role, text) in joint.iter().enumerate() {
            let (legal, names) = self.legal_names(role);
            let place = find_move(text, &roles[role], &names);
            let place = place.map_err(|error| exceptions::NotationError::new_err(error.to_string()))?;
            moves.push(legal[place]);
        }
        let mut state = self.state.clone();
        self.game.play_all(&mut state, &moves);
        Ok(GameState { game: self.game.clone(), state })
    }

    fn __eq__(&self, other: &GameState) -> bool {
        Arc::ptr_eq(&self.game, &other.game) && self.state.fluents() == other.state.fluents()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.state.fluents().hash(&mut hasher);
        hasher.finish()
    }
}

impl GameState {
    /// Returns the legal moves of a role in the order of their numbers, with their names.
    fn legal_names(&self, role: usize) -> (Vec<u32>, Vec<String>) {
        let mut legal = self.game.legal_of(&self.state, role);
        legal.sort_unstable();
        let names = legal.iter().map(|&mv| self.game.move_name(role, mv)).collect();
        (legal, names)
    }
}
