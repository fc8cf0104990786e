//! Iteration over the bits of words.

/// Returns the positions of the bits of a word, in ascending order.
#[inline]
pub fn bits(word: impl Into<u64>) -> impl Iterator<Item = usize> {
    let rests = std::iter::successors(Some(word.into()), |&rest| Some(rest & rest.wrapping_sub(1)));
    rests.take_while(|&rest| rest != 0).map(|rest| rest.trailing_zeros() as usize)
}

/// Returns the positions of the bits of some words, in ascending order. Bit b of word w has the position 64 w + b.
#[inline]
pub fn bits_of(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| bits(word).map(move |bit| 64 * index + bit))
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
