//! Players that are ready to play: [`Config::prepare`] and [`PreparedPlayer`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sternhalma_data::Board;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::mcts::{FixedDepth, Puct, ToTheEnd};
use thiserror::Error;

use crate::distances::Distances;
use crate::players::adversaries::{self, Adversary};
use crate::players::alpha_beta::AlphaBeta;
use crate::players::config::{AlphaBetaConfig, Config, Evaluation, PlayoutEnd, PositionalEvaluation, UctConfig};
use crate::players::evaluate::{MeanRow, Separated, TableDifference, TableForesight};
use crate::players::interface::EnginePlayer;
use crate::players::learned::{FIRST_BUILT_IN, LearnedWeights, WeightsError};
use crate::players::level::LevelPlayer;
use crate::players::one_ply::{AdversaryPlayer, FortressPlayer, OnePly, OnePlyRule, greedy};
use crate::players::playout::FarthestMix;
use crate::players::pvs::{AllocationError, PvsPlayer};
use crate::players::uct::{UctPlayer, uct_player};
use crate::rules::{ChineseCheckers, Filter, GameSetup, random_move};

/// A player whose parameters, distance table and learned weights are ready, so that games can start.
///
/// Nothing is read after [`Config::prepare`]: the files may change or vanish while the player is in use.
#[derive(Clone)]
pub struct PreparedPlayer {
    config: Config,
    setup: GameSetup,
    /// The distances, if the player needs a table.
    distances: Option<Distances>,
    weights: Option<Arc<LearnedWeights>>,
    start: Arc<Start>,
}

/// Learned weights by the name of their file. Players that are prepared with the same value read each file once.
#[derive(Default)]
pub struct WeightsFiles(Mutex<BTreeMap<String, Arc<LearnedWeights>>>);

/// Creates a player within a memory budget.
type Start = dyn Fn(&MemoryBudget) -> Result<Box<dyn EnginePlayer>, AllocationError> + Send + Sync;

/// The reason why a player cannot play a game.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The player needs a distance table, and has none.
    #[error("it needs a distance table of {0}")]
    NoTable(Board),
    /// The table is for another board.
    #[error("its table is of {table}, and the game of {game}")]
    OtherTable {
        /// The board of the table.
        table: Board,
        /// The board of the game.
        game: Board,
    },
    /// The file of learned weights cannot be read.
    #[error("{path}: cannot read the weights: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file does not contain learned weights.
    #[error("{path}: {source}")]
    Weights {
        /// The file.
        path: String,
        /// The cause.
        source: WeightsError,
    },
    /// The learned weights are for another board.
    #[error("{path}: the weights are for {weights}, and the game is on {game}")]
    OtherWeights {
        /// The file.
        path: String,
        /// The board of the weights.
        weights: Board,
        /// The board of the game.
        game: Board,
    },
}

impl Config {
    /// Prepares the player for games, with `distances` if it [needs a table](Config::needs_table). Reads the file of
    /// learned weights if there is one, and allocates no memory for searches.
    ///
    /// # Errors
    ///
    /// Returns an error if the player needs a table and has none, if the table or the weights are for another board, or
    /// if the weights cannot be read.
    pub fn prepare(&self, setup: GameSetup, distances: Option<&Distances>) -> Result<PreparedPlayer, PrepareError> {
        self.prepare_from(setup, distances, &WeightsFiles::default())
    }

    /// Prepares the player as [`prepare`](Config::prepare) does. Reads its file of learned weights only if `files` does
    /// not have it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`prepare`](Config::prepare).
    pub fn prepare_from(
        &self,
        setup: GameSetup,
        distances: Option<&Distances>,
        files: &WeightsFiles,
    ) -> Result<PreparedPlayer, PrepareError> {
        self.prepare_with(setup, distances, self.learned_weights(setup.board, files)?)
    }

