//! Conversion and comparison of existing tables.

mod compare;
mod convert;

pub use compare::{Comparison, DifferenceStats, compare};
pub use convert::TableConverter;
