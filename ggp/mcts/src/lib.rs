//! Monte-Carlo tree search, put together from components.
//!
//! [`Mcts`] holds the tree and four components: a [`Selection`], a [`Playout`],
//! a [`Cutoff`] and a [`MctsConfig`]. A search repeats simulations until a limit
//! is reached, and then decides. The steps, and the files that hold them:
//!
//! 1. **Root** (`search.rs`, `tree.rs`): [`Mcts::search`] makes the state the
//!    root, unless [`Mcts::advance`] has kept the tree of the previous move.
//! 2. **Parameters** (`tuning/`): if the search is tuned, the tuner of each role
//!    chooses the parameters of the simulation.
//! 3. **Selection** (`selection/`, `steps.rs`): at a node, each acting role follows the move
//!    of the highest value. Moves without visits come first, unless the
//!    selection values them. The playout policy chooses among moves without visits.
//! 4. **Expansion** (`expansion.rs`): the first state without a node becomes
//!    one, once its move was followed often enough.
//! 5. **Playout** (`playout/`, `cutoff.rs`): the playout policy chooses the moves
//!    of all roles until the game ends or the cutoff evaluates the state.
//! 6. **Backpropagation** (`backpropagation.rs`): visits and rewards are added
//!    to the moves on the path (`stats.rs`). Selection, playout and tuner learn
//!    from the moves and rewards of the simulation (`move_history.rs`).
//! 7. **Proof** (`solver.rs`): if the simulation ended inside the tree, proved
//!    outcomes are passed up the path.
//! 8. **Decision** (`decision.rs`, `node_rewards.rs`): after the last
//!    simulation, the [`Decision`] chooses the move to play.
//!
//! Steps 2 to 7 are one simulation (`simulation.rs`), which `steps.rs` runs.
//! Callers that step the states themselves, many at a time, use the same steps
//! ([`Simulation`]).
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod alpha_beta;
mod backpropagation;
mod config;
mod cutoff;
mod decision;
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
mod steps;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
pub mod tuning;

pub use config::{LengthBonus, MctsConfig};
pub use cutoff::{Cutoff, Evaluator, FixedDepth, ToTheEnd};
pub use decision::{Child, Decision};
pub use move_history::MoveHistory;
pub use params::PerRole;
pub use params::{ParamOverrides, PlayoutKind};
pub use playout::{Foresight, Playout, RandomPlayout};
pub use search::{Mcts, SearchResult};
pub use selection::{
    EdgeValues, Grave, GraveForm, GraveSettings, MoveEvaluator, NodeVisit, Prior, Puct, Selection, Uct,
};
pub use simulation::{Simulation, StepAction};
pub use stats::MoveStats;
pub use sternhalma_game::SearchClock;
