//! The state features of a rulesheet.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use sternhalma_game::features::{GoalTree, StateFeatures, Successors};
use sternhalma_game::util::{FluentSet, Lit, bits};
use sternhalma_game::{Game, Turn};

use crate::network::{LANES, Lanes, Network, NetworkState, SequentialEngine};
use crate::{Document, ExprKind};

/// A game that a [`SequentialEngine`] plays.
pub trait EngineGame: Game<State = NetworkState, Move = u32> {
    /// Returns the engine.
    fn engine(&self) -> &SequentialEngine;
}

/// The number of measurements of the time for successors.
const MEASUREMENTS: usize = 5;
/// The number of single successors per measurement.
const SOME: usize = 8;

/// The [`StateFeatures`] of a rulesheet, whose facts are the fluents of the
/// network. The features can only be used with the game of the same network.
///
/// Many successors of a state are evaluated by one pass through the network in
/// [`Lanes`], 512 at a time. Few successors are evaluated one by one if that
/// is faster; so are all if the network is too large for lanes.
#[derive(Clone)]
pub struct NetworkFeatures {
    elements: Arc<Elements>,
    goals: Arc<[Option<GoalTree>]>,
    mean_goals: Vec<f64>,
    lanes: Option<Lanes>,
    /// The number of successors from which lanes are faster, without and with their mobility.
    many: [usize; 2],
    /// Joint moves of all roles, one after another.
    joints: Vec<usize>,
    /// The moves of the roles that do not act.
    idle: Vec<usize>,
    /// A buffer for the state after a move.
    after: NetworkState,
}

/// The elements, and the elements of each fluent.
#[derive(Debug)]
struct Elements {
    count: usize,
    of_fluent: Vec<Box<[u32]>>,
}

impl fmt::Debug for NetworkFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkFeatures").finish_non_exhaustive()
    }
}

impl NetworkFeatures {
    /// Creates the features of a game, with the goal trees of its roles if
    /// they are known. Compiles the network for lanes.
    pub(in crate::network) fn new(
        game: &impl EngineGame,
        network: &Network,
        goals: Arc<[Option<GoalTree>]>,
    ) -> NetworkFeatures {
        let mut features = NetworkFeatures {
            elements: Arc::new(Elements::new(&network.fluents)),
            goals,
            mean_goals: network.netlist.outputs.goals.iter().map(|goals| mean_value(goals)).collect(),
            lanes: Lanes::for_steps(&network.netlist).ok(),
            many: [1; 2],
            joints: Vec::new(),
            idle: Vec::new(),
            after: game.initial(),
        };
        features.many = [false, true].map(|with_mobility| features.measure(game, with_mobility));
        features
    }

    /// Returns the same features, which evaluate all successors one by one.
    pub(in crate::network) fn without_lanes(&self) -> NetworkFeatures {
        NetworkFeatures {
            elements: self.elements.clone(),
            goals: self.goals.clone(),
            mean_goals: self.mean_goals.clone(),
            lanes: None,
            many: self.many,
            joints: Vec::new(),
            idle: Vec::new(),
            after: self.after.clone(),
        }
    }

    /// Measures the number of successors from which lanes are faster on this
    /// machine. The results do not depend on this number.
    fn measure(&mut self, game: &impl EngineGame, with_mobility: bool) -> usize {
        let state = game.initial();
        if game.is_terminal(&state) {
            return 1;
        }
        let mut joint = Vec::new();
        for role in game.turn(&state).acting(game.roles()) {
            joint.extend(game.engine().legal(&state, role).next());
        }
        let mut found = Successors::default();
        let mut best = |work: &mut dyn FnMut(&mut Successors)| {
            let times = (0..MEASUREMENTS).map(|_| {
                let start = Instant::now();
                work(&mut found);
                start.elapsed().as_secs_f64()
            });
            times.fold(f64::INFINITY, f64::min)
        };
        let batched = best(&mut |found| {
            self.in_lanes(game, &state, &joint, with_mobility, found);
        });
        let some = joint.repeat(SOME);
        let separate = best(&mut |found| self.one_by_one(game, &state, &some, with_mobility, found)) / SOME as f64;
        (batched / separate) as usize + 1
    }

    /// Evaluates the successors one by one.
    fn one_by_one(
        &mut self,
        game: &impl EngineGame,
        state: &NetworkState,
        joints: &[u32],
        with_mobility: bool,
        found: &mut Successors,
    ) {
        let (roles, facts) = (game.roles(), self.elements.of_fluent.len());
        if !with_mobility {
            self.widen(game, state, joints);
            found.reset_to(self.joints.len() / roles, facts, roles, state.fluents().iter());
            self.after.clone_from(state);
            for (successor, joint) in self.joints.chunks_exact(roles).enumerate() {
                game.engine().changes(&mut self.after, joint, |fact| found.flip(successor, fact));
            }
            return;
        }
        let seats = game.turn(state).acting(roles).len();
        found.reset(joints.len() / seats, facts, roles);
        for (successor, joint) in joints.chunks_exact(seats).enumerate() {
            self.after.clone_from(state);
            game.play(&mut self.after, joint);
            self.after.fluents().iter().for_each(|fact| found.insert(successor, fact));
            for role in 0..roles {
                found.mobility_mut(role)[successor] = game.engine().count_legal(&self.after, role) as u32;
            }
        }
    }

