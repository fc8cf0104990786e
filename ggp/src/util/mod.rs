//! Tools that belong to no one part of the crate.

mod bits;
mod bitset;
mod lit;

pub(crate) use bits::{bits, nth_bit};
pub use bitset::FluentSet;
pub use lit::Lit;
