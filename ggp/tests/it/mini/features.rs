//! Features of states compared with values computed by hand, and with single evaluations.

use std::fs;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use sternhalma_ggp::features::{Degree, DegreeBuffers, GoalTree, StateFeatures, Successors, one_by_one};
use sternhalma_ggp::gdl::network::NetworkGame;
use sternhalma_ggp::gdl::{Goal, Reasoner};
use sternhalma_ggp::mcts::playout::mini::SymbolCounts;
use sternhalma_ggp::{Game, Rng, Turn};

use super::{data, fraction, numbers, ready};
use crate::common::{collection, files, own_dir};

fn degree(tree: &GoalTree, states: &Successors) -> Vec<Degree> {
    let mut degrees = Vec::new();
    tree.degrees(states, &mut DegreeBuffers::default(), &mut degrees);
    degrees
}

#[test]
fn degrees_are_those_worked_by_hand() {
    for case in data("age.json").as_array().unwrap() {
        let (game, anatomy) = ready(case["rules"].as_str().unwrap());
        let tree = anatomy.goal_tree(0).unwrap();
        for state in case["states"].as_array().unwrap() {
            let mut states = Successors::default();
            states.reset(1, anatomy.facts(), 1);
            let facts = state["facts"].as_str().unwrap();
            for fact in facts.split_inclusive(')').map(str::trim) {
                let fluents = &game.network().fluents;
                states.insert(0, fluents.iter().position(|fluent| fluent == fact).unwrap());
            }
            let degree = degree(tree, &states)[0];
            let expected = (fraction(&state["value"]), fraction(&state["tie_break"]));
            let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 1e-6;
            assert!(
                close(degree.value, expected.0) && close(degree.tie_break, expected.1),
                "{}: {facts}: {degree:?} is not {expected:?}",
                case["about"]
            );
        }
    }
}

#[test]
fn weights_are_those_worked_by_hand() {
    let data = data("symbols.json");
    let mut counts = SymbolCounts::new(data["elements"].as_u64().unwrap() as usize);
    for simulation in data["simulations"].as_array().unwrap() {
        // A simulation without an end has no effect.
        counts.begin();
        counts.watch([0, 0, 0, 0]);
        counts.begin();
        for state in simulation["states"].as_array().unwrap() {
            counts.watch(numbers(state).into_iter().map(|element| element as u32));
        }
        counts.end(simulation["won"].as_bool().unwrap());
    }
    assert_eq!(counts.weights(), numbers(&data["weights"]));
}

#[test]
fn nothing_weighs_until_something_is_won_and_lost() {
    for won in [false, true] {
        let mut counts = SymbolCounts::new(1);
        for elements in [&[][..], &[0]] {
            counts.begin();
            counts.watch(elements.iter().copied());
            counts.end(won);
        }
        assert_eq!(counts.weights(), [0.0]);
        counts.begin();
        counts.watch([0]);
        counts.end(!won);
        assert_ne!(counts.weights(), [0.0]);
    }
}

/// Rulesheets that take long to ground and whose goal trees are too large.
const HEAVY: [&str; 1] = ["farmers"];

/// Returns the names and texts of all rulesheets in a directory except [`HEAVY`].
fn all_games(dir: &Path) -> Vec<(String, String)> {
    let mut all = files(dir, ".kif");
    all.retain(|(name, _)| !HEAVY.contains(&&name[..]));
    all.into_iter().map(|(name, path)| (name, fs::read_to_string(path).unwrap())).collect()
}

/// Returns some joint moves of the acting roles, more than there are lanes.
fn joints(game: &NetworkGame, state: &<NetworkGame as Game>::State, rng: &mut Rng) -> Vec<u32> {
    let mut moves = Vec::new();
    match game.turn(state) {
        Turn::One(role) => game.legal(state, role, &mut moves),
        Turn::All => {
            for _ in 0..40 {
                let joint = (0..game.roles()).map(|role| game.random_move(state, role, &mut Vec::new(), rng).unwrap());
                moves.extend(joint);
            }
        }
    }
    // The number selects the evaluation: in lanes, more than there are lanes,
    // or one by one.
    match rng.random_range(0..4) {
        0 => moves.repeat(600usize.div_ceil(moves.len())),
        1 => moves.repeat(150usize.div_ceil(moves.len())),
        _ => moves,
    }
}

