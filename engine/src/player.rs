//! Players that are ready to play: [`Config::prepare`] and [`PreparedPlayer`].

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sternhalma_data::{Board, Move};
use sternhalma_ggp::alpha_beta::{AlphaBetaResult, Heuristic, WIN, alpha_beta};
use sternhalma_ggp::arena::WEIGHTS_CHECKSUM;
use sternhalma_ggp::mcts::{Cutoff, FixedDepth, LengthBonus, MctsConfig, Playout, Puct, Selection, ToTheEnd};
use sternhalma_ggp::policy::{PartsVisitor, SelectionPolicy, SelectionVisitor};
use sternhalma_ggp::{Limits, Mcts, MemoryBudget, Rng, SearchStats};
use thiserror::Error;

use crate::adversaries::{self, Adversary};
use crate::config::{AlphaBetaConfig, Config, Evaluation, PlayoutEnd, PositionalEvaluation, TreePolicy, UctConfig};
use crate::distance::Distances;
use crate::engine_player::{Choice, EnginePlayer, SearchInfo, SearchObserver, SearchValue, forced, only_action};
use crate::evaluate::{MeanRow, Separated, TableDifference, TableForesight};
use crate::filter::{Filter, random_move};
use crate::fortress::Fortress;
use crate::game::{Action, ChineseCheckers, GameSetup, GameState, Placement};
use crate::learned::{FIRST_BUILT_IN, LearnedWeights, WeightsError};
use crate::level::LevelPlayer;
use crate::playout::FarthestMix;
use crate::pvs::{AllocationError, PvsPlayer};
use crate::repetition::Repetitions;

/// The maximum number of moves in a tree: about 1.6 GB, or 2.1 GB with guided
/// selection. A full tree does not grow.
const MOST_EDGES: usize = 1 << 26;

/// The number of expansions at which Monte-Carlo search reports first. The
/// search reports again whenever the number has doubled.
const FIRST_REPORT: u64 = 1 << 17;

/// The length from which on a simulation's reward does not change.
const LENGTH_HORIZON: u32 = 100;

/// A player whose parameters, distance table and learned weights are ready, so that games can start.
///
/// Nothing is read after [`Config::prepare`]: the files may change or vanish while the player is in use.
#[derive(Clone)]
pub struct PreparedPlayer {
    config: Config,
    setup: GameSetup,
    /// The distances, if the player needs a table.
    distances: Option<Distances>,
    weights: Option<LearnedWeights>,
    start: Arc<Start>,
}

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
        self.prepare_with(setup, distances, self.learned_weights(setup.board)?)
    }

    fn prepare_with(
        &self,
        setup: GameSetup,
        distances: Option<&Distances>,
        weights: Option<LearnedWeights>,
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
                        let heuristic = TableDifference { distances: table()?, weight: 0.0 };
                        without_memory(move || AlphaBeta::new(heuristic.clone(), game.clone(), depth, is_complete))
                    }
                }
            }
            Config::Pvs(pvs) => {
                let (game, pvs, table, weights) = (game(pvs.moves), pvs.clone(), table()?, weights.clone());
                let start = move |memory: &MemoryBudget| {
                    let player = PvsPlayer::new(game.clone(), &pvs, table.clone(), weights.as_ref(), memory)?;
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
    fn learned_weights(&self, board: Board) -> Result<Option<LearnedWeights>, PrepareError> {
        let path = match self {
            Config::Pvs(config) if config.evaluation != PositionalEvaluation::Rows => &config.weights,
            _ => return Ok(None),
        };
        if path.is_empty() {
            return Ok(LearnedWeights::built_in(board));
        }
        let bytes = std::fs::read(path).map_err(|source| PrepareError::Unreadable { path: path.clone(), source })?;
        let weights =
            LearnedWeights::parse(&bytes).map_err(|source| PrepareError::Weights { path: path.clone(), source })?;
        match weights.board == board {
            true => Ok(Some(weights)),
            false => Err(PrepareError::OtherWeights { path: path.clone(), weights: weights.board, game: board }),
        }
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
        self.weights.as_ref()
    }

    /// Returns the description that identifies the player in logs: its parameters, the checksums of its table and of
    /// its learned weights, and the revision of its policy.
    ///
    /// The first built-in weights have no checksum there, because logs of earlier versions have none.
    pub fn identity(&self) -> Value {
        let hex = |checksum: u64| format!("{checksum:016x}");
        let table = self.distances.as_ref().and_then(Distances::table);
        let mut identity = json!({ "player": self.config, "table": table.map(|table| hex(table.checksum())) });
        let weights = self.weights.as_ref().map(LearnedWeights::checksum);
        if let Some(weights) = weights.filter(|sum| self.config.reads_file() || !FIRST_BUILT_IN.contains(sum)) {
            identity[WEIGHTS_CHECKSUM] = hex(weights).into();
        }
        if let Some(revision) = self.config.revision() {
            identity["revision"] = revision.into();
        }
        identity
    }
}

/// Returns the start of a player that takes no memory from the budget.
fn without_memory<P: EnginePlayer + 'static>(create: impl Fn() -> P + Send + Sync + 'static) -> Arc<Start> {
    Arc::new(move |_| Ok(Box::new(create())))
}

