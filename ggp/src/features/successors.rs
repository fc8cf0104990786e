//! The successors of a state, side by side.

/// States side by side: for each fact the states in which it holds, a bit a
/// state, and for each role its mobility in every state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Successors {
    count: usize,
    /// The words of a fact.
    stride: usize,
    facts: Vec<u64>,
    mobility: Vec<u32>,
}

impl Successors {
    /// Makes room for so many states, in which nothing holds yet.
    pub fn reset(&mut self, count: usize, facts: usize, roles: usize) {
        self.count = count;
        self.stride = count.div_ceil(64);
        self.facts.clear();
        self.facts.resize(facts * self.stride, 0);
        self.mobility.clear();
        self.mobility.resize(roles * count, 0);
    }

    /// The number of states.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of facts.
    #[inline]
    pub fn facts(&self) -> usize {
        self.facts.len().checked_div(self.stride).unwrap_or(0)
    }

    /// Lets a fact hold in a state.
    #[inline]
    pub fn insert(&mut self, state: usize, fact: usize) {
        self.facts[fact * self.stride + state / 64] |= 1 << (state % 64);
    }

    /// The states in which a fact holds: state s is bit s mod 64 of word s / 64.
    /// Bits of no state are 0.
    #[inline]
    pub fn holding(&self, fact: usize) -> &[u64] {
        &self.facts[fact * self.stride..][..self.stride]
    }

    /// The words of a fact, to be written as [`holding`](Successors::holding) tells.
    #[inline]
    pub fn holding_mut(&mut self, fact: usize) -> &mut [u64] {
        &mut self.facts[fact * self.stride..][..self.stride]
    }

    /// The number of legal moves of a role in each state.
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
