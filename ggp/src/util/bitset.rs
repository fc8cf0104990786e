//! Sets of fluents, in which states move between engines.

/// A set of fluents of a network, by their numbers.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct FluentSet {
    words: Box<[u64]>,
}

impl FluentSet {
    /// The empty set, of a network of so many fluents.
    pub fn new(fluents: usize) -> FluentSet {
        FluentSet { words: vec![0; fluents.div_ceil(64)].into() }
    }

    /// The fluents whose value is true, of the values of all.
    pub fn of(values: &[bool]) -> FluentSet {
        let mut set = FluentSet::new(values.len());
        values.iter().enumerate().filter(|&(_, &value)| value).for_each(|(fluent, _)| set.insert(fluent));
        set
    }

    /// Whether a fluent is in the set.
    #[inline]
    pub fn contains(&self, fluent: usize) -> bool {
        self.words[fluent / 64] >> (fluent % 64) & 1 == 1
    }

    /// Puts a fluent in.
    #[inline]
    pub fn insert(&mut self, fluent: usize) {
        self.words[fluent / 64] |= 1 << (fluent % 64);
    }

    /// Takes a fluent out.
    #[inline]
    pub fn remove(&mut self, fluent: usize) {
        self.words[fluent / 64] &= !(1 << (fluent % 64));
    }

    /// Takes all fluents out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The set in words: fluent f is bit f mod 64 of word f / 64. Bits of no
    /// fluent are 0.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, to be written as [`words`](FluentSet::words) tells.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The fluents in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let rests = std::iter::successors(Some(word), |&rest| Some(rest & rest.wrapping_sub(1)));
            let bits = rests.take_while(|&rest| rest != 0).map(|rest| rest.trailing_zeros() as usize);
            bits.map(move |bit| 64 * index + bit)
        })
    }
}

impl Clone for FluentSet {
    fn clone(&self) -> FluentSet {
        FluentSet { words: self.words.clone() }
    }

    /// Without allocation, if both are sets of the same network.
    fn clone_from(&mut self, other: &FluentSet) {
        self.words.clone_from(&other.words);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::FluentSet;

    proptest! {
        #[test]
        fn a_set_is_a_set(changes in prop::collection::vec((0usize..150, any::<bool>()), 0..200)) {
            let (mut set, mut told) = (FluentSet::new(150), BTreeSet::new());
            for (fluent, put) in changes {
                if put {
                    set.insert(fluent);
                    told.insert(fluent);
                } else {
                    set.remove(fluent);
                    told.remove(&fluent);
                }
            }
            prop_assert!(set.iter().eq(told.iter().copied()));
            prop_assert!((0..150).all(|fluent| set.contains(fluent) == told.contains(&fluent)));
            let values: Vec<bool> = (0..150).map(|fluent| told.contains(&fluent)).collect();
            prop_assert_eq!(FluentSet::of(&values), set);
        }
    }
}
