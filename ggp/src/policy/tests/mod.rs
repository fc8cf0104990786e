//! Tests of batched searches by policies.

mod lock_step;
mod memory;
mod text;
mod tree_parallel;
