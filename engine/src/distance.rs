//! Distances to the goal for the players, from a table and beyond it.

use std::sync::Arc;

use sternhalma_data::{Cell, Encoding, Prefix, Rank, State, Table};

/// Moves a step beyond the table's prefix costs, on average. Fitted on the
/// whole table of 6 pieces (`docs/players.md`).
const MOVES_PER_STEP: f64 = 0.37;

/// The distance of an army to its goal: what the table says where it covers
/// the state, and an estimate where it does not.
///
/// The estimate takes each piece beyond the prefix to the nearest free cell
/// inside ([`draw_in`]), looks that state up, and adds a fixed number of moves
/// for each step that took. At the border that is one step, so there is no
/// jump.
#[derive(Clone, Debug)]
pub struct Distances {
    table: Arc<Table>,
}

impl Distances {
    /// The distances of a table.
    pub fn new(table: Arc<Table>) -> Distances {
        Distances { table }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The distance of an army, given as its goal tip sees it, with its rank.
    /// A damaged table gives the estimate that its neighbours would.
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

/// An army with each piece beyond the prefix taken to the nearest free cell
/// inside, the nearest pieces first and the farthest of equal cells, and the
/// steps that took on the empty board.
pub fn draw_in(prefix: Prefix, army: State) -> (State, u32) {
    let covered = prefix.cells();
    let geometry = prefix.board().geometry();
    let apart = |a: Cell, b: Cell| {
        let ((ax, ay), (bx, by)) = (geometry.coordinates(a), geometry.coordinates(b));
        let (dx, dy) = (i32::from(ax) - i32::from(bx), i32::from(ay) - i32::from(by));
        // Steps along (1, -1) change both coordinates at once.
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
