//! Randomness.

/// The generator of all randomness: named, portable, and seeded by the
/// caller, so that the same seed gives the same game on every machine.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// Mixes a seed with the number of what it is for, so that neighbours differ in every bit.
pub fn derive_seed(seed: u64, number: u64) -> u64 {
    let mut mixed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
