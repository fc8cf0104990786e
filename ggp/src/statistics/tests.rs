use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use sternhalma_game::Rng;

use super::elo::{NELO, elo, log_likelihood, moments};
use super::interval::Z;
use super::sprt::with_t_value;
use super::*;

fn close(found: f64, expected: f64, error: f64) {
    assert!((found - expected).abs() <= error, "{found} is not {expected}");
}

fn test(low: f64, high: f64) -> Sprt {
    Sprt::new([low, high], 0.05, 0.05).unwrap()
}

fn half_width(estimate: Estimate) -> f64 {
    (estimate.interval[1] - estimate.interval[0]) / 2.0
}

#[test]
fn figures_are_those_by_hand() {
    assert_eq!(
        (SampleMean::from_points(&[]), SampleMean::from_goals(&[]), SampleMean::average(&[])),
        (None, None, None)
    );
    // The same as the score of the same games.
    let mut score = Score::default();
    let points = [1.0, 0.0, 0.5, 1.0, 1.0];
    points.into_iter().for_each(|point| score.add(point));
    let found = SampleMean::from_points(&points).unwrap();
    assert_eq!((found.games, found.value, found.interval), (5, 70.0, score.interval().map(|bound| 100.0 * bound)));
    // Goals 60 and 80: the variance is 200, and that of the mean 100.
    let goals = SampleMean::from_goals(&[60.0, 80.0]).unwrap();
    close(goals.interval[0], 70.0 - 10.0 * Z, 1e-9);
    close(goals.interval[1], 70.0 + 10.0 * Z, 1e-9);
    assert_eq!(SampleMean::from_goals(&[60.0]).unwrap().interval, [0.0, 100.0]);
    let figure = |games, value, interval| SampleMean { games, value, interval };
    let mean = SampleMean::average(&[figure(5, 50.0, [44.0, 53.0]), figure(7, 70.0, [62.0, 74.0])]).unwrap();
    // √(6² + 8²) / 2 and √(3² + 4²) / 2.
    assert_eq!(mean, figure(12, 60.0, [55.0, 62.5]));
}

#[test]
fn published_figures_are_met() {
    // fastchess, `--sprt 379 10170 21828 10640 343 elo=0 elo1=2 model=normalized`.
    let pairs = Pairs::new([379, 10170, 21828, 10640, 343]);
    let nelo = pairs.nelo().unwrap();
    close(nelo.value, 3.05, 0.005);
    close(half_width(nelo), 2.31, 0.005);
    // fastchess prints 2.94598, because its roots are not exact; fishtest's
    // formulas give 2.945495.
    close(test(0.0, 2.0).llr(&pairs), 2.946, 0.001);
    close(test(0.0, 2.0).llr(&pairs), 2.945495, 1e-6);
    assert_eq!(test(0.0, 2.0).bounds().map(|bound| format!("{bound:.3}")), ["-2.944", "2.944"]);

    // fastchess, `sprt_test.cpp` and `elo_test.cpp`.
    let games = |wins, losses, draws| Outcomes::new([losses, draws, wins]);
    close(test(0.0, 2.0).llr(&games(36433, 36027, 68692)), 0.92, 0.01);
    close(test(-1.75, 0.25).llr(&games(10871, 10650, 20431)), 2.30, 0.01);
    close(test(0.0, 2.0).llr(&Pairs::new([365, 16618, 36229, 16974, 390])), 2.25, 0.01);
    close(test(-1.75, 0.25).llr(&Pairs::new([127, 4883, 10712, 5150, 104])), 3.01, 0.01);
    close(test(0.0, 20.0).llr(&Pairs::new([0, 0, 2, 0, 37])), 2.96, 0.01);
    let few = games(136, 96, 111);
    close(few.nelo().unwrap().value, 49.77, 0.01);
    close(half_width(few.nelo().unwrap()), 36.77, 0.01);
    close(few.elo().unwrap().value, 40.70, 0.01);
    // The expected interval is that of a normal distribution, which is nearly
    // the same with 343 games.
    close(half_width(few.elo().unwrap()), 30.43, 0.2);
    let pairs = Pairs::new([34, 54, 63, 64, 75]);
    close(pairs.nelo().unwrap().value, 57.94, 0.01);
    close(half_width(pairs.nelo().unwrap()), 28.28, 0.01);
    close(pairs.elo().unwrap().value, 55.58, 0.01);
    close(half_width(pairs.elo().unwrap()), 27.65, 0.2);
}

