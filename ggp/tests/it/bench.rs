//! Measurements of a rulesheet with every engine.

use sternhalma_ggp::Policy;
use sternhalma_ggp::bench::{BenchEngine, BenchError, BenchOptions, GameBench};

const TIC_TAC_TOE: &str = include_str!("../../games/tic-tac-toe.kif");

const OPTIONS: BenchOptions = BenchOptions { seconds: 0.2, threads: 2, seed: 1 };

#[test]
fn engines_agree_on_random_playouts() {
    let bench = GameBench::new(TIC_TAC_TOE).unwrap();
    assert!(bench.ground_seconds() > 0.0);
    for engine in [BenchEngine::Prover, BenchEngine::Sequential, BenchEngine::Lanes] {
        let rates = bench.play(engine, &OPTIONS).unwrap();
        // The first player scores 64.9% if a draw counts as half a win.
        assert!((7.3..7.9).contains(&rates.mean_length), "{engine:?}: {rates:?}");
        assert!((60.0..70.0).contains(&rates.mean_goals[0]), "{engine:?}: {rates:?}");
        assert_eq!(rates.faults, 0);
        let steps = rates.playouts_per_s * rates.mean_length;
        assert!((rates.steps_per_s - steps).abs() < 1e-6 * steps, "{rates:?}");
    }
    let info = bench.network_info(1).unwrap();
    assert_eq!((info.roles.len(), info.turn_taking, info.fixed_sum), (2, true, Some(100)));
    assert!(!info.one_player);
}

#[test]
fn searches_are_counted() {
    let bench = GameBench::new(TIC_TAC_TOE).unwrap();
    let policy: Policy = "uct".parse().unwrap();
    let rates = bench.search(&policy, &OPTIONS).unwrap();
    assert!(rates.simulations > 0 && rates.simulations_per_s > 0.0 && (1..=9).contains(&rates.depth), "{rates:?}");
    let rates = bench.search_in_lock_step(&policy, 8, &OPTIONS).unwrap();
    assert!(rates.simulations > 0 && rates.steps_per_s > 0.0, "{rates:?}");
    let error = bench.search_in_lock_step(&Policy::Random, 8, &OPTIONS).unwrap_err();
    assert!(matches!(error, BenchError::NotLockStep { .. }), "{error}");
}

#[test]
fn a_game_without_a_network_is_played_with_the_prover() {
    let endless = "(role a) (init (at 0)) (<= (legal a (go ?x)) (true (at ?x)))
        (<= (next (at (s ?x))) (does a (go ?x))) (<= terminal (true (at (s (s (s 0)))))) (goal a 70)";
    let bench = GameBench::new(endless).unwrap();
    assert_eq!(bench.play(BenchEngine::Prover, &OPTIONS).unwrap().mean_length, 3.0);
    assert!(matches!(bench.play(BenchEngine::Lanes, &OPTIONS), Err(BenchError::Ground(_))));
    assert!(bench.network_info(1).is_err());
}