#[test]
fn successors_and_degrees_are_right_in_own_games() {
    successors_and_degrees_are_right(&own_dir(), 50);
}

#[test]
#[ignore = "needs STERNHALMA_CONFORMANCE"]
fn conformance_of_successors_and_degrees() {
    successors_and_degrees_are_right(&collection(), 50);
}

/// Checks all rulesheets of a directory, in which matches must reach the best
/// goal more than `fewest` times.
fn successors_and_degrees_are_right(dir: &Path, fewest: usize) {
    let mut reached = 0;
    for (name, text) in all_games(dir) {
        let (game, mut anatomy) = ready(&text);
        successors_are_those_one_by_one(&name, &game, &mut *anatomy);
        for role in 0..game.roles() {
            match anatomy.goal_tree(role) {
                Some(tree) => reached += degrees_are_1_at_the_goal(&name, &game, &*anatomy, role, tree),
                None => println!("{name}: role {role} has no tree"),
            }
        }
    }
    assert!(reached > fewest, "{reached}");
}

fn successors_are_those_one_by_one(name: &str, game: &NetworkGame, anatomy: &mut dyn StateFeatures<NetworkGame>) {
    let mut rng = Rng::seed_from_u64(7);
    let (mut fast, mut slow) = (Successors::default(), Successors::default());
    let mut state = game.initial();
    for step in 0..60 {
        if game.is_terminal(&state) {
            state = game.initial();
        }
        let joints = joints(game, &state, &mut rng);
        if step % 4 == 0 || joints.len() > 140 {
            for with_mobility in [false, true] {
                anatomy.successors(game, &state, &joints, with_mobility, &mut fast);
                one_by_one(anatomy, game, &state, &joints, with_mobility, &mut slow);
                // Lanes and single steps each evaluate some numbers of successors.
                assert_eq!(fast, slow, "{name}, step {step}");
            }
        }
        let seats = game.turn(&state).acting(game.roles()).len();
        let joint = rng.random_range(0..joints.len() / seats);
        game.play(&mut state, &joints[joint * seats..][..seats]);
    }
}

/// Checks that the degree is 1 exactly if the highest goal holds, and returns
/// how often it held.
fn degrees_are_1_at_the_goal(
    name: &str,
    game: &NetworkGame,
    anatomy: &dyn StateFeatures<NetworkGame>,
    role: usize,
    tree: &GoalTree,
) -> usize {
    let mut rng = Rng::seed_from_u64(8);
    let highest = game.network().netlist.outputs.goals[role].iter().map(|&(value, _)| value).max().unwrap();
    let mut state = game.initial();
    let mut reached = 0;
    for _ in 0..100 {
        let mut states = Successors::default();
        states.reset(1, anatomy.facts(), game.roles());
        state.fluents().iter().for_each(|fact| states.insert(0, fact));
        let Degree { value, tie_break } = degree(tree, &states)[0];
        assert!((0.0..=1.0).contains(&value) && tie_break <= value + 1e-6, "{name}: {value} {tie_break}");
        let is_reached = match game.reached(&state, role) {
            Goal::Value(value) => Some(value == highest),
            Goal::None => Some(false),
            Goal::Several | Goal::NotANumber => None,
        };
        if let Some(is_reached) = is_reached {
            assert_eq!(value > 1.0 - 1e-6, is_reached, "{name}: role {role}: {value}");
            reached += usize::from(is_reached);
        }
        if game.is_terminal(&state) {
            state = game.initial();
            continue;
        }
        let joints = joints(game, &state, &mut rng);
        let seats = game.turn(&state).acting(game.roles()).len();
        game.play(&mut state, &joints[..seats]);
        if rng.random_range(0..4) != 0 {
            game.playout(&mut state, 3, &mut rng);
        }
    }
    reached
}
