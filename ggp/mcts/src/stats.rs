//! The statistics of a move.

/// The visits and rewards of a move at a node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveStats {
    /// The number of simulations that played the move here.
    pub visits: u32,
    /// The number of these that have no reward yet.
    pub under_way: u32,
    /// The sum of the rewards of the role that moves. The sum is `INFINITY` if
    /// the move is proved to win, and `NEG_INFINITY` if it is proved to lose.
    pub sum: f64,
}

impl MoveStats {
    /// Returns the average reward, or 0 without a reward. The value is infinite
    /// if the move is proved to win or to lose.
    #[inline]
    pub fn mean(self) -> f64 {
        let rewards = self.visits - self.under_way;
        if rewards == 0 { 0.0 } else { self.sum / f64::from(rewards) }
    }

    /// Sets the reward that the move is proved to have. At least one simulation
    /// of the move has ended.
    pub(crate) fn prove(&mut self, reward: f64) {
        self.sum = match reward {
            _ if reward <= 0.0 => f64::NEG_INFINITY,
            _ if reward >= 1.0 => f64::INFINITY,
            _ => reward * f64::from(self.visits - self.under_way),
        };
    }

    /// Returns the statistics with the visits multiplied by a factor of 0 to 1,
    /// and with the same mean. A visited move keeps at least one visit.
    #[must_use]
    pub(crate) fn decayed(self, by: f64) -> MoveStats {
        if self.visits == 0 {
            return self;
        }
        let visits = ((f64::from(self.visits) * by).round() as u32).max(1);
        MoveStats { visits, under_way: 0, sum: self.sum * (f64::from(visits) / f64::from(self.visits)) }
    }
}
