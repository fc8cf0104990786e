//! Properties of all on-line tuners.

use std::collections::HashSet;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use sternhalma_ggp::Rng;
use sternhalma_ggp::mcts::tuning::{Aspect, Combination, Method, ParameterId, Space, Tuner, TuningError};

fn methods() -> [(&'static str, Method); 5] {
    [
        ("MAB", Method::mab()),
        ("HE", Method::he()),
        ("NMC", Method::nmc()),
        ("LocalNMC", Method::local_nmc()),
        ("LSI", Method::lsi()),
    ]
}

/// Returns the mean over the parameters: 1 for the value of index 2, and a third less for each step away from it.
fn worth(combination: Combination) -> f64 {
    let added = |parameter| (1.0 - combination.index(parameter).abs_diff(2) as f64 / 3.0).max(0.0);
    (0..4).map(added).sum::<f64>() / 4.0
}

/// Plays simulations that are won with a probability of the worth of their combination. Returns the mean worth of the
/// last 10,000.
fn play(tuner: &mut Tuner, simulations: usize, learn: bool) -> f64 {
    let mut rng = Rng::seed_from_u64(1);
    let mut late = 0.0;
    for i in 0..simulations {
        let chosen = tuner.choose(&mut rng);
        if i + 10_000 >= simulations {
            late += worth(chosen);
        }
        if learn {
            tuner.update(if rng.random_bool(worth(chosen)) { 1.0 } else { 0.0 });
        }
    }
    late / 10_000.0
}

#[test]
fn every_method_learns() {
    let space = Space::grave_mast();
    let combinations = space.combinations();
    let uniform = combinations.iter().copied().map(worth).sum::<f64>() / combinations.len() as f64;
    for (name, method) in methods() {
        let tuner = || method.tuner(&space, &mut Rng::seed_from_u64(2)).unwrap();
        let mut learner = tuner();
        let late = play(&mut learner, 200_000, true);
        assert!(late > 0.8, "{name}: {late}, and {uniform} without learning");
        assert!(worth(learner.best()) > 0.9, "{name}: {:?}", learner.best());
        // A tuner that does not learn shows that the limit is significant.
        let late = play(&mut tuner(), 20_000, false);
        assert!(late < 0.7, "{name}: {late}");
    }
}

#[test]
fn every_method_learns_the_better_playout() {
    let space = Space::of(&[Aspect::Playout, Aspect::Epsilon]).unwrap();
    let playout = space.position(ParameterId::Playout).unwrap();
    let legal = space.combinations();
    for (name, method) in methods() {
        let method = match method {
            Method::Lsi { .. } => Method::Lsi { generate: 3_000, evaluate: 1_000, candidates: 80 },
            other => other,
        };
        let mut rng = Rng::seed_from_u64(7);
        let mut tuner = method.tuner(&space, &mut rng).unwrap();
        let mut late = 0;
        for i in 0..20_000 {
            let chosen = tuner.choose(&mut rng);
            assert!(legal.contains(&chosen));
            late += u32::from(i >= 15_000 && chosen.index(playout) == 2);
            let chance = [0.2, 0.5, 0.8][chosen.index(playout)];
            tuner.update(if rng.random_bool(chance) { 1.0 } else { 0.0 });
        }
        assert_eq!(tuner.best().index(playout), 2, "{name}");
        // The maximum is 5,000; chance alone gives a third.
        assert!(late > 3_500, "{name}: {late}");
    }
}

#[test]
fn the_same_seed_chooses_the_same() {
    let space = Space::grave_mast();
    for (name, method) in methods() {
        let choices = |seed| {
            let mut rng = Rng::seed_from_u64(seed);
            let mut tuner = method.tuner(&space, &mut rng).unwrap();
            let next = |_| {
                let chosen = tuner.choose(&mut rng);
                tuner.update(worth(chosen));
                chosen
            };
            (0..1_000).map(next).collect::<Vec<Combination>>()
        };
        assert_eq!(choices(4), choices(4), "{name}");
        assert_ne!(choices(4), choices(5), "{name}");
    }
}

#[test]
fn invalid_numbers_are_errors() {
    let refused = |method: Method| {
        method.tuner(&Space::grave_mast(), &mut Rng::seed_from_u64(6)).expect_err("the method is invalid")
    };
    assert!(matches!(refused(Method::He { c: f64::NAN }), TuningError::C { .. }));
    assert_eq!(refused(Method::Nmc { c: -1.0, epsilon0: 0.5, prior: 1.0 }), TuningError::C { c: -1.0 });
    assert_eq!(refused(Method::Nmc { c: 1.0, epsilon0: 1.5, prior: 1.0 }), TuningError::Epsilon0 { epsilon0: 1.5 });
    assert_eq!(refused(Method::Nmc { c: 1.0, epsilon0: 1.0, prior: 0.5 }), TuningError::Prior { prior: 0.5 });
    assert_eq!(refused(Method::Mab { c: 1.0, batch: 0 }), TuningError::Batch);
    let none = Method::Lsi { generate: 1, evaluate: 1, candidates: 0 };
    assert_eq!(refused(none), TuningError::Candidates { candidates: 0 });
}

fn any_method() -> impl Strategy<Value = Method> {
    prop_oneof![
        (0.0..2.0, 1_u32..12).prop_map(|(c, batch)| Method::Mab { c, batch }),
        (0.0..2.0).prop_map(|c| Method::He { c }),
        (0.0..2.0, 0.0..=1.0, 1.0..9.0).prop_map(|(c, epsilon0, prior)| Method::Nmc { c, epsilon0, prior }),
        (0_u32..400, 0_u32..400, 1_u32..60).prop_map(|(generate, evaluate, candidates)| Method::Lsi {
            generate,
            evaluate,
            candidates
        }),
    ]
}

proptest! {
    #[test]
    fn only_legal_combinations_are_chosen(method in any_method(), seed: u64, levels in 1_u32..100) {
        let space = Space::grave_mast();
        let legal: HashSet<Combination> = space.combinations().into_iter().collect();
        let mut rng = Rng::seed_from_u64(seed);
        let mut tuner = method.tuner(&space, &mut rng).unwrap();
        for _ in 0..1_000 {
            let chosen = tuner.choose(&mut rng);
            prop_assert!(legal.contains(&chosen));
            prop_assert!(legal.contains(&tuner.best()));
            tuner.update(f64::from(rng.random_range(0..=levels)) / f64::from(levels));
        }
    }
}