fn one_ply(game: Arc<ChineseCheckers>, action: OnePlyRule) -> Arc<Start> {
    without_memory(move || OnePly { game: game.clone(), rng: Rng::seed_from_u64(0), action })
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
        _ if uct.selection == TreePolicy::Guided => {
            let foresight = TableForesight { distances: table()?, weight };
            let selection = Puct::new(foresight, uct.c, uct.temperature * weight);
            let parts = (selection, FarthestMix::new(uct.random), to_depth(table()?));
            Arc::new(move |memory| Ok(Box::new(UctPlayer::new(game.clone(), &uct, parts.clone(), memory))))
        }
        PlayoutEnd::PlayedOut => Arc::new(move |memory| Ok(uct_player(&game, &uct, ToTheEnd, memory))),
        PlayoutEnd::FixedDepth => {
            let cutoff = to_depth(table()?);
            Arc::new(move |memory| Ok(uct_player(&game, &uct, cutoff.clone(), memory)))
        }
        PlayoutEnd::Separated => {
            let cutoff = Separated::new(&game, table()?);
            Arc::new(move |memory| Ok(uct_player(&game, &uct, cutoff.clone(), memory)))
        }
    })
}

/// Creates a player with a cutoff for playouts, and with its own or configured
/// parts.
fn uct_player<C>(
    game: &Arc<ChineseCheckers>,
    config: &UctConfig,
    cutoff: C,
    memory: &MemoryBudget,
) -> Box<dyn EnginePlayer>
where
    C: Cutoff<ChineseCheckers> + Clone + Send + 'static,
{
    let search = config.search();
    let builder = PlayerBuilder { game: game.clone(), config, cutoff, memory };
    match search.filter(|_| !config.has_own_playouts()) {
        Some(search) => search.visit(&**game, 0, builder),
        None => {
            let selection = search.map_or(SelectionPolicy::Uct { c: config.c }, |search| search.selection);
            selection.visit(WithOwnPlayout(builder))
        }
    }
}

/// Creates a player from a selection and the playout of the player itself.
struct WithOwnPlayout<'a, C>(PlayerBuilder<'a, C>);

impl<C: Cutoff<ChineseCheckers> + Clone + Send + 'static> SelectionVisitor<ChineseCheckers> for WithOwnPlayout<'_, C> {
    type Made = Box<dyn EnginePlayer>;

    fn visit<S: Selection<ChineseCheckers> + Clone + Send + 'static>(self, selection: S) -> Box<dyn EnginePlayer> {
        let playout = FarthestMix::new(self.0.config.random);
        self.0.visit(selection, playout)
    }
}

/// Creates a player from a selection and a playout.
struct PlayerBuilder<'a, C> {
    game: Arc<ChineseCheckers>,
    config: &'a UctConfig,
    cutoff: C,
    memory: &'a MemoryBudget,
}

