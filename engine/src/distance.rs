//! Distances to the goal for players, from a table and by estimates.

use std::sync::Arc;

use sternhalma_data::{Cell, Encoding, Prefix, Rank, State, Table};

/// The mean number of moves per step beyond the table's prefix. The value was
/// fitted on the whole table for 6 pieces (`docs/players.md`).
const MOVES_PER_STEP: f64 = 0.37;

/// Distances of armies to their goals: from the table for covered states,
/// otherwise by an estimate.
///
/// The estimate moves each piece beyond the prefix to the nearest free cell
/// inside ([`draw_in`]), looks that state up, and adds a fixed number of moves
/// per step of these pieces. A piece beside the border is one step away from
/// it, so the estimate is continuous.
#[derive(Clone, Debug)]
pub struct Distances {
    table: Arc<Table>,
}

impl Distances {
    /// Creates distances from a table.
    pub fn new(table: Arc<Table>) -> Distances {
        Distances { table }
    }

    /// Returns the table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the distance of an army with its rank. If the table is damaged,
    /// the result is the estimate from neighbouring states.
    #[inline]
    pub fn of(&self, army: State, rank: Rank) -> f64 {
        match self.table.as_bytes().and_then(|bytes| bytes.get(rank.0 as usize)) {
            Some(&distance) => f64::from(distance),
            None => self.slow(army),
        }
    }

    #[cold]
    fn slow(&self, army: State) -> f64 {
        let prefix = self.table.prefix();
        let (placed, steps) = draw_in(prefix, army);
        let known = match self.table.encoding() {
            Encoding::Byte => self.table.as_bytes().map(|bytes| bytes[Rank::of(placed).0 as usize]),
            _ => self.table.probe(placed).ok().and_then(|lookup| lookup.distance()).map(|distance| distance.0),
        };
        f64::from(known.unwrap_or(self.table.max_distance().0)) + MOVES_PER_STEP * f64::from(steps)
    }
}

/// Moves each piece beyond the prefix to the nearest free cell inside. The
/// nearest pieces come first, and ties go to the farthest cell. Returns the
/// army and the number of steps on the empty board.
pub fn draw_in(prefix: Prefix, army: State) -> (State, u32) {
    let covered = prefix.cells();
    let geometry = prefix.board().geometry();
    let apart = |a: Cell, b: Cell| {
        let ((ax, ay), (bx, by)) = (geometry.coordinates(a), geometry.coordinates(b));
        let (dx, dy) = (i32::from(ax) - i32::from(bx), i32::from(ay) - i32::from(by));
        // A step along (1, -1) changes both coordinates.
        dx.abs().max(dy.abs()).max((dx + dy).abs()) as u32
    };
    let mut placed = army.cells() & covered;
    let mut steps = 0;
    for cell in army.cells() - covered {
        let free = (covered - placed).iter();
        let nearest = free.min_by_key(|&to| (apart(cell, to), std::cmp::Reverse(to)));
        let to = nearest.expect("a prefix has room for the army");
        steps += apart(cell, to);
        placed = placed.with(to);
    }
    (State::from_cells(placed), steps)
}
