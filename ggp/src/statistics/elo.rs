//! Elo differences from counts of outcomes.

use super::interval::{Estimate, Z};

/// Normalised Elo of a player whose mean score is one standard deviation of a game above one half.
pub(super) const NELO: f64 = 800.0 / std::f64::consts::LN_10;

/// Replaces a count of zero in a likelihood, so that no outcome is impossible.
const ZERO_COUNT: f64 = 1e-3;

/// Returns the score of a game in half points.
pub(super) fn half_points(score: f64) -> usize {
    match score {
        0.0 => 0,
        1.0 => 2,
        _ => 1,
    }
}

/// Counts of outcomes, from the lowest score to the highest: 3 counts for games, 5 for pairs of
/// games.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcomes<const N: usize>([u64; N]);

/// Counts of pairs of games with 0, ½, 1, 1½ and 2 points of the first player.
pub type Pairs = Outcomes<5>;

impl<const N: usize> Default for Outcomes<N> {
    fn default() -> Self {
        Outcomes([0; N])
    }
}

impl Pairs {
    /// Adds the scores of the two games of a pair.
    pub fn add(&mut self, scores: [f64; 2]) {
        self.0[scores.into_iter().map(half_points).sum::<usize>()] += 1;
    }
}

impl<const N: usize> Outcomes<N> {
    /// Games per outcome.
    pub(super) const GAMES: f64 = ((N - 1) / 2) as f64;

    /// Creates outcomes from counts.
    pub fn new(counts: [u64; N]) -> Self {
        Outcomes(counts)
    }

    /// Adds other outcomes.
    pub fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }

    /// Returns the same outcomes, counted for the opponent.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.0.reverse();
        self
    }

    /// Returns the counts, from the lowest score to the highest.
    pub fn counts(&self) -> [u64; N] {
        self.0
    }

    /// Returns the number of outcomes.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the difference in logistic Elo, `-400 log10(1/s - 1)` for the [mean](Self::mean) score s, or
    /// `None` without outcomes. A player that won all games has a finite lower bound and an infinite estimate.
    pub fn elo(&self) -> Option<Estimate> {
        let Estimate { value, interval } = self.mean()?;
        Some(Estimate { value: elo(value - 0.5), interval: interval.map(|bound| elo(bound - 0.5)) })
    }

    /// Returns the mean score, from 0 to 1, or `None` without outcomes.
    ///
    /// The interval contains each mean whose likelihood ratio is not rejected at 5%
    /// [Owen 1988]. The interval is therefore valid for few games and for one-sided results.
    pub fn mean(&self) -> Option<Estimate> {
        let (mean, _) = self.moments()?;
        let (total, shares) = self.shares();
        let centre = moments(&shares).0;
        let rejected = |offset: f64| {
            let found = tilted(&shares, Self::offsets().map(|score| score - offset));
            -total * log_likelihood(&shares, &found) - 0.5 * Z * Z
        };
        let low = if mean > -0.5 { root(rejected, -0.5, centre) } else { -0.5 };
        let high = if mean < 0.5 { root(|offset| -rejected(offset), centre, 0.5) } else { 0.5 };
        Some(Estimate { value: 0.5 + mean, interval: [0.5 + low, 0.5 + high] })
    }

    /// Returns the difference in normalised Elo: the mean score minus one half, in standard
    /// deviations of a game, times 800/ln 10. Returns `None` if all outcomes are equal.
    ///
    /// The interval accounts for the error of the mean alone, as in fishtest and fastchess. The
    /// interval is accurate near 0, and too narrow for players of very different strength.
    pub fn nelo(&self) -> Option<Estimate> {
        let (mean, variance) = self.moments()?;
        let value = NELO * mean / (Self::GAMES * variance).sqrt();
        let half = NELO * Z / (Self::GAMES * self.total() as f64).sqrt();
        (variance > 0.0).then_some(Estimate { value, interval: [value - half, value + half] })
    }

    /// Returns the score of each outcome minus one half.
    pub(super) fn offsets() -> [f64; N] {
        std::array::from_fn(|i| i as f64 / (N - 1) as f64 - 0.5)
    }

    /// Returns the mean score minus one half, and the variance.
    pub(super) fn moments(&self) -> Option<(f64, f64)> {
        let total = self.total();
        (total > 0).then(|| moments(&self.0.map(|count| count as f64 / total as f64)))
    }

    /// Returns the number of outcomes and the share of each. No share is 0.
    pub(super) fn shares(&self) -> (f64, [f64; N]) {
        let counts = self.0.map(|count| if count == 0 { ZERO_COUNT } else { count as f64 });
        let total: f64 = counts.iter().sum();
        (total, counts.map(|count| count / total))
    }
}

/// Returns the Elo difference for a mean score minus one half.
pub(super) fn elo(offset: f64) -> f64 {
    400.0 * ((0.5 + offset) / (0.5 - offset)).log10()
}

/// Returns the mean score minus one half, and the variance.
pub(super) fn moments<const N: usize>(shares: &[f64; N]) -> (f64, f64) {
    let sum = |value: &dyn Fn(f64) -> f64| -> f64 {
        shares.iter().zip(Outcomes::<N>::offsets()).map(|(share, offset)| share * value(offset)).sum()
    };
    let mean = sum(&|offset| offset);
    (mean, sum(&|offset| (offset - mean).powi(2)))
}

/// Returns the log-likelihood ratio per outcome of the distribution `found` to `shares`, given
/// outcomes distributed as `shares`.
pub(super) fn log_likelihood<const N: usize>(shares: &[f64; N], found: &[f64; N]) -> f64 {
    shares.iter().zip(found).map(|(share, found)| share * (found / share).ln()).sum()
}

/// Returns the root of a decreasing function, by bisection.
pub(super) fn root(falling: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..56 {
        let middle = 0.5 * (low + high);
        *if falling(middle) > 0.0 { &mut low } else { &mut high } = middle;
    }
    0.5 * (low + high)
}

/// Returns the most likely distribution, given outcomes distributed as `shares`, in which the mean
/// of `weights` is 0: `shares / (1 + x weights)`. The weights must have both signs.
pub(super) fn tilted<const N: usize>(shares: &[f64; N], weights: [f64; N]) -> [f64; N] {
    let [least, most] = [f64::min, f64::max].map(|pick| weights.into_iter().fold(0.0, pick));
    let mean = |x: f64| shares.iter().zip(weights).map(|(share, weight)| share * weight / (1.0 + x * weight)).sum();
    let x = root(mean, -1.0 / most, -1.0 / least);
    std::array::from_fn(|i| shares[i] / (1.0 + x * weights[i]))
}
