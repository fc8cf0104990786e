//! A network as a game for searches.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use sternhalma_game::features::{GoalTree, StateFeatures};
use sternhalma_game::util::FluentSet;
use sternhalma_game::{Game, MemoryBudget, MemoryUse, Rng, Turn, key_of_words};

use super::lane_game::LaneGame;
use crate::ground::GroundLimits;
use crate::network::analysis::{EngineGame, NetworkFeatures, goal_trees};
use crate::network::{LanesError, Network, NetworkState, SequentialEngine};
use crate::{Goal, Reasoner, Rules};

/// A rulesheet played with its network, one state at a time.
///
/// If at most one role has more than one legal move, only that role acts and
/// the others play their only move. Otherwise all roles act simultaneously. A
/// match ends according to the rules, and also if a role has no legal move,
/// which valid rules prevent.
#[derive(Debug)]
pub struct NetworkGame {
    network: Network,
    engine: Arc<SequentialEngine>,
    /// The moves of each role by name.
    named: Vec<HashMap<String, u32>>,
    /// The rules of the network, if they are given, and their goal trees, once
    /// they were requested.
    rules: Option<Rules>,
    /// The features, created on first use.
    features: OnceLock<NetworkFeatures>,
    /// The network in lanes, compiled on first use.
    lanes: OnceLock<Result<Arc<LaneGame>, LanesError>>,
    memory: MemoryUse,
}

impl NetworkGame {
    /// Creates the game of a network.
    pub fn new(network: Network) -> NetworkGame {
        let engine = SequentialEngine::new(&network.netlist);
        let names =
            |range: &std::ops::Range<usize>| range.clone().map(|mv| (network.moves[mv].clone(), mv as u32)).collect();
        let named = network.netlist.roles.iter().map(names).collect();
        let (engine, features, lanes) = (Arc::new(engine), OnceLock::new(), OnceLock::new());
        NetworkGame { network, engine, named, rules: None, features, lanes, memory: MemoryUse::default() }
    }

    /// Counts the memory of the game for a budget.
    #[must_use]
    pub fn within(mut self, memory: &MemoryBudget) -> NetworkGame {
        self.memory = MemoryUse::of(memory);
        self.memory.set(self.network.bytes() as u64);
        self
    }

    /// Returns the network in lanes. The first call compiles it, which may take some seconds.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::OutOfMemory`] if it exceeds the memory of the game.
    pub fn lanes(&self) -> Result<&Arc<LaneGame>, &LanesError> {
        let compile = || LaneGame::within(&self.network.netlist, &self.engine, self.memory.budget()).map(Arc::new);
        self.lanes.get_or_init(compile).as_ref()
    }

    /// Returns the same game with the rules that its network was made from.
    /// [`features`](NetworkGame::features) derives goal trees from them.
    pub fn with_rules(self, rules: Rules) -> NetworkGame {
        NetworkGame { rules: Some(rules), ..self }
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the engine that steps the network.
    pub fn engine(&self) -> &SequentialEngine {
        &self.engine
    }

    /// Returns the state in which exactly these fluents hold. The engine may
    /// evaluate an unreachable state incorrectly.
    pub fn state_from(&self, fluents: &FluentSet) -> NetworkState {
        self.engine.state(fluents)
    }

    /// Plays uniformly random moves until the match ends, `most` steps were
    /// played, or a role has no legal move. Returns the number of steps.
    pub fn playout(&self, state: &mut NetworkState, most: usize, rng: &mut Rng) -> usize {
        self.engine.play_random(state, most, rng, |_| ())
    }

    /// Returns the features of states that strategies use. The first call may
    /// take some seconds.
    pub fn features(&self) -> Box<dyn StateFeatures<NetworkGame>> {
        StateFeatures::<NetworkGame>::duplicate(self.network_features())
    }

    /// Returns the same features for a search whose states are in lanes, which finds nearly all successors there. They
    /// share their memory, and take longer to find the others.
    pub fn features_for_lanes(&self) -> Box<dyn StateFeatures<NetworkGame>> {
        Box::new(self.network_features().without_lanes())
    }

    /// Returns the highest goal of a role, or `None` if it has no tree of reasonable size.
    pub fn goal_tree(&self, role: usize) -> Option<&GoalTree> {
        StateFeatures::<NetworkGame>::goal_tree(self.network_features(), role)
    }

    fn network_features(&self) -> &NetworkFeatures {
        let memory = self.memory.budget().room().min(GroundLimits::DEFAULT_MEMORY);
        let goals = |rules| goal_trees(rules, GroundLimits::within(memory), &AtomicBool::new(false)).ok();
        let goals = || self.rules.as_ref().and_then(goals).unwrap_or_else(|| vec![None; self.roles()]);
        self.features.get_or_init(|| NetworkFeatures::new(self, &self.network, goals().into()))
    }
}

impl EngineGame for NetworkGame {
    fn engine(&self) -> &SequentialEngine {
        &self.engine
    }
}

impl Game for NetworkGame {
    type State = NetworkState;
    /// The number of a move in the network.
    type Move = u32;

