//! Breadth-first builders that write distance tables, and a verifier that
//! proves them by other means.
//!
//! [`build`] searches from the goal, all threads over bitmaps in memory, and
//! writes a [`Table`](sternhalma_data::Table) file. [`verify`] checks a file
//! against its checksums and, if asked, proves every distance in it.
//! [`compare`] measures the bounds of one table against another.
#![forbid(unsafe_code)]

mod bits;
mod build;
mod compare;
mod error;
mod expand;
mod labels;
mod monitor;
mod search;
mod verify;

pub use build::{BuildOptions, build};
pub use compare::{Comparison, Tally, compare};
pub use error::{BuildError, CompareError, VerifyError};
pub use monitor::{Monitor, Stage};
pub use search::memory_needed;
pub use verify::verify;
