//! Positions of games, and players.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sternhalma_data::{RuleSet, Side};
use sternhalma_engine::ugi::{action_text, legal_action};
use sternhalma_engine::{
    Action, ChineseCheckers, Config, Filter, Follower, GameSetup, GameState, Outcome, PreparedPlayer, Repetitions,
    Roster, SearchValue, analyse,
};
use sternhalma_ggp::messages::shorten_quotes;
use sternhalma_ggp::{Game, Limits, MemoryBudget};

use crate::arguments::{Argument, refused};
use crate::board::{Board, svg_of};
use crate::errors::{board_error, exceptions, message};
use crate::states::parse_player;
use crate::table::{PlayerTable, player_distances};
use crate::work::run_until_stopped;

/// A position of a game of two players. Positions are immutable.
///
/// `text` is a position string, or "startpos". A game is drawn at the ply `ply_limit`. The board and the number of
/// pieces are those of the string; `board` is that of "startpos". `rules` is a rule set:
/// "blocked-goal" is the newest version of the rule against blocked goals, "blocked-goal-2", and "blocked-goal-1" is the
/// first; "paper" has no such rule (docs/reference/rule-sets.md).
///
/// A copy is the same object. A pickled position keeps the moves since the first one.
///
/// Raises `NotationError` if the text is no position with as many pieces on each side, or there is no such rule set.
#[pyclass(frozen, module = "sternhalma")]
#[derive(Clone)]
pub struct Position {
    pub game: Arc<ChineseCheckers>,
    pub state: GameState,
    /// The first position, which was not made by `play`.
    start: GameState,
    /// The actions since the first position.
    actions: Vec<Action>,
    /// The placements since the first position, for the rule about repetition.
    played: Repetitions,
}

