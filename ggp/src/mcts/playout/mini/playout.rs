//! The strategies as the playout of a search.

use rand::RngExt;

use super::allocation::{Allocator, StrategyAllocation, StrategyTally};
use super::history::History;
use super::scoring::{self, StateScore};
use super::strategy::{MiniConfig, Strategy};
use super::symbols::SymbolCounts;
use crate::features::{Degree, DegreeBuffers, StateFeatures, Successors};
use crate::game::{Game, NOOP, Turn};
use crate::mcts::move_history::MoveHistory;
use crate::mcts::playout::{Phase, Playout};
use crate::rng::Rng;
use crate::util::FluentSet;

/// The share of the start clock in which symbols are counted.
const LEARNING: f64 = 0.95;
/// The steps of a playout in which mobility counts.
const MOBILE_STEPS: usize = 6;
/// The states to which a new one is compared, the one it follows included.
const MEMORY: usize = 3;

/// The playout of MINI-Player (paper 002, sections V and VI): our role
/// follows one strategy in each simulation, allocated by how strategies have
/// done so far, and the others follow the history heuristic.
///
/// Untried moves in the tree are chosen as those of playouts are. Where roles
/// act at once, the others' moves for judging ours are drawn once for all of
/// our moves, and those that are played are drawn by themselves.
///
/// Symbols are counted in the simulations of the first 95% of the start
/// clock. Until then SSC is not allocated, from then on it is; a match without
/// a start clock has learnt nothing, and SSC is random.
pub struct MiniPlayout<G: Game> {
    config: MiniConfig,
    anatomy: Box<dyn StateFeatures<G>>,
    /// The role that the search is for.
    role: usize,
    history: History,
    allocator: Allocator,
    symbols: Symbols,
    /// The place among the strategies of that of the simulation under way.
    current: usize,
    /// The length of the trail at which the playout began, once it has.
    playout_from: Option<usize>,
    /// The last states of the simulation, the last first.
    recent: Vec<FluentSet>,
    /// How many of them there are.
    known: usize,
    buffers: MiniBuffers<G::Move>,
}

// A derived one would ask for games that can be cloned.
impl<G: Game> Clone for MiniPlayout<G> {
    fn clone(&self) -> Self {
        MiniPlayout {
            config: self.config.clone(),
            anatomy: self.anatomy.clone(),
            role: self.role,
            history: self.history.clone(),
            allocator: self.allocator.clone(),
            symbols: self.symbols.clone(),
            current: self.current,
            playout_from: self.playout_from,
            recent: self.recent.clone(),
            known: self.known,
            buffers: self.buffers.clone(),
        }
    }
}

/// What SSC knows.
#[derive(Clone, Debug)]
enum Symbols {
    Learning(SymbolCounts),
    /// The weight of each fact; nothing if all are 0.
    Learnt(Option<Vec<f64>>),
}

#[derive(Clone, Debug)]
struct MiniBuffers<M> {
    moves: Vec<M>,
    /// The moves of one of the others, and what each of them draws.
    options: Vec<M>,
    drawn: Vec<M>,
    joints: Vec<M>,
    successors: Successors,
    degree: DegreeBuffers,
    degrees: Vec<Degree>,
    counts: Vec<u32>,
    worths: Vec<StateScore>,
}

impl<G: Game> MiniPlayout<G> {
    /// A playout that has learnt nothing, for a search for moves of `role`.
    ///
    /// # Panics
    /// If the configuration has no strategy.
    pub fn new(game: &G, role: usize, anatomy: Box<dyn StateFeatures<G>>, config: MiniConfig) -> MiniPlayout<G> {
        assert!(!config.strategies.is_empty(), "there is a strategy to use");
        // Section IX names the number of players as future work, and E for games of one.
        let expected = if game.roles() == 1 { Strategy::Exploration } else { Strategy::Goal };
        let mut allocator = Allocator::new(config.allocation, config.strategies.len());
        let place = config.strategies.iter().position(|&strategy| strategy == expected);
        place.into_iter().for_each(|place| allocator.expect(place));
        let counts = || Symbols::Learning(SymbolCounts::new(anatomy.elements()));
        let symbols = if config.strategies.contains(&Strategy::Symbols) { counts() } else { Symbols::Learnt(None) };
        MiniPlayout {
            role,
            history: History::new(game.roles()),
            allocator,
            symbols,
            current: 0,
            playout_from: None,
            recent: vec![FluentSet::new(anatomy.facts()); MEMORY],
            known: 0,
            buffers: MiniBuffers {
                moves: Vec::new(),
                options: Vec::new(),
                drawn: Vec::new(),
                joints: Vec::new(),
                successors: Successors::default(),
                degree: DegreeBuffers::default(),
                degrees: Vec::new(),
                counts: Vec::new(),
                worths: Vec::new(),
            },
            config,
            anatomy,
        }
    }