/// Finds the most likely distribution by a search that varies one weight at a
/// time. A factor that grows with the score makes the weights meet the
/// condition.
fn by_search<const N: usize>(shares: &[f64; N], condition: impl Fn(&[f64; N]) -> f64) -> f64 {
    let meet = |logs: &[f64; N]| {
        let (mut low, mut high) = (-60.0, 60.0);
        loop {
            let slope = 0.5 * (low + high);
            let weights: [f64; N] = std::array::from_fn(|i| (logs[i] + slope * i as f64).exp());
            let total: f64 = weights.iter().sum();
            let found = weights.map(|weight| weight / total);
            if slope == low || slope == high {
                return found;
            }
            *if condition(&found) < 0.0 { &mut low } else { &mut high } = slope;
        }
    };
    let value = |logs: &[f64; N]| log_likelihood(shares, &meet(logs));
    let mut logs = shares.map(f64::ln);
    let mut best = value(&logs);
    let mut step = 2.0;
    while step > 1e-6 {
        let before = best;
        for i in 0..N {
            for by in [step, -step] {
                let mut other = logs;
                other[i] += by;
                let found = value(&other);
                if found > best {
                    (best, logs) = (found, other);
                }
            }
        }
        if best == before {
            step /= 2.0;
        }
    }
    best
}

fn t_value<const N: usize>(found: &[f64; N]) -> f64 {
    let (mean, variance) = moments(found);
    mean / variance.sqrt()
}

fn check_against_search<const N: usize>(counts: [u64; N], nelo: f64) {
    let (_, shares) = Outcomes::new(counts).shares();
    let t = nelo / NELO;
    let found = with_t_value(&shares, t);
    close(found.iter().sum(), 1.0, 1e-9);
    close(t_value(&found), t, 1e-6);
    let likelihood = log_likelihood(&shares, &found);
    close(likelihood, by_search(&shares, |found| t_value(found) - t), 1e-6);
}

#[test]
fn no_distribution_of_that_strength_is_likelier() {
    for nelo in [-150.0, -10.0, 0.0, 2.0, 80.0, 300.0] {
        check_against_search([379, 10170, 21828, 10640, 343], nelo);
        check_against_search([3, 8, 40, 10, 7], nelo);
        check_against_search([20, 1, 30, 2, 25], nelo);
        check_against_search([36027, 68692, 36433], nelo);
        check_against_search([5, 2, 9], nelo);
    }
}

#[test]
fn of_two_peaks_the_likelier_is_found() {
    // Nearly all pairs have 1 point: a higher strength requires pairs with 1½ or 2 points.
    for counts in [[0, 0, 33, 0, 0], [0, 367, 6, 0, 0], [1, 1, 1109, 0, 0], [0, 0, 0, 1, 598]] {
        let (_, shares) = Outcomes::new(counts).shares();
        for t in [-1.9, -1.0, -0.4, 0.3, 1.0, 1.9] {
            let found = with_t_value(&shares, t);
            close(t_value(&found), t, 1e-5);
            let likelihood = log_likelihood(&shares, &found);
            // The search may end at the lower peak, but never above the higher one.
            assert!(likelihood >= by_search(&shares, |found| t_value(found) - t) - 1e-9, "{counts:?} {t}");
        }
    }
}

#[test]
fn intervals_of_elo_are_those_of_the_likelihood() {
    for counts in [[3, 8, 40, 10, 7], [0, 1, 3, 9, 7], [0, 0, 10, 0, 0]] {
        let pairs = Outcomes::new(counts);
        let (total, shares) = pairs.shares();
        for end in pairs.elo().unwrap().interval {
            let mean = 1.0 / (1.0 + 10f64.powf(-end / 400.0)) - 0.5;
            let likelihood = by_search(&shares, |found| moments(found).0 - mean);
            close(-2.0 * total * likelihood, Z * Z, 1e-3);
        }
    }
    // Many games: the normal approximation.
    let pairs = Outcomes::new([379, 10170, 21828, 10640, 343]);
    let (mean, variance) = pairs.moments().unwrap();
    let half = Z * (variance / pairs.total() as f64).sqrt();
    let found = pairs.elo().unwrap();
    close(found.interval[0], elo(mean - half), 0.001);
    close(found.interval[1], elo(mean + half), 0.001);
}

#[test]
fn one_sided_matches_have_bounds() {
    let won = Outcomes::new([0, 0, 0, 0, 10]);
    let Estimate { value, interval: [low, high] } = won.elo().unwrap();
    assert!(value == f64::INFINITY && high == f64::INFINITY && (200.0..400.0).contains(&low), "{low}");
    assert_eq!(won.nelo(), None);
    let lost = Outcomes::new([10, 0, 0, 0, 0]).elo().unwrap();
    assert_eq!(lost.value, f64::NEG_INFINITY);
    close(lost.interval[1], -low, 1e-6);
    assert_eq!((Pairs::default().elo(), Pairs::default().nelo()), (None, None));
    assert_eq!(test(0.0, 10.0).llr(&Pairs::default()), 0.0);
    let even = Outcomes::new([0, 0, 10, 0, 0]).elo().unwrap();
    assert!(even.value == 0.0 && even.interval[0] < -30.0 && even.interval[1] > 30.0);
}

