//! Breadth-first builders that write distance tables.
mod bits;
mod expand;
mod search;
pub use search::prototype;
