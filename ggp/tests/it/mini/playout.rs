//! The moves of strategies in simulations, and whole players.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use serde_json::Value;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{Reasoner, Rules};
use sternhalma_ggp::mcts::playout::mini::{
    History, MiniConfig, MiniPlayout, OpponentModel, Strategy, StrategyAllocation, StrategyTally,
};
use sternhalma_ggp::mcts::{MctsConfig, MoveHistory, Playout, SearchClock, ToTheEnd, Uct};
use sternhalma_ggp::{Game, Limits, Mcts, NOOP, Rng, SearchStats};

use super::{always, data, playout, ready, search};
use crate::common::own;

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
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut Rng::seed_from_u64(1));
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
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut Rng::seed_from_u64(1));
    assert_eq!(choices(&game, &mut playout, &state, &history), best);
}

#[test]
fn other_roles_follow_their_model() {
    let (game, _) = ready(&own("tic-tac-toe"));
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
        Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut rng);
        Playout::<NetworkGame>::learn(&mut playout, &game, &learnt, &[0.0, 1.0]);
        Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut rng);
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
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut Rng::seed_from_u64(1));
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
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut Rng::seed_from_u64(1));
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
        Playout::<NetworkGame>::begin(&mut playout, &game, Some(0.1), &mut rng);
        let mut state = game.initial();
        playout.watch(&game, &state);
        game.play(
            &mut state,
            &[game.move_named(0, "wait").unwrap(), game.move_named(1, &format!("(write {letters})")).unwrap()],
        );
        playout.watch(&game, &state);
        let reward = f64::from(u8::from(won));
        Playout::<NetworkGame>::learn(&mut playout, &game, &history, &[1.0 - reward, reward]);
    }
    let (_, tally) = playout.tallies().next().unwrap();
    assert_eq!(tally, StrategyTally { simulations: 5, sum: 2.0 });
    // The history heuristic gives each role its own reward.
    let mut played = MoveHistory::new(2);
    let moves = [0, 1].map(|role| game.legal_of(&game.initial(), role)[0]);
    played.push(|numbers| numbers.extend([0, 1].map(|role| game.number(role, moves[role]))));
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut rng);
    Playout::<NetworkGame>::learn(&mut playout, &game, &played, &[0.25, 0.75]);
    assert_eq!([0, 1].map(|role| Playout::<NetworkGame>::preference(&playout, &game, role, moves[role])), [0.25, 0.75]);
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut rng);
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
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut Rng::seed_from_u64(1));
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
    Playout::<NetworkGame>::begin(&mut playout, &game, None, &mut rng);
    assert_eq!(choices(&game, &mut playout, &initial, &MoveHistory::new(1)).len(), 8);
}

#[test]
fn players_of_the_family_play() {
    let mut rng = Rng::seed_from_u64(4);
    for name in ["matching-pennies", "odd-one-out", "tic-tac-toe", "runners"] {
        let (game, _) = ready(&own(name));
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