    /// Whether AGE is left out, which would be random: by what is known before
    /// anything is played the rules give no tree of the goal, and there is
    /// something else to use (paper 002, section IX, names the analysis of rules
    /// as future work).
    fn is_without_goal(&self) -> bool {
        let others = |strategy: &Strategy| !matches!(strategy, Strategy::Goal | Strategy::Symbols);
        matches!(self.config.allocation, StrategyAllocation::Ucb { prior, .. } if prior > 1.0)
            && self.anatomy.goal_tree(self.role).is_none()
            && self.config.strategies.iter().any(others)
    }

    /// What each strategy was used for and came to.
    pub fn tallies(&self) -> impl Iterator<Item = (Strategy, StrategyTally)> {
        self.config.strategies.iter().copied().zip(self.allocator.tallies().iter().copied())
    }

    /// The average rewards of moves.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The strategy of the simulation under way.
    pub fn strategy(&self) -> Strategy {
        self.config.strategies[self.current]
    }

    /// Ends learning, if it is not over yet.
    fn settle_symbols(&mut self) {
        let Symbols::Learning(counts) = &self.symbols else { return };
        let weights = counts.weights();
        if weights.iter().all(|&weight| weight == 0.0) {
            self.symbols = Symbols::Learnt(None);
            return;
        }
        let weight =
            |fact| self.anatomy.elements_of(fact).iter().map(|&element| weights[element as usize]).sum::<f64>();
        self.symbols = Symbols::Learnt(Some((0..self.anatomy.facts()).map(weight).collect()));
    }

    /// The index of the move that a role tries of some.
    fn pick(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        moves: &[G::Move],
        steps: usize,
        rng: &mut Rng,
    ) -> usize {
        if moves.len() == 1 {
            return 0;
        }
        let strategy = if role == self.role { self.strategy() } else { Strategy::History };
        let chance = self.config.chances.of(strategy);
        if strategy == Strategy::Random || !rng.random_bool(chance) {
            return rng.random_range(0..moves.len());
        }
        if strategy == Strategy::History {
            return self.history.best(role, moves.iter().map(|&mv| game.number(role, mv)), rng);
        }
        let judges = match strategy {
            Strategy::Goal => self.anatomy.goal_tree(role).is_some(),
            Strategy::Symbols => matches!(self.symbols, Symbols::Learnt(Some(_))),
            Strategy::Mobility => steps < MOBILE_STEPS,
            _ => self.known > 0,
        };
        if !judges {
            return rng.random_range(0..moves.len());
        }
        self.judge(game, state, strategy, moves, rng);
        scoring::best(&self.buffers.worths, rng)
    }

    /// Judges each of our moves by the state after it.
    fn judge(&mut self, game: &G, state: &G::State, strategy: Strategy, moves: &[G::Move], rng: &mut Rng) {
        let mut joints = std::mem::take(&mut self.buffers.joints);
        joints.clear();
        match game.turn(state) {
            Turn::One(_) => joints.extend_from_slice(moves),
            Turn::All => self.join(game, state, moves, &mut joints, rng),
        }
        let with_mobility = strategy == Strategy::Mobility;
        let MiniBuffers { successors, degree, degrees, counts, worths, .. } = &mut self.buffers;
        self.anatomy.successors(game, state, &joints, with_mobility, successors);
        match (strategy, &self.symbols) {
            (Strategy::Goal, _) => {
                if let Some(tree) = self.anatomy.goal_tree(self.role) {
                    scoring::by_goal(successors, tree, degree, degrees, worths);
                }
            }
            (Strategy::Symbols, Symbols::Learnt(Some(weights))) => scoring::by_weights(successors, weights, worths),
            (Strategy::Mobility, _) => scoring::by_mobility(successors, game.roles(), self.role, worths),
            _ => scoring::by_novelty(successors, &self.recent[..self.known], counts, worths),
        }
        self.buffers.joints = joints;
    }

