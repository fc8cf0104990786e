//! MINI-Player's strategies against numbers worked by hand, and what they
//! look at against one state at a time.

use std::fs;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use serde_json::Value;
use sternhalma_ggp::gdl::network::{Network, NetworkAnatomy, NetworkGame};
use sternhalma_ggp::gdl::{Goal, Reasoner, Rules};
use sternhalma_ggp::mini::{
    Allocation, Allocator, Anatomy, Child, Degree, DegreeBuffers, GoalTree, History, Successors, SymbolCounts,
    one_by_one,
};
use sternhalma_ggp::{Game, Rng, Turn};

mod common;
use common::{conformance, files, own_dir};

fn data(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mini").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// A number written as a fraction.
fn fraction(value: &Value) -> f64 {
    let text = value.as_str().unwrap();
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
}

fn ready(text: &str) -> (NetworkGame, NetworkAnatomy) {
    let rules = Rules::parse(text).unwrap();
    let game = NetworkGame::new(Network::new(&rules).unwrap());
    let anatomy = NetworkAnatomy::new(&rules, &game, &Default::default()).unwrap();
    (game, anatomy)
}

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
            let told = (fraction(&state["value"]), fraction(&state["tie_break"]));
            let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 1e-6;
            assert!(
                close(degree.value, told.0) && close(degree.tie_break, told.1),
                "{}: {facts}: {degree:?} is not {told:?}",
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
        // One that does not end counts for nothing.
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

/// An allocator that has tried each strategy once, with these rewards.
fn tried(allocation: Allocation, means: &[f64]) -> Allocator {
    let mut allocator = Allocator::new(allocation, means.len());
    for (strategy, &mean) in means.iter().enumerate() {
        assert_eq!(allocator.next(|_| true, true), strategy);
        allocator.learn(strategy, mean);
    }
    allocator
}

#[test]
fn a_static_round_is_the_one_worked_by_hand() {
    let data = data("static.json");
    let means = numbers(&data["means"]);
    let mut allocator = tried(Allocation::Static, &means);
    let order: Vec<String> = data["order"].as_array().unwrap().iter().map(|s| s.as_str().unwrap().into()).collect();
    for _ in 0..2 {
        let mut run = Vec::new();
        for _ in 0..47 {
            let strategy = allocator.next(|_| true, true);
            allocator.learn(strategy, means[strategy]);
            run.push(format!("S{}", strategy + 1));
        }
        assert_eq!(run, order);
    }
    // The ranks are those of the means by then.
    allocator.learn(2, 1000.0);
    assert_eq!(allocator.next(|_| true, true), 2);
}

#[test]
fn square_rounds_are_those_worked_by_hand() {
    let data = data("square.json");
    let means = numbers(&data["means"]);
    let mut allocator = tried(Allocation::Square, &means);
    for round in data["rounds"].as_array().unwrap() {
        let told = numbers(round);
        let mut counts = vec![0.0; means.len()];
        for _ in 0..told.iter().sum::<f64>() as usize {
            let strategy = allocator.next(|_| true, true);
            allocator.learn(strategy, means[strategy]);
            counts[strategy] += 1.0;
        }
        assert_eq!(counts, told);
    }
}

#[test]
fn upper_bounds_are_those_worked_by_hand() {
    for case in data("ucb.json").as_array().unwrap() {
        let tallies: Vec<Vec<f64>> = case["tallies"].as_array().unwrap().iter().map(numbers).collect();
        let mut allocator = Allocator::new(Allocation::Ucb { b: case["b"].as_f64().unwrap() }, tallies.len());
        for (strategy, tally) in tallies.iter().enumerate() {
            (0..tally[0] as usize).for_each(|_| allocator.learn(strategy, tally[1]));
        }
        assert_eq!(allocator.next(|_| true, true), case["next"].as_u64().unwrap() as usize, "{}", case["about"]);
    }
}

#[test]
fn all_are_used_as_often_and_then_the_best_alone() {
    let means = [0.2, 0.5, 0.4];
    let mut allocator = tried(Allocation::UniformThenBest, &means);
    for _ in 0..30 {
        let strategy = allocator.next(|_| true, true);
        allocator.learn(strategy, means[strategy]);
    }
    assert!(allocator.tallies().iter().all(|tally| tally.simulations == 11));
    assert_eq!(allocator.next(|_| true, false), 1);
    allocator.learn(1, -1000.0);
    assert_eq!(allocator.next(|_| true, false), 1, "the choice is made once");
}

#[test]
fn what_is_not_ready_is_not_used() {
    for allocation in [Allocation::Ucb { b: 5.0 }, Allocation::Static, Allocation::Square, Allocation::UniformThenBest]
    {
        let mut allocator = Allocator::new(allocation, 3);
        for _ in 0..100 {
            let strategy = allocator.next(|strategy| strategy != 1, true);
            assert_ne!(strategy, 1);
            allocator.learn(strategy, 0.5);
        }
        assert_eq!(allocator.next(|_| true, true), 1, "{allocation:?}");
    }
}

#[test]
fn effective_qualities_are_those_of_the_table() {
    let data = data("quality.json");
    let mut values = Vec::new();
    for child in data["children"].as_array().unwrap() {
        let successors = numbers(&child["successors"]);
        let told = Child {
            quality: child["quality"].as_f64().unwrap(),
            is_terminal: child["terminal"].as_bool().unwrap(),
            own_moves: child["own"].as_u64().unwrap() as usize,
            joint_moves: child["joint"].as_u64().unwrap() as usize,
            successors: &successors,
        };
        let value = told.effective_quality();
        assert!((value - child["value"].as_f64().unwrap()).abs() < 1e-12, "{told:?}: {value}");
        values.push(value);
    }
    let best = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]));
    assert_eq!(best, data["best"].as_u64().map(|best| best as usize));
}

