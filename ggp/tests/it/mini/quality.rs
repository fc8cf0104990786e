//! Effective qualities, and the moves that are played by them.

use std::collections::{HashMap, HashSet};

use sternhalma_ggp::gdl::Reasoner;
use sternhalma_ggp::gdl::network::NetworkGame;
use sternhalma_ggp::mcts::{Child, Decision, MctsConfig, MoveHistory, Playout, RandomPlayout, ToTheEnd, Uct};
use sternhalma_ggp::{Game, Limits, Mcts, Rng};

use super::{data, numbers, ready};
use crate::common::own;

#[test]
fn effective_qualities_are_those_of_the_table() {
    let data = data("quality.json");
    let mut values = Vec::new();
    for child in data["children"].as_array().unwrap() {
        let successors = numbers(&child["successors"]);
        let expected = Child {
            quality: child["quality"].as_f64().unwrap(),
            is_terminal: child["terminal"].as_bool().unwrap(),
            own_moves: child["own"].as_u64().unwrap() as usize,
            joint_moves: child["joint"].as_u64().unwrap() as usize,
            successors: &successors,
        };
        let value = expected.effective_quality();
        assert!((value - child["value"].as_f64().unwrap()).abs() < 1e-12, "{expected:?}: {value}");
        values.push(value);
    }
    let best = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]));
    assert_eq!(best, data["best"].as_u64().map(|best| best as usize));
}

/// Random playouts and their results.
struct Logged {
    random: RandomPlayout<u32>,
    /// The first joint moves of each simulation as numbers, and its rewards.
    log: Vec<Logging>,
}

impl Playout<NetworkGame> for Logged {
    const LEARNS: bool = true;

    fn choose(
        &mut self,
        game: &NetworkGame,
        state: &<NetworkGame as Game>::State,
        role: usize,
        history: &MoveHistory,
        rng: &mut Rng,
    ) -> u32 {
        self.random.choose(game, state, role, history, rng)
    }

    fn learn(&mut self, _: &NetworkGame, history: &MoveHistory, rewards: &[f64]) {
        self.log.push((history.steps().map(<[u32]>::to_vec).collect(), rewards.to_vec()));
    }
}

/// The moves of a simulation, one number per role, and its rewards.
type Logging = (Vec<Vec<u32>>, Vec<f64>);

/// Keeps the moves that were played in the tree, including the one after which
/// a node was added. `known` has the moves to each node.
fn in_tree((moves, rewards): &Logging, known: &mut HashSet<Vec<Vec<u32>>>) -> Logging {
    let steps = (1..moves.len()).find(|&steps| known.insert(moves[..steps].to_vec()));
    let steps = steps.unwrap_or_else(|| {
        known.insert(moves.clone());
        moves.len()
    });
    (moves[..steps].to_vec(), rewards.clone())
}

/// Computes the effective quality of each first move of a role from a log.
fn qualities(
    game: &NetworkGame,
    state: &<NetworkGame as Game>::State,
    role: usize,
    log: &[Logging],
) -> HashMap<u32, f64> {
    let mean = |rewards: &[f64]| rewards.iter().sum::<f64>() / rewards.len() as f64;
    type BySecond<'a> = HashMap<Option<&'a [u32]>, Vec<f64>>;
    let mut children: HashMap<&[u32], BySecond> = HashMap::new();
    for (moves, rewards) in log {
        let second = moves.get(1).map(|joint| &joint[..]);
        children.entry(&moves[0]).or_default().entry(second).or_default().push(rewards[role]);
    }
    let mut values = HashMap::new();
    for (joint, seconds) in children {
        let mut after = state.clone();
        game.play_all(&mut after, joint);
        let all: Vec<f64> = seconds.values().flatten().copied().collect();
        let counts: Vec<usize> = (0..game.roles()).map(|role| game.legal_of(&after, role).len()).collect();
        let successors: Vec<f64> =
            seconds.iter().filter(|(second, _)| second.is_some()).map(|(_, rewards)| mean(rewards)).collect();
        let value = if game.is_terminal(&after) || successors.is_empty() {
            mean(&all)
        } else {
            let least = successors.iter().copied().fold(f64::INFINITY, f64::min);
            match (counts[role], counts.iter().product::<usize>()) {
                (1, _) => least,
                (own, joint) if own == joint => successors.iter().copied().fold(0.0, f64::max),
                _ => (least + mean(&all)) / 2.0,
            }
        };
        let best = values.entry(joint[role]).or_insert(value);
        *best = best.max(value);
    }
    values
}

