//! Breadth-first builders that write distance tables, and a verifier that
//! proves them by other means.
//!
//! [`build`] searches from the goal, all threads over bitmaps in memory, and
//! writes a [`Table`](sternhalma_data::Table) file. [`convert`] writes the same
//! distances in another encoding. [`verify`] checks a file
//! against its checksums and, if asked, proves every distance in it.
#![forbid(unsafe_code)]

mod bits;
mod blocks;
mod build;
mod convert;
mod error;
mod expand;
mod labels;
mod monitor;
mod search;
mod verify;

pub use build::{BuildOptions, build};
pub use convert::convert;
pub use error::{BuildError, ConvertError, VerifyError};
pub use monitor::{Monitor, Stage};
pub use search::memory_needed;
pub use verify::verify;
