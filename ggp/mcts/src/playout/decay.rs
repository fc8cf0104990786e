//! Averages with decaying weights.

use super::LEAST_WEIGHT;

/// The decay of statistics [Tak et al. 2014, section IV]: averages are kept,
/// and later rewards have a larger weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decay {
    /// Move Decay γ: the factor after each joint move of the match.
    pub gamma: f64,
    /// Batch Decay λ: the factor after each batch of simulations.
    pub lambda: f64,
    /// The number of simulations per batch, B.
    pub batch: u32,
    /// Simulation Decay ω: the factor for an entry after each of its
    /// occurrences in a simulation.
    pub omega: f64,
    /// The maximum weight, at least 1. At the maximum, each reward has the
    /// weight 1/`cap` in the average, so the average is exponential.
    pub cap: f64,
    /// Whether decay is also used in one-player games.
    pub alone: bool,
}

impl Decay {
    /// No decay.
    pub const NONE: Decay = Decay { gamma: 1.0, lambda: 1.0, batch: 50, omega: 1.0, cap: f64::INFINITY, alone: false };

    /// Returns the effect of an occurrence on a weight.
    pub(crate) fn limits(&self) -> WeightLimits {
        WeightLimits { cap: self.cap as f32, omega: self.omega as f32 }
    }
}

/// The effect of an occurrence on a weight: it grows by 1, up to a cap, and
/// then decays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct WeightLimits {
    cap: f32,
    omega: f32,
}

/// The weight of one occurrence in a table.
///
/// A table that decays as a whole keeps its stored weights, and later rewards
/// get a larger stored weight. The actual weight is the stored weight times
/// `factor`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    factor: f32,
}

impl Scale {
    pub const ONE: Scale = Scale { factor: 1.0 };

    /// The minimum factor. Below this factor, the stored weights must be
    /// [rescaled](Scale::take) to scale 1 before they overflow.
    const LEAST: f32 = 1e-9;

    /// Decays all weights.
    pub fn decay(&mut self, by: f64) {
        // Below the smallest normal number all weights are 0.
        self.factor = (self.factor * by as f32).max(f32::MIN_POSITIVE);
    }

    /// Returns the factor to multiply the stored weights by, if rescaling is
    /// due; the scale is then 1.
    pub fn take(&mut self) -> Option<f32> {
        (self.factor < Scale::LEAST).then(|| std::mem::replace(&mut self.factor, 1.0))
    }
}

/// An average reward and its weight.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct DecayingAverage {
    mean: f32,
    /// The weight in units of the table's scale. Single precision counts up to
    /// 2^24; further rewards are added with the weight 2^-24.
    kept: f32,
}

impl DecayingAverage {
    pub const NONE: DecayingAverage = DecayingAverage { mean: 0.0, kept: 0.0 };

    /// Adds a reward.
    #[inline]
    pub fn add(&mut self, reward: f32, limits: WeightLimits, scale: Scale) {
        let one = scale.factor.recip();
        let kept = (self.kept + one).min(limits.cap * one);
        self.mean += (reward - self.mean) * (one / kept);
        self.kept = kept * limits.omega;
    }

    #[inline]
    pub fn weight(self, scale: Scale) -> f32 {
        self.kept * scale.factor
    }

    /// Returns the mean, or `None` if the weight is negligible.
    #[inline]
    pub fn mean(self, scale: Scale) -> Option<f32> {
        (self.weight(scale) >= LEAST_WEIGHT).then_some(self.mean)
    }

    /// Returns the mean if the weight is at least `least`, up to rounding
    /// errors of the scale.
    #[inline]
    pub fn mean_from(self, least: f32, scale: Scale) -> Option<f32> {
        (self.weight(scale) >= least * (1.0 - 1e-5)).then_some(self.mean)
    }

    /// Multiplies the stored weight by the factor of [`Scale::take`], after which the scale is 1. Returns whether the
    /// weight is not negligible.
    pub fn multiply(&mut self, by: f32) -> bool {
        self.kept *= by;
        self.kept >= LEAST_WEIGHT
    }
}
