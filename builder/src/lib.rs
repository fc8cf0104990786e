//! Breadth-first builders that write distance tables, and a verifier that
//! proves them by other means.
//!
//! [`build`] searches from the goal, all threads over bitmaps in memory, and
//! writes a [`Table`](sternhalma_data::Table) file. [`convert`] writes the same
//! distances in another encoding. [`verify`] checks a file
//! against its checksums and, if asked, proves every distance in it.
//! [`compare`] measures the bounds of one table against another.
#![forbid(unsafe_code)]

mod bits;
mod blocks;
mod build;
mod compare;
mod convert;
mod cut;
mod error;
mod expand;
mod external;
mod labels;
mod layer_file;
mod memory;
mod monitor;
mod out_of_core;
mod pending;
mod plan;
mod process;
mod search;
mod spec;
mod verify;
mod work;

pub use build::{BuildOptions, build};
pub use compare::{Comparison, Tally, compare};
pub use convert::convert;
pub use error::{BuildError, CompareError, ConvertError, VerifyError};
pub use memory::{least_memory, memory_needed, proof_memory_needed};
pub use monitor::{Monitor, Stage};
pub use out_of_core::{Done, OutOfCore, build_out_of_core, is_begun};
pub use plan::{Calibration, Machine, Plan, plan};
pub use spec::TableSpec;
pub use verify::{verify, verify_out_of_core};
