//! The strategies of MINI-Player as the playout of a search.

use rand::RngExt;
use sternhalma_game::features::{FoundSuccessors, GoalTree, StateFeatures, SuccessorPart};
use sternhalma_game::util::FluentSet;
use sternhalma_game::{Game, NOOP, Rng, SearchState, Turn};

use super::scoring::StateScore;
use super::{Allocator, History, MiniConfig, Strategy, StrategyAllocation, StrategyTally, SymbolCounts, scoring};
use crate::{Foresight, MoveHistory, Playout};

/// The fraction of the start clock in which symbols are counted.
const LEARNING: f64 = 0.95;
/// The number of playout steps in which mobility is used.
const MOBILE_STEPS: usize = 6;
/// The number of earlier states that a new state is compared with, including
/// its predecessor.
const MEMORY: usize = 3;

/// The playout of MINI-Player [Świechowski and Mańdziuk 2014, sections V and
/// VI].
///
/// Our role follows one strategy per simulation, allocated by the success of
/// the strategies; the other roles follow their [model](super::OpponentModel). Untried moves
/// in the tree are chosen like those of playouts. If roles act simultaneously,
/// the moves of the others are drawn once to evaluate all of our moves; the
/// moves that are played are a separate draw.
///
/// Symbols are counted in the simulations of the first 95% of the start clock.
/// SSC is allocated only afterwards. In a match without a start clock SSC has
/// learnt nothing and plays random moves.
pub struct MiniPlayout<G: Game> {
    config: MiniConfig,
    features: Option<Box<dyn StateFeatures<G>>>,
    /// The role that the search is for.
    role: usize,
    history: History,
    allocator: Allocator,
    symbols: Symbols,
    /// The index of the strategy of the current simulation.
    current: usize,
    /// The length of the history when the playout began, if it has begun.
    playout_from: Option<usize>,
    /// The last states of the simulation, latest first.
    recent: Vec<FluentSet>,
    /// The number of valid entries of `recent`.
    known: usize,
    buffers: MiniBuffers<G::Move>,
}

