//! Averages whose weight decays.

use super::LEAST_WEIGHT;

/// How what was learnt loses weight (paper 003, section IV): averages stay as
/// they are, and what comes later counts for more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decay {
    /// Move Decay, γ: the factor after each joint move of the match.
    pub gamma: f64,
    /// Batch Decay, λ: the factor after each batch of simulations.
    pub lambda: f64,
    /// The simulations of a batch, B.
    pub batch: u32,
    /// Simulation Decay, ω: the factor after each occurrence in a simulation,
    /// for what occurred.
    pub omega: f64,
    /// The most that a weight grows to, 1 or more. A reward counts one part of
    /// so many from then on: the average is exponential.
    pub cap: f64,
    /// Whether it is on in games of one role, too.
    pub alone: bool,
}

impl Decay {
    /// Nothing is forgotten.
    pub const NONE: Decay = Decay { gamma: 1.0, lambda: 1.0, batch: 50, omega: 1.0, cap: f64::INFINITY, alone: false };

    /// What an occurrence does to a weight.
    pub(crate) fn limits(&self) -> WeightLimits {
        WeightLimits { cap: self.cap as f32, omega: self.omega as f32 }
    }
}

/// What an occurrence does to a weight: it grows by 1, up to a cap, and then
/// decays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct WeightLimits {
    cap: f32,
    omega: f32,
}

impl Default for Decay {
    fn default() -> Decay {
        Decay::NONE
    }
}

/// The weight that one occurrence has in a table.
///
/// A table that decays as a whole keeps its numbers, and counts what comes
/// later for more: a weight is what is kept times `factor`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    factor: f32,
}

impl Scale {
    pub const ONE: Scale = Scale { factor: 1.0 };

    /// Below this, what is kept is to be [brought back](Scale::take) to scale 1
    /// before its numbers overflow.
    const LEAST: f32 = 1e-9;

    /// Lets all weights decay.
    pub fn decay(&mut self, by: f64) {
        // Below the smallest normal number all weights are none.
        self.factor = (self.factor * by as f32).max(f32::MIN_POSITIVE);
    }

    /// The factor by which a table is to multiply what it keeps, if it is time
    /// to; the scale is then 1.
    pub fn take(&mut self) -> Option<f32> {
        (self.factor < Scale::LEAST).then(|| std::mem::replace(&mut self.factor, 1.0))
    }
}

/// An average reward and its weight.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct DecayingAverage {
    mean: f32,
    /// In units of the table's scale. Single precision counts to 2^24; an
    /// average of more rewards takes further ones in as the last of so many.
    kept: f32,
}

impl DecayingAverage {
    pub const NONE: DecayingAverage = DecayingAverage { mean: 0.0, kept: 0.0 };

    /// Takes in a reward.
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

    /// The mean of what has some weight.
    #[inline]
    pub fn mean(self, scale: Scale) -> Option<f32> {
        (self.weight(scale) >= LEAST_WEIGHT).then_some(self.mean)
    }

    /// The mean of what has at least this weight, but for what is lost in
    /// counting on a scale.
    #[inline]
    pub fn mean_from(self, least: f32, scale: Scale) -> Option<f32> {
        (self.weight(scale) >= least * (1.0 - 1e-5)).then_some(self.mean)
    }

    /// Multiplies the weight. Returns whether anything is left.
    pub fn multiply(&mut self, by: f32) -> bool {
        self.kept *= by;
        self.kept >= LEAST_WEIGHT
    }
}
