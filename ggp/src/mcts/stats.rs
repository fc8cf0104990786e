//! The statistics of a move.

/// The visits and rewards of a move at a node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveStats {
    /// Simulations that played the move here.
    pub visits: u32,
    /// How many of them are still under way, without a reward.
    pub under_way: u32,
    /// The sum of their rewards for the role that moves. It is infinite once
    /// the move is proved to win or to lose.
    pub sum: f64,
}

impl MoveStats {
    /// The average reward; 0 without any, and infinite once the move is proved
    /// to win or to lose.
    #[inline]
    pub fn mean(self) -> f64 {
        let rewards = self.visits - self.under_way;
        if rewards == 0 { 0.0 } else { self.sum / f64::from(rewards) }
    }

    /// Takes the reward that the move is proved to have for that of all its
    /// simulations, of which one has ended at least.
    pub(crate) fn prove(&mut self, reward: f64) {
        self.sum = match reward {
            _ if reward <= 0.0 => f64::NEG_INFINITY,
            _ if reward >= 1.0 => f64::INFINITY,
            _ => reward * f64::from(self.visits - self.under_way),
        };
    }

    /// With the visits multiplied by a factor of 0 to 1 and rounded, but to 1 at
    /// least if there are any, and the same mean.
    #[must_use]
    pub(crate) fn decayed(self, by: f64) -> MoveStats {
        if self.visits == 0 {
            return self;
        }
        let visits = ((f64::from(self.visits) * by).round() as u32).max(1);
        MoveStats { visits, under_way: 0, sum: self.sum * (f64::from(visits) / f64::from(self.visits)) }
    }
}
