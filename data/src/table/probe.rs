//! Look-ups, and states that carry their distance along moves.

use super::codec::{Codec, neighbor_distance};
use super::distance::{Distance, Probe};
use super::error::TableError;
use super::reader::Table;
use crate::board::{CellSet, Move, Rank, State};

impl Table {
    /// Looks up a state.
    ///
    /// Cost, by encoding:
    /// - [`Byte`](super::Encoding::Byte): a rank and a load;
    /// - [`Mod3`](super::Encoding::Mod3): a descent to the goal, with one step
    ///   per move;
    /// - [`Zstd`](super::Encoding::Zstd): the decompression of a block unless it
    ///   is cached, and several hundred states to decode.
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the state does not have the board's number of pieces.
    pub fn probe(&self, state: State) -> Result<Probe, TableError> {
        Ok(self.probed_state(state)?.map_or(Probe::NotCovered, |probed| probed.probe()))
    }

    /// Looks up a state and returns it with its distance, or `None` if the
    /// table does not cover it.
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the state does not have the board's number of pieces.
    pub fn probed_state(&self, state: State) -> Result<Option<ProbedState<'_>>, TableError> {
        let pieces = self.board().pieces();
        assert_eq!(state.cells().len(), pieces, "a state of this table has {pieces} pieces");
        let Some(value) = self.value(state)? else { return Ok(None) };
        let distance = match self.codec() {
            Codec::Byte | Codec::Compressed(_) => value,
            Codec::Mod3 => self.descend(state, value)?,
        };
        Ok(Some(ProbedState { table: self, state, distance }))
    }

    fn answer(&self, distance: u8) -> Probe {
        match self.proven_depth() {
            Some(limit) if u32::from(distance) > limit => Probe::UpperBound(Distance(distance)),
            _ => Probe::Exact(Distance(distance)),
        }
    }

    /// Counts the steps to the goal, each to a state that is one move nearer.
    /// Distances of neighbors differ by at most 1, so a distance modulo 3
    /// determines which of them are nearer.
    fn descend(&self, mut state: State, mut value: u8) -> Result<u8, TableError> {
        let goal = State::goal(self.board());
        let mut steps = 0;
        while state != goal {
            if steps == self.max_distance().0 {
                return Err(self.bad_state(state));
            }
            let nearer = (value + 2) % 3;
            state = self.successor_with(state, nearer)?.ok_or_else(|| self.bad_state(state))?;
            value = nearer;
            steps += 1;
        }
        if value != 0 {
            return Err(self.bad_state(goal));
        }
        Ok(steps)
    }

    fn successor_with(&self, state: State, value: u8) -> Result<Option<State>, TableError> {
        for mv in self.board().geometry().army_moves(state.cells(), CellSet::EMPTY) {
            let after = state.after(mv);
            if self.value(after)? == Some(value) {
                return Ok(Some(after));
            }
        }
        Ok(None)
    }

    fn bad_state(&self, state: State) -> TableError {
        self.bad_rank(Rank::of(state).0)
    }
}

/// A covered state with its distance. Moves update the distance with one
/// look-up per move in every encoding.
#[derive(Clone, Debug)]
pub struct ProbedState<'a> {
    table: &'a Table,
    state: State,
    distance: u8,
}

impl ProbedState<'_> {
    /// Returns the state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the answer of the table for the state.
    pub fn probe(&self) -> Probe {
        self.table.answer(self.distance)
    }

    /// Returns the distance of the state.
    pub fn distance(&self) -> Distance {
        Distance(self.distance)
    }

    /// Returns every move of the army in goal order, with the answer of the
    /// table for the state after it. Moves with smaller distances come first,
    /// and moves to states outside the table last.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn moves(&self) -> Result<Vec<(Move, Probe)>, TableError> {
        let geometry = self.table.board().geometry();
        let mut moves = Vec::new();
        for mv in geometry.army_moves(self.state.cells(), CellSet::EMPTY) {
            let after = self.after(mv)?.map_or(Probe::NotCovered, |probed| probed.probe());
            moves.push((mv, after));
        }
        moves.sort_by_key(|(_, after)| after.distance().map_or(u8::MAX, |distance| distance.0));
        Ok(moves)
    }

    /// Returns the state after one of [`moves`](ProbedState::moves), or `None`
    /// if it is outside the table.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn after(&self, mv: Move) -> Result<Option<Self>, TableError> {
        let state = self.state.after(mv);
        let Some(value) = self.table.value(state)? else { return Ok(None) };
        let distance = match self.table.codec() {
            Codec::Byte | Codec::Compressed(_) => Some(value),
            Codec::Mod3 => neighbor_distance(self.distance, value),
        };
        let distance = distance.ok_or_else(|| self.table.bad_state(state))?;
        Ok(Some(ProbedState { table: self.table, state, distance }))
    }

    /// Returns a shortest path to the goal, taking the first best move in each
    /// state.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn solution(&self) -> Result<Vec<Move>, TableError> {
        let mut solution = Vec::new();
        let mut at = self.clone();
        while at.distance > 0 {
            let (best, _) = *at.moves()?.first().ok_or_else(|| self.table.bad_state(at.state))?;
            let next = at.after(best)?.filter(|next| next.distance < at.distance);
            at = next.ok_or_else(|| self.table.bad_state(at.state))?;
            solution.push(best);
        }
        Ok(solution)
    }
}