/// The arguments of [`restore_position`].
type PickledPosition = (String, u32, &'static str, Vec<String>);

/// Returns the rule set that a user selects by a name.
pub fn parse_rules(name: &str) -> PyResult<RuleSet> {
    RuleSet::from_option(name).map_err(|error| exceptions::NotationError::new_err(message(&error)))
}

/// Returns whether a name selects a rule set of Chinese Checkers.
#[pyfunction]
pub fn is_rule_set(name: &str) -> bool {
    RuleSet::from_option(name).is_ok()
}

impl Position {
    /// Returns the result of the game, or `None` while it goes on.
    fn outcome(&self) -> Option<Outcome> {
        self.state.outcome().or_else(|| self.played.is_over().then_some(Outcome::Draw))
    }

    fn check_repetition(&self) -> PyResult<()> {
        let over = || exceptions::NotationError::new_err("the game is over by repetition");
        if self.played.is_over() { Err(over()) } else { Ok(()) }
    }

    /// Returns the legal action of a text.
    fn action(&self, text: &str) -> PyResult<Action> {
        self.check_repetition()?;
        let found = legal_action(&self.game, &self.state, text);
        found.map_err(|error| exceptions::NotationError::new_err(message(&error)))
    }

    /// Returns the position of a text.
    fn parse(text: &str, board: Option<Board>, ply_limit: u32, rules: &str) -> PyResult<Position> {
        let rules = parse_rules(rules)?;
        let wrong = |error: String| exceptions::NotationError::new_err(error);
        let position: sternhalma_data::Position = match (text.trim(), board) {
            ("startpos", board) => {
                let board = board.map_or_else(|| sternhalma_data::Board::new(9, 6), |board| Ok(board.0));
                let board = board.and_then(sternhalma_data::Board::for_two);
                let board = board.map_err(board_error)?;
                sternhalma_data::Position::initial(board)
            }
            (text, None) => text.parse().map_err(|error| wrong(message(&error)))?,
            (text, Some(board)) => board.0.parse_position(text).map_err(|error| wrong(message(&error)))?,
        };
        let pieces = position.army(Side::X).len() as u64;
        let board = sternhalma_data::Board::new(position.geometry().size() as u64, pieces);
        let board = board.and_then(sternhalma_data::Board::for_two);
        let board = board.map_err(board_error)?;
        let game = Arc::new(ChineseCheckers::of(GameSetup { board, rules, ply_limit }, Filter::All));
        let state = game.state(&position);
        let state = state.ok_or_else(|| wrong("both armies need the same number of pieces".to_owned()))?;
        let played = Repetitions::new(&game, &state);
        Ok(Position { game, state, start: state, actions: Vec::new(), played })
    }

    /// Plays a legal action.
    fn push(&mut self, action: Action) {
        self.game.play_action(&mut self.state, action);
        self.played.push(&self.game, &self.state);
        self.actions.push(action);
    }

    fn legal(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.outcome().is_none() {
            self.game.legal(&self.state, self.state.player() as usize, &mut actions);
        }
        actions
    }
}

#[pymethods]
impl Position {
    #[new]
    #[pyo3(
        signature = (
            text = Argument("startpos"), *, board = None, ply_limit = Argument(1000), rules = Argument("blocked-goal")
        ),
        text_signature = "(text='startpos', *, board=None, ply_limit=1000, rules='blocked-goal')"
    )]
    fn new(
        text: Argument<&str>,
        board: Option<Argument<Board>>,
        ply_limit: Argument<u32>,
        rules: Argument<&str>,
    ) -> PyResult<Position> {
        Position::parse(text.0, board.map(|board| board.0), ply_limit.0, rules.0)
    }

    /// The board and the number of pieces of an army.
    #[getter]
    fn board(&self) -> Board {
        Board(self.game.board())
    }

    /// The player to move, "x" or "o".
    #[getter]
    fn player(&self) -> String {
        self.state.player().to_string()
    }

    /// The number of plies played so far.
    #[getter]
    fn ply(&self) -> u32 {
        self.state.ply()
    }

    /// The ply at which the game is drawn.
    #[getter]
    fn ply_limit(&self) -> u32 {
        self.game.ply_limit()
    }

    /// The rule set with its version: "blocked-goal-2", "blocked-goal-1" or "paper".
    #[getter]
    fn rules(&self) -> &'static str {
        self.game.rules().option_name()
    }

    /// The text of the last move that `play` has made, or `None` if it has made none.
    #[getter]
    fn last_move(&self) -> Option<String> {
        self.actions.last().map(|&action| action_text(self.game.geometry(), action))
    }

    /// The result: "x" or "o" has won, "draw", or `None` while the game goes on.
    #[getter]
    fn result(&self) -> Option<&'static str> {
        self.outcome().map(|outcome| match outcome {
            Outcome::Won(Side::X) => "x",
            Outcome::Won(Side::O) => "o",
            Outcome::Draw => "draw",
        })
    }

    /// Returns the cells of a player's pieces, as uint8.
    fn cells<'py>(&self, py: Python<'py>, player: Argument<&str>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let army = self.state.army(parse_player(player.0)?);
        Ok(PyArray1::from_iter(py, army.iter().map(|cell| cell.index() as u8)))
    }

    /// Returns the legal moves, as uint8 of the shape (moves, 2). There are none after the end of the game, and if the
    /// player must pass.
    fn moves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let moves: Vec<_> = self.legal().into_iter().flatten().collect();
        let cells = moves.iter().flat_map(|mv| [mv.from, mv.to].map(|cell| cell.index() as u8));
        PyArray1::from_iter(py, cells).reshape([moves.len(), 2])
    }

    /// Returns the position after a legal move: a text such as "c1-e3" or "pass", or a source and a destination.
    ///
    /// Unless the rule set is "paper", the third occurrence of a position since the first one, which was not made by
    /// `play`, is a draw.
    ///
    /// Raises `NotationError` if the move is not legal or the game is over.
    #[pyo3(signature = (r#move))]
    fn play(&self, r#move: &Bound<'_, PyAny>) -> PyResult<Position> {
        let wrong = |error: String| exceptions::NotationError::new_err(error);
        let action = if let Ok(text) = r#move.cast::<PyString>() {
            self.action(&text.to_string_lossy())?
        } else {
            self.check_repetition()?;
            let cells: Vec<i64> = r#move
                .extract()
                .map_err(|_| refused(r#move, "a move as a text, or as a source and a destination", false))?;
            let is_it =
                |action: &Action| action.is_some_and(|mv| cells == [mv.from, mv.to].map(|cell| cell.index() as i64));
            let found = self.legal().into_iter().find(is_it);
            found.ok_or_else(|| wrong(format!("{cells:?} is not a legal move of {}", self.__str__())))?
        };
        let mut next = self.clone();
        next.push(action);
        Ok(next)
    }

    /// Returns a picture of the position with its last move, as `sternhalma.draw` draws it.
    fn _repr_svg_<'py>(slf: &Bound<'py, Position>) -> PyResult<Bound<'py, PyAny>> {
        svg_of(slf.as_any())
    }

    fn __str__(&self) -> String {
        self.game.position(&self.state).to_string()
    }

    fn __repr__(&self) -> String {
        format!("Position({:?})", self.__str__())
    }

    fn __eq__(&self, other: &Position) -> bool {
        self.state == other.state && self.game.setup() == other.game.setup() && self.outcome() == other.outcome()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (self.__str__(), self.game.ply_limit(), self.game.rules()).hash(&mut hasher);
        hasher.finish()
    }

    fn __copy__(slf: Py<Position>) -> Py<Position> {
        slf
    }

    fn __deepcopy__(slf: Py<Position>, _memo: &Bound<'_, PyAny>) -> Py<Position> {
        slf
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, PickledPosition)> {
        let restore = py.import("sternhalma._native")?.getattr("restore_position")?;
        let start = self.game.position(&self.start).to_string();
        let moves = self.actions.iter().map(|&action| action_text(self.game.geometry(), action)).collect();
        Ok((restore.unbind(), (start, self.ply_limit(), self.rules(), moves)))
    }
}

