//! MINI-Player [Świechowski and Mańdziuk 2014].
//!
//! A simulation follows one of six strategies ([`Strategy`]), and an
//! [`Allocator`] gives more simulations to more successful strategies.
//! [`MiniPlayout`] combines both as the playout of a search, according to a
//! [`MiniConfig`]. The strategies read the
//! [`StateFeatures`](sternhalma_game::features::StateFeatures) of a game.
//!
//! ```
//! use sternhalma_gdl::Rules;
//! use sternhalma_gdl::network::{Network, NetworkGame};
//! use sternhalma_mcts::playout::mini::{MiniConfig, MiniPlayout};
//! use sternhalma_mcts::{Decision, Mcts, MctsConfig, ToTheEnd, Uct};
//! use sternhalma_game::{Game, Limits};
//!
//! let rules = Rules::parse(
//!     "(role you) (init (heap 3)) (less 0 1) (less 1 2) (less 2 3)
//!      (<= (legal you (leave ?n)) (true (heap ?m)) (less ?n ?m)) (legal you stop)
//!      (<= (next (heap ?n)) (does you (leave ?n)))
//!      (<= terminal (not (true (heap 3))) (not (true (heap 2))))
//!      (<= (goal you 100) (true (heap 1))) (<= (goal you 0) (not (true (heap 1))))",
//! )?;
//! let game = NetworkGame::new(Network::new(&rules)?).with_rules(rules);
//! let features = game.features();
//! let settings = MctsConfig { decision: Decision::EffectiveQuality, ..MctsConfig::default() };
//! let playout = MiniPlayout::new(&game, 0, Some(features), MiniConfig::mini());
//! let mut search = Mcts::new(Uct::new(0.4), playout, ToTheEnd, settings, 1);
//! search.search(&game, &game.initial(), 0, Limits::playouts(100), &Default::default());
//! for (strategy, tally) in search.playout().tallies() {
//!     println!("{}: {} simulations, mean {}", strategy.name(), tally.simulations, tally.mean());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
