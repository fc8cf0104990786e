//! Statistics of games between two players: confidence intervals, Elo and sequential tests.
//!
//! [`Score`] counts games. [`Pairs`] counts pairs of games from the same opening with exchanged
//! sides. An opening that favours the first mover favours each player once, so pairs vary less
//! than two independent games and give narrower intervals.
//!
//! [`Sprt`] tests which of two strengths explains the outcomes better. [`SequentialTest`] feeds it
//! with games in the order in which they end.
//!
//! ```
//! use sternhalma_ggp::statistics::{Pairs, Score, Sprt, Verdict};
//!
//! let score = Score { games: 100, wins: 60, losses: 30, draws: 10 };
//! assert_eq!(score.rate(), 0.65);
//! assert_eq!(score.interval().map(|bound| format!("{bound:.3}")), ["0.553", "0.736"]);
//!
//! let pairs = Pairs::new([379, 10170, 21828, 10640, 343]);
//! assert_eq!(format!("{:.2}", pairs.nelo().unwrap().value), "3.05");
//! let test = Sprt::new([0.0, 2.0], 0.05, 0.05)?;
//! assert_eq!(test.verdict(test.llr(&pairs)), Verdict::H1);
//! # Ok::<(), sternhalma_ggp::statistics::SprtError>(())
//! ```
//!
//! # Sources
//!
//! - Ratings: the model of [Bradley and Terry 1952]; their existence: [Ford 1957].
//! - Interval of a share: [Wilson 1927].
//! - Interval of a mean of means: [Zou and Donner 2008].
//! - Interval of Elo: empirical likelihood [Owen 1988].
//! - Bounds of the sequential test: [Wald 1945].
//! - Normalised Elo and its likelihood ratio: [Van den Bergh, Normalized Elo] and
//!   [Van den Bergh, Multinomial].

mod elo;
mod interval;
mod logistic;
mod rating;
mod score;
mod sprt;
#[cfg(test)]
mod tests;

pub use elo::{Outcomes, Pairs};
pub use interval::{Estimate, SampleMean};
pub use logistic::equal_chances;
pub use rating::{Bound, Rating, Ratings, Results, rate};
pub use score::Score;
pub use sprt::{SequentialTest, Sprt, SprtError, Verdict};
