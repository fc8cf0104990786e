//! MINI-Player [Świechowski and Mańdziuk 2014].
//!
//! A simulation follows one of six strategies ([`Strategy`]), and an
//! [`Allocator`] gives more simulations to more successful strategies.
//! [`MiniPlayout`] combines both as the playout of a search, according to a
//! [`MiniConfig`]. The strategies read the
//! [`StateFeatures`](sternhalma_game::features::StateFeatures) of a game.
//!
//! ```
//! use sternhalma_game::{Game, Limits, Turn};
//! use sternhalma_mcts::playout::mini::{MiniConfig, MiniPlayout};
//! use sternhalma_mcts::{Decision, Mcts, MctsConfig, ToTheEnd, Uct};
//!
//! /// One player takes one or two of five stones, and loses if none is left.
//! struct Stones;
//!
//! impl Game for Stones {
//!     type State = u32;
//!     type Move = u32;
//!     fn roles(&self) -> usize { 1 }
//!     fn initial(&self) -> u32 { 5 }
//!     fn turn(&self, _: &u32) -> Turn { Turn::One(0) }
//!     fn legal(&self, _: &u32, _: usize, moves: &mut Vec<u32>) { moves.extend([1, 2]) }
//!     fn number(&self, _: usize, mv: u32) -> u32 { mv }
//!     fn play(&self, stones: &mut u32, joint: &[u32]) { *stones -= joint[0] }
//!     fn is_terminal(&self, stones: &u32) -> bool { *stones < 2 }
//!     fn goal(&self, stones: &u32, _: usize) -> u8 { if *stones == 1 { 100 } else { 0 } }
//! }
//!
//! let settings = MctsConfig { decision: Decision::EffectiveQuality, ..MctsConfig::default() };
//! // The features of a game, which rulesheets have, would be the third argument.
//! let playout = MiniPlayout::new(&Stones, 0, None, MiniConfig::mini());
//! let mut search = Mcts::new(Uct::new(0.4), playout, ToTheEnd, settings, 1);
//! search.search(&Stones, &Stones.initial(), 0, Limits::playouts(100), &Default::default());
//! for (strategy, tally) in search.playout().tallies() {
//!     println!("{}: {} simulations, mean {}", strategy.name(), tally.simulations, tally.mean());
//! }
//! ```

mod allocation;
mod history;
mod playout;
mod scoring;
mod strategy;
mod symbols;

pub use allocation::{Allocator, StrategyAllocation, StrategyTally};
pub use history::History;
pub use playout::MiniPlayout;
pub use strategy::{Chances, MiniConfig, OpponentModel, Strategy};
pub use symbols::SymbolCounts;
