//! The strategies of MINI-Player compared with values computed by hand, and
//! the features that they use compared with single evaluations.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use serde_json::Value;
use sternhalma_ggp::features::{Degree, DegreeBuffers, GoalTree, StateFeatures, Successors, one_by_one};
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{Goal, Reasoner, Rules};
use sternhalma_ggp::mcts::Child;
use sternhalma_ggp::mcts::playout::mini::{
    Allocator, Chances, History, MiniConfig, MiniPlayout, OpponentModel, Strategy, StrategyAllocation, StrategyTally,
    SymbolCounts,
};
use sternhalma_ggp::mcts::{Decision, MctsConfig, MoveHistory, Playout, RandomPlayout, SearchClock, ToTheEnd, Uct};
use sternhalma_ggp::{Game, Limits, Mcts, NOOP, Rng, SearchStats, Turn};

mod common;
use common::{collection, files, own_dir};

fn data(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mini").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Parses a number that is written as a fraction.
fn fraction(value: &Value) -> f64 {
    let text = value.as_str().unwrap();
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
}

fn ready(text: &str) -> (NetworkGame, Box<dyn StateFeatures<NetworkGame>>) {
    let rules = Rules::parse(text).unwrap();
    let game = NetworkGame::new(Network::new(&rules).unwrap()).with_rules(rules);
    let anatomy = game.features();
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

/// Returns an allocator that has tried each strategy once, with these rewards.
fn tried(allocation: StrategyAllocation, means: &[f64]) -> Allocator {
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
    let mut allocator = tried(StrategyAllocation::Static, &means);
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
    // The ranks follow the means at that time.
    allocator.learn(2, 1000.0);
    assert_eq!(allocator.next(|_| true, true), 2);
}

#[test]
fn square_rounds_are_those_worked_by_hand() {
    let data = data("square.json");
    let means = numbers(&data["means"]);
    let mut allocator = tried(StrategyAllocation::Square, &means);
    for round in data["rounds"].as_array().unwrap() {
        let expected = numbers(round);
        let mut counts = vec![0.0; means.len()];
        for _ in 0..expected.iter().sum::<f64>() as usize {
            let strategy = allocator.next(|_| true, true);
            allocator.learn(strategy, means[strategy]);
            counts[strategy] += 1.0;
        }
        assert_eq!(counts, expected);
    }
}

#[test]
fn upper_bounds_are_those_worked_by_hand() {
    for case in data("ucb.json").as_array().unwrap() {
        let tallies: Vec<Vec<f64>> = case["tallies"].as_array().unwrap().iter().map(numbers).collect();
        let allocation =
            StrategyAllocation::Ucb { b: case["b"].as_f64().unwrap(), floor: 0.0, ceiling: 1.0, prior: 1.0 };
        let mut allocator = Allocator::new(allocation, tallies.len());
        for (strategy, tally) in tallies.iter().enumerate() {
            (0..tally[0] as usize).for_each(|_| allocator.learn(strategy, tally[1]));
        }
        assert_eq!(allocator.next(|_| true, true), case["next"].as_u64().unwrap() as usize, "{}", case["about"]);
    }
}

/// Returns the fraction of each strategy in 20,000 simulations whose rewards
/// are 1 with the given probabilities, otherwise 0.
fn bernoulli_shares(allocation: StrategyAllocation, means: [f64; 6], seed: u64) -> Vec<f64> {
    const PULLS: u32 = 20_000;
    let mut rng = Rng::seed_from_u64(seed);
    let mut allocator = Allocator::new(allocation, means.len());
    for _ in 0..PULLS {
        let strategy = allocator.next(|_| true, false);
        allocator.learn(strategy, f64::from(u8::from(rng.random_bool(means[strategy]))));
    }
    allocator.tallies().iter().map(|tally| f64::from(tally.simulations) / f64::from(PULLS)).collect()
}

/// The means of R, AGE, SSC, M, E and HH in [Świechowski and Mańdziuk 2014,
/// Table IX]. A simulation of upper confidence bounds that is independent of
/// this code gives the best strategy 30% in Checkers and 53% in Free for All.
#[test]
fn upper_bounds_share_out_simulations_as_in_the_paper() {
    const CHECKERS: [f64; 6] = [0.488, 0.777, 0.785, 0.641, 0.750, 0.547];
    const FREE_FOR_ALL: [f64; 6] = [0.524, 0.680, 0.845, 0.585, 0.945, 0.762];
    for seed in 0..5 {
        let mut shares = bernoulli_shares(StrategyAllocation::UCB, CHECKERS, seed);
        shares.sort_by(f64::total_cmp);
        assert!((shares[5] - 0.30).abs() < 0.04 && (shares[0] - 0.05).abs() < 0.01, "{shares:?}");
        let shares = bernoulli_shares(StrategyAllocation::UCB, FREE_FOR_ALL, seed);
        assert!((shares[4] - 0.53).abs() < 0.04, "{shares:?}");
    }
}

/// Returns the fraction of each strategy in 2,000 simulations with upper
/// bounds. The last of four strategies is ready only from the 1,001st on. The
/// first is the best by far.
fn shares(floor: f64, ceiling: f64) -> Vec<f64> {
    let mut allocator = Allocator::new(StrategyAllocation::Ucb { b: 0.05, floor, ceiling, prior: 1.0 }, 4);
    for number in 0..2_000 {
        let strategy = allocator.next(|strategy| strategy < 3 || number >= 1_000, true);
        allocator.learn(strategy, [0.9, 0.1, 0.2, 0.1][strategy]);
    }
    allocator.tallies().iter().map(|tally| f64::from(tally.simulations) / 2_000.0).collect()
}

#[test]
fn shares_have_a_floor_and_a_ceiling() {
    let near = |shares: &[f64], expected: [f64; 4]| {
        shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 2e-3)
    };
    let free = shares(0.0, 1.0);
    assert!(free[0] > 0.99, "{free:?}");
    // A strategy that is ready for half of the simulations gets its fraction
    // of that half.
    assert!(near(&shares(0.1, 1.0), [0.75, 0.1, 0.1, 0.05]), "{:?}", shares(0.1, 1.0));
    let capped = shares(0.0, 0.6);
    assert!((capped[0] - 0.6).abs() < 2e-3, "{capped:?}");
    assert!(capped[1..].iter().all(|&share| share > free[1]), "{capped:?}");
    // Bounds that cannot be satisfied give all strategies equal fractions.
    let same = shares(1.0, 1.0);
    assert!((same[0] - same[1]).abs() < 2e-3 && (same[1] - same[2]).abs() < 2e-3, "{same:?}");
    assert!(shares(0.0, 0.0).iter().zip(free).all(|(&share, free)| share == free), "at no share all are above");
}

#[test]
fn an_expected_value_has_the_square_of_the_prior_while_all_are_equal() {
    let mut allocator = Allocator::new(StrategyAllocation::Ucb { b: 0.05, floor: 0.0, ceiling: 1.0, prior: 3.0 }, 3);
    allocator.expect(1);
    for _ in 0..1_100 {
        let strategy = allocator.next(|_| true, true);
        allocator.learn(strategy, 0.5);
    }
    let shares: Vec<u32> = allocator.tallies().iter().map(|tally| tally.simulations).collect();
    assert!(shares[1].abs_diff(900) <= 2 && shares[0].abs_diff(shares[2]) <= 1, "{shares:?}");
    // An expected strategy gives way to a better one.
    for _ in 0..1_100 {
        let strategy = allocator.next(|_| true, true);
        allocator.learn(strategy, if strategy == 2 { 0.9 } else { 0.5 });
    }
    let shares: Vec<u32> = allocator.tallies().iter().map(|tally| tally.simulations).collect();
    assert!(shares[2] > 900, "{shares:?}");
}

#[test]
fn all_are_used_as_often_and_then_the_best_alone() {
    let means = [0.2, 0.5, 0.4];
    let mut allocator = tried(StrategyAllocation::UniformThenBest, &means);
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
fn strategies_that_are_not_ready_are_not_used() {
    for allocation in [
        StrategyAllocation::UCB,
        StrategyAllocation::Static,
        StrategyAllocation::Square,
        StrategyAllocation::UniformThenBest,
    ] {
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
        // An unplayed move has a smaller value than one that always lost.
        assert_eq!(history.best(0, [4, 5, 3].into_iter(), &mut rng), 2);
        assert_eq!(history.best(0, [4, 5, 9].into_iter(), &mut rng), 1);
    }
    history.begin();
    history.count(0, 11, 0.75);
    history.count(0, 12, 0.75);
    // Any of the unplayed moves, and any of those with the same value.
    for moves in [[7, 8], [11, 12]] {
        let mut any = [0; 2];
        (0..100).for_each(|_| any[history.best(0, moves.into_iter(), &mut rng)] += 1);
        assert!(any.iter().all(|&count| count > 20), "{any:?}");
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

/// Returns a player that follows one strategy whenever it can.
fn always(strategy: Strategy) -> MiniConfig {
    let chances = Chances { goal: 1.0, symbols: 1.0, mobility: 1.0, exploration: 1.0, history: 1.0 };
    MiniConfig { strategies: vec![strategy], chances, ..MiniConfig::mini() }
}

fn playout(game: &NetworkGame, role: usize, config: MiniConfig) -> MiniPlayout<NetworkGame> {
    MiniPlayout::new(game, role, Some(game.features()), config)
}

/// Returns the simulations of each strategy in a match with equal rewards,
/// with `roles` roles that have two moves each.
fn expected(roles: usize, with_rules: bool, prior: f64) -> HashMap<&'static str, u32> {
    let names = &["a", "b"][..roles];
    let mut text = "(init start) (<= (next over) (true start)) (<= terminal (true over))".to_owned();
    for name in names {
        text += &format!("(role {name}) (legal {name} left) (legal {name} right)");
        text += &format!("(<= (goal {name} 50) (true over)) (<= (goal {name} 0) (not (true over)))");
    }
    let rules = Rules::parse(&text).unwrap();
    let mut game = NetworkGame::new(Network::new(&rules).unwrap());
    if with_rules {
        game = game.with_rules(rules);
    }
    let allocation = StrategyAllocation::Ucb { b: 5.0, floor: 0.0, ceiling: 1.0, prior };
    let config = MiniConfig { allocation, ..MiniConfig::mini() };
    let mut search = Mcts::new(Uct::new(0.4), playout(&game, 0, config), ToTheEnd, MctsConfig::default(), 1);
    search.search(&game, &game.initial(), 0, Limits::playouts(2_100), &Default::default());
    search.playout().tallies().map(|(strategy, tally)| (strategy.name(), tally.simulations)).collect()
}

#[test]
fn the_expected_strategy_depends_on_roles_and_rules() {
    // The expected strategy gets 16 of 21 parts.
    for (roles, with_rules, most) in [(1, true, "E"), (2, true, "AGE")] {
        let shares = expected(roles, with_rules, 4.0);
        for (strategy, simulations) in &shares {
            let expected = if *strategy == most { 1_600 } else { 100 };
            assert!(simulations.abs_diff(expected) <= 5, "{roles}: {shares:?}");
        }
    }
    assert!(expected(2, false, 1.0).values().all(|&all| all >= 340), "without a prior nothing is left out");
    let shares = expected(2, false, 4.0);
    assert!(shares.iter().all(|(strategy, &all)| if *strategy == "AGE" { all == 0 } else { all >= 400 }), "{shares:?}");
}

/// Returns the names of the moves that a playout chooses in a state.
fn choices(
    game: &NetworkGame,
    playout: &mut MiniPlayout<NetworkGame>,
    state: &<NetworkGame as Game>::State,
    history: &MoveHistory,
) -> BTreeSet<String> {
    choices_of(0, game, playout, state, history)
}

/// Returns the names of the moves that a playout chooses for a role in a state.
fn choices_of(
    role: usize,
    game: &NetworkGame,
    playout: &mut MiniPlayout<NetworkGame>,
    state: &<NetworkGame as Game>::State,
    history: &MoveHistory,
) -> BTreeSet<String> {
    let mut rng = Rng::seed_from_u64(9);
    (0..100).map(|_| game.move_name(role, playout.choose(game, state, role, history, &mut rng))).collect()
}

/// Returns a playout of one strategy in the state after the moves of a case.
fn case(
    name: &str,
    strategy: Strategy,
) -> (NetworkGame, MiniPlayout<NetworkGame>, <NetworkGame as Game>::State, BTreeSet<String>) {
    let case = data(name);
    let (game, _) = ready(case["rules"].as_str().unwrap());
    let mut playout = playout(&game, 0, always(strategy));
    let mut state = game.initial();
    playout.begin(&game, None, &mut Rng::seed_from_u64(1));
    playout.watch(&game, &state);
    let names = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_string()).collect()
    };
    for name in names(&case["watched"]) {
        game.play(&mut state, &[game.move_named(0, &name).unwrap()]);
        playout.watch(&game, &state);
    }
    let best = names(&case["best"]).into_iter().collect();
    (game, playout, state, best)
}

#[test]
fn mobility_counts_for_six_steps() {
    let (game, mut playout, state, best) = case("mobility.json", Strategy::Mobility);
    let mut history = MoveHistory::new(2);
    history.push(|numbers| numbers.extend([0, 0]));
    for _ in 0..6 {
        assert_eq!(choices(&game, &mut playout, &state, &history), best);
        history.push(|numbers| numbers.extend([0, 0]));
    }
    assert_eq!(choices(&game, &mut playout, &state, &history).len(), 3);
    // The next simulation counts mobility again.
    playout.begin(&game, None, &mut Rng::seed_from_u64(1));
    assert_eq!(choices(&game, &mut playout, &state, &history), best);
}

#[test]
fn other_roles_follow_their_model() {
    let (game, _) = ready(&common::own("tic-tac-toe"));
    let mut state = game.initial();
    let first = game.legal_of(&state, 0)[0];
    game.play(&mut state, &[first]);
    let moves = game.legal_of(&state, 1);
    // The third move of the other role has won a simulation.
    let mut learnt = MoveHistory::new(2);
    learnt.push(|numbers| numbers.extend([NOOP, game.number(1, moves[2])]));
    let mut rng = Rng::seed_from_u64(1);
    let (all, best) = ((0..moves.len()).collect::<BTreeSet<_>>(), BTreeSet::from([2]));
    for (opponents, in_tree, in_playouts) in [
        (OpponentModel::History, &best, &best),
        (OpponentModel::HistoryInTree, &best, &all),
        (OpponentModel::Random, &all, &all),
    ] {
        let mut playout = playout(&game, 0, MiniConfig { opponents, ..always(Strategy::Random) });
        playout.begin(&game, None, &mut rng);
        playout.learn(&game, &learnt, &[0.0, 1.0]);
        playout.begin(&game, None, &mut rng);
        let history = MoveHistory::new(2);
        let untried = (0..200).map(|_| playout.choose_untried(&game, &state, 1, &moves, &history, &mut rng));
        assert_eq!(&untried.collect::<BTreeSet<_>>(), in_tree, "{opponents:?}");
        let place = |mv| moves.iter().position(|&other| other == mv).unwrap();
        let played = (0..200).map(|_| place(playout.choose(&game, &state, 1, &history, &mut rng)));
        assert_eq!(&played.collect::<BTreeSet<_>>(), in_playouts, "{opponents:?}");
    }
    assert_eq!(MiniConfig::mini().opponents, OpponentModel::HistoryInTree);
}

#[test]
fn exploration_looks_at_the_states_before() {
    let (game, mut playout, state, best) = case("exploration.json", Strategy::Exploration);
    assert_eq!(choices(&game, &mut playout, &state, &MoveHistory::new(1)), best);
    // A simulation is independent of the previous one.
    playout.begin(&game, None, &mut Rng::seed_from_u64(1));
    playout.watch(&game, &state);
    let names = ["(to s1)", "(to s3)"].map(String::from);
    assert_eq!(choices(&game, &mut playout, &state, &MoveHistory::new(1)), BTreeSet::from(names));
}

#[test]
fn exploration_compares_with_three_states() {
    let rules = "(role you) (init (at a)) (place a) (place b) (place c) (place d)
        (<= (legal you (to ?x)) (place ?x)) (<= (next (at ?x)) (does you (to ?x)))
        (<= terminal (true (at none))) (goal you 50)";
    let (game, _) = ready(rules);
    let mut playout = playout(&game, 0, always(Strategy::Exploration));
    let mut state = game.initial();
    playout.begin(&game, None, &mut Rng::seed_from_u64(1));
    playout.watch(&game, &state);
    for name in ["(to b)", "(to c)", "(to d)"] {
        game.play(&mut state, &[game.move_named(0, name).unwrap()]);
        playout.watch(&game, &state);
    }
    // The first state is no longer known; the other three are.
    let best = BTreeSet::from(["(to a)".to_owned()]);
    assert_eq!(choices(&game, &mut playout, &state, &MoveHistory::new(1)), best);
}

#[test]
fn our_role_learns_from_its_own_rewards() {
    // A fact of the letters counts for each of its columns.
    let rules = "(role first) (role second) (init (step 0)) (upper f) (upper g) (lower x) (lower y)
        (legal first wait) (legal first rest) (<= (legal second (write ?u ?l)) (upper ?u) (lower ?l))
        (<= (next (letters ?u ?l)) (does second (write ?u ?l)))
        (<= (next (step 1)) (true (step 0))) (<= terminal (true (step 1)))
        (worth f y 100 0) (worth f x 75 25) (worth g y 25 75) (worth g x 0 100)
        (<= (goal second ?n) (true (letters ?u ?l)) (worth ?u ?l ?n ?m))
        (<= (goal first ?m) (true (letters ?u ?l)) (worth ?u ?l ?n ?m))";
    let (game, _) = ready(rules);
    let mut playout = playout(&game, 1, always(Strategy::Symbols));
    let mut rng = Rng::seed_from_u64(1);
    let history = MoveHistory::new(2);
    // Weights: f 2/4 - 1/6, g 0/4 - 2/6, x 1/4 - 2/6, y 1/4 - 1/6.
    for (letters, won) in [("f y", true), ("f x", true), ("g y", false), ("g x", false), ("f x", false)] {
        playout.begin(&game, Some(0.1), &mut rng);
        let mut state = game.initial();
        playout.watch(&game, &state);
        game.play(
            &mut state,
            &[game.move_named(0, "wait").unwrap(), game.move_named(1, &format!("(write {letters})")).unwrap()],
        );
        playout.watch(&game, &state);
        let reward = f64::from(u8::from(won));
        playout.learn(&game, &history, &[1.0 - reward, reward]);
    }
    let (_, tally) = playout.tallies().next().unwrap();
    assert_eq!(tally, StrategyTally { simulations: 5, sum: 2.0 });
    // The history heuristic gives each role its own reward.
    let mut played = MoveHistory::new(2);
    let moves = [0, 1].map(|role| game.legal_of(&game.initial(), role)[0]);
    played.push(|numbers| numbers.extend([0, 1].map(|role| game.number(role, moves[role]))));
    playout.begin(&game, None, &mut rng);
    playout.learn(&game, &played, &[0.25, 0.75]);
    assert_eq!([0, 1].map(|role| playout.preference(&game, role, moves[role])), [0.25, 0.75]);
    playout.begin(&game, None, &mut rng);
    // The sum of the weights decides; one column alone would leave two moves.
    let best = BTreeSet::from(["(write f y)".to_owned()]);
    assert_eq!(choices_of(1, &game, &mut playout, &game.initial(), &history), best);
}

#[test]
fn equal_goals_are_ordered_by_the_tie_break() {
    let rules = "(role you) (init start) (set both a) (set both c) (set one a) (last b) (last d)
        (<= (legal you (take both)) (true start)) (<= (legal you (take one)) (true start))
        (<= (legal you (add ?l)) (not (true start)) (last ?l))
        (<= (next (has ?l)) (does you (take ?s)) (set ?s ?l))
        (<= (next (has ?l)) (does you (add ?l))) (<= (next (has ?l)) (true (has ?l)))
        (<= terminal (true (has ?l)) (last ?l))
        (<= won (true (has a)) (true (has b))) (<= won (true (has c)) (true (has d)))
        (<= (goal you 100) won) (<= (goal you 0) (not won))";
    let (game, _) = ready(rules);
    let mut playout = playout(&game, 0, always(Strategy::Goal));
    playout.begin(&game, None, &mut Rng::seed_from_u64(1));
    // Both states have one half of a way, and the first has halves of two.
    let best = BTreeSet::from(["(take both)".to_owned()]);
    assert_eq!(choices(&game, &mut playout, &game.initial(), &MoveHistory::new(1)), best);
}

/// A game that writes five of six letters; a, b and c have the highest value.
const LETTERS: &str = "(role you) (init (step 0))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
    (letter a) (letter b) (letter c) (letter d) (letter e) (letter f) (letter g) (letter h)
    (<= (legal you (write ?x)) (letter ?x))
    (<= (next (wrote ?x)) (does you (write ?x)))
    (<= (next (wrote ?x)) (true (wrote ?x)))
    (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (<= terminal (true (step 5)))
    (<= all (true (wrote a)) (true (wrote b)) (true (wrote c)))
    (<= (goal you 100) all)
    (<= (goal you 40) (true (wrote a)) (not all))
    (<= (goal you 0) (not (true (wrote a))))";

/// Returns a search that keeps to the moves of the root and plays out the
/// rest.
fn search(
    game: &NetworkGame,
    role: usize,
    config: MiniConfig,
    seed: u64,
) -> Mcts<NetworkGame, Uct, MiniPlayout<NetworkGame>, ToTheEnd> {
    let settings = MctsConfig { decision: Decision::EffectiveQuality, ..MctsConfig::default() };
    Mcts::new(Uct::new(0.4), playout(game, role, config), ToTheEnd, settings, seed)
}

#[test]
fn strategies_that_know_the_goal_do_better() {
    let (game, _) = ready(LETTERS);
    let config = MiniConfig { allocation: StrategyAllocation::UniformThenBest, ..MiniConfig::mini() };
    let settings = MctsConfig { max_edges: 1, ..MctsConfig::default() };
    let mut search = Mcts::new(Uct::new(1e9), playout(&game, 0, config), ToTheEnd, settings, 1);
    let (initial, stop) = (game.initial(), AtomicBool::new(false));
    let spent =
        search.think(&game, &initial, Limits::playouts(2000), &stop, SearchStats::default(), SearchClock::Start);
    assert_eq!(spent.playouts, 2000);
    let tallies: HashMap<Strategy, StrategyTally> = search.playout().tallies().collect();
    // Symbols are used from 1900 simulations on.
    assert_eq!(tallies[&Strategy::Symbols].simulations, 100);
    assert!(tallies.values().all(|tally| tally.simulations == 380 || tally.simulations == 100), "{tallies:?}");
    let random = tallies[&Strategy::Random].mean();
    for strategy in [Strategy::Goal, Strategy::Symbols, Strategy::History] {
        assert!(tallies[&strategy].mean() > random + 0.1, "{strategy:?}: {tallies:?}");
    }
    // Afterwards only the best strategy is used.
    search.think(&game, &initial, Limits::playouts(100), &stop, SearchStats::default(), SearchClock::Play);
    let after: HashMap<Strategy, StrategyTally> = search.playout().tallies().collect();
    let best = Strategy::ALL.into_iter().max_by(|a, b| tallies[a].mean().total_cmp(&tallies[b].mean())).unwrap();
    for strategy in Strategy::ALL {
        let more = after[&strategy].simulations - tallies[&strategy].simulations;
        assert_eq!(more, if strategy == best { 100 } else { 0 }, "{strategy:?}");
    }
}

#[test]
fn a_match_without_a_start_clock_has_no_symbols() {
    let (game, _) = ready(LETTERS);
    let mut search = search(&game, 0, always(Strategy::Symbols), 2);
    search.search(&game, &game.initial(), 0, Limits::playouts(300), &Default::default());
    let (_, tally) = search.playout().tallies().next().unwrap();
    assert_eq!(tally.simulations, 300);
    let initial = game.initial();
    let mut rng = Rng::seed_from_u64(1);
    let mut playout = playout(&game, 0, always(Strategy::Symbols));
    playout.begin(&game, None, &mut rng);
    assert_eq!(choices(&game, &mut playout, &initial, &MoveHistory::new(1)).len(), 8);
}

#[test]
fn players_of_the_family_play() {
    let mut rng = Rng::seed_from_u64(4);
    for name in ["matching-pennies", "odd-one-out", "tic-tac-toe", "runners"] {
        let (game, _) = ready(&common::own(name));
        for config in [
            MiniConfig::mini(),
            MiniConfig { strategies: vec![Strategy::History], ..MiniConfig::mini() },
            MiniConfig::mini(),
            MiniConfig { allocation: StrategyAllocation::UniformThenBest, ..MiniConfig::mini() },
            MiniConfig { allocation: StrategyAllocation::Static, ..MiniConfig::mini() },
            MiniConfig { allocation: StrategyAllocation::Square, ..MiniConfig::mini() },
        ] {
            let role = game.roles() - 1;
            let mut search = search(&game, role, config.clone(), 3);
            let mut state = game.initial();
            let stop = AtomicBool::new(false);
            search.begin(&game, &state);
            search.think(&game, &state, Limits::playouts(100), &stop, SearchStats::default(), SearchClock::Start);
            while !game.is_terminal(&state) {
                let mut joint: Vec<u32> = Vec::new();
                let acting = game.turn(&state).acting(game.roles());
                if !acting.contains(&role) {
                    search.think(&game, &state, Limits::playouts(20), &stop, SearchStats::default(), SearchClock::Play);
                }
                for acting in acting {
                    joint.push(if acting == role {
                        search.search(&game, &state, role, Limits::playouts(20), &stop).best
                    } else {
                        game.random_move(&state, acting, &mut Vec::new(), &mut rng).unwrap()
                    });
                }
                search.advance(&game, &joint);
                game.play(&mut state, &joint);
            }
            let all: u32 = search.playout().tallies().map(|(_, tally)| tally.simulations).sum();
            assert!(all >= 100, "{name}: {config:?}");
        }
    }
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
        let (game, _) = ready(&common::own(name));
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

/// Prints figures 2 and 3 of [Świechowski and Mańdziuk 2014]; run it with
/// `--ignored --nocapture`.
#[test]
#[ignore = "takes minutes, and needs STERNHALMA_CONFORMANCE"]
fn simulations_of_checkers_are_shared_out_as_in_the_figures() {
    const SIMULATIONS: u64 = 20_000;
    let path = collection().join("checkers.kif");
    let (game, _) = ready(&fs::read_to_string(path).unwrap());
    for allocation in [StrategyAllocation::UCB, StrategyAllocation::Static, StrategyAllocation::Square] {
        let config = MiniConfig { allocation, ..MiniConfig::mini() };
        let mut search = search(&game, 0, config, 1);
        let (state, stop) = (game.initial(), AtomicBool::new(false));
        let started = std::time::Instant::now();
        search.think(
            &game,
            &state,
            Limits::playouts(SIMULATIONS / 10),
            &stop,
            SearchStats::default(),
            SearchClock::Start,
        );
        let learnt: Vec<StrategyTally> = search.playout().tallies().map(|(_, tally)| tally).collect();
        search.think(&game, &state, Limits::playouts(SIMULATIONS), &stop, SearchStats::default(), SearchClock::Play);
        let mut shares = Vec::new();
        for ((strategy, tally), before) in search.playout().tallies().zip(learnt) {
            let share = f64::from(tally.simulations - before.simulations) / SIMULATIONS as f64;
            eprintln!("{allocation:?}: {:4} {:5.1}% mean {:.3}", strategy.name(), 100.0 * share, tally.mean());
            shares.push(share);
        }
        eprintln!("{allocation:?}: {:?}", started.elapsed());
        shares.sort_by(f64::total_cmp);
        match allocation {
            StrategyAllocation::Square => assert!(shares[5] < 0.4, "{shares:?}"),
            StrategyAllocation::Static => assert!((0.4..0.6).contains(&shares[5]) && shares[0] < 0.1, "{shares:?}"),
            _ => assert!(shares[5] > 1.5 * shares[0], "{shares:?}"),
        }
    }
}