impl<C: Cutoff<ChineseCheckers> + Clone + Send + 'static> PartsVisitor<ChineseCheckers> for PlayerBuilder<'_, C> {
    type Made = Box<dyn EnginePlayer>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn EnginePlayer>
    where
        S: Selection<ChineseCheckers> + Clone + Send + 'static,
        P: Playout<ChineseCheckers> + Clone + Send + 'static,
    {
        Box::new(UctPlayer::new(self.game, self.config, (selection, playout, self.cutoff), self.memory))
    }
}

struct UctPlayer<S: Selection<ChineseCheckers>, P, C> {
    game: Arc<ChineseCheckers>,
    config: UctConfig,
    /// The parts in their state before a game.
    parts: (S, P, C),
    mcts: Mcts<ChineseCheckers, S, P, C>,
    memory: MemoryBudget,
}

impl<S, P, C> UctPlayer<S, P, C>
where
    S: Selection<ChineseCheckers> + Clone,
    P: Playout<ChineseCheckers> + Clone,
    C: Cutoff<ChineseCheckers> + Clone,
{
    fn new(
        game: Arc<ChineseCheckers>,
        config: &UctConfig,
        parts: (S, P, C),
        memory: &MemoryBudget,
    ) -> UctPlayer<S, P, C> {
        let own = config.search().and_then(|search| search.memory);
        let memory = memory.part(own.unwrap_or(u64::MAX));
        let mcts = search(config, parts.clone(), 0).within(&memory);
        UctPlayer { game, config: config.clone(), parts, mcts, memory }
    }
}

fn search<S, P, C>(config: &UctConfig, parts: (S, P, C), seed: u64) -> Mcts<ChineseCheckers, S, P, C>
where
    S: Selection<ChineseCheckers>,
    P: Playout<ChineseCheckers>,
    C: Cutoff<ChineseCheckers>,
{
    let search = config.search();
    let settings = MctsConfig {
        expansion_threshold: config.threshold,
        length_bonus: LengthBonus { weight: config.length_weight, horizon: LENGTH_HORIZON },
        decision: search.map_or_else(|| config.decision.into(), |search| search.decision),
        max_edges: MOST_EDGES,
        transpositions: config.transpositions || search.is_some_and(|search| search.transpositions),
        tree_gamma: search.map_or(1.0, |search| search.tree_gamma),
        solver: search.is_some_and(|search| search.solver),
    };
    let (selection, playout, cutoff) = parts;
    Mcts::new(selection, playout, cutoff, settings, seed).tuned(search.and_then(|search| search.tuning.clone()), false)
}

impl<S, P, C> EnginePlayer for UctPlayer<S, P, C>
where
    S: Selection<ChineseCheckers> + Clone + Send,
    P: Playout<ChineseCheckers> + Clone + Send,
    C: Cutoff<ChineseCheckers> + Clone + Send,
{
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        if let Some(action) = only_action(&self.game, state) {
            return Choice { action, spent: SearchStats::default() };
        }
        let found = self.mcts.search(&self.game, state, state.player() as usize, limits, stop);
        Choice { action: found.best, spent: found.spent }
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        if let Some(action) = only_action(&self.game, state) {
            return forced(action, watch);
        }
        let role = state.player() as usize;
        let mut spent = SearchStats::default();
        let mut report = FIRST_REPORT;
        loop {
            let part = limits.and(Limits::expansions(report));
            let found = self.mcts.resume(&self.game, state, role, part, stop, spent);
            spent = found.spent;
            let value = found.value().map(SearchValue::of_mean);
            watch(&SearchInfo { spent, value, is_race: false, line: self.mcts.principal_variation() });
            // A part that ends before its report reached the time limit or was
            // stopped.
            if spent.expansions_counted() < report || limits.counted_out(&spent) {
                return Choice { action: found.best, spent };
            }
            report *= 2;
        }
    }

    fn observe(&mut self, action: Action) {
        self.mcts.advance(&self.game, &[action]);
    }

    fn reset(&mut self, seed: u64) {
        self.mcts = search(&self.config, self.parts.clone(), seed).within(&self.memory);
    }
}

