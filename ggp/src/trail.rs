//! The moves of a simulation.

/// How many joint moves before a simulation are known.
const HISTORY: usize = 2;

/// The moves of all roles in a simulation, and the last two joint moves of the
/// match before it, by [number](crate::Game::number).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trail {
    roles: usize,
    /// A number a role, joint move by joint move; the first two are the match's.
    numbers: Vec<u32>,
}

impl Trail {
    /// In place of a move before the match began.
    pub const NONE: u32 = u32::MAX;

    /// In place of the move of a role that waits.
    pub const WAITS: u32 = u32::MAX - 1;

    /// The trail of a match of so many roles that begins.
    pub fn new(roles: usize) -> Trail {
        Trail { roles, numbers: vec![Trail::NONE; HISTORY * roles] }
    }

    /// The number of roles.
    #[inline]
    pub fn roles(&self) -> usize {
        self.roles
    }

    /// The joint moves of the simulation so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.numbers.len() / self.roles.max(1) - HISTORY
    }

    /// Whether the simulation has not moved yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a role played in a step of the simulation, counted from 0.
    #[inline]
    pub fn number(&self, step: usize, role: usize) -> u32 {
        self.numbers[(HISTORY + step) * self.roles + role]
    }

    /// The joint moves of the simulation, one after the other.
    #[inline]
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &[u32]> + ExactSizeIterator {
        self.numbers[HISTORY * self.roles..].chunks_exact(self.roles.max(1))
    }

    /// What a role played 1 or 2 joint moves ago, of the simulation or of the
    /// match before it.
    #[inline]
    pub fn back(&self, back: usize, role: usize) -> u32 {
        self.numbers[self.numbers.len() - back * self.roles + role]
    }

    /// The numbers of the last joint move.
    #[inline]
    pub(crate) fn last(&self) -> &[u32] {
        &self.numbers[self.numbers.len() - self.roles..]
    }

    /// Adds a joint move, a number a role.
    #[inline]
    pub fn push(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        fill(&mut self.numbers);
        debug_assert_eq!(self.numbers.len() % self.roles, 0);
    }

    /// Begins another simulation.
    #[inline]
    pub fn rewind(&mut self) {
        self.numbers.truncate(HISTORY * self.roles);
    }

    /// Takes the last joint move for one of the match, and begins another
    /// simulation.
    pub fn keep_last(&mut self) {
        let end = self.numbers.len();
        self.numbers.copy_within(end - HISTORY * self.roles..end, 0);
        self.rewind();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_match_goes_before_the_simulation() {
        let mut trail = Trail::new(2);
        assert!(trail.is_empty());
        assert_eq!(trail.back(1, 0), Trail::NONE);
        trail.push(|numbers| numbers.extend([1, 2]));
        trail.keep_last();
        assert_eq!((trail.len(), trail.back(1, 1), trail.back(2, 0)), (0, 2, Trail::NONE));
        trail.push(|numbers| numbers.extend([3, 4]));
        trail.push(|numbers| numbers.extend([5, 6]));
        assert_eq!((trail.len(), trail.number(0, 1), trail.number(1, 0)), (2, 4, 5));
        assert_eq!((trail.back(1, 0), trail.back(2, 1)), (5, 4));
        assert_eq!(trail.steps().collect::<Vec<_>>(), [[3, 4], [5, 6]]);
        trail.rewind();
        assert_eq!((trail.len(), trail.back(1, 0)), (0, 1));
    }
}
