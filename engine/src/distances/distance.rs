//! Distances to the goal for players, from a table and by estimates.

use std::sync::Arc;

use sternhalma_data::{Board, Encoding, Rank, State, Table};

use crate::distances::draw_in::DrawIn;

/// The mean number of moves per step beyond the table's prefix, and per row
/// without a table. The value was fitted on the whole table for 6 pieces
/// (`docs/reference/players.md`).
const MOVES_PER_STEP: f64 = 0.37;

/// Distances of armies to their goals: from the table for covered states,
/// otherwise by an estimate.
///
/// The estimate moves each piece beyond the prefix to the nearest free cell
/// inside ([`DrawIn`]), looks that state up, and adds a fixed number of moves
/// per step of these pieces. A piece beside the border is one step away from
/// it, so the estimate is continuous.
///
/// Without a table, the estimate is a fixed number of moves per row between the
/// army and its goal.
#[derive(Clone, Debug)]
pub struct Distances(Source);

#[derive(Clone, Debug)]
enum Source {
    Table(Arc<Table>, Arc<DrawIn>),
    Rows(Rows),
}

/// The rows between armies and their goal.
#[derive(Clone, Debug)]
struct Rows {
    board: Board,
    /// The sum of the rows of the goal's cells.
    goal: usize,
}

impl Rows {
    /// Returns the sum of the rows of an army, minus that of its goal.
    fn left(&self, army: State) -> usize {
        rows_of(self.board, army) - self.goal
    }
}

/// Returns the sum of the rows of an army, seen from the tip of its goal.
fn rows_of(board: Board, army: State) -> usize {
    army.cells().iter().map(|cell| board.geometry().row(cell)).sum()
}

impl Distances {
    /// Creates distances from a table.
    pub fn new(table: Arc<Table>) -> Distances {
        let draw_in = Arc::new(DrawIn::new(table.prefix()));
        Distances(Source::Table(table, draw_in))
    }

    /// Creates distances without a table. All results are estimates.
    pub fn estimated(board: Board) -> Distances {
        Distances(Source::Rows(Rows { board, goal: rows_of(board, State::goal(board)) }))
    }

    /// Returns the table, if there is one.
    pub fn table(&self) -> Option<&Table> {
        match &self.0 {
            Source::Table(table, _) => Some(table),
            Source::Rows(_) => None,
        }
    }

    /// Returns the board.
    pub fn board(&self) -> Board {
        match &self.0 {
            Source::Table(table, _) => table.board(),
            Source::Rows(rows) => rows.board,
        }
    }

    /// Returns whether every distance takes only a few loads.
    pub fn is_fast(&self) -> bool {
        self.table().is_none_or(|table| table.encoding() == Encoding::Byte && table.prefix().is_whole())
    }

    /// Returns the distance of an army with its rank, in moves. A look-up that
    /// fails because the table is damaged counts as the table's largest distance.
    #[inline]
    pub fn of(&self, army: State, rank: Rank) -> f64 {
        self.by_rank(rank).map_or_else(|| self.without_rank(army), f64::from)
    }

    /// Returns the distance of the army with this rank, in moves, if a single load finds it: in a table with a byte
    /// per state.
    #[inline]
    pub(crate) fn by_rank(&self, rank: Rank) -> Option<u8> {
        self.table()?.as_bytes()?.get(rank.0 as usize).copied()
    }

    /// Returns the distance, in moves, of an army that no single load finds: in a mirrored table, in one without a byte
    /// per state or outside its prefix (both by [`beyond`]), or without a table.
    #[inline(never)]
    pub(crate) fn without_rank(&self, army: State) -> f64 {
        match &self.0 {
            Source::Table(table, draw_in) => {
                table.probe_byte(army).map_or_else(|| beyond(table, draw_in, army), f64::from)
            }
            Source::Rows(rows) => MOVES_PER_STEP * rows.left(army) as f64,
        }
    }
}

/// Returns the distance, in moves, of an army that needs more than a load: of one
/// beyond the prefix, or of any army in a table without a byte per state.
fn beyond(table: &Table, draw_in: &DrawIn, army: State) -> f64 {
    let (placed, steps) = draw_in.place(army);
    // With one byte per state, blocks are not compared with their checksums.
    let known = match table.encoding() {
        Encoding::Byte => table.probe_byte(placed),
        _ => table.probe(placed).ok().and_then(|lookup| lookup.distance()).map(|distance| distance.0),
    };
    f64::from(known.unwrap_or(table.max_distance().0)) + MOVES_PER_STEP * f64::from(steps)
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Prefix, States};

    use super::*;

    #[test]
    fn estimates_without_a_table_grow_with_the_rows_to_the_goal() {
        let board = Board::new(4, 3).unwrap();
        let estimated = Distances::estimated(board);
        let of = |state: State| estimated.of(state, state.rank());
        for (_, state) in States::all(Prefix::whole(board)) {
            assert_eq!(of(state) == 0.0, state == State::goal(board), "{state:?}");
            for mv in board.geometry().army_moves(state.cells(), Default::default()) {
                let rows = |cell| board.geometry().row(cell) as f64;
                let gained = (of(state) - of(state.after(mv))) / MOVES_PER_STEP;
                assert!((gained - (rows(mv.from) - rows(mv.to))).abs() < 1e-9, "{state:?} {mv:?}");
            }
        }
        assert!(estimated.is_fast() && estimated.table().is_none());
    }
}
