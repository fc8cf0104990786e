//! Table files compared with a slow search: reading, loading, damage.
//!
//! The package does not contain this test: `sternhalma-testutil`, which it uses, is published after this crate.
#![allow(clippy::disallowed_methods)]

mod damage;
#[cfg(unix)]
mod load;
mod probe;
mod sample;
mod stream;
