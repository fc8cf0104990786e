//! States in lanes, as a search reads them.

use std::sync::Arc;

use rand::RngExt;
use sternhalma_game::features::{FoundSuccessors, StateFeatures, SuccessorPart};
use sternhalma_game::util::FluentSet;
use sternhalma_game::{Rng, SearchState, Turn};

use super::lane_game::LanePhase;
use super::lane_successors::LaneSuccessors;
use super::network_game::NetworkGame;

/// A view of the state in a lane: the goals if it is terminal, otherwise the legal moves. Only all lanes together can
/// be played.
///
/// A search plays the same simulations with views as with whole states: turns, moves, their order and random choices
/// are the same.
pub struct LaneView {
    pub(super) phase: Arc<LanePhase>,
    pub(super) terminal: bool,
    turn: Turn,
    /// The key of the state, if it was requested.
    pub(super) key: Option<u64>,
    /// The number of legal moves of each role.
    counts: Vec<u32>,
    /// The legal moves, in the layout of the phase.
    pub(super) words: Vec<u64>,
    /// The goals of all roles.
    pub(super) goals: Vec<u8>,
    /// The facts of the state, if they were requested.
    pub(super) facts: FluentSet,
    /// Successors of this state and of others, and the place of this state among them if its successors were requested.
    pub(super) successors: LaneSuccessors,
    pub(super) place: Option<usize>,
}

impl LaneView {
    /// Creates an empty view.
    pub(super) fn new(phase: Arc<LanePhase>, fluents: usize) -> LaneView {
        LaneView {
            phase,
            terminal: false,
            turn: Turn::One(0),
            key: None,
            counts: Vec::new(),
            words: Vec::new(),
            goals: Vec::new(),
            facts: FluentSet::new(fluents),
            successors: LaneSuccessors::default(),
            place: None,
        }
    }

    /// Returns the only role that acts, if not all do.
    pub(super) fn acting(&self) -> Option<usize> {
        match self.turn {
            Turn::One(role) => Some(role),
            Turn::All => None,
        }
    }

    /// Appends the move that each role plays if the acting roles play `joint`.
    pub(super) fn write_numbers(&self, joint: &[u32], numbers: &mut Vec<u32>) {
        match self.turn {
            Turn::All => numbers.extend_from_slice(joint),
            Turn::One(acting) => {
                numbers.extend(self.phase.roles.iter().enumerate().map(|(role, of_role)| match role == acting {
                    true => joint[0],
                    false => of_role.nth(&self.words, 0).expect("a role that does not act has one legal move"),
                }))
            }
        }
    }

    /// Counts the legal moves after their bits were set. Returns whether each
    /// role has one.
    pub(super) fn count(&mut self) -> bool {
        self.counts.clear();
        let (mut choosing, mut role_that_chooses) = (0, 0);
        let mut all_can = true;
        for (role, of_role) in self.phase.roles.iter().enumerate() {
            let count = of_role.count(&self.words);
            self.counts.push(count);
            all_can &= count > 0;
            if count > 1 {
                choosing += 1;
                role_that_chooses = role;
            }
        }
        self.turn = if choosing > 1 { Turn::All } else { Turn::One(role_that_chooses) };
        all_can
    }
}

impl SearchState<NetworkGame> for LaneView {
    #[inline]
    fn turn(&self, _: &NetworkGame) -> Turn {
        self.turn
    }

    #[inline]
    fn has_choice(&self, _: &NetworkGame, role: usize) -> bool {
        self.counts[role] > 1
    }

    #[inline]
    fn legal(&self, _: &NetworkGame, role: usize, moves: &mut Vec<u32>) {
        moves.reserve(self.counts[role] as usize);
        self.phase.roles[role].legal(&self.words, |mv| moves.push(mv));
    }

    #[inline]
    fn playout_moves(&self, game: &NetworkGame, role: usize, moves: &mut Vec<u32>) {
        self.legal(game, role, moves);
    }

    #[inline]
    fn random_move(&self, _: &NetworkGame, role: usize, _: &mut Vec<u32>, rng: &mut Rng) -> Option<u32> {
        let index = match self.counts[role] as usize {
            0 => return None,
            1 => 0,
            count => rng.random_range(0..count),
        };
        self.phase.roles[role].nth(&self.words, index)
    }

    #[inline]
    fn numbers(&self, _: &NetworkGame, joint: &[u32], numbers: &mut Vec<u32>) {
        self.write_numbers(joint, numbers);
    }

    #[inline]
    fn key(&self, _: &NetworkGame) -> Option<u64> {
        self.key
    }

    #[inline]
    fn is_terminal(&self, _: &NetworkGame) -> bool {
        self.terminal
    }

    fn goals(&self, _: &NetworkGame, goals: &mut Vec<u8>) {
        goals.extend_from_slice(&self.goals);
    }

    fn mark(&self, _: &NetworkGame, _: &dyn StateFeatures<NetworkGame>, facts: &mut FluentSet) {
        facts.clone_from(&self.facts);
    }

    fn successors(
        &self,
        game: &NetworkGame,
        features: &mut dyn StateFeatures<NetworkGame>,
        joints: &[u32],
        part: SuccessorPart,
        found: &mut FoundSuccessors,
    ) {
        match self.place {
            Some(place) => self.successors.copy(place, joints, part, found),
            None => game.state_from(&self.facts).successors(game, features, joints, part, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_game::{Game, StateNeeds};

    use super::*;
    use crate::network::testing::dead_end;
    use crate::network::{LaneStates, Seats};

    #[test]
    fn a_view_is_terminal_if_a_role_has_no_legal_move() {
        let game = NetworkGame::new(dead_end());
        let mut states = LaneStates::new(game.lanes().expect("the network fits"));
        let mut seats = Seats::NONE;
        seats.set(3, true);
        states.put(3, &game.initial());
        let mut seen = Vec::new();
        for _ in 0..2 {
            assert!(!states.find_ends(seats).any(), "the rules end no match");
            states.find_moves();
            let view = states.view(3, StateNeeds { key: true, facts: false });
            let mut goals = Vec::new();
            if view.is_terminal(&game) {
                view.goals(&game, &mut goals);
            }
            seen.push((view.key(&game), goals));
            states.play(3, &[0]);
            states.step();
        }
        let mut after = game.initial();
        game.play(&mut after, &[0]);
        assert_eq!(seen, [(Game::key(&game, &game.initial()), vec![]), (Game::key(&game, &after), vec![50])]);
    }
}
