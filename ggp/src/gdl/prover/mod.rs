//! The prover: resolution with tabling.

mod error;
mod game;
mod plan;
mod prove;
mod rows;
mod tabling;
mod terms;

pub use error::ProverError;
pub use game::{ProverGame, ProverState};
pub use prove::{Match, Prover, State};
pub use terms::TermId;
