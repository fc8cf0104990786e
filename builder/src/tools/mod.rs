//! Conversion, comparison and identity of existing tables.

mod compare;
mod contents;
mod convert;

pub use compare::{Comparison, DifferenceStats, compare};
pub use contents::contents_checksum;
pub use convert::TableConverter;