/// Returns a pickled position: the first position, the rules, and the moves.
#[pyfunction]
pub fn restore_position(start: &str, ply_limit: u32, rules: &str, moves: Vec<String>) -> PyResult<Position> {
    let mut position = Position::parse(start, None, ply_limit, rules)?;
    for text in moves {
        let action = position.action(&text)?;
        position.push(action);
    }
    Ok(position)
}

/// Returns the names of the built-in players with their descriptions.
#[pyfunction]
pub fn players() -> BTreeMap<String, String> {
    let roster = Roster::built_in();
    roster.names().map(|name| (name.to_owned(), roster.about(name).unwrap_or_default().to_owned())).collect()
}

/// Returns a notice if the text of a player or policy has parameters of earlier versions, which have no effect.
#[pyfunction]
pub fn removal_notice(text: &str) -> Option<String> {
    sternhalma_ggp::policy::removal_notice(text).map(|notice| shorten_quotes(&notice))
}

/// Checks that the game of a position is not over.
pub fn check_open(position: &Position) -> PyResult<()> {
    match position.outcome() {
        None => Ok(()),
        Some(_) => Err(exceptions::ArgumentError::new_err("the game is over")),
    }
}

/// Returns the limits of a search.
pub fn search_limits(
    playouts: Option<u64>,
    nodes: Option<u64>,
    depth: Option<u32>,
    seconds: Option<f64>,
) -> PyResult<Limits> {
    /// The longest search, in seconds.
    const LONGEST: f64 = 1e9;
    if seconds.is_some_and(|seconds| !(0.0..=LONGEST).contains(&seconds)) {
        return Err(exceptions::ArgumentError::new_err(format!("seconds: expected a number from 0 to {LONGEST}")));
    }
    Ok(Limits { playouts, expansions: nodes, depth, time: seconds.map(Duration::from_secs_f64) })
}

/// Returns the kind and the number of a value.
pub fn value_pair(value: SearchValue) -> (&'static str, f64) {
    match value {
        SearchValue::Lead(lead) => ("lead", lead),
        SearchValue::Reward(reward) => ("reward", reward),
        SearchValue::Won(plies) => ("won", f64::from(plies)),
        SearchValue::Lost(plies) => ("lost", f64::from(plies)),
    }
}

