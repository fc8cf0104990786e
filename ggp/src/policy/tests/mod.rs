//! Tests of batched searches by policies.

mod lock_step;
mod tree_parallel;
