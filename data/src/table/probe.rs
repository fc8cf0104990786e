//! Look-ups, and states that carry their distance along moves.

use super::codec::{Codec, neighbor_distance};
use super::distance::{Distance, Probe};
use super::error::TableError;
use super::reader::Table;
use crate::board::{CellSet, Move, Rank, Side, State};

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
        Ok(self.distance(state)?.map_or(Probe::NotCovered, |distance| self.answer(distance)))
    }

    /// Returns the table as one player sees it: armies and moves are in board
    /// order.
    pub fn side(&self, side: Side) -> SideTable<'_> {
        SideTable { table: self, side }
    }

    /// Returns the distance of a state if the table covers it.
    pub(super) fn distance(&self, state: State) -> Result<Option<u8>, TableError> {
        let pieces = self.board().pieces();
        assert_eq!(state.cells().len(), pieces, "a state of this table has {pieces} pieces");
        let Some(value) = self.value(state)? else { return Ok(None) };
        match self.codec() {
            Codec::Byte | Codec::Compressed(_) => Ok(Some(value)),
            Codec::Mod3 => self.descend(state, value).map(Some),
        }
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

/// A [`Table`] as one player sees it. Armies and moves are in board order, as
/// in a [`Position`](crate::Position).
///
/// ```
/// use sternhalma_data::{Probe, Side, Table};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-byte.sht");
/// let table = Table::open(path)?;
/// let position = table.board().parse_position("2oo/x2o/1x2/2x1 x 0")?;
/// let probed = table.side(Side::X).probed(position.army(Side::X))?;
/// let (best, after) = probed.moves()?[0];
/// assert!(position.moves().any(|legal| legal == best));
/// let army = position.after(best).army(Side::X);
/// assert_eq!(table.side(Side::X).probe(army)?, after);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SideTable<'a> {
    table: &'a Table,
    side: Side,
}

impl<'a> SideTable<'a> {
    /// Looks up an army, like [`Table::probe`].
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the army does not have the board's number of pieces.
    pub fn probe(self, army: CellSet) -> Result<Probe, TableError> {
        self.table.probe(State::from_army(self.table.board(), self.side, army))
    }

    /// Looks up an army, and returns it with the answer.
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the army does not have the board's number of pieces.
    pub fn probed(self, army: CellSet) -> Result<ProbedState<'a>, TableError> {
        self.probed_state(State::from_army(self.table.board(), self.side, army))
    }

    /// Looks up a state of the player's army, and returns it with the answer.
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the state does not have the board's number of pieces.
    pub fn probed_state(self, state: State) -> Result<ProbedState<'a>, TableError> {
        Ok(ProbedState { table: self.table, side: self.side, state, distance: self.table.distance(state)? })
    }
}

/// A player's army alone on the board, with the answer of a table. Moves are in
/// board order. Moves update the distance of a covered state with one look-up
/// per move in every encoding.
#[derive(Clone, Debug)]
pub struct ProbedState<'a> {
    table: &'a Table,
    side: Side,
    state: State,
    /// `None` if the table does not cover the state.
    distance: Option<u8>,
}

impl ProbedState<'_> {
    /// Returns the player.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the cells of the army.
    pub fn army(&self) -> CellSet {
        self.state.to_army(self.table.board(), self.side)
    }

    /// Returns the answer of the table for the state.
    pub fn probe(&self) -> Probe {
        self.distance.map_or(Probe::NotCovered, |distance| self.table.answer(distance))
    }

    /// Returns every move of the army, with the answer of the table for the state
    /// after it. Moves with smaller distances come first, and moves to states
    /// outside the table last.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn moves(&self) -> Result<Vec<(Move, Probe)>, TableError> {
        let board = self.table.board();
        let mut moves = Vec::new();
        for mv in board.geometry().army_moves(self.state.cells(), CellSet::EMPTY) {
            let mv = mv.to_board_order(board, self.side);
            moves.push((mv, self.after(mv)?.probe()));
        }
        moves.sort_by_key(|(_, after)| after.distance().map_or(u8::MAX, |distance| distance.0));
        Ok(moves)
    }

    /// Returns the state after one of [`moves`](ProbedState::moves).
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn after(&self, mv: Move) -> Result<Self, TableError> {
        let table = self.table;
        let state = self.state.after(mv.to_goal_order(table.board(), self.side));
        let distance = match (table.codec(), self.distance, table.value(state)?) {
            (Codec::Mod3, Some(before), Some(value)) => {
                Some(neighbor_distance(before, value).ok_or_else(|| table.bad_state(state))?)
            }
            (Codec::Mod3, None, Some(value)) => Some(table.descend(state, value)?),
            (_, _, value) => value,
        };
        Ok(ProbedState { state, distance, ..*self })
    }

    /// Returns a shortest path to the goal, taking the first best move in each
    /// state, or `None` if the table does not cover the state.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn solution(&self) -> Result<Option<Vec<Move>>, TableError> {
        let Some(mut left) = self.distance else { return Ok(None) };
        let mut solution = Vec::new();
        let mut at = self.clone();
        while left > 0 {
            let bad_state = || self.table.bad_state(at.state);
            let (best, _) = *at.moves()?.first().ok_or_else(bad_state)?;
            let next = at.after(best)?;
            left = next.distance.filter(|&distance| distance < left).ok_or_else(bad_state)?;
            at = next;
            solution.push(best);
        }
        Ok(Some(solution))
    }
}
