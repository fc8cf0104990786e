//! Iteration over the bits of a word.

/// Returns the positions of the bits of a word, in ascending order.
#[inline]
pub fn bits(word: u64) -> impl Iterator<Item = usize> {
    let rests = std::iter::successors(Some(word), |&rest| Some(rest & rest.wrapping_sub(1)));
    rests.take_while(|&rest| rest != 0).map(|rest| rest.trailing_zeros() as usize)
}

/// Returns the position of the bit with `index` lower bits before it. The word must
/// have more than `index` bits.
#[inline]
pub fn nth_bit(mut word: u64, index: usize) -> usize {
    for _ in 0..index {
        word &= word - 1;
    }
    word.trailing_zeros() as usize
}
