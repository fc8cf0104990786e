//! Monte-Carlo tree search, put together from parts.

mod backpropagation;
mod clock;
mod config;
mod cutoff;
mod decision;
mod effective_quality;
mod expansion;
mod move_history;
mod node_rewards;
mod params;
pub mod playout;
mod search;
pub mod selection;
mod simulation;
mod solver;
mod stats;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
pub mod tuning;

pub use clock::SearchClock;
pub use config::{LengthBonus, MctsConfig};
pub use cutoff::{Cutoff, Evaluator, FixedDepth, ToTheEnd};
pub use decision::Decision;
pub use effective_quality::Child;
pub use move_history::MoveHistory;
pub use params::{ParamOverrides, PlayoutKind};
pub use playout::{Playout, RandomPlayout};
pub use search::{Mcts, SearchResult};
pub use selection::{Grave, GraveForm, GraveSettings, MoveEvaluator, NodeVisit, Prior, Puct, Selection, Uct};
pub(crate) use simulation::{Simulation, StepAction};
pub use stats::MoveStats;