    /// Evaluates the successors in lanes. Returns false, without a result, if
    /// the network is too large for lanes.
    fn in_lanes(
        &mut self,
        game: &impl EngineGame,
        state: &NetworkState,
        joints: &[u32],
        with_mobility: bool,
        found: &mut Successors,
    ) -> bool {
        let Some(mut lanes) = self.lanes.take() else { return false };
        self.widen(game, state, joints);
        let roles = game.roles();
        found.reset(self.joints.len() / roles, self.elements.of_fluent.len(), roles);
        for (index, part) in self.joints.chunks(LANES * roles).enumerate() {
            let count = part.len() / roles;
            lanes.follow(state.fluents(), part.chunks_exact(roles));
            let words = LANES / 64 * index..LANES / 64 * index + count.div_ceil(64);
            // The lanes after the last joint move are meaningless.
            let last = !0 >> (64 * count.div_ceil(64) - count);
            for fact in 0..found.facts() {
                let holding = &mut found.holding_mut(fact)[words.clone()];
                holding.iter_mut().zip(lanes.holding(fact)).for_each(|(holding, &word)| *holding = word);
                holding.last_mut().into_iter().for_each(|word| *word &= last);
            }
            if with_mobility {
                lanes.see_legal(|role, legal| {
                    let mobility = &mut found.mobility_mut(role)[LANES * index..][..count];
                    add_each(&legal[..words.len()], last, mobility);
                });
            }
        }
        self.lanes = Some(lanes);
        true
    }

    /// Writes joint moves of all roles, given those of the acting roles.
    fn widen(&mut self, game: &impl EngineGame, state: &NetworkState, joints: &[u32]) {
        self.joints.clear();
        let Turn::One(acting) = game.turn(state) else {
            self.joints.extend(joints.iter().map(|&mv| mv as usize));
            return;
        };
        let engine = game.engine();
        self.idle.clear();
        let idle = |role| if role == acting { 0 } else { engine.nth_legal(state, role, 0) as usize };
        self.idle.extend((0..game.roles()).map(idle));
        for &mv in joints {
            let first = self.joints.len();
            self.joints.extend_from_slice(&self.idle);
            self.joints[first + acting] = mv as usize;
        }
    }
}

/// Returns the mean of the distinct values of some goals, as a reward.
fn mean_value(goals: &[(u8, Lit)]) -> f64 {
    let values: BTreeSet<u8> = goals.iter().map(|&(value, _)| value).collect();
    values.iter().map(|&value| f64::from(value) / 100.0).sum::<f64>() / values.len().max(1) as f64
}

impl Elements {
    /// Returns the elements of fluents in KIF: their names, and each of their
    /// arguments with its column.
    fn new(fluents: &[String]) -> Elements {
        let mut numbers: HashMap<(String, usize, String), u32> = HashMap::new();
        let mut number = |name: &str, column: usize, symbol: String| {
            let next = numbers.len() as u32;
            *numbers.entry((name.to_string(), column, symbol)).or_insert(next)
        };
        let mut elements_of = |fluent: &String| -> Box<[u32]> {
            let document = Document::parse(fluent).ok();
            let parts = document.iter().flat_map(Document::expressions).next().map(|expr| match &expr.kind {
                ExprKind::List(items) => items.iter().map(ToString::to_string).collect(),
                ExprKind::Symbol(name) => vec![name.clone()],
            });
            let parts = parts.unwrap_or_else(|| vec![fluent.clone()]);
            // The name itself has no column.
            let columns = parts.iter().enumerate().skip(1);
            let symbols: Vec<u32> = columns.map(|(column, symbol)| number(&parts[0], column, symbol.clone())).collect();
            std::iter::once(number(&parts[0], 0, String::new())).chain(symbols).collect()
        };
        let of_fluent = fluents.iter().map(&mut elements_of).collect();
        Elements { count: numbers.len(), of_fluent }
    }
}

impl<G: EngineGame> StateFeatures<G> for NetworkFeatures {
    fn facts(&self) -> usize {
        self.elements.of_fluent.len()
    }

    fn elements(&self) -> usize {
        self.elements.count
    }

    fn elements_of(&self, fact: usize) -> &[u32] {
        &self.elements.of_fluent[fact]
    }

    fn mark(&self, _: &G, state: &NetworkState, facts: &mut FluentSet) {
        facts.clone_from(state.fluents());
    }

    fn mobility(&self, game: &G, state: &NetworkState, role: usize) -> u32 {
        game.engine().count_legal(state, role) as u32
    }

    fn duplicate(&self) -> Box<dyn StateFeatures<G>> {
        Box::new(self.clone())
    }

    fn goal_tree(&self, role: usize) -> Option<&GoalTree> {
        self.goals[role].as_ref()
    }

    fn mean_goal(&self, role: usize) -> f64 {
        self.mean_goals[role]
    }

    fn successors(
        &mut self,
        game: &G,
        state: &NetworkState,
        joints: &[u32],
        with_mobility: bool,
        found: &mut Successors,
    ) {
        let seats = game.turn(state).acting(game.roles()).len();
        let are_many = joints.len() >= self.many[usize::from(with_mobility)].saturating_mul(seats);
        if !are_many || !self.in_lanes(game, state, joints, with_mobility, found) {
            self.one_by_one(game, state, joints, with_mobility, found);
        }
    }
}

/// Adds 1 for each set bit; in the last word only the bits in `last` count.
fn add_each(words: &[u64], last: u64, counts: &mut [u32]) {
    for (index, (&word, counts)) in words.iter().zip(counts.chunks_mut(64)).enumerate() {
        let counted = if index + 1 == words.len() { word & last } else { word };
        bits(counted).for_each(|bit| counts[bit] += 1);
    }
}
