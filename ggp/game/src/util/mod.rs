//! Tools that several parts of the crate use.

mod bits;
mod bitset;
mod lit;

pub use bits::{bits, bits_of, nth_bit};
pub use bitset::FluentSet;
pub use lit::Lit;
