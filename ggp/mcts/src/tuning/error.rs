//! Errors of tuning.

use thiserror::Error;

use super::bits::MAX_COMBINATIONS;

/// The reason why the settings of a tuner are invalid.
#[derive(Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum TuningError {
    /// The C of UCB1 is negative or not finite.
    #[error("expected C as a finite number ≥ 0, got {c}")]
    C {
        /// The value.
        c: f64,
    },
    /// The batch of MAB is empty.
    #[error("expected a batch of at least 1 simulation, got 0")]
    Batch,
    /// The epsilon of NMC is not a probability.
    #[error("expected epsilon0 from 0 to 1, got {epsilon0}")]
    Epsilon0 {
        /// The value.
        epsilon0: f64,
    },
    /// The weight of expected values is less than 1 or not finite.
    #[error("expected a prior as a finite number ≥ 1, got {prior}")]
    Prior {
        /// The value.
        prior: f64,
    },
    /// LSI has no candidates or too many.
    #[error("expected 1 to {MAX_COMBINATIONS} candidates, got {candidates}")]
    Candidates {
        /// The value.
        candidates: u32,
    },
    /// There is nothing to tune.
    #[error("expected at least one parameter to tune, got none")]
    NoParameters,
}