    fn prepare_with(
        &self,
        setup: GameSetup,
        distances: Option<&Distances>,
        weights: Option<Arc<LearnedWeights>>,
    ) -> Result<PreparedPlayer, PrepareError> {
        let board = setup.board;
        let distances = match distances.filter(|_| self.needs_table()) {
            Some(found) if found.board() != board => {
                return Err(PrepareError::OtherTable { table: found.board(), game: board });
            }
            found => found.cloned(),
        };
        let table = || distances.clone().ok_or(PrepareError::NoTable(board));
        let game = |filter| Arc::new(ChineseCheckers::of(setup, filter));
        let start = match self {
            Config::Uct(uct) => prepare_uct(game(uct.moves), uct, table)?,
            Config::AlphaBeta(AlphaBetaConfig { depth, moves, evaluation }) => {
                let (game, depth, is_complete) = (game(*moves), *depth, *moves == Filter::All);
                match evaluation {
                    Evaluation::MeanRow => {
                        let heuristic = MeanRow::new(&game);
                        without_memory(move || AlphaBeta::new(heuristic.clone(), game.clone(), depth, is_complete))
                    }
                    Evaluation::Table => {
                        // Alpha-beta compares leads in moves; the weight is only for rewards.
                        let heuristic = TableDifference { distances: table()?, weight: 0.0 };
                        without_memory(move || AlphaBeta::new(heuristic.clone(), game.clone(), depth, is_complete))
                    }
                }
            }
            Config::Pvs(pvs) => {
                let (game, pvs, table, weights) = (game(pvs.moves), pvs.clone(), table()?, weights.clone());
                let start = move |memory: &MemoryBudget| {
                    let player = PvsPlayer::new(game.clone(), &pvs, table.clone(), weights.as_deref(), memory)?;
                    Ok::<Box<dyn EnginePlayer>, AllocationError>(match pvs.level {
                        Some(level) => Box::new(LevelPlayer::new(Box::new(player), level)),
                        None => Box::new(player),
                    })
                };
                Arc::new(start)
            }
            Config::Greedy => one_ply(game(Filter::All), greedy),
            Config::Random => {
                one_ply(game(Filter::All), |game, state, rng| random_move(&game.pieces(state, Filter::All), rng))
            }
            Config::Hoarder => adversary(game(Filter::All), adversaries::hoarder),
            Config::Straggler => adversary(game(Filter::All), adversaries::straggler),
            Config::Wall => adversary(game(Filter::All), adversaries::wall),
            Config::Fortress => {
                let game = game(Filter::All);
                without_memory(move || FortressPlayer::new(game.clone()))
            }
        };
        Ok(PreparedPlayer { config: self.clone(), setup, distances, weights, start })
    }

    /// Returns the learned weights of the player, from its file or the built-in ones of the board. `None` means that
    /// the player has none on this board.
    fn learned_weights(&self, board: Board, files: &WeightsFiles) -> Result<Option<Arc<LearnedWeights>>, PrepareError> {
        let path = match self {
            Config::Pvs(config) if config.evaluation != PositionalEvaluation::Rows => &config.weights,
            _ => return Ok(None),
        };
        if path.is_empty() {
            return Ok(LearnedWeights::built_in(board).map(Arc::new));
        }
        let weights = files.read(path)?;
        match weights.board == board {
            true => Ok(Some(weights)),
            false => Err(PrepareError::OtherWeights { path: path.clone(), weights: weights.board, game: board }),
        }
    }
}

impl WeightsFiles {
    fn read(&self, path: &str) -> Result<Arc<LearnedWeights>, PrepareError> {
        let mut files = self.0.lock().expect("no thread panics while it reads weights");
        if let Some(weights) = files.get(path) {
            return Ok(weights.clone());
        }
        let bytes = std::fs::read(path).map_err(|source| PrepareError::Unreadable { path: path.to_owned(), source })?;
        let weights =
            LearnedWeights::parse(&bytes).map_err(|source| PrepareError::Weights { path: path.to_owned(), source })?;
        Ok(files.entry(path.to_owned()).or_insert(Arc::new(weights)).clone())
    }
}

impl PreparedPlayer {
    /// Creates a player, whose search tree or transposition table takes its memory from `memory`.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not provide the memory of a transposition table.
    pub fn start(&self, memory: &MemoryBudget) -> Result<Box<dyn EnginePlayer>, AllocationError> {
        (self.start)(memory)
    }

