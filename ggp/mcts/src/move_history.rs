//! The moves before a state: those of the simulation, and the last ones of the match.

use sternhalma_game::{Game, NOOP, SearchState};

/// The number of joint moves of the match that are kept.
const HISTORY: usize = 2;

/// The moves of all roles in a simulation, and the last two joint moves of the
/// match before it, as [numbers](sternhalma_game::Game::number).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MoveHistory {
    roles: usize,
    /// One number per role, joint move by joint move. The first two are of the match.
    numbers: Vec<u32>,
    /// For the same entries, as far as marked: whether the role had no choice.
    waits: Vec<bool>,
}

impl MoveHistory {
    /// Stands for a move before the match began.
    pub const NONE: u32 = u32::MAX;

    /// Creates the history of a match that begins, of `roles` roles.
    pub fn new(roles: usize) -> MoveHistory {
        MoveHistory { roles, numbers: vec![MoveHistory::NONE; HISTORY * roles], waits: Vec::new() }
    }

    /// Returns the number of roles.
    #[inline]
    pub fn roles(&self) -> usize {
        self.roles
    }

    /// Returns the number of joint moves of the simulation.
    #[inline]
    pub fn len(&self) -> usize {
        self.numbers.len() / self.roles.max(1) - HISTORY
    }

    /// Returns whether the simulation has no move yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the move of a role in a step of the simulation, from 0.
    #[inline]
    pub fn number(&self, step: usize, role: usize) -> u32 {
        self.numbers[(HISTORY + step) * self.roles + role]
    }

    /// Returns the joint moves of the simulation in order.
    #[inline]
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &[u32]> + ExactSizeIterator {
        self.numbers[HISTORY * self.roles..].chunks_exact(self.roles.max(1))
    }

    /// Returns the move of a role `back` joint moves ago, 1 or 2, in the
    /// simulation or in the match before it.
    #[inline]
    pub fn back(&self, back: usize, role: usize) -> u32 {
        self.numbers[self.numbers.len() - back * self.roles + role]
    }

    /// Returns the number of all joint moves: two of the match, and those of the
    /// simulation.
    #[inline]
    pub fn known(&self) -> usize {
        HISTORY + self.len()
    }

    /// Returns the move of a role in one of all [`known`](MoveHistory::known)
    /// joint moves, or `None` if it waited or is marked to have had no choice.
    #[inline]
    pub fn chosen(&self, joint: usize, role: usize) -> Option<u32> {
        let place = joint * self.roles + role;
        let waits = self.waits.get(place).copied().unwrap_or(false);
        Some(self.numbers[place]).filter(|&number| !waits && number < NOOP)
    }

    /// Marks the roles that had no choice in the last joint move.
    #[inline]
    pub fn mark_waits(&mut self, waits: impl Fn(usize) -> bool) {
        self.waits.resize(self.numbers.len() - self.roles, false);
        self.waits.extend((0..self.roles).map(waits));
    }

    /// Returns the last joint move.
    #[inline]
    pub fn last(&self) -> &[u32] {
        &self.numbers[self.numbers.len() - self.roles..]
    }

    /// Adds a joint move: `fill` appends one number per role.
    #[inline]
    pub fn push(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        fill(&mut self.numbers);
        debug_assert_eq!(self.numbers.len() % self.roles, 0);
    }

    /// Adds the joint move that will be played in a state. With `with_waits`,
    /// marks the roles that have no choice there.
    #[inline]
    pub fn record<G: Game>(&mut self, game: &G, state: &impl SearchState<G>, joint: &[G::Move], with_waits: bool) {
        self.push(|numbers| state.numbers(game, joint, numbers));
        if with_waits {
            self.mark_waits(|role| !state.has_choice(game, role));
        }
    }

    /// Begins a simulation after the match moves of `other`.
    #[inline]
    pub fn restart_from(&mut self, other: &MoveHistory) {
        self.roles = other.roles;
        self.numbers.clear();
        self.numbers.extend_from_slice(&other.numbers[..HISTORY * other.roles]);
        self.waits.clear();
        self.waits.extend_from_slice(&other.waits[..other.waits.len().min(HISTORY * other.roles)]);
    }

    /// Drops the moves of the simulation.
    #[inline]
    pub fn rewind(&mut self) {
        self.numbers.truncate(HISTORY * self.roles);
        self.waits.truncate(HISTORY * self.roles);
    }

    /// Makes the last joint move a move of the match, and drops the simulation.
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
    fn the_match_precedes_the_simulation() {
        let mut history = MoveHistory::new(2);
        assert!(history.is_empty());
        assert_eq!(history.back(1, 0), MoveHistory::NONE);
        history.push(|numbers| numbers.extend([1, 2]));
        history.commit_last();
        assert_eq!((history.len(), history.back(1, 1), history.back(2, 0)), (0, 2, MoveHistory::NONE));
        history.push(|numbers| numbers.extend([3, 4]));
        history.push(|numbers| numbers.extend([5, 6]));
        assert_eq!((history.len(), history.number(0, 1), history.number(1, 0)), (2, 4, 5));
        assert_eq!((history.back(1, 0), history.back(2, 1)), (5, 4));
        assert_eq!(history.steps().collect::<Vec<_>>(), [[3, 4], [5, 6]]);
        history.rewind();
        assert_eq!((history.len(), history.back(1, 0)), (0, 1));
    }

    #[test]
    fn roles_without_a_choice_choose_nothing() {
        let mut history = MoveHistory::new(2);
        let chosen = |history: &MoveHistory, joint| [0, 1].map(|role| history.chosen(joint, role));
        assert_eq!((history.known(), chosen(&history, 1)), (2, [None, None]));
        history.push(|numbers| numbers.extend([1, 2]));
        assert_eq!(chosen(&history, 2), [Some(1), Some(2)]);
        history.push(|numbers| numbers.extend([3, NOOP]));
        history.push(|numbers| numbers.extend([4, 5]));
        history.mark_waits(|role| role == 0);
        assert_eq!(
            [2, 3, 4].map(|joint| chosen(&history, joint)),
            [[Some(1), Some(2)], [Some(3), None], [None, Some(5)]]
        );
        history.commit_last();
        assert_eq!(
            (history.known(), [0, 1].map(|joint| chosen(&history, joint))),
            (2, [[Some(3), None], [None, Some(5)]])
        );
        history.push(|numbers| numbers.extend([6, 7]));
        history.rewind();
        history.push(|numbers| numbers.extend([8, 9]));
        history.mark_waits(|role| role == 1);
        assert_eq!([1, 2].map(|joint| chosen(&history, joint)), [[None, Some(5)], [Some(8), None]]);
    }
}