    fn roles(&self) -> usize {
        self.network.roles.len()
    }

    fn initial(&self) -> NetworkState {
        self.engine.initial().clone()
    }

    fn turn(&self, state: &NetworkState) -> Turn {
        let mut choosing = (0..self.roles()).filter(|&role| self.engine.count_legal(state, role) > 1);
        match (choosing.next(), choosing.next()) {
            (_, Some(_)) => Turn::All,
            (role, None) => Turn::One(role.unwrap_or(0)),
        }
    }

    #[inline]
    fn has_choice(&self, state: &NetworkState, role: usize) -> bool {
        self.engine.count_legal(state, role) > 1
    }

    fn legal(&self, state: &NetworkState, role: usize, moves: &mut Vec<u32>) {
        moves.extend(self.engine.legal(state, role));
    }

    #[inline]
    fn key(&self, state: &NetworkState) -> Option<u64> {
        Some(key_of_words(state.fluents().words().iter().copied()))
    }

    fn play(&self, state: &mut NetworkState, joint: &[u32]) {
        let mut all = std::mem::take(&mut state.joint);
        self.numbers(state, joint, &mut all);
        self.engine.step(state, &all);
        all.clear();
        state.joint = all;
    }

    fn is_terminal(&self, state: &NetworkState) -> bool {
        self.engine.is_over(state)
    }

    fn goal(&self, state: &NetworkState, role: usize) -> u8 {
        self.reached(state, role).score()
    }

    fn goals(&self, state: &NetworkState, goals: &mut Vec<u8>) {
        goals.extend(self.engine.goals(state).map(Goal::score));
    }

    #[inline]
    fn random_move(&self, state: &NetworkState, role: usize, _: &mut Vec<u32>, rng: &mut Rng) -> Option<u32> {
        self.engine.random_legal(state, role, rng)
    }

    #[inline]
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }

    /// Appends the moves of all roles; roles that wait play their only move.
    #[inline]
    fn numbers(&self, state: &NetworkState, joint: &[u32], numbers: &mut Vec<u32>) {
        match self.turn(state) {
            Turn::All => numbers.extend_from_slice(joint),
            Turn::One(acting) => numbers.extend((0..self.roles()).map(|role| match role == acting {
                true => joint[0],
                false => self.engine.nth_legal(state, role, 0),
            })),
        }
    }

    #[inline]
    fn play_numbered(&self, state: &mut NetworkState, _: &[u32], numbers: &[u32]) {
        self.engine.step(state, numbers);
    }
}

impl Reasoner for NetworkGame {
    fn role_names(&self) -> &[String] {
        &self.network.roles
    }

    fn facts(&self, state: &NetworkState) -> Vec<String> {
        let mut facts: Vec<String> =
            state.fluents().iter().map(|fluent| self.network.fluents[fluent].clone()).collect();
        facts.sort_unstable();
        facts
    }

    fn is_over(&self, state: &NetworkState) -> bool {
        self.engine.is_terminal(state)
    }

    fn legal_of(&self, state: &NetworkState, role: usize) -> Vec<u32> {
        self.engine.legal(state, role).collect()
    }

    fn move_name(&self, _: usize, mv: u32) -> String {
        self.network.moves[mv as usize].clone()
    }

    fn move_named(&self, role: usize, name: &str) -> Option<u32> {
        self.named[role].get(name).copied()
    }

