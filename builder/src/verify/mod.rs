//! Verification of tables.
//!
//! A proof shares the partitioning, the spill buffer and the board geometry
//! with the search, but not the generation of moves: nothing here imports
//! `search` or a module that does.

mod checkpoint;
mod class_loader;
mod context_run;
mod distance_windows;
mod partitioned;
mod proof;
mod sample;
mod single_class;
mod streams;
mod verifier;

#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, OpenProof, ProofFiles, Unfinished};
pub use class_loader::ClassLoader;
pub use partitioned::{MAPPED, PROGRAM, SEGMENT_WORDS};
pub use proof::{compare_with_header, layers_of, wrong_table};
pub use sample::{Sample, SampleExtent, SampleSpec};
pub use single_class::SingleClassProver;
pub use verifier::{ProofPlan, UnfinishedProof, Verifier};
