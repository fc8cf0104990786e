//! Tests of batched searches by policies.

mod lock_step;
mod text;
mod tree_parallel;
