//! The move that is played after the search.

use super::stats::MoveStats;

/// The move that is played after the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decision {
    /// The highest average reward, of the visited moves.
    #[default]
    BestAverage,
    /// The most visits; of equals the higher average. A move that is proved to
    /// win goes before all others, one that is proved to lose after them.
    MostVisits,
    /// The highest effective quality (paper 002, section VII.B, Table III):
    /// an average that looks one joint move further. Of equals the one that
    /// the playout [prefers](Playout::preference), then any.
    EffectiveQuality,
}

impl Decision {
    /// The index of the best move by the statistics of a node alone, which
    /// know of no effective quality; the first of equals.
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
