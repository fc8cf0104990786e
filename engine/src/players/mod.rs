//! Players: their configurations, their parts, and players that are ready to play.

mod adversaries;
mod alpha_beta;
mod analysis;
pub mod bench;
mod config;
mod evaluate;
mod features;
mod follower;
mod fortress;
mod interface;
pub mod learned;
mod level;
mod one_ply;
mod parameters;
mod playout;
mod prepared;
mod pvs;
mod roster;
mod uct;

pub use analysis::{AnalysedMove, analyse, analyse_watched};
pub use config::{
    AlphaBetaConfig, Config, DecisionRule, Evaluation, PlayoutEnd, PositionalEvaluation, PvsConfig, UctConfig,
};
pub use evaluate::{MeanRow, Separated, SeparationTest, TableDifference, TableForesight, TieRule};
pub use follower::Follower;
pub use interface::{Choice, EnginePlayer, SearchInfo, SearchObserver, SearchValue};
pub use level::{Level, LevelError};
pub(crate) use parameters::{MAX_MEGABYTES, MAX_THREADS};
pub use playout::FarthestMix;
pub(crate) use prepared::renewed_identity;
pub use prepared::{PrepareError, PreparedPlayer, WeightsFiles};
pub use pvs::AllocationError;
pub use roster::{ConfigError, PlayerError, Roster};
