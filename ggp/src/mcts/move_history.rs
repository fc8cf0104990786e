//! The moves of a simulation.

use crate::game::{Game, NOOP};

/// How many joint moves before a simulation are known.
const HISTORY: usize = 2;

/// The moves of all roles in a simulation, and the last two joint moves of the
/// match before it, by [number](crate::Game::number).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MoveHistory {
    roles: usize,
    /// A number a role, joint move by joint move; the first two are the match's.
    numbers: Vec<u32>,
    /// Of the same places, as far as that is told: whether the role had no choice.
    waits: Vec<bool>,
}

impl MoveHistory {
    /// In place of a move before the match began.
    pub const NONE: u32 = u32::MAX;

    /// The trail of a match of so many roles that begins.
    pub fn new(roles: usize) -> MoveHistory {
        MoveHistory { roles, numbers: vec![MoveHistory::NONE; HISTORY * roles], waits: Vec::new() }
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

    /// All joint moves that are known: the two of the match, and those of the
    /// simulation.
    #[inline]
    pub(crate) fn known(&self) -> usize {
        HISTORY + self.len()
    }

    /// What a role chose in one of all joint moves that are known; none if it
    /// had no choice, as far as that is told, or waited.
    #[inline]
    pub(crate) fn chosen(&self, joint: usize, role: usize) -> Option<u32> {
        let place = joint * self.roles + role;
        let waits = self.waits.get(place).copied().unwrap_or(false);
        Some(self.numbers[place]).filter(|&number| !waits && number < NOOP)
    }

    /// Tells of the last joint move which roles had no choice.
    #[inline]
    pub(crate) fn mark_waits(&mut self, waits: impl Fn(usize) -> bool) {
        self.waits.resize(self.numbers.len() - self.roles, false);
        self.waits.extend((0..self.roles).map(waits));
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

    /// Adds the joint move that is to be played in a state and, if `with_waits`
    /// is set, which roles have no choice there.
    #[inline]
    pub(crate) fn record<G: Game>(&mut self, game: &G, state: &G::State, joint: &[G::Move], with_waits: bool) {
        self.push(|numbers| game.numbers(state, joint, numbers));
        if with_waits {
            self.mark_waits(|role| !game.has_choice(state, role));
        }
    }

    /// Begins a simulation after the match of `other`.
    #[inline]
    pub(crate) fn restart_from(&mut self, other: &MoveHistory) {
        self.roles = other.roles;
        self.numbers.clear();
        self.numbers.extend_from_slice(&other.numbers[..HISTORY * other.roles]);
        self.waits.clear();
        self.waits.extend_from_slice(&other.waits[..other.waits.len().min(HISTORY * other.roles)]);
    }

    /// Begins another simulation.
    #[inline]
    pub fn rewind(&mut self) {
        self.numbers.truncate(HISTORY * self.roles);
        self.waits.truncate(HISTORY * self.roles);
    }

    /// Takes the last joint move for one of the match, and begins another
    /// simulation.
    pub fn commit_last(&mut self) {
        let end = self.numbers.len();
        self.numbers.copy_within(end - HISTORY * self.roles..end, 0);
        if self.waits.len() == end {
            self.waits.copy_within(end - HISTORY * self.roles..end, 0);
        }
        self.rewind();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_match_goes_before_the_simulation() {
        let mut trail = MoveHistory::new(2);
        assert!(trail.is_empty());
        assert_eq!(trail.back(1, 0), MoveHistory::NONE);
        trail.push(|numbers| numbers.extend([1, 2]));
        trail.commit_last();
        assert_eq!((trail.len(), trail.back(1, 1), trail.back(2, 0)), (0, 2, MoveHistory::NONE));
        trail.push(|numbers| numbers.extend([3, 4]));
        trail.push(|numbers| numbers.extend([5, 6]));
        assert_eq!((trail.len(), trail.number(0, 1), trail.number(1, 0)), (2, 4, 5));
        assert_eq!((trail.back(1, 0), trail.back(2, 1)), (5, 4));
        assert_eq!(trail.steps().collect::<Vec<_>>(), [[3, 4], [5, 6]]);
        trail.rewind();
        assert_eq!((trail.len(), trail.back(1, 0)), (0, 1));
    }

    #[test]
    fn who_has_no_choice_chooses_nothing() {
        let mut trail = MoveHistory::new(2);
        let chosen = |trail: &MoveHistory, joint| [0, 1].map(|role| trail.chosen(joint, role));
        assert_eq!((trail.known(), chosen(&trail, 1)), (2, [None, None]));
        trail.push(|numbers| numbers.extend([1, 2]));
        assert_eq!(chosen(&trail, 2), [Some(1), Some(2)]);
        trail.push(|numbers| numbers.extend([3, NOOP]));
        trail.push(|numbers| numbers.extend([4, 5]));
        trail.mark_waits(|role| role == 0);
        assert_eq!(
            [2, 3, 4].map(|joint| chosen(&trail, joint)),
            [[Some(1), Some(2)], [Some(3), None], [None, Some(5)]]
        );
        trail.commit_last();
        assert_eq!((trail.known(), [0, 1].map(|joint| chosen(&trail, joint))), (2, [[Some(3), None], [None, Some(5)]]));
        trail.push(|numbers| numbers.extend([6, 7]));
        trail.rewind();
        trail.push(|numbers| numbers.extend([8, 9]));
        trail.mark_waits(|role| role == 1);
        assert_eq!([1, 2].map(|joint| chosen(&trail, joint)), [[None, Some(5)], [Some(8), None]]);
    }
}
