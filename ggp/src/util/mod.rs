//! Tools that belong to no one part of the crate.

mod bits;
mod bitset;
mod lit;

pub(crate) use bits::{bits, bits_of, nth_bit};
pub use bitset::FluentSet;
pub use lit::Lit;
