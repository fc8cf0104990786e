//! The output files of all programs: the only crate that creates files and opens them for writing.
//!
//! - An [`OutputFile`] is written once. A regular file appears under its name when it is complete. A device or a
//!   pipe is written through, and a symbolic link is followed. An existing file is replaced only on request, and
//!   an input never.
//! - A [`Stream`] is extended: a log, or a file of games.
//! - A [`ScratchDirectory`] has temporary files. What a killed process left in one is removed by the next.
//! - [`open_locked`], [`place`] and [`create_private`] are the operations below them, for other files with a temporary
//!   name.
//!
//! No function waits for the reader of a pipe when it opens the pipe. A write waits for the reader until
//! [`stop_waiting`] is called.
//!
//! ```
//! use std::io::Write;
//!
//! use sternhalma_files::OutputFile;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("answer");
//! let mut file = OutputFile::create(&path, false, &[])?;
//! file.write_all(b"42")?;
//! assert!(!path.exists());
//! file.finish()?;
//! assert_eq!(std::fs::read(&path)?, b"42");
//! // The file exists now.
//! assert!(OutputFile::create(&path, false, &[]).is_err());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
// Tests make files of all kinds.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod locked;
mod output;
mod scratch;
mod stream;

pub use locked::{
    check_regular, create_private, is_same_file, leftover_bytes, open_locked, place, sync_directory, temporary_path,
};
pub use output::{OutputError, OutputFile};
pub use scratch::ScratchDirectory;
pub use stream::{Stream, is_stream, stop_waiting};
