//! From worths to a choice.

use rand::{Rng as _, RngExt};

use crate::rng::Rng;

/// How a move is chosen by what moves are worth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Selector {
    /// A random move with probability ε, else one of highest worth, all of
    /// them equally likely (paper 000, section III-D).
    Greedy {
        /// The share of random moves: 0 is greedy, 1 random.
        epsilon: f64,
    },
    /// Gibbs sampling: with probabilities proportional to exp(Q / τ)
    /// (paper 000, equation 2).
    Gibbs {
        /// The temperature τ, on goals 0 to 100.
        tau: f64,
    },
}

impl Selector {
    /// Whether the next choice is to be random, whatever moves are worth.
    #[inline]
    pub(super) fn is_random(self, rng: &mut Rng) -> bool {
        match self {
            Selector::Greedy { epsilon } => ((rng.next_u64() >> 32) as f64) < epsilon * (1u64 << 32) as f64,
            Selector::Gibbs { .. } => false,
        }
    }

    /// The index of the choice, if it is not random. Worths are 0 to 1, one or more;
    /// what becomes of them is not defined.
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
                // Infinity times the difference of equals would be no number.
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
