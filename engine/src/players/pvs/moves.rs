//! The moves of a state in search order.

use sternhalma_data::{Cell, Move, Side};

use super::distance_cache::MOVE;
use super::node::{ScoredMove, SearchNode};

/// The moves that caused cutoffs.
pub(super) struct MoveOrdering {
    /// The history value by player, origin and destination. Deep and recent
    /// cutoffs have a larger weight.
    history: Vec<i32>,
    /// The last two moves that caused a cutoff, by ply.
    killers: Vec<[Option<Move>; 2]>,
}

/// An upper bound for history values.
const MAX_HISTORY: i32 = 1 << 12;

impl MoveOrdering {
    /// Creates empty statistics for searches of at most `plies` plies.
    pub fn new(plies: u32) -> MoveOrdering {
        MoveOrdering { history: vec![0; 2 * Cell::LIMIT * Cell::LIMIT], killers: vec![[None; 2]; plies as usize + 1] }
    }

    /// Begins the search for the next move of the game.
    pub fn grow_older(&mut self) {
        self.history.iter_mut().for_each(|value| *value /= 2);
        self.killers.fill([None; 2]);
    }

    #[inline]
    fn place(player: Side, mv: Move) -> usize {
        (player as usize * Cell::LIMIT + mv.from.index()) * Cell::LIMIT + mv.to.index()
    }

    /// Records that a move caused a cutoff, after others that did not.
    pub fn cut(&mut self, player: Side, mv: Move, others: &[ScoredMove], depth: u32, ply: u32) {
        let killers = &mut self.killers[ply as usize];
        if killers[0] != Some(mv) {
            *killers = [Some(mv), killers[0]];
        }
        let weight = (depth * depth).min(400) as i32;
        let mut add = |mv, weight: i32| {
            let value = &mut self.history[MoveOrdering::place(player, mv)];
            *value += weight - *value * weight.abs() / MAX_HISTORY;
        };
        add(mv, weight);
        others.iter().for_each(|other| add(other.mv, -weight));
    }

    /// Sets the priority of each move of a node by gain, killers and history.
    #[inline]
    pub fn order(&self, node: &SearchNode, ply: u32, moves: &mut [ScoredMove]) {
        let player = node.state.player();
        let before = node.standings[player as usize].worth();
        let killers = &self.killers[ply as usize];
        for candidate in moves {
            let mv = candidate.mv;
            let gain = candidate.standing.worth() - before;
            let mut order = gain * (MAX_HISTORY / MOVE);
            order += self.history[MoveOrdering::place(player, mv)];
            if killers.contains(&Some(mv)) {
                order += 2 * MAX_HISTORY;
            }
            candidate.order = order;
        }
    }
}
