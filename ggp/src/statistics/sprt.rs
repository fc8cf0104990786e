//! Sequential probability ratio tests of normalised Elo.

use std::collections::BTreeMap;

use serde::Serialize;

use super::elo::{NELO, Outcomes, Pairs, log_likelihood, root, tilted};

/// Returns the most likely distribution, given outcomes distributed as `shares`, whose mean score
/// is `t` standard deviations above one half.
///
/// Let m be the mean and s the mean square of the offsets from one half. The condition is
/// m √(1 + t²) = t √s. For a given u = √s it holds if the mean of the weights below is 0, which
/// is a [`tilted`] distribution. The right u is one at which the mean square of that
/// distribution is u².
///
/// There is one such u if `t` lies between 0 and the t-value of `shares`. Otherwise, a
/// distribution with two peaks can have several, and the most likely is returned.
pub(super) fn with_t_value<const N: usize>(shares: &[f64; N], t: f64) -> [f64; N] {
    const STEPS: u32 = 32;
    let offsets = Outcomes::<N>::offsets();
    let scale = (1.0 + t * t).sqrt();
    let at = |u: f64| tilted(shares, offsets.map(|offset| scale * offset - t * (u * u + offset * offset) / (2.0 * u)));
    let excess = |u: f64| at(u).iter().zip(offsets).map(|(share, offset)| share * offset * offset).sum::<f64>() - u * u;
    // Below `least` all weights have the same sign.
    let least = offsets[N / 2 + 1] * t.abs() / (scale + 1.0);
    let point = |step: u32| least + (0.5 - least) * f64::from(step) / f64::from(STEPS);
    let mut above = true;
    let mut best: Option<([f64; N], f64)> = None;
    for step in 1..=STEPS {
        // No offset exceeds 0.5, so the excess is not positive at the last step.
        let before = std::mem::replace(&mut above, step < STEPS && excess(point(step)) > 0.0);
        if before && !above {
            let found = at(root(excess, point(step - 1), point(step)));
            let likelihood = log_likelihood(shares, &found);
            if best.is_none_or(|(_, most)| likelihood > most) {
                best = Some((found, likelihood));
            }
        }
    }
    best.expect("the excess is positive at the first step and not at the last").0
}

/// A generalised sequential probability ratio test of two strengths in normalised Elo.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sprt {
    elo: [f64; 2],
    bounds: [f64; 2],
}

/// The decision of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Verdict {
    /// No decision yet.
    #[serde(rename = "continue")]
    Continue,
    /// The lower strength is accepted.
    H0,
    /// The higher strength is accepted.
    H1,
}

/// Invalid parameters of a test.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SprtError {
    /// The strengths are out of order or out of range.
    #[error("expected a lower and a higher nElo between -500 and 500, got {0} and {1}")]
    Strengths(f64, f64),
    /// The probabilities of error are out of range.
    #[error("expected alpha and beta above 0 with a sum below 1, got {0} and {1}")]
    Errors(f64, f64),
}

impl Sprt {
    /// Creates a test of the lower strength (H0) against the higher strength (H1), in normalised
    /// Elo. The probability of error is `alpha` under H0 and `beta` under H1.
    ///
    /// # Errors
    /// Returns an error if the strengths are out of order or outside of -500 to 500, or if
    /// `alpha` and `beta` are not positive with a sum below 1. Beyond 500 nElo the most likely
    /// distribution is not always unique, and a few games decide.
    pub fn new(elo: [f64; 2], alpha: f64, beta: f64) -> Result<Sprt, SprtError> {
        if !(-500.0 <= elo[0] && elo[0] < elo[1] && elo[1] <= 500.0) {
            return Err(SprtError::Strengths(elo[0], elo[1]));
        }
        if !(alpha > 0.0 && beta > 0.0 && alpha + beta < 1.0) {
            return Err(SprtError::Errors(alpha, beta));
        }
        Ok(Sprt { elo, bounds: [(beta / (1.0 - alpha)).ln(), ((1.0 - beta) / alpha).ln()] })
    }

    /// Returns the two strengths, in normalised Elo.
    pub fn elo(&self) -> [f64; 2] {
        self.elo
    }

    /// Returns the log-likelihood ratios at which H0 and H1 are accepted [Wald 1945].
    pub fn bounds(&self) -> [f64; 2] {
        self.bounds
    }

    /// Returns the log-likelihood ratio of H1 to H0, each with its most likely distribution. Takes
    /// about 0.2 ms.
    pub fn llr<const N: usize>(&self, outcomes: &Outcomes<N>) -> f64 {
        if outcomes.total() == 0 {
            return 0.0;
        }
        let (total, shares) = outcomes.shares();
        let likelihoods = self.elo.map(|elo| {
            let t = elo / NELO * Outcomes::<N>::GAMES.sqrt();
            log_likelihood(&shares, &with_t_value(&shares, t))
        });
        total * (likelihoods[1] - likelihoods[0])
    }

    /// Returns the decision for a log-likelihood ratio.
    pub fn verdict(&self, llr: f64) -> Verdict {
        match self.bounds {
            [_, high] if llr >= high => Verdict::H1,
            [low, _] if llr <= low => Verdict::H0,
            _ => Verdict::Continue,
        }
    }
}

/// A test that is fed with games as they end. Games 2k and 2k + 1 are a pair.
///
/// Pairs are counted in order, so the decision does not depend on the order in which games end.
/// Pairs after the decision are not counted.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    test: Sprt,
    pairs: Pairs,
    llr: f64,
    waiting: BTreeMap<u64, f64>,
}

impl SequentialTest {
    /// Starts a test without games.
    pub fn new(test: Sprt) -> SequentialTest {
        SequentialTest { test, pairs: Pairs::default(), llr: 0.0, waiting: BTreeMap::new() }
    }

    /// Adds a game by its number, and returns the decision so far.
    pub fn add(&mut self, game: u64, score: f64) -> Verdict {
        self.waiting.insert(game, score);
        while self.verdict() == Verdict::Continue {
            let first = 2 * self.pairs.total();
            let (Some(&a), Some(&b)) = (self.waiting.get(&first), self.waiting.get(&(first + 1))) else { break };
            self.waiting.remove(&first);
            self.waiting.remove(&(first + 1));
            self.pairs.add([a, b]);
            self.llr = self.test.llr(&self.pairs);
        }
        self.verdict()
    }

    /// Returns the underlying test.
    pub fn test(&self) -> &Sprt {
        &self.test
    }

    /// Returns the counted pairs.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// Returns the log-likelihood ratio of the counted pairs.
    pub fn llr(&self) -> f64 {
        self.llr
    }

    /// Returns the decision so far.
    pub fn verdict(&self) -> Verdict {
        self.test.verdict(self.llr)
    }
}
