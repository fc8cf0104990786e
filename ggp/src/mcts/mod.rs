//! Monte-Carlo tree search, put together from parts.

mod clock;
mod config;
mod cutoff;
mod decision;
mod effective_quality;
mod move_history;
mod node_rewards;
mod params;
pub mod playout;
mod search;
pub mod selection;
mod solver;
mod stats;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
pub mod tuning;

pub use clock::Clock;
pub use config::{LengthBonus, Settings};
pub use cutoff::{Cutoff, Evaluator, FixedDepth, ToTheEnd};
pub use decision::Decision;
pub use effective_quality::Child;
pub use move_history::Trail;
pub use params::{Controls, PlayoutKind};
pub use playout::{Phase, Playout, RandomPlayout};
pub(crate) use search::{Flight, Next};
pub use search::{Found, Mcts};
pub use selection::{Foresight, Form, Grave, GraveSettings, Guided, Hint, Place, Selection, Uct};
pub use stats::MoveStats;
