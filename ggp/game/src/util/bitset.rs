//! Sets of fluents as bit sets.

use super::bits::bits_of;

/// A set of fluents, by their numbers.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct FluentSet {
    words: Box<[u64]>,
}

impl FluentSet {
    /// Creates the empty set for the given number of fluents.
    pub fn new(fluents: usize) -> FluentSet {
        FluentSet { words: vec![0; fluents.div_ceil(64)].into() }
    }

    /// Creates the set of the fluents whose values are true.
    pub fn of(values: &[bool]) -> FluentSet {
        let mut set = FluentSet::new(values.len());
        values.iter().enumerate().filter(|&(_, &value)| value).for_each(|(fluent, _)| set.insert(fluent));
        set
    }

    /// Returns whether a fluent is in the set.
    #[inline]
    pub fn contains(&self, fluent: usize) -> bool {
        self.words[fluent / 64] >> (fluent % 64) & 1 == 1
    }

    /// Adds a fluent.
    #[inline]
    pub fn insert(&mut self, fluent: usize) {
        self.words[fluent / 64] |= 1 << (fluent % 64);
    }

    /// Removes a fluent.
    #[inline]
    pub fn remove(&mut self, fluent: usize) {
        self.words[fluent / 64] &= !(1 << (fluent % 64));
    }

    /// Removes all fluents.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Returns the words of the set: fluent f is bit f mod 64 of word f / 64. Unused
    /// bits are 0.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the words for writing, in the layout of [`words`](FluentSet::words).
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns the fluents in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        bits_of(&self.words)
    }
}

impl Clone for FluentSet {
    fn clone(&self) -> FluentSet {
        FluentSet { words: self.words.clone() }
    }

    /// Copies a set, without allocation if both sets have the same size.
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
        fn the_set_agrees_with_a_tree_set(changes in prop::collection::vec((0usize..150, any::<bool>()), 0..200)) {
            let (mut set, mut expected) = (FluentSet::new(150), BTreeSet::new());
            for (fluent, add) in changes {
                if add {
                    set.insert(fluent);
                    expected.insert(fluent);
                } else {
                    set.remove(fluent);
                    expected.remove(&fluent);
                }
            }
            prop_assert!(set.iter().eq(expected.iter().copied()));
            prop_assert!((0..150).all(|fluent| set.contains(fluent) == expected.contains(&fluent)));
            let values: Vec<bool> = (0..150).map(|fluent| expected.contains(&fluent)).collect();
            prop_assert_eq!(FluentSet::of(&values), set);
        }
    }
}
