//! Means with 95% confidence intervals.

use serde::Serialize;

/// The normal deviate of a 95% confidence interval.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// Returns the 95% confidence interval of the mean `p` of a number of values between 0 and 1, by
/// Wilson's score [Wilson 1927].
///
/// The interval is exact for values of 0 and 1, which have the largest variance for a given mean.
/// The interval is too wide if there are other values.
pub(super) fn wilson(p: f64, games: u64) -> [f64; 2] {
    let n = games as f64;
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

/// An estimate with its 95% confidence interval. A missing bound is infinite, which is `null` in
/// JSON.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// The lower and the upper bound.
    pub interval: [f64; 2],
}

/// The mean of a number of games, from 0 to 100, with its 95% confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SampleMean {
    /// The number of games.
    pub games: u64,
    /// The mean.
    pub value: f64,
    /// The lower and the upper bound.
    pub interval: [f64; 2],
}

impl SampleMean {
    /// Returns the percentage of points, with Wilson's interval. A game has 0 to 1 points. Returns
    /// `None` if there are no games.
    pub fn from_points(points: &[f64]) -> Option<SampleMean> {
        let games = points.len() as u64;
        let mean = points.iter().sum::<f64>() / games as f64;
        let interval = || wilson(mean, games).map(|bound| 100.0 * bound);
        (games > 0).then(|| SampleMean { games, value: 100.0 * mean, interval: interval() })
    }

    /// Returns the mean of goals, with the interval of a normal distribution of the same variance.
    /// The interval of one game is 0 to 100. Returns `None` if there are no games.
    pub fn from_goals(goals: &[f64]) -> Option<SampleMean> {
        let (games, n) = (goals.len() as u64, goals.len() as f64);
        let value = goals.iter().sum::<f64>() / n;
        let squares: f64 = goals.iter().map(|goal| (goal - value).powi(2)).sum();
        let half = if games > 1 { Z * (squares / (n - 1.0) / n).sqrt() } else { 100.0 };
        let interval = [(value - half).max(0.0), (value + half).min(100.0)];
        (games > 0).then_some(SampleMean { games, value, interval })
    }

    /// Returns the unweighted average of several means, or `None` if there are none.
    ///
    /// The interval combines those of the means: squared distances from the mean to the
    /// bounds add up as variances do [Zou and Donner 2008].
    pub fn average(means: &[SampleMean]) -> Option<SampleMean> {
        let n = means.len() as f64;
        let value = means.iter().map(|mean| mean.value).sum::<f64>() / n;
        let distance =
            |bound: usize| means.iter().map(|mean| (mean.interval[bound] - mean.value).powi(2)).sum::<f64>().sqrt() / n;
        let games = means.iter().map(|mean| mean.games).sum();
        (!means.is_empty()).then(|| SampleMean { games, value, interval: [value - distance(0), value + distance(1)] })
    }
}
