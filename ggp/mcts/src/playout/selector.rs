//! The choice of a move by its value.

use rand::{Rng as _, RngExt};
use sternhalma_game::Rng;

/// A rule that chooses a move by the values of the moves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Selector {
    /// ε-greedy: a random move with probability ε, otherwise a move with the
    /// highest value (ties: at random) [Tak et al. 2012, section III-D].
    Greedy {
        /// The fraction of random moves: 0 is greedy, 1 is random.
        epsilon: f64,
    },
    /// Gibbs sampling, with probabilities proportional to exp(Q / τ) [Tak et
    /// al. 2012, equation 2].
    Gibbs {
        /// The temperature τ, for goals from 0 to 100.
        tau: f64,
    },
}

impl Selector {
    /// Returns whether the next choice is random, regardless of the values.
    #[inline]
    pub(super) fn is_random(self, rng: &mut Rng) -> bool {
        match self {
            Selector::Greedy { epsilon } => ((rng.next_u64() >> 32) as f64) < epsilon * (1u64 << 32) as f64,
            Selector::Gibbs { .. } => false,
        }
    }

    /// Returns the index of a choice that is not random. There must be at
    /// least one value, each from 0 to 1. The values are unspecified
    /// afterwards.
    #[inline]
    pub(super) fn choose(self, worths: &mut [f32], rng: &mut Rng) -> usize {
        let best = worths.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        match self {
            Selector::Greedy { .. } => {
                let count = worths.iter().filter(|&&worth| worth == best).count();
                let index = if count > 1 { rng.random_range(0..count) } else { 0 };
                let mut bests = worths.iter().enumerate().filter(|(_, worth)| **worth == best);
                bests.nth(index).map_or(0, |(index, _)| index)
            }
            Selector::Gibbs { tau } => {
                // Infinity times a difference of 0 would not be a number.
                let beta = ((100.0 / tau) as f32).min(f32::MAX);
                let mut sum = 0.0;
                for worth in &mut *worths {
                    sum += ((*worth - best) * beta).exp();
                    *worth = sum;
                }
                let drawn = rng.random::<f32>() * sum;
                worths.iter().position(|&until| drawn < until).unwrap_or(worths.len() - 1)
            }
        }
    }
}