struct AlphaBeta<H> {
    game: Arc<ChineseCheckers>,
    heuristic: H,
    depth: u32,
    /// Whether the search considers all moves.
    is_complete: bool,
    /// The state of the game after the last action, if it is known.
    now: Option<GameState>,
    played: Repetitions,
}

impl<H> AlphaBeta<H> {
    fn new(heuristic: H, game: Arc<ChineseCheckers>, depth: u32, is_complete: bool) -> AlphaBeta<H> {
        AlphaBeta { game, heuristic, depth, is_complete, now: None, played: Repetitions::default() }
    }

    fn see(&mut self, state: &GameState) {
        if self.now != Some(*state) {
            self.now = Some(*state);
            self.played.push(&self.game, state);
        }
    }

    /// Returns whether a result of the search in some plies is proven. The search sees neither the moves that its
    /// filter excludes nor draws by repetition, which cannot come before the result of one move.
    fn is_proof(&self, plies: u32) -> bool {
        plies <= 1 || self.is_complete && self.played.none_is_due()
    }
}

impl<H: Heuristic<ChineseCheckers> + Send> EnginePlayer for AlphaBeta<H> {
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        self.think(state, limits, stop, &mut |_| ())
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        self.see(state);
        if let Some(action) = only_action(&self.game, state) {
            return forced(action, watch);
        }
        let limits = limits.and(Limits::depth(self.depth));
        let AlphaBetaResult { best: action, value, spent } =
            alpha_beta(&*self.game, state, &mut self.heuristic, limits, stop);
        // A win in n plies has the value `WIN` - n, far above any lead.
        let value = match value {
            // No depth was completely searched.
            _ if spent.depth == 0 => None,
            won if won > WIN / 2.0 => Some(SearchValue::Won((WIN - won) as u32)),
            lost if lost < -WIN / 2.0 => Some(SearchValue::Lost((WIN + lost) as u32)),
            lead => Some(SearchValue::Lead(lead)),
        };
        let value = value.filter(|value| match *value {
            SearchValue::Won(plies) => self.is_proof(plies),
            SearchValue::Lost(plies) => self.is_proof(plies + 1),
            _ => true,
        });
        // The search keeps only the first move of its line.
        watch(&SearchInfo { spent, value, is_race: false, line: vec![action] });
        Choice { action, spent }
    }

    fn observe(&mut self, action: Action) {
        if let Some(mut state) = self.now {
            self.game.play_action(&mut state, action);
            self.see(&state);
        }
    }

    fn begin(&mut self, start: &GameState) {
        self.see(start);
    }

    fn reset(&mut self, _: u64) {
        (self.now, self.played) = (None, Repetitions::default());
    }
}

const ONE_EXPANSION: SearchStats =
    SearchStats { playouts: 0, expansions: 1, depth: 1, time: std::time::Duration::ZERO, memory_limited: false };

/// A player that compares its moves without a search.
struct OnePly {
    game: Arc<ChineseCheckers>,
    rng: Rng,
    action: OnePlyRule,
}

/// Chooses a move.
type OnePlyRule = fn(&ChineseCheckers, &GameState, &mut Rng) -> Action;

impl EnginePlayer for OnePly {
    fn choose(&mut self, state: &GameState, _: Limits, _: &AtomicBool) -> Choice {
        Choice { action: (self.action)(&self.game, state, &mut self.rng), spent: ONE_EXPANSION }
    }

    fn reset(&mut self, seed: u64) {
        self.rng = Rng::seed_from_u64(seed);
    }
}

/// The player [`Fortress`].
struct FortressPlayer {
    game: Arc<ChineseCheckers>,
    fortress: Fortress,
    rng: Rng,
}

impl FortressPlayer {
    fn new(game: Arc<ChineseCheckers>) -> FortressPlayer {
        FortressPlayer { fortress: Fortress::new(game.board()), game, rng: Rng::seed_from_u64(0) }
    }
}

impl EnginePlayer for FortressPlayer {
    fn choose(&mut self, state: &GameState, _: Limits, _: &AtomicBool) -> Choice {
        Choice { action: self.fortress.choose(&self.game, state, &mut self.rng), spent: ONE_EXPANSION }
    }

