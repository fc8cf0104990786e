//! The score of equal chances, by logistic regression.

use super::interval::{Estimate, Z};

/// The maximum number of steps of Newton's method.
const MAX_STEPS: usize = 100;

/// Returns the score of a search at which the player to move wins as often as it loses, with its
/// interval.
///
/// A sample is a score and the result of the game, from 0 (lost) to 1 (won). The chance to win is
/// modelled as the logistic function of a linear function of the score, whose two parameters are
/// the most likely ones (Newton's method). The interval follows from the Fisher information by the
/// delta method. Returns `None` if the samples do not determine the parameters, e.g. if all games
/// above some score are won and all others lost.
pub fn equal_chances(samples: &[(f64, f64)]) -> Option<Estimate> {
    let [mut intercept, mut slope] = [0.0, 0.0];
    for _ in 0..MAX_STEPS {
        // The gradient, and the information matrix.
        let [mut g0, mut g1, mut h00, mut h01, mut h11] = [0.0; 5];
        for &(score, result) in samples {
            let chance = 1.0 / (1.0 + (-(intercept + slope * score)).exp());
            let (error, weight) = (result - chance, chance * (1.0 - chance));
            g0 += error;
            g1 += error * score;
            h00 += weight;
            h01 += weight * score;
            h11 += weight * score * score;
        }
        let determinant = h00 * h11 - h01 * h01;
        let step = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
        if !step.iter().all(|step| step.is_finite()) {
            return None;
        }
        intercept += step[0];
        slope += step[1];
        if step[0].abs() + step[1].abs() < 1e-9 * (1.0 + intercept.abs() + slope.abs()) {
            let value = -intercept / slope;
            // The inverse of the information matrix is [[h11, -h01], [-h01, h00]] / determinant, and the gradient of
            // `value` by intercept and slope is -[1, value] / slope.
            let variance = (h11 - 2.0 * value * h01 + value * value * h00) / determinant / (slope * slope);
            let half = Z * variance.sqrt();
            return half.is_finite().then_some(Estimate { value, interval: [value - half, value + half] });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_likelihood(samples: &[(f64, f64)], intercept: f64, slope: f64) -> f64 {
        let terms = samples.iter().map(|&(score, result)| {
            let chance = 1.0 / (1.0 + (-(intercept + slope * score)).exp());
            result * chance.ln() + (1.0 - result) * (1.0 - chance).ln()
        });
        terms.sum()
    }

    /// Returns the score of equal chances by a search over grids that become finer.
    fn by_grids(samples: &[(f64, f64)]) -> f64 {
        let (mut centre, mut width) = ([0.0, 0.0], 8.0);
        while width > 1e-7 {
            let points = (-10..=10).flat_map(|i| (-10..=10).map(move |j| [f64::from(i), f64::from(j)]));
            let best = points
                .map(|[i, j]| [centre[0] + width * i / 10.0, centre[1] + width * j / 10.0])
                .max_by(|a, b| log_likelihood(samples, a[0], a[1]).total_cmp(&log_likelihood(samples, b[0], b[1])))
                .unwrap();
            (centre, width) = (best, width * 0.6);
        }
        -centre[0] / centre[1]
    }

    #[test]
    fn the_estimate_is_the_most_likely() {
        let samples =
            [(-2.0, 0.0), (-1.0, 0.0), (-0.5, 1.0), (0.0, 0.0), (0.2, 0.5), (0.7, 1.0), (1.0, 0.0), (3.0, 1.0)];
        let found = equal_chances(&samples).unwrap();
        assert!((found.value - by_grids(&samples)).abs() < 1e-5, "{found:?} {}", by_grids(&samples));
        assert!(found.interval[0] < found.value && found.value < found.interval[1]);
    }

    #[test]
    fn results_that_mirror_each_other_have_equal_chances_in_the_middle() {
        let samples = [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0)];
        let found = equal_chances(&samples).unwrap();
        assert!((found.value - 1.5).abs() < 1e-9, "{found:?}");
        // With four times the samples the interval is half as wide.
        let half = equal_chances(&[samples; 4].concat()).unwrap();
        let width = |estimate: Estimate| estimate.interval[1] - estimate.interval[0];
        assert!((width(half) / width(found) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn samples_that_determine_nothing_have_no_estimate() {
        for samples in
            [&[][..], &[(1.0, 1.0)], &[(0.0, 0.0), (1.0, 1.0)], &[(1.0, 0.0), (1.0, 1.0)], &[(0.0, 1.0), (1.0, 1.0)]]
        {
            assert_eq!(equal_chances(samples), None, "{samples:?}");
        }
    }

    #[test]
    fn the_interval_moves_with_the_scores() {
        for shift in [0.0, 10.0, -10.0] {
            let samples = [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0)].map(|(score, won)| (score + shift, won));
            let Estimate { value, interval } = equal_chances(&samples).unwrap();
            assert!((value - 1.5 - shift).abs() < 1e-6);
            // The variance is that of the score in the model with the score 1.5 + shift as the origin: 1 / (h00 slope²).
            assert!((interval[1] - value - 2.413_295).abs() < 1e-4, "{shift}: {interval:?}");
        }
    }
}
