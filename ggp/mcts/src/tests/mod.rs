//! Tests of the whole search.

mod search;
mod solver;