    fn play_all(&self, state: &mut NetworkState, joint: &[u32]) {
        self.engine.step(state, joint);
    }

    fn reached(&self, state: &NetworkState, role: usize) -> Goal {
        self.engine.goals(state).nth(role).unwrap_or(Goal::None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::network::NetworkGame;
    use crate::network::testing::{
        Sizes, connect_four, dead_end, games, pennies, random_network, row_game, three_in_turn, tic_tac_toe,
    };
    use sternhalma_game::Limits;
    use sternhalma_mcts::Mcts;
    use sternhalma_mcts::{MctsConfig, RandomPlayout, ToTheEnd, Uct};

    fn mcts(seed: u64) -> Mcts<NetworkGame, Uct, RandomPlayout<u32>, ToTheEnd> {
        Mcts::new(Uct::new(0.7), RandomPlayout::default(), ToTheEnd, MctsConfig::default(), seed)
    }

    fn named(game: &NetworkGame, role: usize, name: &str) -> u32 {
        game.move_named(role, name).expect("the role has the move")
    }

    /// Plays moves of the acting roles, one per turn.
    fn play(game: &NetworkGame, names: &[&str]) -> NetworkState {
        let mut state = game.initial();
        for name in names {
            let Turn::One(role) = game.turn(&state) else { panic!("one role acts") };
            game.play(&mut state, &[named(game, role, name)]);
        }
        state
    }

    #[test]
    fn acting_roles_choose_and_others_play_their_only_move() {
        let mut rng = Rng::seed_from_u64(1);
        let mut networks = games();
        let sizes = Sizes { roles: 3, moves: 3, fluents: 20, gates: 80, steps: 10 };
        networks.extend((0..50).map(|_| random_network(&mut rng, sizes)));
        let mut turns = [0, 0];
        for network in networks {
            let game = NetworkGame::new(network);
            let mut state = game.initial();
            while !game.is_terminal(&state) {
                let counts: Vec<usize> = (0..game.roles()).map(|role| game.legal_of(&state, role).len()).collect();
                let choosing: Vec<usize> = (0..game.roles()).filter(|&role| counts[role] > 1).collect();
                let turn = game.turn(&state);
                match (turn, &choosing[..]) {
                    (Turn::One(0), []) => {}
                    (Turn::One(role), [one]) => assert_eq!(role, *one),
                    (turn, roles) => assert_eq!((turn, roles.len() > 1), (Turn::All, true)),
                }
                assert!((0..game.roles()).all(|role| game.has_choice(&state, role) == choosing.contains(&role)));
                turns[usize::from(turn == Turn::All)] += 1;
                let mut other = state.clone();
                let (mut joint, mut all) = (Vec::new(), Vec::new());
                for (role, &count) in counts.iter().enumerate() {
                    let index = rng.random_range(0..count);
                    let mv = game.legal_of(&state, role)[index];
                    all.push(mv);
                    if turn.acting(game.roles()).contains(&role) {
                        joint.push(mv);
                    }
                }
                game.play(&mut state, &joint);
                game.play_all(&mut other, &all);
                assert_eq!(state, other);
            }
        }
        assert!(turns[0] > 50 && turns[1] > 50, "{turns:?}");
    }

    #[test]
    fn states_have_names_and_are_created_from_fluents() {
        let game = NetworkGame::new(tic_tac_toe());
        let state = play(&game, &["( mark 1 1 )", "( mark 0 2 )"]);
        let facts = game.facts(&state);
        assert!(facts.is_sorted());
        assert!(facts.contains(&"( cell 1 1 white )".into()) && facts.contains(&"( cell 0 2 black )".into()));
        assert!(facts.contains(&"( control white )".into()));
        assert_eq!(facts.len(), 10);
        assert_eq!(game.legal_of(&state, 0).len(), 7);
        let waits: Vec<String> = game.legal_of(&state, 1).into_iter().map(|mv| game.move_name(1, mv)).collect();
        assert_eq!(waits, ["noop"]);
        assert_eq!(game.move_named(0, "( mark 3 3 )"), None);
        assert_eq!(game.reached(&state, 0), Goal::None);
        assert_eq!(game.state_from(state.fluents()), state);
    }

    #[test]
    fn playouts_agree_with_step_by_step_play() {
        for network in games() {
            let game = NetworkGame::new(network);
            let (mut these, mut those) = (Rng::seed_from_u64(3), Rng::seed_from_u64(3));
            for _ in 0..20 {
                let (mut fast, mut slow) = (game.initial(), game.initial());
                let steps = game.playout(&mut fast, usize::MAX, &mut these);
                let mut expected = 0;
                while !game.is_terminal(&slow) {
                    let choice = |role| {
                        let legal = game.legal_of(&slow, role);
                        if legal.len() == 1 { legal[0] } else { legal[those.random_range(0..legal.len())] }
                    };
                    let joint: Vec<u32> = (0..game.roles()).map(choice).collect();
                    game.play_all(&mut slow, &joint);
                    expected += 1;
                }
                assert_eq!((steps, fast), (expected, slow));
            }
            let mut state = game.initial();
            assert_eq!(game.playout(&mut state, 2, &mut these), 2);
            assert!(!game.is_terminal(&state));
        }
    }

    #[test]
    fn choices_are_uniform() {
        // There are nine cells and 9000 choices. Chi-squared with 8 degrees of
        // freedom is below 26.1 in 999 of 1000 cases.
        let game = NetworkGame::new(tic_tac_toe());
        let state = game.initial();
        let mut rng = Rng::seed_from_u64(4);
        let mut counts = HashMap::new();
        for _ in 0..9000 {
            let mv = game.random_move(&state, 0, &mut Vec::new(), &mut rng).expect("white moves");
            *counts.entry(mv).or_insert(0.0) += 1.0;
        }
        assert_eq!(counts.len(), 9);
        let chi: f64 = counts.values().map(|count: &f64| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 26.1, "{chi}");
    }

    #[test]
    fn the_search_wins_at_connect_four() {
        let game = NetworkGame::new(connect_four());
        let moves = ["( drop 3 )", "( drop 0 )", "( drop 4 )", "( drop 0 )", "( drop 5 )", "( drop 7 )"];
        let state = play(&game, &moves);
        // A row of three with one or two open ends must be completed.
        let best = mcts(1).search(&game, &state, 0, Limits::playouts(1000), &AtomicBool::new(false)).best;
        assert!(["( drop 2 )", "( drop 6 )"].contains(&game.move_name(0, best).as_str()));
        let again = |seed| mcts(seed).search(&game, &state, 0, Limits::playouts(300), &AtomicBool::new(false)).moves;
        assert_eq!(again(2), again(2));
    }

    #[test]
    fn the_search_keeps_its_tree_from_move_to_move() {
        let game = NetworkGame::new(row_game(4, 4, 3, true));
        let mut search = mcts(5);
        let mut state = game.initial();
        while !game.is_terminal(&state) {
            let Turn::One(role) = game.turn(&state) else { panic!("one role acts") };
            let best = search.search(&game, &state, role, Limits::playouts(500), &AtomicBool::new(false)).best;
            search.advance(&game, &[best]);
            game.play(&mut state, &[best]);
        }
        // The first role wins easily.
        assert_eq!(game.goal(&state, 0), 100);
    }

    #[test]
    fn three_roles_and_two_at_once_are_searched() {
        let game = NetworkGame::new(three_in_turn(5));
        let take = mcts(6).search(&game, &game.initial(), 0, Limits::playouts(2000), &AtomicBool::new(false)).best;
        assert!(game.move_name(0, take).starts_with("( take"));
        let game = NetworkGame::new(pennies());
        let found = mcts(7).search(&game, &game.initial(), 1, Limits::playouts(2000), &AtomicBool::new(false));
        assert_eq!(found.moves.len(), 2);
        assert!(found.moves.iter().all(|(_, stats)| stats.visits > 500), "{found:?}");
    }

    #[test]
    fn a_state_is_terminal_if_a_role_has_no_legal_move() {
        let game = NetworkGame::new(dead_end());
        let mut state = game.initial();
        assert!(!game.is_terminal(&state));
        game.play(&mut state, &[0]);
        assert!(game.is_terminal(&state) && !game.engine().is_terminal(&state));
        assert_eq!((game.turn(&state), game.goal(&state, 0)), (Turn::One(0), 50));
        assert_eq!(game.playout(&mut state, 10, &mut Rng::seed_from_u64(1)), 0);
    }
}
