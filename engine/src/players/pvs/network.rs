//! The network on top of the linear evaluation, with incrementally updated sums.

use sternhalma_data::{Board, Move, Side, State};

use crate::players::learned::{HiddenSums, MAX_HIDDEN, NetworkWeights};
use crate::rules::GameState;

/// The sums of the hidden units of a node, for the perspective of each player.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sums([HiddenSums; 2]);

impl Sums {
    /// The sums without a network.
    pub const NONE: Sums = Sums([[0; MAX_HIDDEN]; 2]);
}

/// A network for a board.
pub(super) struct Network {
    board: Board,
    weights: NetworkWeights,
}

impl Network {
    pub fn new(board: Board, weights: NetworkWeights) -> Network {
        Network { board, weights }
    }

    /// Returns the sums of a state, computed from scratch.
    pub fn sums(&self, state: &GameState) -> Sums {
        Sums([Side::X, Side::O].map(|side| {
            let [own, other] =
                [side, side.other()].map(|player| State::from_army(self.board, side, state.army(player)).cells());
            self.weights.sums(own, other)
        }))
    }

    /// Returns the sums after a move of a player.
    #[inline]
    pub fn after(&self, sums: &Sums, player: Side, mv: Move) -> Sums {
        Sums([Side::X, Side::O].map(|side| {
            let [from, to] = [mv.from, mv.to].map(|cell| cell.to_goal_order(self.board, side));
            self.weights.sums_after(&sums.0[side as usize], side == player, from, to)
        }))
    }

    /// Returns the value that the network adds for the player to move, in hundredths of a move.
    #[inline]
    pub fn output(&self, sums: &Sums, player: Side) -> i32 {
        self.weights.output(&sums.0[player as usize], &sums.0[player.other() as usize])
    }
}