#[test]
fn the_move_played_is_that_of_highest_effective_quality() {
    let mut differ = 0;
    for (name, simulations) in
        [("matching-pennies", 60), ("odd-one-out", 90), ("tic-tac-toe", 300), ("runners", 300), ("grid-game-2", 200)]
    {
        let (game, _) = ready(&own(name));
        for seed in 0..4 {
            let settings = MctsConfig { decision: Decision::EffectiveQuality, ..MctsConfig::default() };
            let logged = Logged { random: RandomPlayout::default(), log: Vec::new() };
            let mut search = Mcts::new(Uct::new(0.4), logged, ToTheEnd, settings, seed);
            let mut state = game.initial();
            let (mut kept, mut known) = (Vec::<Logging>::new(), HashSet::new());
            while !game.is_terminal(&state) {
                let acting = game.turn(&state).acting(game.roles());
                let role = acting.start;
                let before = search.playout().log.len();
                let found = search.search(&game, &state, role, Limits::playouts(simulations), &Default::default());
                kept.extend(search.playout().log[before..].iter().map(|simulation| in_tree(simulation, &mut known)));
                let values = qualities(&game, &state, role, &kept);
                let most = values.values().copied().fold(0.0, f64::max);
                assert!(values[&found.best] > most - 1e-9, "{name}: {values:?}, {:?}", found.best);
                let averages = found.moves.iter().map(|(_, stats)| stats.mean()).fold(0.0, f64::max);
                differ += usize::from(
                    found.moves.iter().any(|(mv, stats)| *mv == found.best && stats.mean() < averages - 1e-9),
                );
                let mut joint = Vec::new();
                let mut legal = Vec::new();
                for acting in acting {
                    legal.clear();
                    game.legal(&state, acting, &mut legal);
                    joint.push(if acting == role { found.best } else { legal[0] });
                }
                let mut numbers = Vec::new();
                game.numbers(&state, &joint, &mut numbers);
                search.advance(&game, &joint);
                game.play(&mut state, &joint);
                // Only the part below the joint move is kept.
                kept.retain(|(moves, _)| moves[0] == numbers && moves.len() > 1);
                kept.iter_mut().for_each(|(moves, _)| drop(moves.remove(0)));
                let below =
                    |moves: Vec<Vec<u32>>| (moves.len() > 1 && moves[0] == numbers).then(|| moves[1..].to_vec());
                known = known.into_iter().filter_map(below).collect();
            }
        }
    }
    assert!(differ > 5, "{differ}");
}

/// Random playouts that prefer one move.
struct Preferring {
    random: RandomPlayout<u32>,
    preferred: u32,
}

impl Playout<NetworkGame> for Preferring {
    fn choose(
        &mut self,
        game: &NetworkGame,
        state: &<NetworkGame as Game>::State,
        role: usize,
        history: &MoveHistory,
        rng: &mut Rng,
    ) -> u32 {
        self.random.choose(game, state, role, history, rng)
    }

    fn preference(&self, _: &NetworkGame, _: usize, mv: u32) -> f64 {
        if mv == self.preferred { 0.5 } else { 0.25 }
    }
}

#[test]
fn equal_effective_qualities_are_ordered_by_the_preference_of_the_playout() {
    let rules = "(role you) (init start) (letter a) (letter b) (letter c) (letter d)
        (<= (legal you (write ?x)) (letter ?x)) (<= (next (wrote ?x)) (does you (write ?x)))
        (<= terminal (true (wrote ?x))) (goal you 50)";
    let (game, _) = ready(rules);
    let state = game.initial();
    for preferred in game.legal_of(&state, 0) {
        for seed in 0..5 {
            let settings = MctsConfig { decision: Decision::EffectiveQuality, ..MctsConfig::default() };
            let playout = Preferring { random: RandomPlayout::default(), preferred };
            let mut search = Mcts::new(Uct::new(0.4), playout, ToTheEnd, settings, seed);
            let found = search.search(&game, &state, 0, Limits::playouts(40), &Default::default());
            assert_eq!(found.best, preferred, "{:?}", found.moves);
        }
    }
}
