//! The generator of all random numbers.

/// The generator of all random numbers. The generator is a named, portable
/// algorithm with a seed of the caller, so that the same seed gives the same
/// game on every machine.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// Derives a seed for item `number` with the mixing function of SplitMix64
/// [Steele et al. 2014], so that the seeds of neighbours are unrelated.
pub fn derive_seed(seed: u64, number: u64) -> u64 {
    let mut mixed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
