//! Sets of values as bits, and draws from them.

use rand::RngExt;
use sternhalma_game::Rng;
use sternhalma_game::util::nth_bit;

/// The maximum number of parameters of a space.
pub const MAX_PARAMETERS: usize = 8;

/// The maximum number of values of a parameter: one bit each.
pub const MAX_VALUES: usize = u32::BITS as usize;

/// The maximum number of combinations of a space, legal or not.
pub const MAX_COMBINATIONS: usize = 1 << 20;

/// Returns the set of the first `values` values.
pub(super) fn all(values: usize) -> u32 {
    u32::MAX >> (MAX_VALUES - values)
}

/// Returns the index of a set bit, all equally likely. At least one bit must be set; if only one is, no random number
/// is drawn.
#[inline]
pub(super) fn random_bit(mask: u32, rng: &mut Rng) -> usize {
    let first = mask.trailing_zeros() as usize;
    if mask.is_power_of_two() {
        return first;
    }
    let nth = rng.random_range(0..mask.count_ones());
    let run = mask >> first;
    if run & run.wrapping_add(1) == 0 {
        // The bits are contiguous, as those of feasible values mostly are.
        return first + nth as usize;
    }
    nth_bit(mask.into(), nth as usize)
}

/// Returns the numbers below `count` in random order. The other places are unspecified.
#[inline]
pub(super) fn random_order(count: usize, rng: &mut Rng) -> [u8; MAX_PARAMETERS] {
    let mut order = std::array::from_fn(|i| i as u8);
    for i in 1..count {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn orders_and_bits_are_drawn_evenly() {
        let mut rng = Rng::seed_from_u64(6);
        // The expected count is 1,000, with a standard deviation of about 30.
        for mask in [0b1111, 0b1111_0000, 0b1011_0100] {
            let mut counts = [0; 8];
            (0..4_000).for_each(|_| counts[random_bit(mask, &mut rng)] += 1);
            assert!((0..8).all(|bit| match mask >> bit & 1 {
                1 => (850..1_150).contains(&counts[bit]),
                _ => counts[bit] == 0,
            }));
        }
        let mut counts = std::collections::HashMap::new();
        (0..6_000).for_each(|_| *counts.entry(random_order(3, &mut rng)).or_insert(0) += 1);
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }
}