// A derived implementation would require `G: Clone`.
impl<G: Game> Clone for MiniPlayout<G> {
    fn clone(&self) -> Self {
        MiniPlayout {
            config: self.config.clone(),
            features: self.features.clone(),
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

/// The knowledge of SSC.
#[derive(Clone, Debug)]
enum Symbols {
    Learning(SymbolCounts),
    /// The weight of each fact; `None` if all are 0.
    Learnt(Option<Vec<f64>>),
}

#[derive(Clone, Debug)]
struct MiniBuffers<M> {
    moves: Vec<M>,
    /// The moves of one other role, and the draw of each role.
    options: Vec<M>,
    drawn: Vec<M>,
    joints: Vec<M>,
    found: FoundSuccessors,
    worths: Vec<StateScore>,
}

impl<G: Game> MiniPlayout<G> {
    /// Creates a playout without knowledge, for a search for moves of `role`.
    /// Without features, it uses only the strategies that need none.
    ///
    /// # Panics
    ///
    /// Panics if the configuration has no strategy.
    pub fn new(game: &G, role: usize, features: Option<Box<dyn StateFeatures<G>>>, config: MiniConfig) -> Self {
        let config = if features.is_some() { config } else { config.blind() };
        assert!(!config.strategies.is_empty(), "there is a strategy to use");
        // [Świechowski and Mańdziuk 2014, section IX] name the number of
        // players as future work, and E for one-player games.
        let expected = if game.roles() == 1 { Strategy::Exploration } else { Strategy::Goal };
        let mut allocator = Allocator::new(config.allocation, config.strategies.len());
        let place = config.strategies.iter().position(|&strategy| strategy == expected);
        place.into_iter().for_each(|place| allocator.expect(place));
        let facts = features.as_ref().map_or(0, |features| features.facts());
        let counts =
            || Symbols::Learning(SymbolCounts::new(features.as_ref().map_or(0, |features| features.elements())));
        let symbols = if config.strategies.contains(&Strategy::Symbols) { counts() } else { Symbols::Learnt(None) };
        MiniPlayout {
            role,
            history: History::new(game.roles()),
            allocator,
            symbols,
            current: 0,
            playout_from: None,
            recent: vec![FluentSet::new(facts); MEMORY],
            known: 0,
            buffers: MiniBuffers {
                moves: Vec::new(),
                options: Vec::new(),
                drawn: Vec::new(),
                joints: Vec::new(),
                found: FoundSuccessors::default(),
                worths: Vec::new(),
            },
            config,
            features,
        }
    }

    /// Returns whether AGE is omitted: the rules give no goal tree, so AGE
    /// would be random, and another strategy is available.
    ///
    /// The analysis of rules is future work of [Świechowski and Mańdziuk 2014,
    /// section IX].
    fn is_without_goal(&self) -> bool {
        let others = |strategy: &Strategy| !matches!(strategy, Strategy::Goal | Strategy::Symbols);
        matches!(self.config.allocation, StrategyAllocation::Ucb { prior, .. } if prior > 1.0)
            && self.goal_tree(self.role).is_none()
            && self.config.strategies.iter().any(others)
    }

    /// Returns the simulations and rewards of each strategy.
    pub fn tallies(&self) -> impl Iterator<Item = (Strategy, StrategyTally)> {
        self.config.strategies.iter().copied().zip(self.allocator.tallies().iter().copied())
    }

    fn goal_tree(&self, role: usize) -> Option<&GoalTree> {
        self.features.as_ref()?.goal_tree(role)
    }

    /// Returns the strategy of the current simulation.
    pub fn strategy(&self) -> Strategy {
        self.config.strategies[self.current]
    }

    /// Ends the learning of symbols, if it has not ended.
    fn settle_symbols(&mut self) {
        let (Symbols::Learning(counts), Some(features)) = (&self.symbols, &self.features) else { return };
        let weights = counts.weights();
        if weights.iter().all(|&weight| weight == 0.0) {
            self.symbols = Symbols::Learnt(None);
            return;
        }
        let weight = |fact| features.elements_of(fact).iter().map(|&element| weights[element as usize]).sum::<f64>();
        self.symbols = Symbols::Learnt(Some((0..features.facts()).map(weight).collect()));
    }

    /// Draws how a role chooses its move. `steps` is the number of steps of the playout, or `None` in the tree.
    fn draw_rule(&self, role: usize, steps: Option<usize>, rng: &mut Rng) -> ChoiceRule {
        let strategy =
            if role == self.role { self.strategy() } else { self.config.opponents.strategy(steps.is_none()) };
        if strategy == Strategy::Random || !rng.random_bool(self.config.chances.of(strategy)) {
            return ChoiceRule::Random;
        }
        let judges = match strategy {
            Strategy::History => return ChoiceRule::History,
            Strategy::Goal => self.goal_tree(role).is_some(),
            Strategy::Symbols => matches!(self.symbols, Symbols::Learnt(Some(_))),
            Strategy::Mobility => steps.unwrap_or(0) < MOBILE_STEPS,
            Strategy::Random | Strategy::Exploration => true,
        };
        if judges { ChoiceRule::Judge(strategy) } else { ChoiceRule::Random }
    }

    /// Returns the index of the move that a role tries among some moves.
    fn pick(
        &mut self,
        game: &G,
        state: &impl SearchState<G>,
        role: usize,
        moves: &[G::Move],
        steps: Option<usize>,
        rng: &mut Rng,
    ) -> usize {
        if moves.len() == 1 {
            return 0;
        }
        match self.draw_rule(role, steps, rng) {
            ChoiceRule::Random => rng.random_range(0..moves.len()),
            ChoiceRule::History => self.history.best(role, moves.iter().map(|&mv| game.number(role, mv)), rng),
            ChoiceRule::Judge(strategy) => {
                let mut joints = std::mem::take(&mut self.buffers.joints);
                self.join(game, state, moves, steps, &mut joints, rng);
                self.judge(game, state, strategy, &joints);
                self.buffers.joints = joints;
                scoring::best(&self.buffers.worths, rng)
            }
        }
    }

    /// Evaluates the states after some joint moves by a strategy, and writes the scores to `buffers.worths`. The strategy
    /// must have what it needs: features, and for AGE a goal tree.
    fn judge(&mut self, game: &G, state: &impl SearchState<G>, strategy: Strategy, joints: &[G::Move]) {
        let Some(features) = &mut self.features else { return };
        let MiniBuffers { found, worths, .. } = &mut self.buffers;
        state.successors(game, &mut **features, joints, part_for(strategy, self.role), found);
        match (strategy, &self.symbols) {
            (Strategy::Goal, _) => scoring::by_goal(&found.degrees, worths),
            (Strategy::Symbols, Symbols::Learnt(Some(weights))) => scoring::by_weights(&found.facts, weights, worths),
            (Strategy::Mobility, _) => scoring::by_mobility(&found.states, game.roles(), self.role, worths),
            // E: `draw_rule` excludes all other cases.
            _ => scoring::by_novelty(&found.facts, &self.recent[..self.known], worths),
        }
    }

    /// Sets `joints` to the joint moves of each of our moves, with one draw of the other roles' moves.
    fn join(
        &mut self,
        game: &G,
        state: &impl SearchState<G>,
        moves: &[G::Move],
        steps: Option<usize>,
        joints: &mut Vec<G::Move>,
        rng: &mut Rng,
    ) {
        joints.clear();
        if let Turn::One(_) = state.turn(game) {
            joints.extend_from_slice(moves);
            return;
        }
        let mut drawn = std::mem::take(&mut self.buffers.drawn);
        drawn.clear();
        for role in 0..game.roles() {
            drawn.push(if role == self.role { moves[0] } else { self.draw(game, state, role, steps, rng) });
        }
        for &mv in moves {
            let first = joints.len();
            joints.extend_from_slice(&drawn);
            joints[first + self.role] = mv;
        }
        self.buffers.drawn = drawn;
    }

    /// Draws the move of another role.
    fn draw(
        &mut self,
        game: &G,
        state: &impl SearchState<G>,
        role: usize,
        steps: Option<usize>,
        rng: &mut Rng,
    ) -> G::Move {
        let mut options = std::mem::take(&mut self.buffers.options);
        options.clear();
        state.playout_moves(game, role, &mut options);
        let mv = options[self.pick(game, state, role, &options, steps, rng)];
        self.buffers.options = options;
        mv
    }

    /// Returns the number of steps of the playout after these moves of the simulation.
    fn steps(&self, history: &MoveHistory) -> usize {
        history.len() - self.playout_from.unwrap_or(history.len())
    }
}

/// Returns what a strategy of our role reads of the states after its moves.
fn part_for(strategy: Strategy, role: usize) -> SuccessorPart {
    match strategy {
        Strategy::Goal => SuccessorPart::Degrees { role },
        Strategy::Mobility => SuccessorPart::Mobility,
        _ => SuccessorPart::Facts,
    }
}

/// How a role chooses its move.
enum ChoiceRule {
    /// At random.
    Random,
    /// By the history heuristic.
    History,
    /// By the states after its moves.
    Judge(Strategy),
}

impl<G: Game, V: SearchState<G>> Playout<G, V> for MiniPlayout<G> {
    const LEARNS: bool = true;
    const READS_STATES: bool = true;

    fn play_for(&mut self, role: usize) {
        self.role = role;
    }

    fn begin(&mut self, _: &G, start_elapsed: Option<f64>, _: &mut Rng) {
        self.history.begin();
        let is_start = start_elapsed.is_some();
        let is_learning = start_elapsed.is_some_and(|elapsed| elapsed < LEARNING);
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
        // If no strategy is ready, all are used.
        let none = !strategies.iter().any(|&strategy| knows(strategy));
        self.current = self.allocator.next(|place| none || knows(strategies[place]), is_start);
        self.playout_from = None;
        self.known = 0;
    }

    fn watches_facts(&self) -> bool {
        self.features.is_some()
            && (matches!(self.symbols, Symbols::Learning(_)) || self.strategy() == Strategy::Exploration)
    }

    fn watch(&mut self, game: &G, state: &V) {
        let is_needed = Playout::<G, V>::watches_facts(self);
        let Some(features) = self.features.as_deref().filter(|_| is_needed) else { return };
        self.recent.rotate_right(1);
        state.mark(game, features, &mut self.recent[0]);
        self.known = (self.known + 1).min(MEMORY);
        if let Symbols::Learning(counts) = &mut self.symbols {
            let facts = self.recent[0].iter();
            counts.watch(facts.flat_map(|fact| features.elements_of(fact).iter().copied()));
        }
    }

    fn foresee(
        &mut self,
        game: &G,
        state: &V,
        untried: Option<&[G::Move]>,
        history: &MoveHistory,
        mut rng: Rng,
        joints: &mut Vec<G::Move>,
    ) -> Foresight {
        let acting = state.turn(game).acting(game.roles());
        if !acting.contains(&self.role) {
            return Foresight::Nothing;
        }
        let steps = untried.is_none().then(|| self.steps(history));
        // The roles before ours choose before it.
        for role in acting.start..self.role {
            self.draw(game, state, role, steps, &mut rng);
        }
        let mut moves = std::mem::take(&mut self.buffers.moves);
        moves.clear();
        match untried {
            Some(untried) => moves.extend_from_slice(untried),
            None => state.playout_moves(game, self.role, &mut moves),
        }
        let rule = if moves.len() == 1 { ChoiceRule::Random } else { self.draw_rule(self.role, steps, &mut rng) };
        let foresight = match rule {
            ChoiceRule::Judge(strategy) => {
                self.join(game, state, &moves, steps, joints, &mut rng);
                Foresight::Successors(part_for(strategy, self.role))
            }
            ChoiceRule::Random | ChoiceRule::History => Foresight::Nothing,
        };
        self.buffers.moves = moves;
        foresight
    }

    fn choose(&mut self, game: &G, state: &V, role: usize, history: &MoveHistory, rng: &mut Rng) -> G::Move {
        self.playout_from.get_or_insert(history.len());
        let mut moves = std::mem::take(&mut self.buffers.moves);
        moves.clear();
        state.playout_moves(game, role, &mut moves);
        let mv = moves[self.pick(game, state, role, &moves, Some(self.steps(history)), rng)];
        self.buffers.moves = moves;
        mv
    }

    fn choose_untried(
        &mut self,
        game: &G,
        state: &V,
        role: usize,
        untried: &[G::Move],
        _: &MoveHistory,
        rng: &mut Rng,
    ) -> usize {
        self.pick(game, state, role, untried, None, rng)
    }

    fn learn(&mut self, _: &G, history: &MoveHistory, rewards: &[f64]) {
        for moves in history.steps() {
            for (role, (&mv, &reward)) in moves.iter().zip(rewards).enumerate() {
                if mv < NOOP {
                    self.history.count(role, mv, reward);
                }
            }
        }
        self.allocator.learn(self.current, rewards[self.role]);
        if let (Symbols::Learning(counts), Some(features)) = (&mut self.symbols, &self.features) {
            counts.end(rewards[self.role] > features.mean_goal(self.role));
        }
    }

    fn memory(&self) -> usize {
        let symbols = match &self.symbols {
            Symbols::Learning(counts) => counts.bytes(),
            Symbols::Learnt(weights) => weights.as_ref().map_or(0, |weights| weights.capacity() * size_of::<f64>()),
        };
        self.history.bytes() + symbols
    }

    fn set_room(&mut self, bytes: usize) {
        self.history.set_room(bytes / 2);
        if let Symbols::Learning(counts) = &mut self.symbols {
            counts.set_room(bytes / 2);
        }
    }

    fn take_shortage(&mut self) -> bool {
        let symbols = match &mut self.symbols {
            Symbols::Learning(counts) => counts.take_shortage(),
            Symbols::Learnt(_) => false,
        };
        self.history.take_shortage() | symbols
    }

    fn preference(&self, game: &G, role: usize, mv: G::Move) -> f64 {
        self.history.average(role, game.number(role, mv)).unwrap_or(f64::NEG_INFINITY)
    }
}