    /// Prepares the player for other games on the same board, without reading its files again.
    ///
    /// # Panics
    ///
    /// Panics if the board differs.
    pub fn for_games(&self, setup: GameSetup) -> PreparedPlayer {
        assert_eq!(setup.board, self.setup.board, "a prepared player keeps its board");
        let prepared = self.config.prepare_with(setup, self.distances.as_ref(), self.weights.clone());
        prepared.expect("the table and the weights fit the board")
    }

    /// Returns the parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the board, the rules and the ply limit of the games.
    pub fn setup(&self) -> GameSetup {
        self.setup
    }

    /// Returns the learned weights, if the player has any.
    pub fn weights(&self) -> Option<&LearnedWeights> {
        self.weights.as_deref()
    }

    /// Returns the description that identifies the player in logs: its parameters, the checksums of its table and of
    /// its learned weights, and the revision of its policy.
    ///
    /// The first built-in weights have no checksum there, because logs of earlier versions have none.
    pub fn identity(&self) -> Value {
        let hex = |checksum: u64| format!("{checksum:016x}");
        let table = self.distances.as_ref().and_then(Distances::table);
        let mut identity = json!({ "player": self.config, "table": table.map(|table| hex(table.checksum())) });
        let weights = self.weights.as_deref().map(LearnedWeights::checksum);
        if let Some(weights) = weights.filter(|sum| self.config.reads_file() || !FIRST_BUILT_IN.contains(sum)) {
            identity["weights"] = hex(weights).into();
        }
        if let Some(revision) = self.config.revision() {
            identity["revision"] = revision.into();
        }
        identity
    }
}

/// Returns a logged [identity](PreparedPlayer::identity) as this version writes it, for a log that the player `own` is
/// to continue. Logs of earlier versions have no checksum of learned weights that were read from a file; they are taken
/// to be those of `own`.
pub(crate) fn renewed_identity(mut logged: Value, own: &Value) -> Value {
    if let Ok(config) = serde_json::from_value::<Config>(logged["player"].clone()) {
        logged["player"] = json!(config);
        if let (Some(weights), None) = (own.get("weights"), logged.get("weights")) {
            logged["weights"] = weights.clone();
        }
    }
    logged
}

/// Returns the start of a player that takes no memory from the budget.
fn without_memory<P: EnginePlayer + 'static>(create: impl Fn() -> P + Send + Sync + 'static) -> Arc<Start> {
    Arc::new(move |_| Ok(Box::new(create())))
}

fn one_ply(game: Arc<ChineseCheckers>, action: OnePlyRule) -> Arc<Start> {
    without_memory(move || OnePly::new(game.clone(), action))
}

fn adversary(game: Arc<ChineseCheckers>, action: Adversary) -> Arc<Start> {
    without_memory(move || AdversaryPlayer::new(game.clone(), action))
}

/// Prepares a player with Monte-Carlo tree search. `table` returns its distances.
fn prepare_uct(
    game: Arc<ChineseCheckers>,
    uct: &UctConfig,
    table: impl Fn() -> Result<Distances, PrepareError>,
) -> Result<Arc<Start>, PrepareError> {
    let (uct, weight) = (uct.clone(), uct.difference_weight);
    let depth = uct.depth;
    let to_depth = |distances| FixedDepth { depth, evaluator: TableDifference { distances, weight } };
    Ok(match uct.end {
        _ if uct.is_guided => {
            let foresight = TableForesight { distances: table()?, weight };
            let selection = Puct::new(foresight, uct.search.selection.c(), uct.temperature * weight);
            let parts = (selection, FarthestMix::new(uct.random), to_depth(table()?));
            Arc::new(move |memory| Ok(Box::new(UctPlayer::new(game.clone(), &uct, parts.clone(), memory))))
        }
        PlayoutEnd::PlayedOut => Arc::new(move |memory| Ok(uct_player(&game, &uct, ToTheEnd, memory))),
        PlayoutEnd::FixedDepth => {
            let cutoff = to_depth(table()?);
            Arc::new(move |memory| Ok(uct_player(&game, &uct, cutoff.clone(), memory)))
        }
        PlayoutEnd::Separated => {
            let cutoff = Separated::new(&game, table()?, uct.separation, uct.ties);
            Arc::new(move |memory| Ok(uct_player(&game, &uct, cutoff.clone(), memory)))
        }
    })
}