#[test]
fn history_counts_a_move_once_a_simulation() {
    let mut history = History::new(2);
    let mut rng = Rng::seed_from_u64(1);
    history.begin();
    history.count(0, 3, 1.0);
    history.count(0, 3, 1.0);
    history.count(1, 3, 0.0);
    history.begin();
    history.count(0, 3, 0.0);
    history.count(0, 5, 0.0);
    assert_eq!([3, 4, 5].map(|mv| history.average(0, mv)), [Some(0.5), None, Some(0.0)]);
    assert_eq!(history.average(1, 3), Some(0.0));
    for _ in 0..20 {
        // What was never played is worth less than what always lost.
        assert_eq!(history.best(0, [4, 5, 3].into_iter(), &mut rng), 2);
        assert_eq!(history.best(0, [4, 5, 9].into_iter(), &mut rng), 1);
    }
    let mut any = [0; 2];
    (0..100).for_each(|_| any[history.best(0, [7, 8].into_iter(), &mut rng)] += 1);
    assert!(any.iter().all(|&count| count > 20), "{any:?}");
}

/// Our own rulesheets, and those of a collection if they are there.
fn all_games() -> Vec<(String, String)> {
    let mut all = files(&own_dir(), ".kif");
    all.extend(conformance("../games").map_or(Vec::new(), |dir| files(&dir, ".kif")));
    all.into_iter().map(|(name, path)| (name, fs::read_to_string(path).unwrap())).collect()
}

/// Some joint moves of the acting roles, more than there are lanes.
fn joints(game: &NetworkGame, state: &<NetworkGame as Game>::State, rng: &mut Rng) -> Vec<u32> {
    let mut moves = Vec::new();
    match game.turn(state) {
        Turn::One(role) => game.legal(state, role, &mut moves),
        Turn::All => {
            for _ in 0..40 {
                let joint = (0..game.roles()).map(|role| game.random_legal(state, role, &mut Vec::new(), rng).unwrap());
                moves.extend(joint);
            }
        }
    }
    if rng.random_range(0..8) == 0 {
        moves = moves.repeat(600usize.div_ceil(moves.len()));
    }
    moves
}

#[test]
fn successors_in_lanes_are_those_one_by_one() {
    let mut rng = Rng::seed_from_u64(7);
    for (name, text) in all_games() {
        let (game, mut anatomy) = ready(&text);
        if !anatomy.has_lanes() {
            eprintln!("{name}: the network is too large for lanes");
            continue;
        }
        let (mut fast, mut slow) = (Successors::default(), Successors::default());
        let mut state = game.initial();
        for step in 0..60 {
            if game.is_terminal(&state) {
                state = game.initial();
            }
            let joints = joints(&game, &state, &mut rng);
            if step % 4 == 0 || joints.len() > 1000 {
                anatomy.successors(&game, &state, &joints, true, &mut fast);
                one_by_one(&anatomy, &game, &state, &joints, true, &mut slow);
                assert_eq!(fast, slow, "{name}, step {step}");
            }
            let seats = game.turn(&state).acting(game.roles()).len();
            let joint = rng.random_range(0..joints.len() / seats);
            game.play(&mut state, &joints[joint * seats..][..seats]);
        }
    }
}

#[test]
fn a_degree_is_1_where_the_goal_of_highest_value_holds() {
    let mut rng = Rng::seed_from_u64(8);
    let mut reached = 0;
    for (name, text) in all_games() {
        let (game, anatomy) = ready(&text);
        let network = game.network();
        for role in 0..game.roles() {
            let Some(tree) = anatomy.goal_tree(role) else {
                eprintln!("{name}: role {role} has no tree");
                continue;
            };
            let highest = network.netlist.outputs.goals[role].iter().map(|&(value, _)| value).max().unwrap();
            let mut state = game.initial();
            for _ in 0..100 {
                let mut states = Successors::default();
                states.reset(1, anatomy.facts(), game.roles());
                state.fluents().iter().for_each(|fact| states.insert(0, fact));
                let degree = degree(tree, &states)[0];
                let is_reached = match game.reached(&state, role) {
                    Goal::Value(value) => Some(value == highest),
                    Goal::None => Some(false),
                    Goal::Several | Goal::NotANumber => None,
                };
                assert!(
                    (0.0..=1.0).contains(&degree.value) && degree.tie_break <= degree.value + 1e-6,
                    "{name}: {degree:?}"
                );
                if let Some(is_reached) = is_reached {
                    assert_eq!(degree.value > 1.0 - 1e-6, is_reached, "{name}: role {role}: {degree:?}");
                    reached += usize::from(is_reached);
                }
                if game.is_terminal(&state) {
                    state = game.initial();
                    continue;
                }
                let joints = joints(&game, &state, &mut rng);
                let seats = game.turn(&state).acting(game.roles()).len();
                game.play(&mut state, &joints[..seats]);
                if rng.random_range(0..4) != 0 {
                    game.playout(&mut state, 3, &mut rng);
                }
            }
        }
    }
    assert!(reached > 50, "{reached}");
}