/// A move with its search: the text, the kind and the number of the value, depth, expansions, playouts, seconds, and
/// the line.
pub type FoundMove = (String, Option<(&'static str, f64)>, u32, u64, u64, f64, Vec<String>);

/// A player of a board. Searches are independent: each depends on the position, its earlier moves and the limits alone.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct Player {
    player: Mutex<Follower>,
    text: String,
    prepared: PreparedPlayer,
    seed: u64,
}

impl Player {
    /// Returns the text of the player.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the parts from which a tournament starts the player again.
    pub fn prepared(&self) -> &PreparedPlayer {
        &self.prepared
    }
}

#[pymethods]
impl Player {
    #[new]
    #[pyo3(signature = (text, *, board, table, ply_limit, rules, seed, memory))]
    #[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python class")]
    fn new(
        py: Python<'_>,
        text: &str,
        board: &Board,
        table: Option<PlayerTable>,
        ply_limit: u32,
        rules: &str,
        seed: u64,
        memory: u64,
    ) -> PyResult<Player> {
        let wrong = |error: &dyn std::error::Error| exceptions::NotationError::new_err(message(error));
        let config = Roster::built_in().config(text).map_err(|error| wrong(&error))?;
        let board = board.0.for_two().map_err(board_error)?;
        let setup = GameSetup { board, rules: parse_rules(rules)?, ply_limit };
        let distances = player_distances(board, table.as_ref(), config.needs_table())?;
        let budget = MemoryBudget::new(memory);
        if let Config::Pvs(pvs) = &config
            && u64::from(pvs.table_megabytes) << 20 > memory
        {
            let text = format!(
                "the transposition table of {} MiB is larger than the memory limit of {} MiB, so that it is smaller",
                pvs.table_megabytes,
                memory >> 20
            );
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 2)?;
        }
        let refused = |reason: &dyn std::error::Error| {
            exceptions::ArgumentError::new_err(shorten_quotes(&format!("{text}: {reason}")))
        };
        let prepared = config.prepare(setup, Some(&distances)).map_err(|error| refused(&error))?;
        let player = prepared.start(&budget).map_err(|error| refused(&error))?;
        let text = text.to_owned();
        Ok(Player { player: Mutex::new(Follower::new(player)), text, prepared, seed })
    }

    /// Returns up to `lines` moves of a position, best first. The player follows the moves since the first position.
    #[pyo3(signature = (position, *, playouts, nodes, depth, seconds, lines))]
    #[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python method")]
    fn analyse(
        &self,
        py: Python<'_>,
        position: &Position,
        playouts: Option<u64>,
        nodes: Option<u64>,
        depth: Option<u32>,
        seconds: Option<f64>,
        lines: usize,
    ) -> PyResult<Vec<FoundMove>> {
        if position.game.setup() != self.prepared.setup() {
            let text = |setup: GameSetup| {
                format!(
                    "{} with the ply limit {} and the rules {}",
                    setup.board,
                    setup.ply_limit,
                    setup.rules.option_name()
                )
            };
            let (expected, found) = (text(self.prepared.setup()), text(position.game.setup()));
            return Err(exceptions::ArgumentError::new_err(format!(
                "the player is of {expected}, and the position of {found}"
            )));
        }
        check_open(position)?;
        let limits = search_limits(playouts, nodes, depth, seconds)?;
        let config = self.prepared.config();
        if !config.ends_by(&limits) {
            let (search, other) =
                (config.search_name(), if matches!(config, Config::Pvs(_)) { "depth" } else { "playouts" });
            let text = format!(
                "a search by {search} does not end without a limit: give nodes=10000, {other}= or seconds=, for example"
            );
            return Err(exceptions::ArgumentError::new_err(text));
        }
        let found = run_until_stopped(py, |stop| {
            let mut player = self.player.lock().unwrap_or_else(PoisonError::into_inner);
            player.forget();
            let player = player.follow(&position.start, &position.actions, self.seed);
            analyse(player, &position.state, limits, lines, stop)
        })?;
        let geometry = position.game.geometry();
        let row = |found: sternhalma_engine::AnalysedMove| {
            let (info, spent) = (&found.info, found.info.spent);
            let value = info.value.map(value_pair);
            let line = info.line.iter().map(|&action| action_text(geometry, action)).collect();
            let seconds = spent.time.as_secs_f64();
            let mv = action_text(geometry, found.action);
            (mv, value, spent.depth, spent.expansions, spent.playouts, seconds, line)
        };
        Ok(found.into_iter().map(row).collect())
    }
}