#[test]
fn invalid_tests_are_refused() {
    for [low, high] in [[1.0, 1.0], [2.0, 0.0], [0.0, 501.0], [f64::NAN, 1.0], [0.0, f64::INFINITY]] {
        assert!(matches!(Sprt::new([low, high], 0.05, 0.05), Err(SprtError::Strengths(..))));
    }
    for (alpha, beta) in [(0.0, 0.05), (0.05, 1.0), (0.5, 0.5), (f64::NAN, 0.1)] {
        assert!(matches!(Sprt::new([0.0, 1.0], alpha, beta), Err(SprtError::Errors(..))));
    }
}

/// Scores of two equal players' pairs, the first game won more often than the second.
fn scores(seed: u64, better: f64) -> impl Iterator<Item = f64> {
    let mut rng = Rng::seed_from_u64(seed);
    (0u64..).map(move |game| {
        let chance = better + if game % 2 == 0 { 0.45 } else { 0.25 };
        match rng.random::<f64>() {
            x if x < chance => 1.0,
            x if x < chance + 0.3 => 0.5,
            _ => 0.0,
        }
    })
}

#[test]
fn tests_err_as_rarely_as_they_say() {
    // A gain of 0.08 points per game is 70 normalised Elo.
    for (better, right) in [(0.0, Verdict::H0), (0.08, Verdict::H1)] {
        let wrong = (0..100).filter(|&seed| {
            let mut test = SequentialTest::new(test(0.0, 70.0));
            let mut games = (0..).zip(scores(seed, better));
            let verdict = games.find_map(|(game, score)| match test.add(game, score) {
                Verdict::Continue => None,
                verdict => Some(verdict),
            });
            verdict != Some(right)
        });
        // Among 100 tests at 5%, 11 wrong decisions have a probability of about 1%.
        assert!(wrong.count() <= 11, "{right:?}");
    }
}

#[test]
fn order_of_ending_does_not_matter() {
    let games: Vec<(u64, f64)> = (0..).zip(scores(5, 0.2)).take(400).collect();
    let mut plain = SequentialTest::new(test(0.0, 30.0));
    games.iter().for_each(|&(game, score)| _ = plain.add(game, score));
    assert_eq!(plain.verdict(), Verdict::H1);
    assert!(plain.pairs().total() < 200, "it ends early");
    let mut rng = Rng::seed_from_u64(1);
    let mut shuffled = SequentialTest::new(test(0.0, 30.0));
    let mut waiting = games;
    while !waiting.is_empty() {
        let (game, score) = waiting.remove(rng.random_range(0..waiting.len().min(9)));
        shuffled.add(game, score);
    }
    assert_eq!((shuffled.pairs(), shuffled.llr()), (plain.pairs(), plain.llr()));
}

proptest! {
    #[test]
    fn changing_sides_changes_signs(
        counts in prop::array::uniform5(prop_oneof![Just(0u64), 0..5u64, 0..3000u64]),
        low in -400.0..400.0,
        width in 1.0..100.0,
    ) {
        let pairs = Outcomes::new(counts);
        let mut turned = counts;
        turned.reverse();
        let turned = Outcomes::new(turned);
        let (llr, other) = (test(low, low + width).llr(&pairs), test(-low - width, -low).llr(&turned));
        prop_assert!(llr.is_finite() && (llr + other).abs() <= 1e-6 * llr.abs().max(1.0), "{llr} {other}");
        if let (Some(a), Some(b)) = (pairs.elo(), turned.elo()) {
            let mirrored = |a: f64, b: f64| a == -b || (a + b).abs() < 1e-4 * a.abs().max(1.0);
            prop_assert!(mirrored(a.value, b.value), "{a:?} {b:?}");
            prop_assert!(mirrored(a.interval[0], b.interval[1]), "{a:?} {b:?}");
            prop_assert!(a.interval[0] <= a.value && a.value <= a.interval[1], "{a:?}");
            prop_assert!(a.interval.iter().any(|end| end.is_finite()));
        }
    }

    #[test]
    fn evidence_favours_the_nearer_strength(
        counts in prop::array::uniform3(1..500u64),
        low in -200.0..200.0,
        width in 1.0..50.0,
    ) {
        let games = Outcomes::new(counts);
        let seen = games.nelo().unwrap().value;
        let llr = test(low, low + width).llr(&games);
        prop_assert!(seen < low + width || llr > 0.0, "{seen} {llr}");
        prop_assert!(seen > low || llr < 0.0, "{seen} {llr}");
    }
}
