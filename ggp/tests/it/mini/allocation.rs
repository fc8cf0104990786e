//! The allocation of simulations to strategies.

use std::fs;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use sternhalma_ggp::mcts::SearchClock;
use sternhalma_ggp::mcts::playout::mini::{Allocator, MiniConfig, StrategyAllocation, StrategyTally};
use sternhalma_ggp::{Game, Limits, Rng, SearchStats};

use super::{data, numbers, ready, search};
use crate::common::collection;

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
    for case in data("square.json").as_array().unwrap() {
        let means = numbers(&case["means"]);
        let mut allocator = tried(StrategyAllocation::Square, &means);
        for round in case["rounds"].as_array().unwrap() {
            let expected = numbers(round);
            let mut counts = vec![0.0; means.len()];
            for _ in 0..expected.iter().sum::<f64>() as usize {
                let strategy = allocator.next(|_| true, true);
                allocator.learn(strategy, means[strategy]);
                counts[strategy] += 1.0;
            }
            assert_eq!(counts, expected, "{}", case["about"]);
        }
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
