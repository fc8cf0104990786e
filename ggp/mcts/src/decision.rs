//! The choice of the move to play after a search.

use super::MoveStats;

/// The choice of the move to play after a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decision {
    /// The visited move with the highest average reward.
    #[default]
    BestAverage,
    /// The move with the most visits, then with the higher average. A move that
    /// is proved to win precedes all others, and one that is proved to lose
    /// follows them.
    MostVisits,
    /// The move with the highest effective quality [Świechowski and Mańdziuk
    /// 2014, section VII.B, Table III], an average that looks one joint move
    /// further. Ties go to the move of the highest
    /// [preference](super::Playout::preference) of the playout, then to a
    /// random one.
    EffectiveQuality,
}

impl Decision {
    /// Returns the index of the best move by the statistics of one node. Ties go
    /// to the first. Effective quality needs more, and counts as the average.
    pub(crate) fn best(self, stats: impl Iterator<Item = MoveStats>) -> Option<usize> {
        let key = |stats: MoveStats| match self {
            Decision::BestAverage | Decision::EffectiveQuality if stats.visits == 0 => (f64::NEG_INFINITY, 0.0),
            Decision::BestAverage | Decision::EffectiveQuality => (stats.mean(), f64::from(stats.visits)),
            Decision::MostVisits if stats.sum.is_infinite() => (stats.sum, f64::from(stats.visits)),
            Decision::MostVisits => (f64::from(stats.visits), stats.mean()),
        };
        let keyed = stats.map(key).enumerate();
        let better = |best: (usize, (f64, f64)), next: (usize, (f64, f64))| if next.1 > best.1 { next } else { best };
        keyed.reduce(better).map(|(index, _)| index)
    }
}

/// The data about a child of the root that [`Decision::EffectiveQuality`] needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Child<'a> {
    /// The mean reward, for the role that decides, of simulations through the
    /// child.
    pub quality: f64,
    /// Whether the match is over there.
    pub is_terminal: bool,
    /// The number of legal moves of the role that decides.
    pub own_moves: usize,
    /// The number of joint moves of all roles.
    pub joint_moves: usize,
    /// The mean reward of the role that decides after each visited joint move.
    pub successors: &'a [f64],
}

impl Child<'_> {
    /// Returns the effective quality [Świechowski and Mańdziuk 2014, section
    /// VII.B, Table III]. The effective quality is the lowest successor value
    /// if the role has one move, the highest if only the role has a choice, and
    /// otherwise the mean of the lowest and the quality. A terminal child, or
    /// one whose successors were not visited, has its quality.
    pub fn effective_quality(&self) -> f64 {
        if self.is_terminal || self.successors.is_empty() {
            return self.quality;
        }
        let least = self.successors.iter().copied().fold(f64::INFINITY, f64::min);
        if self.own_moves == 1 {
            least
        } else if self.own_moves == self.joint_moves {
            self.successors.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        } else {
            (least + self.quality) / 2.0
        }
    }
}
