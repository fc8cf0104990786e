//! The reference engine: resolution with tabling.

mod error;
mod game;
mod plan;
mod prove;
mod row_store;
mod rows;
mod tabling;
mod terms;

pub use error::ProverError;
pub use game::{ProverGame, ProverGameState};
pub use prove::{Prover, ProverLimits, ProverState, RandomMatch};
pub use terms::TermId;
