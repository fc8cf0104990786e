//! Chinese Checkers in tournaments: the backend, balanced openings, and the tuner of players.

mod backend;
mod contest;
mod machine;
mod openings;
mod tune;

pub use backend::{BoardBackend, BoardPlayer, ExternalCommand, check_player_budgets, introduce};
pub use contest::EngineContestant;
pub use machine::machine_rate;
pub use openings::{BalanceTest, DistinctOpenings, MAX_UNBALANCED, OpeningSearch, OpeningShortage};
pub use tune::{ClimbParameter, HillClimb, Trial, TuningError, TuningSetup, tune};