    fn reset(&mut self, seed: u64) {
        self.rng = Rng::seed_from_u64(seed);
    }
}

/// A player of `adversaries.rs`.
struct AdversaryPlayer {
    game: Arc<ChineseCheckers>,
    /// The state of the game after the last action, if it is known.
    now: Option<GameState>,
    placements: Vec<Placement>,
    rng: Rng,
    action: Adversary,
}

impl AdversaryPlayer {
    fn new(game: Arc<ChineseCheckers>, action: Adversary) -> AdversaryPlayer {
        AdversaryPlayer { game, now: None, placements: Vec::new(), rng: Rng::seed_from_u64(0), action }
    }

    fn see(&mut self, state: &GameState) {
        if self.now != Some(*state) {
            self.now = Some(*state);
            self.placements.push(state.placement());
        }
    }
}

impl EnginePlayer for AdversaryPlayer {
    fn choose(&mut self, state: &GameState, _: Limits, _: &AtomicBool) -> Choice {
        self.see(state);
        let action = (self.action)(&self.game, state, &self.placements, &mut self.rng);
        Choice { action, spent: ONE_EXPANSION }
    }

    fn observe(&mut self, action: Action) {
        if let Some(mut state) = self.now {
            self.game.play_action(&mut state, action);
            self.see(&state);
        }
    }

    fn begin(&mut self, start: &GameState) {
        self.see(start);
    }

    fn reset(&mut self, seed: u64) {
        (self.now, self.rng) = (None, Rng::seed_from_u64(seed));
        self.placements.clear();
    }
}

/// Returns a move with the largest advance (ties: the rearmost piece, then random).
fn greedy(game: &ChineseCheckers, state: &GameState, rng: &mut Rng) -> Action {
    let player = state.player();
    let (mut best, mut moves) = (None, Vec::new());
    for (from, to) in game.pieces(state, Filter::All).iter() {
        // In goal order, cells in farther rows have larger indices.
        let behind = game.geometry().row(from.to_goal_order(game.board(), player));
        for to in to {
            let mv = Move { from, to };
            let key = Some((game.advance(player, mv), behind));
            if key > best {
                best = key;
                moves.clear();
            }
            if key == best {
                moves.push(mv);
            }
        }
    }
    (!moves.is_empty()).then(|| moves[rng.random_range(0..moves.len())])
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;
    use sternhalma_ggp::Game;

    use super::*;
    use crate::config::Roster;

    #[test]
    fn a_search_in_parts_is_the_search_in_one() {
        let board = Board::new(7, 3).unwrap();
        let config = Roster::built_in().config("base0").unwrap();
        let prepared = config.prepare(GameSetup::new(board), None).unwrap();
        let state = ChineseCheckers::new(board, Filter::All).initial();
        let go = AtomicBool::new(false);
        let counted =
            |choice: Choice| Choice { spent: SearchStats { time: Default::default(), ..choice.spent }, ..choice };
        for (limits, parts) in [
            (Limits::expansions(FIRST_REPORT), 1),
            (Limits::expansions(FIRST_REPORT + 1), 1),
            (Limits::expansions(5 * FIRST_REPORT), 4),
            (Limits::playouts(30_000), 3),
        ] {
            let mut players = [(); 2].map(|()| prepared.start(&MemoryBudget::unlimited()).unwrap());
            players.iter_mut().for_each(|player| player.reset(7));
            let [one, other] = &mut players;
            let mut seen = Vec::new();
            let choice = other.think(&state, limits, &go, &mut |info| seen.push(info.clone()));
            assert_eq!(counted(one.choose(&state, limits, &go)), counted(choice), "{limits:?}");
            // The last simulation of a part may exceed the next limit.
            assert!(seen.len().abs_diff(parts) <= 1, "{limits:?}: {}", seen.len());
            let last = &seen[seen.len() - 1];
            assert_eq!((last.line[0], last.spent), (choice.action, choice.spent));
            assert!(matches!(last.value, Some(SearchValue::Reward(value)) if value.abs() <= 1.0));
        }
    }
}
