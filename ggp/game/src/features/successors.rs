//! The successors of a state, in bit columns.

/// Sets of facts in the layout of [`FluentSet::words`](crate::util::FluentSet::words), one after another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FactRows {
    /// The number of words per set.
    stride: usize,
    words: Vec<u64>,
}

impl FactRows {
    /// Makes room for `count` sets, which are empty.
    pub fn reset(&mut self, count: usize, facts: usize) {
        self.stride = facts.div_ceil(64);
        self.words.clear();
        self.words.resize(count * self.stride, 0);
    }

    /// Returns the words of a set for writing.
    #[inline]
    pub fn row_mut(&mut self, state: usize) -> &mut [u64] {
        &mut self.words[state * self.stride..][..self.stride]
    }

    /// Returns the words of each set.
    #[inline]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.words.chunks_exact(self.stride.max(1))
    }
}

/// A list of states: for each fact the states in which it holds, with one bit
/// per state, and for each role its mobility in every state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Successors {
    count: usize,
    /// The number of words per fact.
    stride: usize,
    facts: Vec<u64>,
    mobility: Vec<u32>,
}

impl Successors {
    /// Makes room for `count` states in which no fact holds.
    pub fn reset(&mut self, count: usize, facts: usize, roles: usize) {
        self.count = count;
        self.stride = count.div_ceil(64);
        self.facts.clear();
        self.facts.resize(facts * self.stride, 0);
        self.mobility.clear();
        self.mobility.resize(roles * count, 0);
    }

    /// Makes room for `count` states, which have the facts that `holds` iterates over.
    pub fn reset_to(&mut self, count: usize, facts: usize, roles: usize, holds: impl Iterator<Item = usize>) {
        self.reset(count, facts, roles);
        for fact in holds {
            let words = self.holding_mut(fact);
            words.fill(!0);
            // The surplus bits stay 0.
            words.last_mut().into_iter().for_each(|word| *word >>= 64 * count.div_ceil(64) - count);
        }
    }

    /// Changes whether a fact holds in a state.
    #[inline]
    pub fn flip(&mut self, state: usize, fact: usize) {
        self.facts[fact * self.stride + state / 64] ^= 1 << (state % 64);
    }

    /// Returns the number of states.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of facts.
    #[inline]
    pub fn facts(&self) -> usize {
        self.facts.len().checked_div(self.stride).unwrap_or(0)
    }

    /// Marks a fact as true in a state.
    #[inline]
    pub fn insert(&mut self, state: usize, fact: usize) {
        self.facts[fact * self.stride + state / 64] |= 1 << (state % 64);
    }

    /// Returns the states in which a fact holds. State `s` is bit `s % 64` of word
    /// `s / 64`; surplus bits are 0.
    #[inline]
    pub fn holding(&self, fact: usize) -> &[u64] {
        &self.facts[fact * self.stride..][..self.stride]
    }

    /// Returns the words of [`holding`](Successors::holding) for writing. Keep the
    /// surplus bits 0.
    #[inline]
    pub fn holding_mut(&mut self, fact: usize) -> &mut [u64] {
        &mut self.facts[fact * self.stride..][..self.stride]
    }

    /// Returns the number of legal moves of a role in each state.
    #[inline]
    pub fn mobility(&self, role: usize) -> &[u32] {
        &self.mobility[role * self.count..][..self.count]
    }

    /// The same, to be written.
    #[inline]
    pub fn mobility_mut(&mut self, role: usize) -> &mut [u32] {
        &mut self.mobility[role * self.count..][..self.count]
    }
}
