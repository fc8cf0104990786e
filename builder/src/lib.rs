//! Builders and verifiers of Chinese Checkers distance tables.
//!
//! A [`TableBuilder`] plans a build, and its [`BuildPlan`] finds the distance of every state by breadth-first
//! search from the goal and writes a [`Table`](sternhalma_data::Table) file.
//! The builder searches in memory or, under a memory limit, out of core. An
//! interrupted out-of-core build resumes. A [`Verifier`] checks a file and
//! proves its distances without a search. A [`TableConverter`] changes the
//! encoding and the form of a table, and [`compare`] compares the upper bounds of one table
//! with another.
//!
//! ```
//! use sternhalma_builder::{BuildMode, TableBuilder, Verifier};
//! use sternhalma_data::{Board, Prefix, Table};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("6x6-3.sht");
//! let plan = TableBuilder::new(Prefix::whole(Board::new(6, 3)?)).memory_limit(1 << 30).plan(&path)?;
//! assert_eq!(plan.mode().mode, BuildMode::InMemory);
//! plan.run(&())?;
//!
//! let table = Table::open(&path)?;
//! assert_eq!(table.info().layers.iter().sum::<u64>(), 7_140);
//! Verifier::new(&table).prove(&())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//! - `search`: the bit-parallel expansion of layers, and both searches;
//! - `external`: partitions, segments, layer files, spilled states, the work directory;
//! - `construction`: the drivers of builds, their memory, and cost estimates;
//! - [`solve`]: the values of all positions of the two-player game on a small board;
//! - `verify`: proofs, which share `external` with the search but no moves;
//! - `tools`: conversion and comparison;
//! - [`steps`]: the parts of builds and proofs that `sternhalma-cluster` divides among machines.
//!
//! # References
//! - R. E. Korf. Best-first frontier search with delayed duplicate detection. AAAI 2004.
//! - R. Zhou and E. A. Hansen. Structured duplicate detection in external-memory graph search. AAAI 2004.
//! - H. S. Warren. Hacker's Delight. 2nd edition, 2012.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bits;
mod blocks;
mod construction;
mod error;
mod external;
#[cfg(test)]
mod faults;
mod observer;
mod offer;
mod options;
mod process;
mod ranks;
mod resources;
mod search;
pub mod solve;
mod tools;
mod verify;

pub use construction::{
    BuildEstimate, BuildOutcome, BuildPlan, Calibration, MachineSpec, ModeChoice, ModeReason, TableBuilder, disk_rate,
};
pub use error::BuilderError;
pub use observer::{BuildPhase, LayerProgress, LayerReport, Observer};
pub use offer::TableOffer;
pub use options::{BuildMode, LayerForm, Mirroring, ProcessOptions};
pub use process::{max_threads, set_program, thread_count, thread_notice};
pub use resources::{ResourceError, check_disk, check_memory, memory_limit, search_memory, total_memory};
pub use tools::{Comparison, DifferenceStats, TableConverter, compare, contents_checksum};
pub use verify::{ProofPlan, Sample, SampleExtent, SampleSpec, UnfinishedProof, Verifier};

/// The parts of builds and proofs, which `sternhalma-cluster` divides among the processes of several machines. They
/// may change in every version.
pub mod steps {
    pub use crate::construction::{
        Calibrator, MIN_SPILL, TableAssembler, batch_size, check_layers, fit_with_fixed, goal_segment, open_copies,
        resume_params,
    };
    pub use crate::external::{
        FrameStore, LayerFile, LayerParts, LayerSummary, LockedDir, Manifest, MemberId, NewLayer, Numbering,
        PackedSegment, PartitionParams, Partitioning, SegmentCodec, StoredPart, WorkDir, copies_name, count_segments,
        layer_name,
    };
    pub use crate::process::{Stopwatch, peak_memory, provenance, thread_pool};
    pub use crate::search::ExternalSearch;
    pub use crate::verify::{
        Checkpoint, ClassLoader, MAPPED, OpenProof, PROGRAM, ProofFiles, SEGMENT_WORDS, SingleClassProver, Unfinished,
        compare_with_header, layers_of, wrong_table,
    };
}
