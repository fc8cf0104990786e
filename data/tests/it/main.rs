//! Table files: reading, loading, damage.
#![allow(clippy::disallowed_methods)]

mod damage;
mod golden;
#[cfg(unix)]
mod load;
mod probe;
mod sample;
mod stream;