    /// The joint moves of each of our moves with one draw of the others'.
    fn join(&mut self, game: &G, state: &G::State, moves: &[G::Move], joints: &mut Vec<G::Move>, rng: &mut Rng) {
        let mut drawn = std::mem::take(&mut self.buffers.drawn);
        let mut options = std::mem::take(&mut self.buffers.options);
        drawn.clear();
        for role in 0..game.roles() {
            options.clear();
            game.playout_moves(state, role, &mut options);
            let choice = if role == self.role { 0 } else { self.pick(game, state, role, &options, 0, rng) };
            drawn.push(options[choice]);
        }
        for &mv in moves {
            let first = joints.len();
            joints.extend_from_slice(&drawn);
            joints[first + self.role] = mv;
        }
        self.buffers.drawn = drawn;
        self.buffers.options = options;
    }
}

impl<G: Game> Playout<G> for MiniPlayout<G> {
    const LEARNS: bool = true;
    const WATCHES: bool = true;

    fn play_for(&mut self, role: usize) {
        self.role = role;
    }

    fn begin(&mut self, _: &G, phase: Phase, _: &mut Rng) {
        self.history.begin();
        let (is_start, is_learning) = match phase {
            Phase::Start(gone) => (true, gone < LEARNING),
            Phase::Play => (false, false),
        };
        if !is_learning {
            self.settle_symbols();
        }
        if let Symbols::Learning(counts) = &mut self.symbols {
            counts.begin();
        }
        let is_without_goal = self.is_without_goal();
        let knows = |strategy: Strategy| match strategy {
            Strategy::Symbols => !is_learning,
            Strategy::Goal => !is_without_goal,
            _ => true,
        };
        let strategies = &self.config.strategies;
        // Where there is nothing else to use, it is used.
        let none = !strategies.iter().any(|&strategy| knows(strategy));
        self.current = self.allocator.next(|place| none || knows(strategies[place]), is_start);
        self.playout_from = None;
        self.known = 0;
    }

    fn watch(&mut self, game: &G, state: &G::State) {
        self.recent.rotate_right(1);
        self.anatomy.mark(game, state, &mut self.recent[0]);
        self.known = (self.known + 1).min(MEMORY);
        if let Symbols::Learning(counts) = &mut self.symbols {
            let facts = self.recent[0].iter();
            counts.watch(facts.flat_map(|fact| self.anatomy.elements_of(fact).iter().copied()));
        }
    }

    fn choose(&mut self, game: &G, state: &G::State, role: usize, trail: &MoveHistory, rng: &mut Rng) -> G::Move {
        let from = *self.playout_from.get_or_insert(trail.len());
        let mut moves = std::mem::take(&mut self.buffers.moves);
        moves.clear();
        game.playout_moves(state, role, &mut moves);
        let mv = moves[self.pick(game, state, role, &moves, trail.len() - from, rng)];
        self.buffers.moves = moves;
        mv
    }

    fn choose_untried(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        untried: &[G::Move],
        _: &MoveHistory,
        rng: &mut Rng,
    ) -> usize {
        self.pick(game, state, role, untried, 0, rng)
    }

    fn learn(&mut self, _: &G, trail: &MoveHistory, rewards: &[f64]) {
        for moves in trail.steps() {
            for (role, (&mv, &reward)) in moves.iter().zip(rewards).enumerate() {
                if mv < NOOP {
                    self.history.count(role, mv, reward);
                }
            }
        }
        self.allocator.learn(self.current, rewards[self.role]);
        if let Symbols::Learning(counts) = &mut self.symbols {
            counts.end(rewards[self.role] > self.anatomy.mean_goal(self.role));
        }
    }

    fn prefer(&self, game: &G, role: usize, mv: G::Move) -> f64 {
        self.history.average(role, game.number(role, mv)).unwrap_or(f64::NEG_INFINITY)
    }
}
